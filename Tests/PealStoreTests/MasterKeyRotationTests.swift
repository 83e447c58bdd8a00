import PealCore
import PealTesting
import Testing

@testable import PealStore

/// The replacement of a master key, interrupted at every point.
@Suite("Replacing the master key")
struct MasterKeyRotationTests {
    private static let next = MasterKey(bytes: Array(101...132))!

    /// A store with one secret of each kind, and a key whose hash must stay valid.
    private static func fixture(_ engine: StoreUnderTest) async throws -> Fixture {
        let fixture = try await Fixture(engine)
        let (app, now) = (fixture.app, fixture.now)
        let key = APIKey(
            id: KeyID(high: 1, low: 2), app: app, dialect: "pivotal", publicHalf: "half", scopes: [.read],
            createdAt: now)
        let hash = fixture.store.hasher.hash("secret")
        try await fixture.store.write(.control) { store in
            try store.insertKey(StoredKey(key: key, secretHash: hash, sharedSecret: "0a0b"))
            _ = try store.putWebhook(
                Webhook(
                    key: 0, app: app, name: "main", url: "https://a.example/", kind: "events",
                    authentication: .bearer(accessToken: "hook"), createdAt: now, changedAt: now, disabledAt: nil))
            try store.audit(
                AuditEntry(
                    at: now, actor: Actor("admin", name: nil), address: nil, requestID: nil, app: nil,
                    action: "key.create", object: "key", outcome: .ok))
        }
        try await fixture.store.chainAudit()
        return fixture
    }

    /// Opens the store with `key` and reads everything.
    private static func check(_ fixture: Fixture, _ key: MasterKey) async throws {
        let store = SQLStore(engine: fixture.test.engine, masterKey: key)
        try await store.migrate()
        #expect(try await store.masterKeyMatches() == true)
        let (found, webhook) = try await store.read { [app = fixture.app] store in
            (try store.storedKey("pivotal", publicHalf: "half"), try store.webhook(app: app, name: "main"))
        }
        #expect(found?.sharedSecret == "0a0b")
        #expect(found?.secretHash == store.hasher.hash("secret"))
        #expect(webhook?.authentication == .bearer(accessToken: "hook"))
        #expect(try await AuditVerbs(store: store).verify() == .sound(rows: 1))
    }

    @Test("both keys open everything until it has ended, then only the next one", arguments: StoreUnderTest.allCases)
    func replacement(_ engine: StoreUnderTest) async throws {
        let fixture = try await Self.fixture(engine)
        let former = fixture.test.masterKey
        let rotation = MasterKeyRotation(fixture.test.engine, configured: former)
        try await fixture.test.engine.write(.control) { try former.begin(next: Self.next, $0) }
        try await Self.check(fixture, former)
        try await Self.check(fixture, Self.next)
        // A part of the secrets is sealed under the next key.
        _ = try await fixture.test.engine.write(.control) { connection in
            try SealedTable.all[1].seal(after: nil, limit: 1, try Self.next.unlock(connection), connection)
        }
        try await Self.check(fixture, former)
        try await Self.check(fixture, Self.next)
        #expect(try await rotation.seal(next: Self.next) == 1)
        #expect(try await rotation.seal(next: Self.next) == 0)
        try await Self.check(fixture, former)
        let restarted = MasterKeyRotation(fixture.test.engine, configured: Self.next)
        #expect(try await restarted.isUnderWay())
        #expect(try await restarted.seal(next: Self.next) == 0)
        try await restarted.end(next: Self.next)
        try await Self.check(fixture, Self.next)
        let store = SQLStore(engine: fixture.test.engine, masterKey: former)
        await #expect(throws: StoreStartFailure.self) { try await store.migrate() }
        #expect(try await store.masterKeyMatches() == false)
    }

    @Test("a key can be replaced again, and a third one cannot come between")
    func again() async throws {
        let fixture = try await Self.fixture(.sqlite)
        let third = try #require(MasterKey(bytes: Array(201...232)))
        let first = MasterKeyRotation(fixture.test.engine, configured: fixture.test.masterKey)
        _ = try await first.seal(next: Self.next)
        await #expect(throws: StoreStartFailure.self) { _ = try await first.seal(next: third) }
        try await first.end(next: Self.next)
        let second = MasterKeyRotation(fixture.test.engine, configured: Self.next)
        #expect(try await second.seal(next: third) == 2)
        try await second.end(next: third)
        try await Self.check(fixture, third)
    }

    @Test("servers that ran when it began are known until they are restarted", arguments: StoreUnderTest.allCases)
    func formerServers(_ engine: StoreUnderTest) async throws {
        let fixture = try await Self.fixture(engine)
        let rotation = MasterKeyRotation(fixture.test.engine, configured: fixture.test.masterKey)
        let now = fixture.now
        func record(_ name: String) async throws {
            _ = try await fixture.store.write(.control) { try $0.recordServer(name, now: now, seenSince: now) }
        }
        try await record("former")
        #expect(try await rotation.serverCount(at: now) == 1)
        #expect(try await rotation.serverCount(at: now - .seconds(3600)) == 0, "the clock was set back since")
        try await rotation.prepare(next: Self.next)
        try await record("later")
        #expect(try await rotation.serverCount(at: now) == 1)
        try await fixture.store.write(.control) { try $0.removeServer("former") }
        #expect(try await rotation.serverCount(at: now) == 0)
    }

    @Test("every table with a sealed column is known")
    func tables() {
        let sealed = SchemaTable.all.filter { table in
            table.columns.contains { $0.name == "sealed" || $0.name == "shared_secret" }
        }
        #expect(Set(sealed.map(\.name)) == Set(SealedTable.all.map(\.name)))
    }
}
