import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import PealAPI
import PealConsole
import PealCore
import PealExperiments
import PealStore
import PealTesting
import Synchronization
import Testing

/// The console without sockets over a real store, with two apps in it.
struct ConsoleFixture: Sendable {
    static let adminToken = "an-admin-token-of-more-than-32-characters"
    private static let deviceKeyRules = KeyRules(
        dialect: "device", defaultScopes: [.devices], secret: .base64URL(prefix: "peald_", byteCount: 32),
        hasSharedSecret: true)

    let store: any Store
    /// Changes the database as no verb does.
    let execute: @Sendable (String) async throws -> Void
    let clock: ManualTime
    let client: any TestClientProtocol
    let authenticator: FakeAuthenticator
    let keys: KeyVerbs
    let hasher: any KeyHasher
    let app: App
    let other: App
    let operations: StillOperations
    /// What a reload of the configuration changes.
    let hosts: HostRules
    let bodies: FakeBodies
    /// The header with which a request comes through a listener that does not serve admins.
    static let listenerForKeys = ["X-Listener": "keys"]

    struct Page: Sendable {
        let status: Int
        let headers: HTTPFields
        let text: String
        func header(_ name: String) -> String? { HTTPField.Name(name).flatMap { headers[$0] } }
        var location: String? { headers[.location] }
        /// The cookies that the browser would send back.
        var cookie: String? { headers[.setCookie].map { String($0.prefix { $0 != ";" }) } }
        /// The secret of the page's first form.
        var formSecret: String? {
            text.firstMatch(of: /name="csrf" value="([0-9a-f]+)"/).map { String($0.output.1) }
        }
    }

