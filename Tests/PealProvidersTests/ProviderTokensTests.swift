import Crypto
import PealCore
import Testing

@testable import PealProviders

@Suite("Provider tokens")
struct ProviderTokensTests {
    let time = ManualTime()

    private func tokens(_ seed: UInt64 = 1) throws -> ProviderTokens {
        try ProviderTokens(testCredential, time: time, randomness: SeededRandomness(seed))
    }

    @Test("are ES256 JWTs of team and key that anybody can verify")
    func format() throws {
        let value = try #require(try tokens().authorization).value
        let text = String(decoding: value, as: UTF8.self)
        #expect(text.hasPrefix("bearer "))
        let parts = text.dropFirst(7).split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        let header = try JSONParser.parse(try #require(Base64URL.decode(parts[0])))
        let claims = try JSONParser.parse(try #require(Base64URL.decode(parts[1])))
        #expect(header == ["alg": "ES256", "kid": "KEY1234567"])
        #expect(claims == ["iss": "TEAM123456", "iat": 1_800_000_000])
        let key = try P256.Signing.PrivateKey(pemRepresentation: testCredential.privateKey).publicKey
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: try #require(Base64URL.decode(parts[2])))
        #expect(key.isValidSignature(signature, for: Array((parts[0] + "." + parts[1]).utf8)))
    }

    @Test("live 40 to 50 minutes", arguments: UInt64(1)...10)
    func life(seed: UInt64) throws {
        let tokens = try tokens(seed)
        let first = tokens.authorization
        time.advance(.seconds(40 * 60 - 1))
        #expect(tokens.authorization == first)
        time.advance(.seconds(10 * 60 + 1))
        #expect(tokens.authorization != first)
    }

    @Test("are not made in answer to too many, and the one before is used again")
    func tooMany() throws {
        let tokens = try tokens()
        let first = tokens.authorization
        time.advance(.seconds(50 * 60))
        let second = tokens.authorization
        #expect(second != first)
        tokens.updatedTooOften()
        #expect(tokens.authorization == first)
        time.advance(.seconds(8 * 60))
        #expect(tokens.authorization == first)
        time.advance(.seconds(3 * 60))
        // The first is near its hour now; without any other a new one must be made.
        #expect(tokens.authorization != first)
    }
}
