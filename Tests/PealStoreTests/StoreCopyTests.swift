import Foundation
import PealCore
@testable import PealStore
import PealTesting
import Synchronization
import Testing

@Suite("Copying a store")
struct StoreCopyTests {
    @Test("the migrations' tables are read as the database has them")
    func tables() async throws {
        let test = try await StoreUnderTest.postgres.open()
        let columns = try await test.engine.read { connection in
            try connection.values(
                """
                SELECT table_name || '.' || column_name || ' ' || data_type FROM information_schema.columns
                WHERE table_schema = 'public' AND table_name <> 'migration'
                """, String.self)
        }
        let types: [SQLValue.Kind: String] = [.int: "bigint", .text: "text", .bytes: "bytea"]
        let read = SchemaTable.all.flatMap { table in
            table.columns.map { "\(table.name).\($0.name) \(types[$0.kind] ?? "")" }
        }
        #expect(Set(read) == Set(columns))
        #expect(SchemaTable.all.allSatisfy { !$0.key.isEmpty })
    }

    @Test("a store is not copied while it cannot say whether servers use it")
    func unansweredPresence() async throws {
        let test = try await StoreUnderTest.postgres.open()
        for statement in [
            "ALTER TABLE live_server RENAME TO renamed",
            """
            CREATE VIEW live_server AS SELECT 'slow' AS name,
            (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT AS seen_at FROM pg_sleep(60)
            """,
        ] { try PostgresServer.shared().execute(statement, in: test.databaseName) }
        let target = try StoreUnderTest.sqlite.openEmpty()
        let error = await #expect(throws: PealError.self) {
            try await StoreCopy(from: test.engine, to: target.engine).run { _ in }
        }
        #expect(error?.code == .unavailable)
        #expect(try await target.engine.readIfPresent { try Migrator.version($0) } == nil)
    }

    @Test(
        "a store continues where it was, on the other engine and back",
        arguments: [(StoreUnderTest.sqlite, StoreUnderTest.postgres), (.postgres, .sqlite)])
    func copy(_ from: StoreUnderTest, _ to: StoreUnderTest) async throws {
        let fixture = try await Fixture(from)
        try await fixture.registerMany(1...450, topics: ["a", "ä\u{1F600}"])
        let (id, _) = try await fixture.send(.topics("a"))
        let slice = try #require(try await fixture.lease().first)
        let worker = Worker(fixture: fixture)
        _ = try await worker.settle([worker.settlement(slice, try await worker.page(of: slice))])
        let target = try to.openEmpty()
        let results = Results()
        try await StoreCopy(from: fixture.test.engine, to: target.engine).run { results.append($0) }
        #expect(results.all.map(\.table) == SchemaTable.all.map(\.name))
        #expect(results.all.first { $0.table == "device" }?.rows == 450)
        // Rows that have been deleted from the copy since must not appear there again.
        let refusal = await #expect(throws: StoreStartFailure.self) {
            try await StoreCopy(from: fixture.test.engine, to: target.engine).run { _ in }
        }
        #expect(refusal?.description.contains("a complete store") == true)
        let copy = SQLStore(engine: target.engine, masterKey: fixture.test.masterKey)
        try await copy.migrate()
        let report = try await copy.read { [app = fixture.app] in try $0.report(app: app, id: id) }
        let original = try await fixture.store.read { [app = fixture.app] in try $0.report(app: app, id: id) }
        #expect(report == original)
        // An interrupted copy is continued: nothing is duplicated, and an extra row is detected.
        try await target.engine.write(.control) { _ = try $0.execute("INSERT INTO migration (version) VALUES (-1)") }
        try await copy.write(.control) { try $0.setSetting("stray", [1]) }
        await #expect(throws: StoreStartFailure.self) {
            try await StoreCopy(from: fixture.test.engine, to: target.engine).run { _ in }
        }
        // Until it has been compared, no server starts with it, and nobody can copy from it.
        await #expect(throws: StoreStartFailure.self) { try await copy.checkFinished() }
        let next = try from.openEmpty()
        await #expect(throws: StoreStartFailure.self) {
            try await StoreCopy(from: target.engine, to: next.engine).run { _ in }
        }
        try await target.engine.write(.control) { _ = try $0.execute("DELETE FROM setting WHERE name = 'stray'") }
        try await StoreCopy(from: fixture.test.engine, to: target.engine).run { _ in }
        try await copy.checkFinished()
        #expect(try await copy.schemaVersion() == SQLStore.newestSchemaVersion)
    }

    @Test("no server may use the source")
    func runningServer() async throws {
        let source = try await StoreUnderTest.postgres.open()
        let now = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
        try await source.store.write(.control) { _ = try $0.recordServer("peal-1", now: now, seenSince: now) }
        let refusal = await #expect(throws: StoreStartFailure.self) {
            try await StoreCopy(from: source.engine, to: try StoreUnderTest.sqlite.openEmpty().engine).run { _ in }
        }
        #expect(refusal?.description.hasPrefix("servers use the source") == true)
    }

    @Test("a server that ran before the clock was set back does not use the source")
    func formerServer() async throws {
        let source = try await StoreUnderTest.postgres.open()
        let later = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) + .seconds(3600)
        try await source.store.write(.control) { _ = try $0.recordServer("peal-1", now: later, seenSince: later) }
        let target = try StoreUnderTest.sqlite.openEmpty()
        try await StoreCopy(from: source.engine, to: target.engine).run { _ in }
        withExtendedLifetime(target) {}
    }

    @Test("a store of another master key is not overwritten")
    func otherKey() async throws {
        let source = try await StoreUnderTest.sqlite.open()
        let target = try await StoreUnderTest.postgres.open()
        let error = await #expect(throws: StoreStartFailure.self) {
            try await StoreCopy(from: source.engine, to: target.engine).run { _ in }
        }
        #expect(error?.description == "the target contains a store with another master key")
    }

    @Test("a full target is named, and the copy continues when there is room")
    func fullTarget() async throws {
        let source = try await StoreUnderTest.sqlite.open()
        let target = try StoreUnderTest.sqlite.openEmpty()
        let value = [UInt8](repeating: 1, count: 4 * 1024 * 1024)
        try await source.store.write(.control) { try $0.setSetting("large", value) }
        func limit(_ pages: Int) async throws {
            try await target.engine.write(.control) {
                _ = try $0.value("PRAGMA max_page_count = \(name: "\(pages)")", Int.self)
            }
        }
        try await limit(500)
        let failure = await #expect(throws: StoreStartFailure.self) {
            try await StoreCopy(from: source.engine, to: target.engine).run { _ in }
        }
        #expect(failure?.description.hasPrefix("the target cannot be written") == true)
        try await limit(1_000_000)
        try await StoreCopy(from: source.engine, to: target.engine).run { _ in }
        #expect(try await target.store.read { try $0.setting("large") } == value)
    }

    @Test("a store that has no app yet is not overwritten, and can still be used")
    func startedTarget() async throws {
        let source = try await StoreUnderTest.postgres.open()
        let target = try await StoreUnderTest.postgres.open()
        try await target.store.write(.control) { try $0.setSetting(FirstAdmin.settingName, [1]) }
        let refusal = await #expect(throws: StoreStartFailure.self) {
            try await StoreCopy(from: source.engine, to: target.engine).run { _ in }
        }
        #expect(refusal?.description.contains("a complete store") == true)
        try await target.store.checkFinished()
    }

    private final class Results: Sendable {
        private let results = Mutex<[StoreCopy.Result]>([])
        func append(_ result: StoreCopy.Result) { results.withLock { $0.append(result) } }
        var all: [StoreCopy.Result] { results.withLock { $0 } }
    }
}
