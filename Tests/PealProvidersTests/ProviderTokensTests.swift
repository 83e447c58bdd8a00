import Crypto
import PealCore
import Testing

@testable import PealProviders

@Suite("Provider tokens")
struct ProviderTokensTests {
    let time = ManualTime()

    private func tokens(_ seed: UInt64 = 1) throws -> ProviderTokens {
        try ProviderTokenTable(time: time, randomness: SeededRandomness(seed)).tokens(for: testCredential)
    }

    @Test("are ES256 JWTs of team and key that anyone can verify")
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

    @Test("are used for 40 to 50 minutes", arguments: UInt64(1)...10)
    func life(seed: UInt64) throws {
        let tokens = try tokens(seed)
        let first = tokens.authorization
        time.advance(.seconds(40 * 60 - 1))
        #expect(tokens.authorization == first)
        time.advance(.seconds(10 * 60 + 1))
        #expect(tokens.authorization != first)
    }

    @Test("are not created after TooManyProviderTokenUpdates, and the former one is used again")
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
        // The first is near its hour now, and the one that came too early is old enough: no third is made.
        #expect(tokens.authorization == second)
        time.advance(.seconds(60 * 60))
        let third = tokens.authorization
        #expect(third != first && third != second)
    }

    @Test("too many of them with none before changes nothing, and forbids another for twenty minutes")
    func tooManyAtFirst() throws {
        let tokens = try tokens()
        let first = tokens.authorization
        time.advance(.seconds(39 * 60))
        tokens.updatedTooOften()
        time.advance(.seconds(15 * 60))
        #expect(tokens.authorization == first)
        time.advance(.seconds(6 * 60))
        #expect(tokens.authorization != first)
    }
}

@Suite("Provider tokens, when the wall clock jumps")
struct ProviderTokensJumpTests {
    let time = ManualTime()

    private func tokens() throws -> ProviderTokens {
        try ProviderTokenTable(time: time, randomness: SeededRandomness()).tokens(for: testCredential)
    }

