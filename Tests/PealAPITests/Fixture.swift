import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import PealAPI
import PealCore
import PealTesting
import Testing

/// A server without sockets over a real store, with an app and a key of each kind in it.
struct Fixture: Sendable {
    static let adminToken = "an-admin-token-of-more-than-32-characters"

    let services: APIServices
    let store: any Store
    let clock: ManualTime
    let engine: RecordingEngine
    let provider: FakeProvider
    let client: any TestClientProtocol
    let app: AppID

    /// `/peal/v1/apps/{app}`.
    var path: String { "/peal/v1/apps/\(app)" }

    /// The response.
    struct Reply: Sendable {
        let status: Int
        let headers: HTTPFields
        let text: String
        var json: JSON { (try? JSONParser.parse(text)) ?? .null }
        var code: String? { json["error"]?["code"]?.stringValue }
        var field: String? { json["error"]?["field"]?.stringValue }
        subscript(_ path: String) -> JSON? {
            path.split(separator: ".").reduce(json as JSON?) { json, name in
                Int(name).map { index in json?.arrayValue.flatMap { index < $0.count ? $0[index] : nil } }
                    ?? json?[String(name)]
            }
        }
        func header(_ name: String) -> String? { HTTPField.Name(name).flatMap { headers[$0] } }
    }

    /// Runs `body` against a fresh server; `.live` gives it a socket.
    static func open(
        options: APIOptions = APIOptions(), operations: FakeOperations = FakeOperations(),
        failures: AuthenticationFailures? = nil,
        wrapping wrap: (any Store) -> any Store = { $0 }, over setup: TestingSetup = .router,
        _ body: @escaping @Sendable (Fixture) async throws -> Void
    ) async throws {
        let file = try await StoreUnderTest.selected.open(composers: reportComposers)
        let store = wrap(file.store)
        let (clock, engine) = (ManualTime(), RecordingEngine())
        let networks = Dictionary(uniqueKeysWithValues: ProviderName.allCases.map { ($0, FakeProvider($0)) })
        let provider = try #require(networks[.apns])
        let verbs = Verbs(
            store: store, engine: engine, providers: networks, channels: FakeChannels(), time: clock,
            randomness: SeededRandomness(), hasher: FakeHasher(),
            firstAdmin: FirstAdmin(hash: FakeHasher().hash(adminToken), isConfigured: true, time: clock),
            hosts: HostRules(AddressRules(), WebhookRules(allowedHosts: ["localhost", "10.0.0.1:8443"])),
            dialects: .served, deviceQuota: DeviceQuota(options, time: clock))
        let services = APIServices(
            verbs, options: options, operations: operations, failures: failures,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let id = AppID("00000000-0000-4000-8000-00000000000a")!
        let app = App(id: id, key: 0, name: "Cheese", bundleID: "com.example.cheese", createdAt: clock.now)
        _ = try await store.write(.control) { try $0.insertApp(app) }
        try await Application(router: buildRouter(services)).test(setup) { client in
            try await body(
                Fixture(
                    services: services, store: store, clock: clock, engine: engine, provider: provider,
                    client: client, app: id))
        }
        withExtendedLifetime(file) {}
    }

    func call(
        _ method: HTTPRequest.Method, _ path: String, body: String? = nil, authorization: String?,
        headers: [String: String] = [:]
    ) async throws -> Reply {
        var fields = HTTPFields()
        if let authorization { fields[.authorization] = authorization }
        if body != nil { fields[.contentType] = "application/json" }
        for (name, value) in headers { fields[HTTPField.Name(name)!] = value.isEmpty ? nil : value }
        let response = try await client.execute(
            uri: path, method: method, headers: fields, body: body.map { ByteBuffer(string: $0) })
        return Reply(
            status: response.status.code, headers: response.headers, text: String(buffer: response.body))
    }

    /// Sends with the admin token; a path that begins with `…` is below the app.
    func admin(
        _ method: HTTPRequest.Method, _ path: String, _ body: JSON? = nil, headers: [String: String] = [:]
    ) async throws -> Reply {
        try await call(
            method, path.replacing("…", with: self.path), body: body?.text,
            authorization: "Bearer \(Self.adminToken)", headers: headers)
    }

    func adminText(_ method: HTTPRequest.Method, _ path: String, _ body: String) async throws -> Reply {
        try await call(
            method, path.replacing("…", with: self.path), body: body, authorization: "Bearer \(Self.adminToken)")
    }

    /// Creates a key of the app; the answer contains its values.
    func key(_ dialect: String, _ more: [(String, JSON)] = []) async throws -> Reply {
        let reply = try await admin(
            .post, "…/keys", .object(JSON.Members([("dialect", .string(dialect))] + more)))
        try #require(reply.status == 201, "\(reply.text)")
        return reply
    }

    /// The number of stored objects of each kind.
    func census() async throws -> [String: Int] {
        let id = app
        return try await store.read { store in
            guard let key = try store.app(id)?.key else { return [:] }
            return [
                "devices": try store.devices(app: key, DeviceFilter(), after: 0, limit: 100).count,
                "messages": try store.messages(app: key, MessageFilter(), before: nil, limit: 100).count,
                "keys": try store.keys(app: key).count,
                "credentials": try store.credentialRecords(app: key).count,
                "topics": try store.topics(app: key, after: nil, limit: 100, now: .init(milliseconds: 0)).count,
                "apps": try store.apps(after: nil, limit: 100).count,
            ]
        }
    }

    /// The message as it was stored.
    func draft(_ id: MessageID) async throws -> MessageDraft? {
        let app = app
        return try await store.read { store in
            try store.app(app).flatMap { try store.draft(app: $0.key, id: id) }
        }
    }

    static let deviceToken = String(repeating: "ab", count: 32)

    func basic(_ name: String, _ secret: String, spaces: String = " ") -> String {
        "Basic\(spaces)\(Self.base64("\(name):\(secret)"))"
    }

    static func base64(_ text: String) -> String {
        let plain = Base64URL.encode(Array(text.utf8)).replacing("-", with: "+").replacing("_", with: "/")
        return plain + String(repeating: "=", count: (4 - plain.count % 4) % 4)
    }
}
