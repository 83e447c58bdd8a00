internal import AsyncHTTPClient
internal import NIOHTTP1
internal import PealCore

extension Limits {
    static let pivotalImportPageDevices = 50
}

/// Reads the data of one application from a running Pivotal Push server.
struct PivotalClient: Sendable {
    /// One page of registrations.
    struct Page {
        let number: Int
        let registrations: [JSON]
        let isLast: Bool
        let total: Int?
    }

    /// Without trailing `/v1` and slashes.
    let base: String
    private let login: PivotalLogin
    private static let pageDevices = Limits.pivotalImportPageDevices

    /// - Parameters:
    ///   - url: of the server, with or without `/v1`.
    ///   - login: of the application.
    /// - Throws: `usage` when the URL is invalid.
    init(url: String, login: PivotalLogin) throws(CommandFailure) {
        guard url.contains(#/^https?://[^/?#]/#) else { throw .usage("\(url) is not a valid server URL") }
        var base = url
        for ending in ["/", "/v1", "/v2", "/"] where base.hasSuffix(ending) { base.removeLast(ending.count) }
        self.base = base
        self.login = login
    }

    /// Sends a GET; the document is nil when the answer is not JSON.
    /// - Parameter path: the whole path, escaped.
    func get(
        _ path: String, as other: PivotalLogin? = nil
    ) async throws(CommandFailure) -> (status: Int, document: JSON?) {
        var request = HTTPClientRequest(url: base + path)
        request.headers.add(name: "authorization", value: (other ?? login).authorization)
        request.headers.add(name: "accept", value: "application/json")
        let (head, bytes) = try await APIClient.exchange(request, base: base)
        return (Int(head.status.code), try? JSONParser.parse(bytes))
    }

    /// A page of `/v2/registrations`.
    /// - Parameter filter: further query items, such as `&topic=news`.
    func page(_ number: Int, filter: String = "") async throws(CommandFailure) -> Page {
        let path = "/v2/registrations?size=\(Self.pageDevices)&page=\(number)\(filter)"
        let (status, document) = try await get(path)
        guard (200..<300).contains(status) else {
            throw .refused("the Pivotal server answered \(status) to page \(number)")
        }
        guard let list = document?["registrations"]?.arrayValue else {
            throw .refused("the Pivotal server's page \(number) contains no registrations")
        }
        let isLast = document?["totalPages"]?.integerValue.map { number >= $0 } ?? (list.count < Self.pageDevices)
        guard isLast || list.count == Self.pageDevices else {
            // The numbers of registrations would no longer match the pages.
            throw .refused("page \(number) of the Pivotal server contains \(list.count) of \(Self.pageDevices)")
        }
        let total = document?["totalRegistrations"]?.integerValue.map(Int.init)
        return Page(number: number, registrations: list, isLast: isLast, total: total)
    }

    /// The topics that have not expired; nil when the server has no such list.
    func topics() async throws(CommandFailure) -> [PivotalTopic]? {
        var topics: [PivotalTopic] = []
        var number = 1
        while true {
            let (status, document) = try await get("/v2/topics?size=50&page=\(number)")
            if status == 404 { return nil }
            guard (200..<300).contains(status), let list = document?["topics"]?.arrayValue else {
                throw .refused("the Pivotal server answered \(status) to page \(number) of its topics")
            }
            let now = Surroundings.current.time.now
            topics += list.compactMap(PivotalTopic.init).filter { $0.expiresAt.map { $0 > now } ?? true }
            let isLast = document?["totalPages"]?.integerValue.map { number >= $0 } ?? (list.count < 50)
            if isLast || list.isEmpty { return topics }
            number += 1
        }
    }
}

/// A topic as `GET /v2/topics` lists it.
struct PivotalTopic {
    /// In lower case, because Pivotal ignores the case of topics.
    let name: String
    /// The name as the server lists it, for requests to that server.
    let listed: String
    let expiresAt: Timestamp?

    /// - Parameter json: `{"id":1,"name":"news","expireAt"?:ms}`; nil without a name.
    init?(_ json: JSON) {
        guard let name = json["name"]?.stringValue, !name.isEmpty else { return nil }
        self.name = name.lowercased()
        listed = name
        expiresAt = json["expireAt"]?.integerValue.map(Timestamp.init(milliseconds:))
    }
}

/// The HTTP Basic credentials (RFC 7617) of an application or platform of a Pivotal server: its UUID, and its key or
/// secret.
struct PivotalLogin: Sendable {
    let uuid: String
    let secret: String

    init(uuid: String, secret: String) {
        self.uuid = uuid
        self.secret = secret
    }

    /// - Parameter text: `uuid:secret`; nil for anything else.
    init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
        self.init(uuid: parts[0], secret: parts[1])
    }

    var authorization: String { "Basic " + Self.base64(Array("\(uuid):\(secret)".utf8)) }

    /// RFC 4648 §4, with padding.
    private static func base64(_ bytes: [UInt8]) -> String {
        let text = Base64URL.encode(bytes).replacing("-", with: "+").replacing("_", with: "/")
        return text + String(repeating: "=", count: (4 - text.count % 4) % 4)
    }
}