    /// `iat` of a provider token.
    private func issuedAt(_ authorization: Authorization?) throws -> Int64 {
        let value = String(decoding: try #require(authorization).value, as: UTF8.self)
        let claims = try #require(Base64URL.decode(String(value.dropFirst(7).split(separator: ".")[1])))
        return try #require(try JSONParser.parse(claims)["iat"]?.integerValue)
    }

    @Test(
        "are replaced after a jump that makes them too old or not yet issued", arguments: [3600, 86_400, -121, -86_400])
    func beyond(seconds: Int64) throws {
        let tokens = try tokens()
        let first = tokens.authorization
        time.advance(.seconds(60))
        time.jump(.seconds(seconds))
        let second = tokens.authorization
        #expect(second != first)
        #expect(try issuedAt(second) == time.now.seconds)
        #expect(tokens.authorization == second)
    }

    @Test(
        "from before a jump are used again once the clock is set back: APNs accepts no third one within twenty minutes",
        arguments: [1, 3])
    func returned(jumps: Int) throws {
        let tokens = try tokens()
        let first = tokens.authorization
        for _ in 0..<jumps {
            time.jump(.seconds(365 * 86_400))
            time.advance(.seconds(60))
            #expect(tokens.authorization != first)
        }
        time.jump(.seconds(-Int64(jumps) * 365 * 86_400))
        #expect(tokens.authorization == first)
        time.advance(.seconds(50 * 60))
        let next = tokens.authorization
        #expect(next != first)
        #expect(try issuedAt(next) == time.now.seconds)
    }

    @Test("that APNs refused are not used again, although the clock jumps")
    func refused() throws {
        let tokens = try tokens()
        let first = tokens.authorization
        time.advance(.seconds(20 * 60))
        #expect(tokens.expired())
        let second = tokens.authorization
        time.jump(.seconds(86_400))
        #expect(tokens.authorization != second)
        time.jump(.seconds(-86_400))
        #expect(tokens.authorization == second)
        time.jump(.seconds(-180))
        #expect(tokens.authorization != first)
    }

    @Test("are kept after a jump that APNs tolerates", arguments: [30, 1800, 3538, -60, -120])
    func within(seconds: Int64) throws {
        let tokens = try tokens()
        let first = tokens.authorization
        time.advance(.seconds(60))
        time.jump(.seconds(seconds))
        #expect(tokens.authorization == first)
    }

    @Test("that are nearly an hour old after a jump are kept for Apple's twenty minutes, while APNs accepts them")
    func nearTheHour() throws {
        let tokens = try tokens()
        let first = tokens.authorization
        time.jump(.seconds(45 * 60))
        time.advance(.seconds(15 * 60 - 1))
        #expect(tokens.authorization == first)
        time.advance(.seconds(1))
        let second = tokens.authorization
        #expect(second != first, "an hour old, and of no use any more")
        time.jump(.seconds(31 * 60))
        time.advance(.seconds(20 * 60 - 1))
        #expect(tokens.authorization == second)
        time.advance(.seconds(1))
        #expect(tokens.authorization != second)
    }

    @Test("are not signed after TooManyProviderTokenUpdates while the current one is valid, jump or no jump")
    func tooMany() throws {
        let tokens = try tokens()
        let first = tokens.authorization
        time.jump(.seconds(-3600))
        let second = tokens.authorization
        #expect(second != first)
        tokens.updatedTooOften()
        #expect(tokens.authorization == second, "the one before comes from the future")
        time.jump(.seconds(50 * 60))
        time.advance(.seconds(9 * 60))
        #expect(tokens.authorization == second)
        time.jump(.seconds(3600))
        #expect(tokens.authorization != second)
    }

    @Test("that APNs reports as expired are replaced once if the jump explains it", arguments: [1500, 7200, -7200])
    func expired(seconds: Int64) throws {
        let tokens = try tokens()
        let first = tokens.authorization
        time.jump(.seconds(seconds))
        #expect(tokens.expired())
        let second = tokens.authorization
        #expect(second != first)
        #expect(tokens.expired(), "an answer to a request under the first")
        #expect(tokens.authorization == second)
        time.advance(.seconds(2 * Limits.requestTimeoutSeconds))
        #expect(!tokens.expired())
    }

    @Test("that APNs reports as expired are not replaced if no jump explains it", arguments: [1000, -60])
    func unexplained(seconds: Int64) throws {
        let tokens = try tokens()
        let first = tokens.authorization
        time.jump(.seconds(seconds))
        #expect(!tokens.expired())
        #expect(tokens.authorization == first)
    }
}

@Suite("The table of provider tokens")
struct ProviderTokenTableTests {
    let time = ManualTime()

    private func table() -> ProviderTokenTable { ProviderTokenTable(time: time, randomness: SeededRandomness()) }

    @Test("has one for each team and key, however the key is written and whatever app uses it")
    func shared() throws {
        let table = table()
        var other = testCredential
        other.bundleID = "com.example.other"
        other.privateKey = "\n" + other.privateKey + "\n\n"
        let tokens = try table.tokens(for: testCredential)
        #expect(try table.tokens(for: other) === tokens)
        other.teamID = "TEAM654321"
        #expect(try table.tokens(for: other) !== tokens)
        other = testCredential
        other.privateKey = P256.Signing.PrivateKey().pemRepresentation
        #expect(try table.tokens(for: other) !== tokens)
    }

    @Test("releases the key with its last user, and continues with the same provider token when the key returns")
    func remembered() throws {
        let table = table()
        var tokens: ProviderTokens? = try table.tokens(for: testCredential)
        let first = tokens?.authorization
        #expect(table.keyCount == 1)
        tokens = nil
        #expect(table.keyCount == 0)
        time.advance(.seconds(30 * 60))
        tokens = try table.tokens(for: testCredential)
        #expect(tokens?.authorization == first)
        tokens = nil
        time.advance(.seconds(31 * 60))
        #expect(try table.tokens(for: testCredential).authorization != first)
    }
}
