import Crypto
import CryptoExtras
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import NIOPosix
import PealAPI
import PealCore
import PealDelivery
import PealProviders
import PealTesting
import Synchronization
import Testing

/// The API, the store and the delivery engine of one server, with every network's real rendering but without
/// connections to the networks. The clock moves only when a test moves it. The app has a credential for each network,
/// and each platform has a user with the platform's name and two devices, one in German and one in French.
struct PreviewFixture: Sendable {
    struct TooSlow: Error {}

    static let platforms = ["ios", "android", "windows", "windows_phone", "web"]
    private static let adminToken = "an-admin-token-of-more-than-32-characters"

    let time: ManualTime
    let randomness: ReplayedRandomness
    let networks: [ProviderName: RecordedNetwork]
    private let engine: DeliveryService
    private let client: any TestClientProtocol
    private let path: String

    /// Runs `body` against a fresh server.
    static func open(
        lifeSeconds: Int64, _ body: @escaping @Sendable (PreviewFixture) async throws -> Void
    ) async throws {
        let file = try await StoreUnderTest.selected.open()
        let app = try await file.makeApp()
        let (time, randomness) = (ManualTime(), ReplayedRandomness())
        let apns = try RealNetworks.apns(time)
        let networks = try RealNetworks.all(apns, time).mapValues(RecordedNetwork.init)
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let engine = DeliveryService(
            store: file.store, providers: networks, time: time, randomness: SeededRandomness(seed: 7), logger: quiet)
        let verbs = Verbs(
            store: file.store, engine: engine, providers: networks, channels: apns.channels, time: time,
            randomness: randomness, hasher: PlainHasher(),
            firstAdmin: FirstAdmin(hash: PlainHasher().hash(adminToken), isConfigured: true, time: time),
            hosts: HostRules(AddressRules(), WebhookRules()), dialects: .served, deviceQuota: DeviceQuota(time: time))
        let services = APIServices(
            verbs, options: APIOptions { $0.messageLifeSeconds = lifeSeconds }, operations: NoOperations(),
            logger: quiet)
        try await Application(router: buildRouter(services)).test(.router) { client in
            let fixture = PreviewFixture(
                time: time, randomness: randomness, networks: networks, engine: engine, client: client,
                path: "/peal/v1/apps/\(app.id)")
            try await fixture.prepare()
            let run = Task { await engine.run() }
            let result: Result<Void, any Error>
            do {
                result = .success(try await body(fixture))
            } catch {
                result = .failure(error)
            }
            run.cancel()
            await run.value
            try result.get()
        }
        withExtendedLifetime(file) {}
    }

    private func prepare() async throws {
        for (path, body) in TestCredentials.all { _ = try await call(.put, "credentials/\(path)", body, expect: 200) }
        for platform in Self.platforms {
            for locale in ["de-AT", "fr"] {
                let device: JSON = [
                    "platform": .string(platform), "address": TestCredentials.address(platform, locale),
                    "user_id": .string(platform), "locale": .string(locale),
                ]
                _ = try await call(.post, "devices", device, expect: 201)
            }
        }
    }

    @discardableResult
    func call(
        _ method: HTTPRequest.Method, _ path: String, _ body: JSON? = nil, expect status: Int
    ) async throws -> JSON {
        var fields = HTTPFields()
        fields[.authorization] = "Bearer \(Self.adminToken)"
        fields[.contentType] = "application/json"
        let response = try await client.execute(
            uri: "\(self.path)/\(path)", method: method, headers: fields, body: body.map { ByteBuffer(string: $0.text) }
        )
        let text = String(buffer: response.body)
        try #require(response.status.code == status, "\(method) \(path): \(text)")
        return try JSONParser.parse(text)
    }

    /// What `messages:validate` shows for the message, and the id that the next message gets.
    /// - Parameter arm: only the requests for this arm of an A/B test; nil for all requests.
    func previewed(_ message: JSON, arm: String? = nil) async throws -> Set<ShownRequest> {
        randomness.mark()
        let shown = try await call(.post, "messages:validate", message, expect: 200)
        randomness.rewind()
        try #require(shown["valid"] == true, "\(shown.text)")
        let requests = (shown["requests"]?.arrayValue ?? []).filter { arm == nil || $0["arm"]?.stringValue == arm }
        return Set(try requests.map(ShownRequest.init))
    }

