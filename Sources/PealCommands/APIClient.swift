internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL
internal import PealCore
internal import PealNetwork
internal import Synchronization

/// A client of a running server's native API. Each call sends one request and returns its JSON answer.
struct APIClient: Sendable {
    /// The server's URL without a trailing slash.
    let base: String
    private let apiKey: String
    private let trust: ClientTrust
    /// Whether requests that would change something are shown instead of sent.
    let isDryRun: Bool
    private static let timeoutSeconds: Int64 = 60
    private static let answerBytesMax = 64 * 1024 * 1024

    private static let connectSeconds: Int64 = 10
    /// The clients, which live until the process ends. A command uses one.
    private static let clients = Mutex<[ClientTrust: HTTPClient]>([:])

    /// A client that reports a refused connection at once, and follows no redirect: the API key must not be sent to
    /// another server.
    private static func http(_ trust: ClientTrust) -> HTTPClient {
        clients.withLock { clients in
            if let client = clients[trust] { return client }
            var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
            configuration.timeout.connect = .seconds(connectSeconds)
            configuration.connectionPool.retryConnectionEstablishment = false
            configuration.tlsConfiguration = trust.configuration
            configuration.http1_1ConnectionDebugInitializer = { AnswerGuard.add(to: $0) }
            configuration.http2StreamChannelDebugInitializer = { AnswerGuard.add(toStream: $0) }
            let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
            clients[trust] = client
            return client
        }
    }

    enum Method: String {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    init(base: String, apiKey: String, trust: ClientTrust = ClientTrust(), isDryRun: Bool = false) {
        self.base = base.hasSuffix("/") ? String(base.dropLast()) : base
        self.apiKey = apiKey
        self.trust = trust
        self.isDryRun = isDryRun
    }

    /// Sends a request.
    /// - Returns: the JSON answer; an empty object for an empty answer.
    /// - Parameter isHarmless: whether it changes nothing, so that a dry run sends it too. Every GET is.
    /// - Throws: `refused` for a status other than 2xx, `unreachable` when there is no answer, `dryRun` for a request
    ///   that a dry run does not send.
    func send(
        _ method: Method, _ path: APIPath, body: JSON? = nil, idempotencyKey: String? = nil, isHarmless: Bool = false
    ) async throws(CommandFailure) -> JSON {
        try await send(
            method, path, body: body, idempotencyKey: idempotencyKey, isMissingFine: false, isHarmless: isHarmless)
            ?? .empty
    }

