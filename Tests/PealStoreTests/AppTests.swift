import PealCore
import PealSQLite
import PealStore
import PealTesting
import Testing

@Suite("Apps, keys and credentials")
struct AppTests {
    private static let credential = Credential.apnsToken(
        .init(keyID: "K", teamID: "T", privateKey: "-----BEGIN PRIVATE KEY-----", bundleID: "org.example"))

    @Test("an app is stored, listed and changed, and its id is used once", arguments: StoreUnderTest.allCases)
    func apps(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        var app = App(
            id: AppID(high: 9, low: 9), key: 0, name: "Zweite", bundleID: "org.z", createdAt: fixture.now)
        app.settings[Setting("section", "flag", default: true)] = false
        let wanted = app
        var stored = try await fixture.store.write(.control) { try $0.insertApp(wanted) }
        #expect(stored.key == 2)
        let error = await #expect(throws: PealError.self) {
            try await fixture.store.write(.control) { try $0.insertApp(wanted) }
        }
        #expect(error?.code == .conflict)
        #expect(try await fixture.store.read { try $0.app(wanted.id) } == stored)
        #expect(try await fixture.store.read { try $0.app(key: 2) } == stored)
        #expect(try await fixture.store.read { try $0.app(dialect: "devtodev", id: "ABC-1") } == nil)
        stored.name = "Dritte"
        stored.bundleID = nil
        stored.dialectIDs["devtodev"] = "Abc-1"
        let changed = stored
        try await fixture.store.write(.control) { try $0.updateApp(changed) }
        let all = try await fixture.store.read { try $0.apps(after: nil, limit: 10) }
        #expect(all.count == 2)
        #expect(all.contains(changed))
        #expect(try await fixture.store.read { try $0.app(dialect: "devtodev", id: "ABC-1") } == changed)
        let first = all[0].id
        #expect(try await fixture.store.read { try $0.apps(after: first, limit: 10) } == [all[1]])
    }

    @Test("deleting an app deletes everything of it and nothing of others", arguments: StoreUnderTest.allCases)
    func deletion(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let other = Fixture(
            fixture.test, app: try await fixture.test.makeApp("Other", randomness: .init(seed: 2)).key)
        for each in [fixture, other] {
            try await each.register(1, topics: ["a"])
            _ = try await each.send(.all)
            _ = try await each.send(.devices(1), owner: "me")
        }
        let app = fixture.app
        let now = fixture.now
        #expect(try await fixture.store.write(.rest) { try $0.deleteApp(app, now: now) })
        #expect(try await fixture.store.write(.rest) { try !$0.deleteApp(app, now: now) })
        try await fixture.pruneAll()
        #expect(try await fixture.store.read { try $0.devices(app: app, .init(), after: 0, limit: 9) } == [])
        #expect(try await fixture.store.read { try $0.messages(app: app, .init(), before: nil, limit: 9) } == [])
        let census = try await fixture.store.read { try $0.census() }
        #expect(census.messagesUnfinished == 2)
        #expect(census.slicesReady == 1)
        #expect(census.slicesLeased == 1)
        #expect(try await Worker(fixture: other).run() == [1])
    }

    @Test(
        "a key's public half is unique in its dialect, and its secret is read back unchanged",
        arguments: StoreUnderTest.allCases)
    func keys(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let key = APIKey(
            id: KeyID(high: 1, low: 1), app: fixture.app, dialect: "pivotal", publicHalf: "public",
            scopes: [.send, .read],
            platform: .ios, environment: .sandbox, createdAt: fixture.now, expiresAt: fixture.now + .seconds(1))
        let stored = StoredKey(
            key: key, secretHash: fixture.test.masterKey.hash("secret"), sharedSecret: "00ff")
        try await fixture.store.write(.control) { try $0.insertKey(stored) }
        #expect(try await fixture.store.read { try $0.storedKey("pivotal", publicHalf: "public") } == stored)
        #expect(try await fixture.store.read { try $0.storedKey("native", publicHalf: "public") } == nil)
        var second = stored
        second.key.id = KeyID(high: 2, low: 2)
        let again = second
        let error = await #expect(throws: PealError.self) {
            try await fixture.store.write(.control) { try $0.insertKey(again) }
        }
        #expect(error?.code == .conflict)
        second.key.dialect = "richie"
        let elsewhere = second
        try await fixture.store.write(.control) { try $0.insertKey(elsewhere) }
        #expect(try await fixture.store.read { try $0.keys(app: key.app).count } == 2)
        #expect(try await fixture.store.write(.control) { try !$0.deleteKey(key.id, app: key.app + 1) })
        #expect(try await fixture.store.write(.control) { try $0.deleteKey(key.id, app: key.app) })
        #expect(try await fixture.store.read { try $0.storedKey("pivotal", publicHalf: "public") } == nil)
    }

    /// What changes an app, a credential, a key or an admin.
    private static let setupChanges: [@Sendable (Fixture, any StoreWriting) throws -> Void] = [
        { fixture, store in
            guard var app = try store.app(key: fixture.app) else { return }
            app.name = "changed"
            try store.updateApp(app)
        },
        { fixture, store in
            _ = try store.putCredential(
                CredentialExamination(credential: .mpns(.init(identity: nil)), facts: .init()),
                at: CredentialSlot(app: fixture.app, provider: .mpns, environment: .production), now: fixture.now)
        },
        { fixture, store in
            try store.setHealth(
                .ok(at: fixture.now), at: CredentialSlot(app: fixture.app, provider: .mpns, environment: .production))
        },
        { fixture, store in
            _ = try store.deleteCredential(
                at: CredentialSlot(app: fixture.app, provider: .mpns, environment: .production))
        },
        { fixture, store in
            let key = APIKey(
                id: KeyID(high: 1, low: 1), app: fixture.app, dialect: "pivotal", publicHalf: "public",
                scopes: [.send], createdAt: fixture.now)
            try store.insertKey(StoredKey(key: key, secretHash: [1]))
        },
        { fixture, store in _ = try store.deleteKey(KeyID(high: 1, low: 1), app: fixture.app) },
        { fixture, store in
            let admin = Admin(id: AdminID(high: 1, low: 1), name: "ann", createdBy: "admin", createdAt: fixture.now)
            try store.insertAdmin(admin, publicHalf: "public", secretHash: [1])
        },
        { _, store in _ = try store.deleteAdmin(AdminID(high: 1, low: 1)) },
        { fixture, store in _ = try store.deleteApp(fixture.app, now: fixture.now) },
    ]

    @Test(
        "every change of an app, a credential, a key or an admin is counted, others are not",
        arguments: StoreUnderTest.allCases)
    func setupVersion(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        for (index, change) in Self.setupChanges.enumerated() {
            let before = fixture.store.setupVersion
            try await fixture.store.write(.control) { try change(fixture, $0) }
            #expect(fixture.store.setupVersion > before, "change \(index)")
        }
        let before = fixture.store.setupVersion
        try await fixture.store.write(.control) { try $0.setSetting("a", [1], until: nil) }
        #expect(fixture.store.setupVersion == before)
    }

    @Test("a write whose outcome is unknown counts as a change of the setup")
    func failedWrite() async throws {
        let fixture = try await Fixture(.sqlite)
        let before = fixture.store.setupVersion
        await #expect(throws: PealError.self) {
            try await fixture.store.write(.control) { _ in throw PealError(.unavailable, "gone") }
        }
        #expect(fixture.store.setupVersion > before)
    }

    @Test(
        "a credential is replaced, judged and deleted; its record contains no secret",
        arguments: StoreUnderTest.allCases)
    func credentials(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let app = fixture.app
        let now = fixture.now
        func put() async throws -> CredentialRecord {
            try await fixture.store.write(.control) {
                try $0.putCredential(
                    CredentialExamination(credential: Self.credential, facts: .init([("key_id", "K")])),
                    at: CredentialSlot(app: app, provider: .apns, environment: .sandbox), now: now)
            }
        }
        let record = try await put()
        #expect(record.kind == "token")
        #expect(record.fingerprint.count == 64)
        let read = try await fixture.store.read {
            try $0.credential(at: CredentialSlot(app: app, provider: .apns, environment: .sandbox)).map {
                [$0.credential]
            }
        }
        #expect(read == [Self.credential])
        #expect(
            try await fixture.store.read {
                try $0.credential(at: CredentialSlot(app: app, provider: .apns, environment: .production)) == nil
            })
        let stopped = CredentialRecord.Health.stopped(at: now, reason: "InvalidProviderToken")
        try await fixture.store.write(.control) {
            try $0.setHealth(stopped, at: CredentialSlot(app: app, provider: .apns, environment: .sandbox))
        }
        #expect(try await fixture.store.read { try $0.credentialRecords(app: app).map(\.health) } == [stopped])
        #expect(try await fixture.store.read { try $0.census().appsStopped } == 1)
        #expect(try await put() == record)
        #expect(try await fixture.store.read { try $0.credentialRecords(app: app) } == [record])
        func delete() async throws -> Bool {
            try await fixture.store.write(.control) {
                try $0.deleteCredential(at: CredentialSlot(app: app, provider: .apns, environment: .sandbox))
            }
        }
        #expect(try await delete())
        #expect(try await !delete())
    }

    @Test("a sealed credential opens only with its key and in its own row", arguments: StoreUnderTest.allCases)
    func sealing(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let app = fixture.app
        let now = fixture.now
        try await fixture.store.write(.control) {
            _ = try $0.putCredential(
                CredentialExamination(credential: Self.credential, facts: .init()),
                at: CredentialSlot(app: app, provider: .apns, environment: .sandbox), now: now)
        }
        let foreign = SQLStore(
            engine: fixture.test.engine, masterKey: try #require(MasterKey(bytes: Array(repeating: 1, count: 32))))
        let error = await #expect(throws: PealError.self) {
            try await foreign.read {
                _ = try $0.credential(at: CredentialSlot(app: app, provider: .apns, environment: .sandbox))
            }
        }
        #expect(error?.code == .internal)
        await #expect(throws: StoreStartFailure.self) { try await foreign.migrate() }
        try await fixture.test.engine.write(.control) { connection in
            _ = try connection.execute("UPDATE credential SET environment = 'production'", [])
        }
        await #expect(throws: PealError.self) {
            try await fixture.store.read {
                _ = try $0.credential(at: CredentialSlot(app: app, provider: .apns, environment: .production))
            }
        }
    }

    @Test("answers are kept for a day and settings forever", arguments: StoreUnderTest.allCases)
    func records(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let request = IdempotentRequest(scope: [1, 2], key: "k", digest: [3])
        let answer = KeptAnswer(digest: [3], status: 202, body: Array("{}".utf8))
        func kept() async throws -> KeptAnswer? {
            try await fixture.store.write(.intake) { [now = fixture.now] in try $0.keptAnswer(request, now: now) }
        }
        #expect(try await kept() == nil)
        try await fixture.store.write(.intake) { [now = fixture.now] in
            try $0.keepAnswer(answer, to: request, now: now)
            try $0.setSetting("s", [1])
            try $0.setSetting("s", [2])
        }
        #expect(try await kept() == answer)
        fixture.time.advance(by: .seconds(600))
        let brief = IdempotentRequest(scope: [1, 2], key: "k", digest: [3], lifeSeconds: 600)
        let forgotten = try await fixture.store.write(.intake) { [now = fixture.now] in
            try $0.keptAnswer(brief, now: now)
        }
        #expect(forgotten == nil)
        #expect(try await kept() == answer)
        fixture.time.advance(by: .seconds(24 * 3600))
        #expect(try await kept() == nil)
        #expect(try await fixture.store.read { try $0.setting("s") } == [2])
        #expect(try await fixture.store.read { try $0.setting("t") } == nil)
    }
}
