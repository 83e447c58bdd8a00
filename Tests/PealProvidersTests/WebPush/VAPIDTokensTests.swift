import Crypto
import PealCore
import Testing

@testable import PealProviders

@Suite("VAPID tokens")
struct VAPIDTokensTests {
    private static let origin = "https://updates.push.services.mozilla.com"
    private let time = ManualTime()

    @Test("are ES256 JWTs for the push service's origin that anyone can verify")
    func format() throws {
        let key = try testVAPIDKey("https://example.com/contact")
        let value = try #require(VAPIDTokens(time: time).authorization(for: key, at: Self.origin))
        let match = try #require(value.wholeMatch(of: #/vapid t=([\w-]+)\.([\w-]+)\.([\w-]+),k=([\w-]{87})/#))
        let (head, body, signature, publicKey) = (match.1, match.2, match.3, match.4)
        #expect(
            try JSONParser.parse(try #require(Base64URL.decode(head))) == ["typ": "JWT", "alg": "ES256"])
        let claims: JSON = [
            "aud": .string(Self.origin), "exp": .integer(1_800_000_000 + 12 * 3600),
            "sub": "https://example.com/contact",
        ]
        #expect(try JSONParser.parse(try #require(Base64URL.decode(body))) == claims)
        #expect(String(publicKey) == key.publicKey)
        let verifying = try P256.Signing.PublicKey(x963Representation: try #require(Base64URL.decode(publicKey)))
        let proof = try P256.Signing.ECDSASignature(rawRepresentation: try #require(Base64URL.decode(signature)))
        #expect(verifying.isValidSignature(proof, for: Array("\(head).\(body)".utf8)))
    }

    @Test("are the same for each key and origin, and replaced at half of their lifetime")
    func cache() throws {
        let tokens = VAPIDTokens(time: time)
        let (key, other) = (try testVAPIDKey(), try testVAPIDKey("mailto:push@example.com", 2))
        let first = tokens.authorization(for: key, at: Self.origin)
        #expect(tokens.authorization(for: other, at: Self.origin) != first)
        #expect(tokens.authorization(for: key, at: "https://fcm.googleapis.com") != first)
        #expect(tokens.count == 3)
        time.advance(.seconds(6 * 3600 - 1))
        #expect(tokens.authorization(for: key, at: Self.origin) == first)
        time.advance(.seconds(1))
        #expect(tokens.authorization(for: key, at: Self.origin) != first)
        #expect(tokens.count == 3)
    }

    @Test("are signed again after the wall clock jumped by half a life", arguments: [6 * 3600, 400_000, -6 * 3600 - 1])
    func jump(seconds: Int64) throws {
        let tokens = VAPIDTokens(time: time)
        let key = try testVAPIDKey()
        let first = tokens.authorization(for: key, at: Self.origin)
        time.jump(.seconds(seconds.signum() * 5 * 3600))
        #expect(tokens.authorization(for: key, at: Self.origin) == first)
        time.jump(.seconds(seconds - seconds.signum() * 5 * 3600))
        #expect(tokens.authorization(for: key, at: Self.origin) != first)
    }

    @Test("are replaced once, however many requests are refused")
    func replaced() throws {
        let tokens = VAPIDTokens(time: time)
        let key = try testVAPIDKey()
        let first = try #require(tokens.authorization(for: key, at: Self.origin))
        #expect(tokens.refused(first, of: key, at: Self.origin) == .refreshCredential)
        let second = tokens.authorization(for: key, at: Self.origin)
        #expect(second != first)
        #expect(tokens.refused(first, of: key, at: Self.origin) == .refreshCredential)
        #expect(tokens.authorization(for: key, at: Self.origin) == second)
    }

    @Test("that are refused although they are new show what is at fault by what is accepted")
    func refused() throws {
        let tokens = VAPIDTokens(time: time)
        let (key, other) = (try testVAPIDKey(), "https://fcm.googleapis.com")
        func token(at origin: String) throws -> String { try #require(tokens.authorization(for: key, at: origin)) }
        func refuse() throws -> Verdict {
            tokens.refused(try token(at: Self.origin), of: key, at: Self.origin)
        }
        let first = try token(at: Self.origin)
        #expect(try refuse() == .refreshCredential)
        #expect(try refuse() == .stopApp)
        time.advance(.seconds(1))
        tokens.accepted(try token(at: other), of: key, at: other)
        #expect(try refuse() == .holdAddress(after: .seconds(600)))
        // A request that began before the refusal.
        tokens.accepted(first, of: key, at: Self.origin)
        #expect(try refuse() == .rejectMessage)
        // An acceptance of the past does not show that the push service accepts anything now.
        time.advance(.seconds(10))
        #expect(try refuse() == .holdAddress(after: .seconds(600)))
        time.advance(.seconds(60))
        #expect(try refuse() == .refreshCredential)
        #expect(try refuse() == .holdAddress(after: .seconds(600)))
        time.advance(.seconds(1))
        tokens.accepted(try token(at: Self.origin), of: key, at: Self.origin)
        #expect(try refuse() == .rejectMessage)
    }

    @Test("show for six hours that a key was accepted, however often they are signed again")
    func acceptance() throws {
        let tokens = VAPIDTokens(time: time)
        let key = try testVAPIDKey()
        func token() throws -> String { try #require(tokens.authorization(for: key, at: Self.origin)) }
        func refuse() throws -> Verdict { tokens.refused(try token(), of: key, at: Self.origin) }
        _ = try token()
        time.advance(.seconds(5 * 3600))
        tokens.accepted(try token(), of: key, at: Self.origin)
        time.advance(.seconds(2 * 3600))
        #expect(try refuse() == .refreshCredential)
        #expect(try refuse() == .holdAddress(after: .seconds(600)))
        time.advance(.seconds(4 * 3600))
        #expect(try refuse() == .refreshCredential)
        #expect(try refuse() == .stopApp)
    }

    @Test("are kept up to a number, the older half going first")
    func bound() throws {
        let tokens = VAPIDTokens(time: time, countMax: 10)
        let key = try testVAPIDKey()
        var newest: String?
        for number in 0..<35 {
            newest = tokens.authorization(for: key, at: "https://p\(number).example.net")
            #expect(tokens.count <= 10)
            time.advance(.seconds(1))
        }
        #expect(tokens.authorization(for: key, at: "https://p34.example.net") == newest)
        time.advance(.seconds(6 * 3600))
        while tokens.count < 10 { _ = tokens.authorization(for: key, at: "https://q\(tokens.count).example.net") }
        _ = tokens.authorization(for: key, at: "https://new.example.net")
        #expect(tokens.count < 11)
    }

    @Test("of many hosts that accept none do not displace what shows that a key works")
    func manyHosts() throws {
        let tokens = VAPIDTokens(time: time, countMax: 10)
        let key = try testVAPIDKey()
        func token() throws -> String { try #require(tokens.authorization(for: key, at: Self.origin)) }
        tokens.accepted(try token(), of: key, at: Self.origin)
        for number in 0..<35 {
            time.advance(.seconds(1))
            _ = tokens.authorization(for: key, at: "https://p\(number).example.net")
        }
        #expect(tokens.refused(try token(), of: key, at: Self.origin) == .refreshCredential)
        #expect(tokens.refused(try token(), of: key, at: Self.origin) == .holdAddress(after: .seconds(600)))
    }

    @Test("are not created with an invalid key", arguments: ["", "AAAA", "no base64!"])
    func badKey(text: String) throws {
        var key = try testVAPIDKey()
        key.privateKey = text
        #expect(VAPIDTokens(time: time).authorization(for: key, at: Self.origin) == nil)
    }
}
