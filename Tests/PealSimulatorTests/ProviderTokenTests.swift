import Testing

@testable import PealSimulator

@Suite("The judge of provider tokens")
struct ProviderTokenTests {
    private static let now = SigningAccount.now
    private let account = SigningAccount()
    private let keys = ProviderKeys()
    private let judge: APNsJudge

    init() throws {
        try account.enroll(in: keys)
        judge = APNsJudge(environment: .production, keys: keys, marks: DeviceMarks())
    }

    private func reason(
        _ providerToken: String, _ memory: inout ConnectionMemory, at now: Int64 = now
    ) throws -> APNsReason? {
        let request = try account.request(["authorization": "bearer \(providerToken)"])
        switch judge.judge(request, memory: &memory, nowSeconds: now) {
        case .accepted: return nil
        case .refused(let reason): return reason
        }
    }

    @Test(
        "takes a token for an hour, by a number of seconds",
        arguments: [
            ("\(now - 3_600)", nil), ("\(now - 3_601)", .expiredProviderToken), ("\(now + 60)", nil),
            ("\(now + 61)", .invalidProviderToken), ("\"\(now)\"", nil),
            ("\"\(now - 3_601)\"", .expiredProviderToken), ("\"x\"", .invalidProviderToken),
            ("\"\"", .invalidProviderToken),
            ("null", .invalidProviderToken), ("1e300", .invalidProviderToken),
            ("-9223372036854775808", .invalidProviderToken),
        ] as [(String, APNsReason?)])
    func age(issuedAt: String, expected: APNsReason?) throws {
        var memory = ConnectionMemory()
        #expect(try reason(account.providerToken(issuedAt: issuedAt), &memory) == expected)
        #expect(memory.isAuthenticated == (expected == nil))
    }

    @Test("warns about a time that is text, which Apple does not document, and only then")
    func textualTime() throws {
        var memory = ConnectionMemory()
        #expect(try reason(account.providerToken(issuedAt: "\"\(Self.now)\""), &memory) == nil)
        #expect(memory.warning?.contains("iat") == true)
        var other = ConnectionMemory()
        #expect(try reason(account.providerToken(), &other) == nil)
        #expect(other.warning == nil)
    }

    @Test("refuses a wrong algorithm, team, key and signature")
    func forgeries() throws {
        var memory = ConnectionMemory()
        #expect(try reason(account.providerToken(algorithm: "HS256"), &memory) == .invalidProviderToken)
        #expect(try reason(account.providerToken(team: "TEAM000002"), &memory) == .invalidProviderToken)
        #expect(try reason(SigningAccount().providerToken(), &memory) == .invalidProviderToken)
        #expect(try reason(SigningAccount(keyID: "KEY0000009").providerToken(), &memory) == .invalidProviderToken)
        #expect(try reason(account.providerToken() + "=", &memory) == .invalidProviderToken)
        #expect(!memory.isAuthenticated)
    }

    @Test("lets a connection change its token after 20 minutes, not before")
    func updates() throws {
        var memory = ConnectionMemory()
        let first = try account.providerToken(issuedAt: "\(Self.now)")
        #expect(try reason(first, &memory) == nil)
        let early = try account.providerToken(issuedAt: "\(Self.now + 1_199)")
        #expect(try reason(early, &memory, at: Self.now + 1_199) == .tooManyProviderTokenUpdates)
        let second = try account.providerToken(issuedAt: "\(Self.now + 2_400)")
        #expect(try reason(second, &memory, at: Self.now + 2_400) == nil)
        #expect(try reason(first, &memory, at: Self.now + 2_401) == nil)
        let third = try account.providerToken(issuedAt: "\(Self.now + 3_600)")
        #expect(try reason(third, &memory, at: Self.now + 3_599) == .tooManyProviderTokenUpdates)
        #expect(try reason(third, &memory, at: Self.now + 3_600) == nil)
    }

    @Test("binds a connection to the team and the key of its first token")
    func binding() throws {
        var memory = ConnectionMemory()
        #expect(try reason(account.providerToken(), &memory) == nil)
        let sibling = SigningAccount(keyID: "KEY0000002")
        let stranger = SigningAccount(keyID: "KEY0000003", teamID: "TEAM000003")
        try sibling.enroll(in: keys)
        try stranger.enroll(in: keys)
        #expect(try reason(sibling.providerToken(), &memory) == .unrelatedKeyID)
        #expect(try reason(stranger.providerToken(), &memory) == .invalidProviderToken)
    }

    @Test("accepts an app that was added later on new connections only")
    func laterApps() throws {
        var memory = ConnectionMemory()
        let providerToken = try account.providerToken()
        #expect(try reason(providerToken, &memory) == nil)
        var larger = account
        larger.bundleIDs.insert("com.example.second")
        try larger.enroll(in: keys)
        let request = try account.request([
            "apns-topic": "com.example.second", "authorization": "bearer \(providerToken)",
        ])
        #expect(judge.judge(request, memory: &memory, nowSeconds: Self.now) == .refused(.topicDisallowed))
        var fresh = ConnectionMemory()
        #expect(
            judge.judge(request, memory: &fresh, nowSeconds: Self.now) == .accepted(device: SigningAccount.device))
    }

    @Test("refuses a key of the other environment, and a revoked one")
    func environmentsAndRevocation() throws {
        var memory = ConnectionMemory()
        try account.enroll(in: keys, environment: .sandbox)
        #expect(try reason(account.providerToken(), &memory) == .badEnvironmentKeyID)
        try account.enroll(in: keys)
        #expect(try reason(account.providerToken(), &memory) == nil)
        #expect(keys.remove(id: account.keyID))
        #expect(try reason(account.providerToken(), &memory) == .invalidProviderToken)
    }
}