    static func open(
        isTLS: Bool = false, _ body: @escaping @Sendable (ConsoleFixture) async throws -> Void
    ) async throws {
        let file = try await StoreUnderTest.selected.open()
        let store: any Store = file.store
        let clock = ManualTime()
        let hasher = file.masterKey
        let rules = KeyRules(
            dialect: "native", defaultScopes: APIKey.Scope.usual, secret: .base64URL(prefix: "peal_", byteCount: 32))
        let adminTokenHash = hasher.hash(adminToken)
        let firstAdmin = FirstAdmin(hash: adminTokenHash, isConfigured: true, time: clock)
        let authenticator = FakeAuthenticator(store: store, hasher: hasher, adminTokenHash: adminTokenHash)
        let randomness = SeededRandomness()
        let operations = StillOperations()
        let bodies = FakeBodies()
        let hosts = HostRules(AddressRules(), WebhookRules())
        let verbs = Verbs(
            store: store, engine: SilentEngine(), providers: [:], channels: NoChannels(), time: clock,
            randomness: randomness, hasher: hasher, firstAdmin: firstAdmin, hosts: hosts,
            dialects: VerbDialects(loneSecrets: ["native"], namingPlatforms: ["native"]),
            deviceQuota: DeviceQuota(time: clock))
        let console = Console(
            ConsoleServices(
                verbs: verbs, experiments: ExperimentReports(store: store, time: clock),
                authenticator: authenticator, bodies: bodies, keyRules: rules, deviceKeyRules: deviceKeyRules,
                options: ConsoleOptions(webhookKinds: ["events"]), operations: operations,
                native: .shapes { hosts.addresses },
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
        let (app, other) = try await store.write(.control) { store in
            (
                try store.insertApp(
                    App(
                        id: AppID("00000000-0000-4000-8000-00000000000a")!, key: 0, name: "Cheese", createdAt: clock.now
                    )),
                try store.insertApp(
                    App(id: AppID("00000000-0000-4000-8000-00000000000b")!, key: 0, name: "Wine", createdAt: clock.now))
            )
        }
        try await Application(responder: ConsoleResponder(console: console, isTLS: isTLS)).test(.router) { client in
            try await body(
                ConsoleFixture(
                    store: store, execute: { try await file.execute($0) }, clock: clock, client: client,
                    authenticator: authenticator, keys: verbs.keys, hasher: hasher, app: app, other: other,
                    operations: operations, hosts: hosts, bodies: bodies))
        }
        withExtendedLifetime(file) {}
    }

    func get(_ path: String, cookie: String? = nil, headers: [String: String] = [:]) async throws -> Page {
        try await call(.get, path, form: nil, cookie: cookie, headers: headers)
    }

    func post(
        _ path: String, _ form: [String: String], cookie: String? = nil, headers: [String: String] = [:]
    ) async throws -> Page {
        let pairs = form.sorted { $0.key < $1.key }
        let text = pairs.map { "\(PercentCoding.encode($0.key))=\(PercentCoding.encode($0.value))" }.joined(
            separator: "&")
        return try await call(.post, path, form: text, cookie: cookie, headers: headers)
    }

    private func call(
        _ method: HTTPRequest.Method, _ path: String, form: String?, cookie: String?, headers: [String: String]
    ) async throws -> Page {
        var fields = HTTPFields()
        if form != nil { fields[.contentType] = "application/x-www-form-urlencoded" }
        if let cookie { fields[.cookie] = cookie }
        for (name, value) in headers { fields[HTTPField.Name(name)!] = value }
        let response = try await client.execute(
            uri: path, method: method, headers: fields, body: form.map { ByteBuffer(string: $0) })
        return Page(
            status: response.status.code, headers: response.headers, text: String(buffer: response.body))
    }

    /// A key of an app with these scopes.
    func key(_ scopes: Set<APIKey.Scope>, of app: App? = nil, expiresAt: Timestamp? = nil) async throws -> (
        id: KeyID, secret: String
    ) {
        var draft = KeyDraft(
            rules: KeyRules(
                dialect: "native", defaultScopes: scopes, secret: .base64URL(prefix: "peal_", byteCount: 32)))
        draft.expiresAt = expiresAt
        let reply = try await keys.create(
            draft, app: (app ?? self.app).key, VerbCall(actor: "test", now: clock.now)
        ) { made in
            Reply(
                status: 201,
                ["id": .string(made.stored.key.id.description), "secret": .string(made.secret)])
        }
        let json = try JSONParser.parse(reply.body)
        return (
            try #require(json["id"]?.stringValue.flatMap { KeyID($0) }), try #require(json["secret"]?.stringValue)
        )
    }

    /// Gives the app a key for Peal's SDK.
    func addDeviceKey() async throws {
        let draft = KeyDraft(rules: Self.deviceKeyRules)
        _ = try await keys.create(draft, app: app.key, VerbCall(actor: "test", now: clock.now)) { _ in
            Reply(status: 201, body: [])
        }
    }

    func head(_ path: String, cookie: String) async throws -> Page {
        try await call(.head, path, form: nil, cookie: cookie, headers: [:])
    }

    /// Signs in. Returns the cookie.
    func signIn(_ secret: String = adminToken) async throws -> String {
        let form = try await get("/console/sign-in")
        let reply = try await post(
            "/console/sign-in", ["key": secret, "csrf": try #require(form.formSecret)])
        try #require(reply.status == 303, "\(reply.text)")
        return try #require(reply.cookie)
    }

    /// Signs in with a key that has these scopes.
    func signIn(_ scopes: Set<APIKey.Scope>, of app: App? = nil) async throws -> String {
        try await signIn(try await key(scopes, of: app).secret)
    }

    /// The path of one of the app's pages.
    func page(_ path: String, of app: App? = nil) -> String { "/console/apps/\((app ?? self.app).id)/\(path)" }
}

private struct ConsoleResponder: HTTPResponder {
    typealias Context = BasicRequestContext
    let console: Console
    let isTLS: Bool

    func respond(to request: Request, context: BasicRequestContext) async throws -> Response {
        let isForKeys = request.headers[HTTPField.Name("X-Listener")!] != nil
        let listener = ConsoleListener(isTLS: isTLS, servesAdmins: !isForKeys)
        return try await console.respond(
            to: request, from: ConsoleClient(peer: nil, headers: request.headers, listener: listener))
    }
}

/// A budget whose room a test sets; counts what is held.
final class FakeBodies: ConsoleBodies {
    let bytesMax = Mutex(Int.max)
    let bytesHeld = Mutex(0)

    private final class Share: BodyShare {
        let bodies: FakeBodies
        let bytes = Mutex(0)

        init(_ bodies: FakeBodies) { self.bodies = bodies }

        func take(_ count: Int, isUnknown: Bool) throws(PealError) {
            let most = bodies.bytesMax.withLock { $0 }
            let hasRoom = bodies.bytesHeld.withLock { held in
                guard held + count <= most else { return false }
                held += count
                return true
            }
            guard hasRoom else { throw PealError(.unavailable, "too many", retryAfterSeconds: 1) }
            bytes.withLock { $0 += count }
        }

        func becomeKnown() {}

        func release() {
            let count = bytes.withLock { bytes in
                defer { bytes = 0 }
                return bytes
            }
            bodies.bytesHeld.withLock { $0 -= count }
        }
    }

    func share(of client: ConsoleClient, app: AppKey?) -> any BodyShare { Share(self) }
}

/// Knows the admin token and the keys of the store, and refuses all callers after the given number of failures.
final class FakeAuthenticator: SignInAuthenticator {
    private let store: any Store
    private let hasher: any KeyHasher
    private let adminTokenHash: [UInt8]
    let failuresLeft = Mutex(Int.max)

    init(store: any Store, hasher: any KeyHasher, adminTokenHash: [UInt8]) {
        self.store = store
        self.hasher = hasher
        self.adminTokenHash = adminTokenHash
    }

    func holder(of secret: String, from client: ConsoleClient, now: Timestamp) async throws -> Holder {
        guard failuresLeft.withLock({ $0 > 0 }) else {
            throw PealError(.rateLimited, "too often", retryAfterSeconds: 7)
        }
        let hash = hasher.hash(secret)
        if hash == adminTokenHash { return .firstAdmin }
        let name = KeyVerbs.publicHalf(ofHash: hash)
        if let found = try await store.read({ try $0.storedAdmin(publicHalf: name) }) {
            return .admin(found.admin, secretHash: found.secretHash)
        }
        guard let key = try await store.read({ try $0.storedKey("native", publicHalf: name) }) else {
            failuresLeft.withLock { $0 -= 1 }
            throw PealError(.unauthorized, "no such key")
        }
        return .key(key)
    }
}

final class StillOperations: ConsoleOperations {
    /// What was answered, such as `GET /console/ 200`.
    let answers = Mutex<[String]>([])

    func readiness() async -> [(subsystem: String, failure: String?)] { [("store", nil)] }
    func configurationLines() -> [ConfigurationLine] { [] }
    func storeBytes() -> Int64? { nil }
    func answered(_ method: HTTPRequest.Method, _ route: String, status: Int, after duration: Duration) {
        answers.withLock { $0.append("\(method.rawValue) \(route) \(status)") }
    }
}
