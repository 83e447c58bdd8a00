import CryptoExtras
import Foundation
import Testing

@testable import PealSimulator

@Suite("The token endpoints")
struct AuthorizationTests {
    private let fixture: SimulatorFixture
    private let key: _RSA.Signing.PrivateKey

    init() throws {
        fixture = try SimulatorFixture()
        let account = fixture.fcm.account.json(tokenURL: "https://\(SimulatorFixture.host)/token")
        let file = try #require(JSONValue(bytes: Array(account.utf8)))
        key = try _RSA.Signing.PrivateKey(pemRepresentation: try #require(file["private_key"]?.string))
    }

    private static let now = SigningAccount.now
    private static let form = ["content-type": "application/x-www-form-urlencoded"]

    /// Asks Google for an access token; `changes` replace claims by JSON, or take them away.
    private func ask(
        _ changes: [String: String?] = [:], algorithm: String = "RS256",
        grant: String = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer", signer: _RSA.Signing.PrivateKey? = nil
    ) throws -> HTTPAnswer {
        var claims: [String: String] = [
            "iss": "\"\(fixture.fcm.account.clientEmail)\"", "aud": "\"https://\(SimulatorFixture.host)/token\"",
            "scope": "\"https://www.googleapis.com/auth/firebase.messaging\"", "iat": "\(Self.now)",
            "exp": "\(Self.now + 3_600)",
        ]
        for (name, value) in changes { claims[name] = value }
        let header = #"{"alg":"\#(algorithm)","typ":"JWT","kid":"\#(fixture.fcm.account.keyID)"}"#
        let text = JSONText.object(claims.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        let assertion = try SimulatorFixture.jwt(header: header, claims: text) {
            try (signer ?? key).signature(for: $0, padding: .insecurePKCS1v1_5).rawRepresentation
        }
        let body = "grant_type=\(grant)&assertion=\(assertion)"
        return try fixture.answer(.fcm, SimulatorFixture.request("/token", body: body.utf8, Self.form))
    }

    @Test("give an access token for a signed assertion, for the time that Google gives it")
    func google() throws {
        let answer = try ask()
        #expect((answer.status, answer.value?["expires_in"]?.integer) == (200, 3_599))
        let accessToken = try #require(answer.value?["access_token"]?.string)
        let path = "/v1/projects/peal-demo/messages:send"
        let send = SimulatorFixture.request(
            path, body: #"{"message":{"token":"t"}}"#.utf8, ["authorization": "bearer \(accessToken)"])
        #expect(try fixture.answer(.fcm, send).status == 200)
        fixture.time.advance(seconds: 3_599)
        #expect(try fixture.answer(.fcm, send).status == 401)
    }

    @Test(
        "refuse an assertion whose claims are wrong",
        arguments: [
            ("iss", "\"somebody\"", "invalid_grant"), ("aud", "\"https://example.com\"", "invalid_grant"),
            ("iat", "\(now + 61)", "invalid_grant"), ("exp", "\(now - 61)", "invalid_grant"),
            ("exp", "\(now + 3_601)", "invalid_grant"), ("iat", "\"\(now)\"", "invalid_grant"),
            ("exp", nil, "invalid_grant"), ("scope", nil, "invalid_scope"),
        ] as [(String, String?, String)])
    func claims(name: String, value: String?, error: String) throws {
        let answer = try ask([name: value])
        #expect((answer.status, answer.value?["error"]?.string) == (400, error))
        #expect(answer.value?["error_description"]?.string?.isEmpty == false)
    }

    @Test("refuse another key, algorithm and grant")
    func forgeries() throws {
        let other = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        #expect(try ask(signer: other).value?["error"]?.string == "invalid_grant")
        #expect(try ask(algorithm: "none").value?["error"]?.string == "invalid_grant")
        #expect(try ask(grant: "password").value?["error"]?.string == "unsupported_grant_type")
        let plain = SimulatorFixture.request("/token", body: "{}".utf8, ["content-type": "application/json"])
        #expect(try fixture.answer(.fcm, plain).value?["error"]?.string == "invalid_request")
    }

    @Test("notice a sender whose clock is wrong")
    func skew() throws {
        fixture.time.advance(seconds: -120)
        #expect(try ask().value?["error"]?.string == "invalid_grant")
    }

    @Test("may fail on demand")
    func faults() throws {
        let yaml = "rules: [{match: {provider: fcm, request: token, nth: 1}, status: 503, reason: backend_error}]"
        fixture.parts.shared.faults.load(try FaultScript(yaml: yaml))
        let first = try ask()
        #expect((first.status, first.value?["error"]?.string) == (503, "backend_error"))
        #expect(try ask().status == 200)
    }
}