    /// Sends the message, moves the clock by `wait`, and waits for the end.
    /// - Returns: The requests that the networks received.
    func sent(_ message: JSON, after wait: Duration = .zero) async throws -> Set<ShownRequest> {
        let accepted = try await call(.post, "messages", message, expect: 202)
        let id = try #require(accepted["id"]?.stringValue)
        if wait > .zero { time.advance(by: wait) }
        for poll in 1...45_000 {
            // A service may have gone to sleep while the clock moved. Moving it again would shorten lifetimes.
            if poll.isMultiple(of: 100) { engine.wake() }
            if try await call(.get, "messages/\(id)", expect: 200)["state"] == "sent" {
                return Set(networks.values.flatMap(\.requests))
            }
            // The engine runs in other tasks and stores on another thread, so this can only wait in real time.
            try await Task.sleep(for: .milliseconds(2))
        }
        throw TooSlow()
    }
}

/// Random numbers that can be replayed, so that a message gets the id that its preview had.
final class ReplayedRandomness: Randomness {
    private struct State {
        var numbers = SeededRandomness()
        var sinceMark: [UInt64] = []
        var replayed: [UInt64] = []
    }

    private let state = Mutex(State())

    func mark() { state.withLock { $0.sinceMark = [] } }
    func rewind() { state.withLock { $0.replayed = $0.sinceMark } }

    func next() -> UInt64 {
        state.withLock { state in
            let number = state.replayed.isEmpty ? state.numbers.next() : state.replayed.removeFirst()
            state.sinceMark.append(number)
            return number
        }
    }
}

enum RealNetworks {
    private static func surroundings(_ time: ManualTime, _ randomness: SeededRandomness) -> ProviderSurroundings {
        ProviderSurroundings(
            group: MultiThreadedEventLoopGroup.singleton, time: time, randomness: randomness,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    static func apns(_ time: ManualTime) throws -> APNsProvider {
        try APNsProvider(APNsConfiguration(), surroundings(time, SeededRandomness()))
    }

    static func all(_ apns: APNsProvider, _ time: ManualTime) throws -> [ProviderName: any Provider] {
        let (rules, surroundings) = (AddressRules(), Self.surroundings(time, SeededRandomness(seed: 3)))
        return [
            .apns: apns,
            .fcm: try FCMProvider(FCMConfiguration(), surroundings),
            .wns: try WNSProvider(WNSConfiguration(addressRules: rules), surroundings),
            .mpns: MPNSProvider(MPNSConfiguration(addressRules: rules), surroundings),
            .webpush: try WebPushProvider(WebPushConfiguration(addressRules: rules), surroundings),
        ]
    }
}

/// Credentials and addresses in the form that the networks check.
enum TestCredentials {
    // Without a key, the credential is refused.
    private static let serviceKey = (try? _RSA.Signing.PrivateKey(keySize: .bits2048).pemRepresentation) ?? ""
    private static let signingKey = P256.Signing.PrivateKey().pemRepresentation
    private static let browserKey = P256.KeyAgreement.PrivateKey().publicKey.x963Representation

    static let all: [(path: String, body: JSON)] = [
        (
            "apns/production",
            [
                "kind": "token", "key_id": "ABCDE12345", "team_id": "TEAM123456", "bundle_id": "org.example.cheese",
                "private_key": .string(signingKey),
            ]
        ),
        (
            "fcm",
            [
                "service_account": [
                    "type": "service_account", "project_id": "cheese-1", "private_key_id": "k1",
                    "private_key": .string(serviceKey), "client_email": "push@cheese-1.iam.gserviceaccount.com",
                    "token_uri": "https://oauth2.googleapis.com/token",
                ]
            ]
        ),
        ("wns", ["package_sid": "ms-app://S-1-15-2-1", "client_secret": "secret"]),
        ("mpns", [:]),
        ("webpush", ["subject": "mailto:a@example.com"]),
    ]

    static func address(_ platform: String, _ name: String) -> JSON {
        switch platform {
        case "ios": .string(String(repeating: name == "fr" ? "ab" : "cd", count: 32))
        case "android": .string("fcm:token-\(name)")
        case "windows": .string("https://db5.notify.windows.com/?token=\(name)")
        case "windows_phone": .string("https://sn1.notify.live.net/u/\(name)")
        default:
            [
                "endpoint": .string("https://fcm.googleapis.com/fcm/send/\(name)"),
                "keys": [
                    "p256dh": .string(Base64URL.encode(Array(browserKey))),
                    "auth": .string(Base64URL.encode(Array(repeating: 1, count: 16))),
                ],
            ]
        }
    }
}

private struct PlainHasher: KeyHasher {
    func hash(_ secret: String) -> [UInt8] { Array(SHA256.hash(data: Array(secret.utf8))) }
}

private struct NoOperations: Operations {
    func readiness() async -> [(subsystem: String, failure: String?)] { [] }
    func stoppedApps() async -> Int { 0 }
    func stoppedCredentials() async -> [(app: AppID, record: CredentialRecord)] { [] }
    func metrics() async -> String { "" }
}
