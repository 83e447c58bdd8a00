import PealCore
import PealSQLite
@testable import PealStore
import PealTesting
import Testing

@Suite("Migrations")
struct MigrationTests {
    /// Returns a database to the state that the first release wrote.
    private func undoLaterSchemas(_ connection: any SQLConnection, _ dialect: SQLDialect) throws {
        for statement in Migration.all.dropFirst().flatMap(\.statements).reversed() {
            let words = statement.split(whereSeparator: \.isWhitespace).filter { $0 != "UNIQUE" }
            switch words.prefix(2).joined(separator: " ") {
            case "CREATE TABLE", "CREATE INDEX": try connection.execute("DROP \(words[1]) \(words[2])", [])
            case "ALTER TABLE" where words[3] == "RENAME":
                try connection.execute("ALTER TABLE \(words[2]) RENAME COLUMN \(words[7]) TO \(words[5])", [])
            case "ALTER TABLE": try connection.execute("ALTER TABLE \(words[2]) DROP COLUMN \(words[5])", [])
            case "DROP TABLE":
                let former = Migration.all[0].statements.first { $0.contains("CREATE TABLE \(words[2]) (") }
                try connection.execute(dialect.text(of: former ?? ""), [])
            default: break
            }
        }
        try connection.execute("DELETE FROM migration WHERE version > 1", [])
    }

    @Test("a database of the first schema keeps its data and gets the newest", arguments: StoreUnderTest.allCases)
    func fromTheFirst(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1, user: "ann", topics: ["news"])
        let message = try await fixture.send(.all)
        try await fixture.test.engine.write(.control) { [dialect = fixture.test.engine.dialect] in
            try undoLaterSchemas($0, dialect)
        }
        #expect(try await fixture.store.schemaVersion() == 1)
        #expect(try await !fixture.store.hasNewestSchema())
        let newer = try await fixture.reopened()
        #expect(try await newer.store.schemaVersion() == Migrator.newestVersion)
        #expect(try await newer.state(message.id) == .sending)
        let device = try await newer.store.read { [app = fixture.app] in
            try $0.device(app: app, id: Fixture.deviceID(1))
        }
        #expect(device?.userID == "ann")
        #expect(try await Worker(fixture: newer).run() == [1])
        let webhooks = try await newer.store.read { [app = fixture.app] in
            try $0.webhooks(app: app, after: nil, limit: 9)
        }
        #expect(webhooks == [])
    }

    @Test("migrations are numbered without a gap")
    func numbers() {
        #expect(Migration.all.map(\.version) == Array(1...Migrator.newestVersion))
    }
}
