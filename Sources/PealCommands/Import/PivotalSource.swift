internal import AsyncHTTPClient
internal import NIOHTTP1
internal import PealCore

/// The registrations of an application on a live Pivotal Push server, page by page.
struct PivotalSource: ImportSource {
    let name: String
    private let base: String
    private let authorization: String
    private let environment: String?
    private var page: (number: Int, registrations: [JSON], isLast: Bool)?
    private static let pageDevices = Limits.pivotalImportPageDevices

    /// - Throws: `usage` when the URL is none.
    init(url: String, applicationUUID: String, apiKey: String, environment: String?) throws(CommandFailure) {
        guard url.contains(#/^https?://[^/?#]/#) else { throw .usage("\(url) is not the URL of a server") }
        var base = url
        for ending in ["/", "/v1", "/v2", "/"] where base.hasSuffix(ending) { base.removeLast(ending.count) }
        self.base = base
        name = "pivotal \(base) \(applicationUUID)"
        authorization = "Basic " + Self.base64(Array("\(applicationUUID):\(apiKey)".utf8))
        self.environment = environment
    }

    mutating func next(after done: Int) async throws(CommandFailure) -> ImportRecord? {
        let number = done / Self.pageDevices + 1
        if page?.number != number {
            if page?.isLast == true { return nil }
            page = try await read(number)
        }
        let index = done % Self.pageDevices
        guard let registrations = page?.registrations, index < registrations.count else { return nil }
        return record(registrations[index], number: done + 1)
    }

    private func read(_ number: Int) async throws(CommandFailure) -> (Int, [JSON], Bool) {
        var request = HTTPClientRequest(url: "\(base)/v2/registrations?size=\(Self.pageDevices)&page=\(number)")
        request.headers.add(name: "authorization", value: authorization)
        request.headers.add(name: "accept", value: "application/json")
        let (head, bytes) = try await APIClient.exchange(request, base: base)
        guard (200..<300).contains(head.status.code) else {
            throw .refused("the Pivotal server answered \(head.status.code) to page \(number)")
        }
        guard let answer = try? JSONParser.parse(bytes), let list = answer["registrations"]?.arrayValue else {
            throw .refused("the Pivotal server's page \(number) holds no registrations")
        }
        let isLast = answer["totalPages"]?.integerValue.map { number >= $0 } ?? (list.count < Self.pageDevices)
        guard isLast || list.count == Self.pageDevices else {
            // Numbers of registrations would not be those of pages any more.
            throw .refused("page \(number) of the Pivotal server holds \(list.count) of \(Self.pageDevices)")
        }
        return (number, list, isLast)
    }

    private func record(_ registration: JSON, number: Int) -> ImportRecord {
        if [false, "false", 0].contains(registration["active"]) {
            return ImportRecord(number: number, content: .skipped)
        }
        guard let os = registration["os"]?.stringValue, let platform = Self.platform(os) else {
            return ImportRecord(
                number: number, content: .bad(reason: "os \(registration["os"]?.text ?? "is missing"): no such devices")
            )
        }
        let tags = (registration["tags"] ?? registration["topics"])?.arrayValue?.compactMap { tag in
            (tag["text"] ?? tag).stringValue?.lowercased()
        }
        let device = JSON.compact([
            ("id", registration["device_uuid"]), ("platform", .string(platform)),
            ("address", registration["registration_token"]), ("user_id", registration["custom_user_id"]),
            ("topics", tags.map { .array($0.map(JSON.string)) }), ("os_version", registration["os_version"]),
            ("alias", registration["device_alias"]), ("model", registration["device_model"]),
            ("manufacturer", registration["device_manufacturer"]), ("vendor_os", .string(os)),
        ])
        return ImportRecord(number: number, device: device, environment: environment)
    }

    /// nil for what the native API does not register.
    private static func platform(_ os: String) -> String? {
        switch os.lowercased() {
        case "ios": "ios"
        case "android", "android-fcm", "android-gcm": "android"
        case "windows8", "windows": "windows"
        case "windowsphone", "windows_phone": "windows_phone"
        default: nil
        }
    }

    /// RFC 4648 §4, with padding.
    private static func base64(_ bytes: [UInt8]) -> String {
        let text = Base64URL.encode(bytes).replacing("-", with: "+").replacing("_", with: "/")
        return text + String(repeating: "=", count: (4 - text.count % 4) % 4)
    }
}
