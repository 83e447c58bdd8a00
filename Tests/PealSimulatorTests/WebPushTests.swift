import Crypto
import Foundation
import Testing

@testable import PealSimulator

@Suite("The judge of Web Push")
struct WebPushTests {
    private let fixture: SimulatorFixture
    private let key = P256.Signing.PrivateKey()
    private let path: String

    init() throws {
        fixture = try SimulatorFixture()
        let subscription = JSONValue(
            bytes: Array(try fixture.webPush.subscriptions.make(applicationServerKey: nil).utf8))
        let endpoint = try #require(subscription?["endpoint"]?.string)
        path = String(endpoint.dropFirst("https://\(SimulatorFixture.host)".count))
    }

    private static let now = SigningAccount.now

    private func authorization(_ changes: [String: String?] = [:], algorithm: String = "ES256") throws -> String {
        var claims: [String: String] = [
            "aud": "\"https://\(SimulatorFixture.host)\"", "exp": "\(Self.now + 43_200)",
            "sub": "\"mailto:push@example.com\"",
        ]
        for (name, value) in changes { claims[name] = value }
        let text = JSONText.object(claims.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        let signed = try SimulatorFixture.jwt(header: #"{"typ":"JWT","alg":"\#(algorithm)"}"#, claims: text) {
            try key.signature(for: $0).rawRepresentation
        }
        return "vapid t=\(signed), k=\(URLSafeBase64.encode(key.publicKey.x963Representation))"
    }

    private func send(_ changes: [String: String?] = [:], body: [UInt8] = [], at path: String? = nil) throws
        -> HTTPAnswer
    {
        var headers: [String: String] = ["authorization": try authorization(), "ttl": "60"]
        for (name, value) in changes { headers[name] = value }
        return try fixture.answer(.webPush, SimulatorFixture.request(path ?? self.path, body: body, headers))
    }

    @Test("decrypts the example of RFC 8291")
    func example() throws {
        let key = try #require(URLSafeBase64.decode("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"))
        let body = """
            DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK\
            6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN
            """
        let subscription = BrowserSubscription(
            key: try P256.KeyAgreement.PrivateKey(rawRepresentation: key),
            secret: Array(try #require(URLSafeBase64.decode("BTBZMqHH6r4Tts7J_aSIgg"))), applicationServerKey: nil)
        let bytes = Array(try #require(URLSafeBase64.decode(body)))
        let plain = try #require(WebPushDecryption.open(bytes, for: subscription))
        #expect(String(decoding: plain, as: UTF8.self) == "When I grow up, I want to be a watermelon")
        for index in [0, 20, 30, 100, bytes.count - 1] {
            var broken = bytes
            broken[index] ^= 1
            #expect(WebPushDecryption.open(broken, for: subscription) == nil)
        }
        #expect(WebPushDecryption.open(Array(bytes.prefix(90)), for: subscription) == nil)
    }

    @Test("takes a message without a body, and says how long it is kept")
    func wakeUp() throws {
        let answer = try send(["ttl": "9999999", "urgency": "very-low", "topic": String(repeating: "a", count: 32)])
        #expect((answer.status, answer.header("ttl")) == (201, "2592000"))
        #expect(answer.header("location")?.hasPrefix("https://\(SimulatorFixture.host)/message/") == true)
        #expect(try fixture.items().first?["device"]?.string == "https://\(SimulatorFixture.host)\(path)")
    }

    @Test(
        "checks each header",
        arguments: [
            ("ttl", nil, 111), ("ttl", "soon", 112), ("ttl", "-1", 112), ("urgency", "urgent", 0),
            ("topic", "a b", 113), ("topic", "", 113), ("topic", String(repeating: "a", count: 33), 113),
        ] as [(String, String?, Int64)])
    func headers(name: String, value: String?, number: Int64) throws {
        let answer = try send([name: value])
        #expect((answer.status, answer.value?["errno"]?.integer) == (400, number))
    }

    @Test("requires an aes128gcm body of a valid size, encrypted for this subscription")
    func bodies() throws {
        let large = [UInt8](repeating: 0, count: 4_097)
        #expect(try send(["content-encoding": "aes128gcm"], body: large).status == 413)
        #expect(try send(body: [1]).value?["reason"]?.string == "BadContentEncoding")
        #expect(try send(["content-encoding": "aesgcm"], body: [1]).value?["errno"]?.integer == 110)
        #expect(try send(["content-encoding": "aes128gcm"], body: Array(large.prefix(4_096))).status == 400)
    }

    @Test(
        "checks the claims of VAPID",
        arguments: [
            ("aud", "\"https://example.com\""), ("aud", nil), ("exp", "\(now)"), ("exp", "\(now + 86_401)"),
            ("exp", "\"\(now + 60)\""), ("sub", nil), ("sub", "\"push@example.com\""), ("sub", "\"mailto:\""),
            ("sub", "\"mailto: push@example.com\""), ("sub", "\"mailto:push@localhost\""),
            ("sub", "\"https://localhost/\""), ("sub", "\"http://example.com\""),
        ] as [(String, String?)])
    func claims(name: String, value: String?) throws {
        let answer = try send(["authorization": try authorization([name: value])])
        #expect((answer.status, answer.value?["reason"]?.string) == (403, "BadJwtToken"))
    }

    @Test(
        "takes a contact of either kind, and a token that lives a day",
        arguments: ["mailto:a@b.org", "https://b.org/x"])
    func contacts(contact: String) throws {
        let changes: [String: String?] = ["sub": "\"\(contact)\"", "exp": "\(Self.now + 86_400)"]
        #expect(try send(["authorization": try authorization(changes)]).status == 201)
    }

    @Test("refuses another algorithm, another signature and another scheme")
    func forgeries() throws {
        #expect(try send(["authorization": try authorization(algorithm: "none")]).status == 403)
        let stranger = URLSafeBase64.encode(P256.Signing.PrivateKey().publicKey.x963Representation)
        let halves = try authorization().split(separator: "k=")
        #expect(try send(["authorization": halves[0] + "k=" + stranger]).status == 403)
        #expect(try send(["authorization": "WebPush abc"]).status == 401)
    }

    @Test("requires the key that a subscription was created with")
    func ownKey() throws {
        let own = URLSafeBase64.encode(key.publicKey.x963Representation)
        let other = URLSafeBase64.encode(P256.Signing.PrivateKey().publicKey.x963Representation)
        for (key, status) in [(own, 201), (other, 403)] {
            let made = try fixture.webPush.subscriptions.make(applicationServerKey: key)
            let endpoint = try #require(JSONValue(bytes: Array(made.utf8))?["endpoint"]?.string)
            let path = String(endpoint.dropFirst("https://\(SimulatorFixture.host)".count))
            #expect(try send(at: path).status == status)
            #expect(try send(["authorization": nil], at: path).status == 401)
        }
    }

    @Test("distinguishes expired endpoints from those that never existed")
    func endpoints() throws {
        #expect(try send(at: "/push/nobody").status == 404)
        #expect(fixture.webPush.subscriptions.unsubscribe("https://\(SimulatorFixture.host)\(path)"))
        #expect(try send().status == 410)
        #expect(!fixture.webPush.subscriptions.unsubscribe("https://\(SimulatorFixture.host)\(path)"))
    }
}