    /// Like `send`, but returns nil for 404 if `isMissingFine`.
    func send(
        _ method: Method, _ path: APIPath, body: JSON? = nil, idempotencyKey: String? = nil, isMissingFine: Bool,
        isHarmless: Bool = false
    ) async throws(CommandFailure) -> JSON? {
        guard path.isComplete else { throw .usage("an id or a name is empty") }
        guard !isDryRun || method == .get || isHarmless else {
            throw .dryRun(
                .compact([
                    ("method", .string(method.rawValue)), ("url", .string(base + path.text)),
                    ("body", body.map(Self.masked)),
                ]))
        }
        var request = request(path.text)
        request.method = HTTPMethod(rawValue: method.rawValue)
        if let idempotencyKey { request.headers.add(name: "idempotency-key", value: idempotencyKey) }
        if let body {
            request.headers.add(name: "content-type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: body.bytes))
        }
        let (head, bytes) = try await exchange(request)
        if isMissingFine, head.status == .notFound { return nil }
        guard (200..<300).contains(head.status.code) else { throw .refused(Self.refusal(head, bytes)) }
        for text in Self.warnings(head) { Surroundings.current.warn("warning: \(text)") }
        if bytes.isEmpty { return .empty }
        do {
            return try JSONParser.parse(bytes, isStored: true)
        } catch {
            throw .refused("the server's answer is not JSON: \(error)")
        }
    }

    /// The texts of the header `Warning` (RFC 7234 §5.5).
    private static func warnings(_ head: HTTPClientResponse) -> [String] {
        head.headers["warning"].flatMap { $0.matches(of: #/299 - "([^"]*)"/#).map { String($0.1) } }
    }

    private static let secretNames: Set = [
        "private_key", "client_secret", "passphrase", "password", "token", "user_token", "secret", "shared_secret",
        "api_key", "platform_secret",
    ]

    /// The document with its secrets hidden.
    private static func masked(_ json: JSON) -> JSON {
        switch json {
        case .array(let elements): .array(elements.map(masked))
        case .object(let members):
            .object(
                JSON.Members(
                    members.pairs.map { name, value in
                        (name, isSecret(name, value, beside: members) ? "…" : masked(value))
                    }))
        case .null, .bool, .number, .string: json
        }
    }

    /// Whether a member is a secret: by its name, by the members next to it, or as a PEM file that includes the key.
    private static func isSecret(_ name: String, _ value: JSON, beside members: JSON.Members) -> Bool {
        guard let text = value.stringValue else { return false }
        let isHeader = name == "value" && members["type"] == "header"
        let isArchive = name == "data" && members["kind"] == "p12"
        return isHeader || isArchive || secretNames.contains(name) || text.contains("PRIVATE KEY-----")
    }

    /// Gets a path outside the API, such as `/readyz`. Returns the JSON answer whatever its status, or null.
    /// - Throws: `unreachable` when there is no answer.
    func look(at path: String) async throws(CommandFailure) -> (status: Int, document: JSON) {
        let (head, bytes) = try await exchange(request(path))
        return (Int(head.status.code), (try? JSONParser.parse(bytes)) ?? .null)
    }

    /// Reads the pages of a list until there are `limit` items; without one, says that there are more than the default.
    /// - Returns: `{"items": […], "next_cursor": …}` with all of them, and with `"incomplete": true` if a page had it.
    func list(_ path: APIPath, limit given: Int?) async throws(CommandFailure) -> JSON {
        let limit = given ?? ListOptions.limitDefault
        var items: [JSON] = []
        var isComplete = true
        var cursor: String?
        repeat {
            let size = min(limit - items.count, Limits.listItemsMax)
            let page = try await send(.get, path.adding("limit", String(size)).adding("cursor", cursor))
            items += page["items"]?.arrayValue ?? []
            if page["incomplete"] == true { isComplete = false }
            let next = page["next_cursor"]?.stringValue
            // If a server repeated a cursor, the list would never end.
            cursor = next == cursor ? nil : next
        } while cursor != nil && items.count < limit
        if !isComplete { Surroundings.current.warn(CommandFailure.incompleteList.description) }
        if given == nil, cursor != nil {
            Surroundings.current.warn("only the first \(items.count) are listed; --limit N lists more")
        }
        return .compact([
            ("items", .array(items)), ("next_cursor", cursor.map(JSON.string) ?? .null),
            ("incomplete", isComplete ? nil : true),
        ])
    }

    private func exchange(
        _ request: HTTPClientRequest
    ) async throws(CommandFailure) -> (HTTPClientResponse, [UInt8]) {
        try await Self.exchange(request, base: base, trust: trust)
    }

    /// Gets an answer in pieces, until `take` returns false or the answer ends.
    /// - Throws: `refused` for a status other than 2xx, `unreachable` when the connection fails.
    func stream(
        _ path: APIPath, accept: String, timeout: TimeAmount, take: (ByteBufferView) -> Bool
    ) async throws(CommandFailure) {
        var hasBegun = false
        do {
            let response = try await Self.http(trust).execute(request(path.text, accept: accept), timeout: timeout)
            guard (200..<300).contains(response.status.code) else {
                let body = try await response.body.collect(upTo: Self.answerBytesMax)
                throw CommandFailure.refused(Self.refusal(response, Array(body.readableBytesView)))
            }
            hasBegun = true
            for try await piece in response.body where !take(piece.readableBytesView) { return }
        } catch let failure as CommandFailure {
            throw failure
        } catch let error as HTTPClientError where hasBegun && error == .remoteConnectionClosed {
            throw .unreachable("\(base) closed the connection before the end of its answer")
        } catch {
            throw .unreachable("cannot reach \(base): \(ConnectionFailureText.text(error))")
        }
    }

    /// Gets a document of JSON lines and passes on each line.
    /// - Throws: `refused` for a status other than 2xx, `unreachable` when the answer breaks off.
    func lines(_ path: APIPath, _ body: (String) -> Void) async throws(CommandFailure) {
        var rest: [UInt8] = []
        try await stream(path, accept: "application/x-ndjson", timeout: .hours(1)) { piece in
            rest += piece
            while let end = rest.firstIndex(of: 0x0A) {
                body(String(decoding: rest[..<end], as: UTF8.self))
                rest.removeSubrange(...end)
            }
            return true
        }
    }

    /// Opens a stream of server-sent events and passes each to `take`, until it returns false or the stream ends.
    /// - Throws: `refused` for a status other than 2xx, `unreachable` when the connection fails.
    func events(
        _ path: APIPath, take: (_ name: String, _ data: JSON) -> Bool
    ) async throws(CommandFailure) {
        var reader = EventReader()
        try await stream(path, accept: "text/event-stream", timeout: .hours(24)) { piece in
            reader.events(in: piece).allSatisfy { take($0.name, $0.data) }
        }
    }

    private func request(_ target: String, accept: String = "application/json") -> HTTPClientRequest {
        var request = HTTPClientRequest(url: base + target)
        if !apiKey.isEmpty { request.headers.add(name: "authorization", value: "Bearer \(apiKey)") }
        request.headers.add(name: "accept", value: accept)
        return request
    }

    /// One request to any server.
    /// - Parameters:
    ///   - base: the server's URL, for error messages.
    /// - Throws: `unreachable` when there is no answer, `usage` when the URL is invalid.
    static func exchange(
        _ request: HTTPClientRequest, base: String, trust: ClientTrust = ClientTrust()
    ) async throws(CommandFailure) -> (HTTPClientResponse, [UInt8]) {
        do {
            let response = try await http(trust).execute(request, timeout: .seconds(timeoutSeconds))
            let body = try await response.body.collect(upTo: answerBytesMax)
            return (response, Array(body.readableBytesView))
        } catch let error as HTTPClientError where error == .invalidURL || error == .emptyHost {
            throw .usage("\(base) is not a valid server URL")
        } catch {
            throw .unreachable("cannot reach \(base): \(ConnectionFailureText.text(error))")
        }
    }

    /// `message (code, field)`, or the status if the answer is not an error of the API.
    static func refusal(_ head: HTTPClientResponse, _ bytes: [UInt8]) -> String {
        guard let text = (try? JSONParser.parse(bytes))?["error"].flatMap(Self.text) else {
            return "the server answered \(head.status.code) \(head.status.reasonPhrase)"
        }
        let wait = head.headers.first(name: "retry-after").map { "; retry in \($0) s" } ?? ""
        return text + wait
    }

    /// `message (code, field)`; nil if it is not an error of the API.
    static func text(_ error: JSON) -> String? {
        guard let message = error["message"]?.stringValue else { return nil }
        let names = [error["code"]?.stringValue, error["field"]?.stringValue].compactMap { $0 }
        return message + (names.isEmpty ? "" : " (\(names.joined(separator: ", ")))")
    }
}

/// Cuts a stream into server-sent events (HTML §9.2).
struct EventReader {
    private var rest: [UInt8] = []

    /// The events that `bytes` complete. Comments and events without JSON are left out.
    mutating func events(in bytes: some Sequence<UInt8>) -> [(name: String, data: JSON)] {
        rest += bytes
        var events: [(name: String, data: JSON)] = []
        while let end = Self.end(rest) {
            if let event = Self.event(String(decoding: rest[..<end], as: UTF8.self)) { events.append(event) }
            rest.removeFirst(end + 2)
        }
        return events
    }

    /// The index at which a blank line begins.
    private static func end(_ bytes: [UInt8]) -> Int? {
        bytes.indices.dropLast().first { bytes[$0] == 0x0A && bytes[$0 + 1] == 0x0A }
    }

    private static func event(_ text: String) -> (name: String, data: JSON)? {
        var (name, data) = ("message", "")
        for line in text.split(separator: "\n") {
            if line.hasPrefix("event: ") { name = String(line.dropFirst("event: ".count)) }
            if line.hasPrefix("data: ") { data += line.dropFirst("data: ".count) }
        }
        return (try? JSONParser.parse(data)).map { (name, $0) }
    }
}

/// A path of the native API with its query, made of unescaped strings.
struct APIPath: Equatable {
    private let segments: [String]
    private var query: [(name: String, value: String)] = []
    /// A verb after a colon, as in `messages:validate`. It is not escaped.
    private let verb: String

    init(_ segments: [String], verb: String = "") {
        self.segments = segments
        self.verb = verb
    }

    /// The server ignores empty segments: without this, a list would be requested instead of an object.
    var isComplete: Bool { !segments.contains("") }

    /// The same path with one more query item; nil adds nothing.
    func adding(_ name: String, _ value: String?) -> APIPath {
        guard let value else { return self }
        var path = self
        path.query.append((name, value))
        return path
    }

    var text: String {
        let path = "/peal/v1/" + segments.map(PercentCoding.encode).joined(separator: "/") + verb
        guard !query.isEmpty else { return path }
        return path + "?" + query.map { "\($0.name)=\(PercentCoding.encode($0.value))" }.joined(separator: "&")
    }

    static func == (left: APIPath, right: APIPath) -> Bool { left.text == right.text }
}

/// What a client trusts, and the certificate it presents. The files are in PEM and have been checked.
struct ClientTrust: Sendable, Hashable {
    /// Further trusted certificates; nil for the system's only.
    var caFile: String?
    /// The client's certificate, with the certificates of its issuers if needed.
    var certificateFile: String?
    var keyFile: String?

    /// nil for the default.
    fileprivate var configuration: TLSConfiguration? {
        guard self != ClientTrust() else { return nil }
        var tls = TLSConfiguration.makeClientConfiguration()
        if let caFile { tls.additionalTrustRoots = [.file(caFile)] }
        if let certificateFile, let keyFile {
            let chain = try? NIOSSLCertificate.fromPEMFile(certificateFile)
            tls.certificateChain = (chain ?? []).map { .certificate($0) }
            tls.privateKey = (try? NIOSSLPrivateKey(file: keyFile, format: .pem)).map { .privateKey($0) }
        }
        return tls
    }
}
