import PealCore
import PealSQLite
@testable import PealStore
import PealTesting
import Testing

@Suite("Migrations")
struct MigrationTests {
    /// Takes a database back to what the first release wrote.
    private func undoSecondSchema(_ connection: any SQLConnection) throws {
        let tables = [
            "webhook", "outbox", "webhook_delivery", "device_identifier", "geofence_series", "geofence",
            "geofence_place", "geofence_tombstone", "location", "location_group", "location_group_place", "receipt",
            "receipt_count",
            "geofence_trigger",
        ]
        for table in tables { try connection.execute("DROP TABLE \(table)", []) }
        try connection.execute("DROP INDEX topic_named", [])
        try connection.execute("DELETE FROM migration WHERE version > 1", [])
    }

    @Test("a database of the first schema keeps its data and gets the newest", arguments: StoreUnderTest.allCases)
    func fromTheFirst(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1, user: "ann", topics: ["news"])
        let message = try await fixture.send(.all)
        try await fixture.test.engine.write(.control) { try undoSecondSchema($0) }
        #expect(try await fixture.store.schemaVersion() == 1)
        #expect(await !fixture.store.isReady())
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
