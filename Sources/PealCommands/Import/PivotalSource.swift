internal import PealCore

/// The registrations of an application on a live Pivotal Push server, page by page.
struct PivotalSource: ImportSource {
    let name: String
    private let client: PivotalClient
    private let platforms: [PivotalLogin]
    private let environment: String?
    private var page: PivotalClient.Page?
    /// Those of the page, with all that is known of them.
    private var registrations: [JSON] = []
    private static let pageDevices = Limits.pivotalImportPageDevices

    /// - Parameters:
    ///   - application: its UUID.
    ///   - platforms: those whose devices are asked for one by one, for their tags and custom user ids.
    ///   - environment: of iOS devices.
    init(_ client: PivotalClient, application: String, platforms: [PivotalLogin], environment: String?) {
        self.client = client
        self.platforms = platforms
        self.environment = environment
        name = "pivotal \(client.base) \(application)"
    }

    mutating func next(after done: Int) async throws(CommandFailure) -> ImportRecord? {
        let number = done / Self.pageDevices + 1
        if page?.number != number {
            if page?.isLast == true { return nil }
            let listed = try await client.page(number)
            registrations = try await completed(listed.registrations)
            page = listed
        }
        let index = done % Self.pageDevices
        guard index < registrations.count else { return nil }
        return Self.record(registrations[index], number: done + 1, environment)
    }

    private func completed(_ registrations: [JSON]) async throws(CommandFailure) -> [JSON] {
        guard !platforms.isEmpty else { return registrations }
        let answers = await withTaskGroup(of: (Int, Result<JSON, CommandFailure>).self) { group in
            for (index, registration) in registrations.enumerated() {
                group.addTask {
                    do throws(CommandFailure) {
                        return (index, .success(try await complete(registration)))
                    } catch {
                        return (index, .failure(error))
                    }
                }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        var whole = registrations
        for (index, answer) in answers { whole[index] = try answer.get() }
        return whole
    }

    /// The registration as its platform shows it, with tags and custom user id; the list leaves them out.
    private func complete(_ registration: JSON) async throws(CommandFailure) -> JSON {
        guard let id = registration["device_uuid"]?.stringValue, registration["tags"] == nil else {
            return registration
        }
        for platform in platforms {
            let (status, document) = try await client.get("/v1/registration/\(APIPath.escaped(id))", as: platform)
            if (200..<300).contains(status), let document, document["device_uuid"] != nil { return document }
            guard [401, 403, 404].contains(status) else {
                throw .refused("the Pivotal server answered \(status) to the registration of \(id)")
            }
        }
        return registration
    }

    private static func record(_ registration: JSON, number: Int, _ environment: String?) -> ImportRecord {
        if [false, "false", 0].contains(registration["active"]) {
            return ImportRecord(number: number, content: .skipped)
        }
        guard let os = registration["os"]?.stringValue, let platform = platform(os) else {
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
}
