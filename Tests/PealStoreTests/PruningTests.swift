import PealCore
import PealSQLite
@testable import PealStore
import PealTesting
import Testing

/// No table grows without limit: each is pruned, or bounded for a stated reason.
@Suite("Pruning")
struct PruningTests {
    /// Every table of the schema, and what limits its size. A table that is missing here fails the test.
    private static let reasons: KeyValuePairs<String, String> = [
        "app": "one row for each app, which administrators create", "migration": "one row for each migration",
        "counter": "one row for each series", "setting": "a fixed set of names; others are pruned when they expire",
        "word": "one row for each locale and time zone in use, whose forms are checked",
        "api_key": "created by administrators; goes with its app",
        "credential": "one row for each network and environment of an app; goes with its app",
        "webhook": "Limits.webhooksPerAppMax; goes with its app",
        "topic": "pruned a day after its expiry; others are the app's own, and go with it",
        "topic_member": "goes with the topic, the device or the app; at most Limits.topicsPerDeviceMax a device",
        "device_topic": "the same; that of a retired device goes with the device",
        "device": "pruned after its retirement and PEAL_RETENTION_DEVICES_DAYS; others are the app's own",
        "device_detail": "goes with the device", "device_identifier": "goes with the device",
        "message": "pruned PEAL_RETENTION_MESSAGES_DAYS after its end", "message_content": "goes with the message",
        "message_predicate": "goes with the message", "message_keys": "goes with the message",
        "message_address": "goes with the message", "slice": "goes when its message ends",
        "delivery_page": "goes with the message", "receipt": "goes with the message, or with the device",
        "receipt_count": "goes with the message", "moment": "goes with the message",
        "experiment": "goes with the last message of its campaign", "experiment_arm": "goes with the experiment",
        "idempotency": "pruned after Limits.idempotencyLifeSeconds",
        "audit": "pruned after PEAL_RETENTION_AUDIT_DAYS",
        "audit_pending": "moves to audit within a second", "audit_mark": "two rows", "admin": "Limits.adminsMax",
        "outbox": "pruned after Limits.webhookEventLifeSeconds; goes with its webhook",
        "webhook_delivery": "pruned after Limits.webhookDeliveredLifeSeconds or webhookFailedLifeSeconds",
        "geofence": "Limits.geofencesPerAppMax", "geofence_place": "Limits.geofenceLocationsMax for each geofence",
        "geofence_tombstone": "pruned when no device can hold the geofence", "geofence_series": "one row for each app",
        "location": "Limits.locationsPerAppMax", "location_group": "Limits.locationGroupsPerAppMax",
        "location_group_place": "Limits.locationGroupLocationsMax for each group",
        "geofence_trigger": "pruned after PEAL_RETENTION_MESSAGES_DAYS",
        "segment": "Limits.segmentsPerAppMax", "saved_message": "Limits.savedMessagesPerAppMax of each kind",
        "starred_device": "Limits.starredDevicesMax; goes with its device",
        "frequency": "pruned after Limits.frequencyHoursMax; goes with its device",
        "rate_bucket": "one row for each app and message with a rate; goes with its message",
        "route_gate": "one row for each route of an app that was ever closed",
        "remainder": "deleted when its change is complete",
        "key_grant": "created by administrators; goes with its key or app",
        "live_server": "one row for each server; pruned when it is gone",
        "provider_token": "one row for each signing key",
        "installation": "one row for each device that registered itself; goes with it",
        "spent_wake": "pruned after Limits.wakeBudgetSeconds",
        "device_event": "pruned after Limits.deviceEventMemorySeconds; goes with its device",
        "context_sample": "pruned after Limits.contextSampleSeconds",
        "campaign_total": "one row for each campaign; pruned after Limits.statisticsDaysLifeSeconds",
        "experiment_sum": "two rows for each day of an experiment; pruned after Limits.statisticsDaysLifeSeconds",
        "experiment_count": "a fixed set for each experiment; pruned after Limits.statisticsDaysLifeSeconds",
        "share_change": "one for each run of an experiment that ended; pruned after Limits.statisticsDaysLifeSeconds",
        "model_key": "one row for each app",
        "moment_model": "Limits.modelVersionsMax for each campaign; pruned when expired",
        "learning": "one row for each campaign; goes with its last message",
        "open_hour": "at most 24 rows for each user; goes when the user is deleted",
        "statistics": "summed up after Limits.statisticsMinutesLifeSeconds, deleted after statisticsDaysLifeSeconds",
    ]

    /// Tables whose rows outlive their app: the app itself, the record of its deletion, and what completes it.
    private static let outliving: Set<String> = ["app", "remainder"]

    @Test("every table of the schema is pruned or bounded")
    func tables() async throws {
        let test = try await StoreUnderTest.sqlite.open()
        #expect(Set(try await Self.tables(test).map(\.name)) == Set(Self.reasons.map(\.key)))
    }

    @Test("every table with rows of an app is emptied with the app")
    func tablesOfApp() async throws {
        let test = try await StoreUnderTest.sqlite.open()
        let tables = try await Self.tables(test).filter { $0.columns.contains { $0.name == "app" } }
        let names = Set(tables.map(\.name)).subtracting(Self.outliving)
        #expect(Set(TablePiece.ofApp.map(\.table)) == names)
        #expect(names.isSuperset(of: TablePiece.ofMessage.map(\.table)))
        for table in tables {
            guard let piece = TablePiece.ofApp.first(where: { $0.table == table.name }) else { continue }
            #expect(piece.key.map(\.name) == table.columns.filter { $0.keyPosition > 0 }.sorted().map(\.name))
        }
    }

    /// One row of two apps in every table, whatever its columns are.
    @Test("deleting an app deletes its rows of every table in pieces, and no row of another app")
    func everyRow() async throws {
        let fixture = try await Fixture(.sqlite)
        let other = try await fixture.test.makeApp("Other", randomness: .init(seed: 2)).key
        let tables = try await Self.tables(fixture.test).filter { table in
            TablePiece.ofApp.contains { $0.table == table.name }
        }
        for app in [fixture.app, other] {
            for number in 1...3 { try await Self.fill(tables, app: app, number, fixture.test) }
        }
        let (app, now) = (fixture.app, fixture.now)
        #expect(try await fixture.store.write(.control) { try $0.deleteApp(app, now: now) })
        let pieces = try await fixture.pruneAll(limit: 10)
        #expect(pieces.allSatisfy { $0 <= 11 } && pieces.count > 8, "\(pieces)")
        for table in tables {
            #expect(try await Self.count(table.name, app: app, fixture.test) == 0, "\(table.name)")
            #expect(try await Self.count(table.name, app: other, fixture.test) == table.rowsMax(3), "\(table.name)")
        }
        // A request that was in progress when the app was deleted writes again.
        try await Self.fill(tables, app: app, 4, fixture.test)
        fixture.time.advance(by: .seconds(Limits.deletedAppWatchSeconds))
        try await fixture.pruneAll()
        for table in tables { #expect(try await Self.count(table.name, app: app, fixture.test) == 0, "\(table.name)") }
        #expect(try await Self.count("remainder", app: app, fixture.test) == 0)
    }

    @Test("a retired device is deleted after its retention, with its subscriptions", arguments: StoreUnderTest.allCases)
    func retiredDevices(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.registerMany(1...3, topics: ["a", "b"])
        // Device 4 takes the address of device 3, which retires.
        try await fixture.register(4, address: Fixture.address(3), topics: ["a"])
        let retention = StoreRetention().deviceSeconds
        fixture.time.advance(by: .seconds(retention - 1))
        try await fixture.pruneAll()
        func devices() async throws -> [DeviceID] {
            try await fixture.store.read { [app = fixture.app] in
                try $0.devices(app: app, .init(), after: 0, limit: 9).map(\.id)
            }
        }
        #expect(try await devices().count == 4)
        fixture.time.advance(by: .seconds(1))
        try await fixture.pruneAll(limit: 2)
        #expect(try await devices() == [1, 2, 4].map(Fixture.deviceID))
        #expect(try await Self.count("device_topic", app: fixture.app, fixture.test) == 5)
    }

    @Test(
        "retired devices of routes that only a newer server knows do not stop others",
        arguments: StoreUnderTest.allCases)
    func unknownRoute(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.registerMany(1...3)
        let retiredAt = [1: 1000, 2: 2000, 3: 3000] as [Int64: Int64]
        try await fixture.test.engine.write(.control) { connection in
            for (key, at) in retiredAt {
                try connection.execute("UPDATE device SET state = 0, retired_at = \(at) WHERE seq = \(key)")
            }
            try connection.execute("UPDATE device SET route = 200 WHERE seq < 3")
        }
        fixture.time.advance(by: .seconds(StoreRetention().deviceSeconds + 3600))
        try await fixture.pruneAll(limit: 2)
        let left = try await fixture.test.engine.read { connection in
            try connection.values("SELECT seq FROM device ORDER BY seq", Int64.self)
        }
        #expect(left == [1, 2])
    }

    @Test("expired topics are deleted a day later, with their members", arguments: StoreUnderTest.allCases)
    func expiredTopics(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.registerMany(1...5, topics: ["short", "long"])
        let (app, end) = (fixture.app, fixture.now + .seconds(60))
        try await fixture.store.write(.control) { [now = fixture.now] in
            _ = try $0.putTopic(app: app, name: "short", expiresAt: end, now: now)
        }
        fixture.time.advance(by: .seconds(60 + Limits.expiredTopicLifeSeconds))
        try await fixture.pruneAll(limit: 4)
        #expect(try await Self.count("topic", app: app, fixture.test) == 1)
        #expect(try await Self.count("topic_member", app: app, fixture.test) == 5)
        #expect(try await Self.count("device_topic", app: app, fixture.test) == 5)
    }

    @Test("settings are deleted when they expire, and others stay", arguments: StoreUnderTest.allCases)
    func settings(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.store.write(.control) { [now = fixture.now] store in
            for number in 1...3 { try store.setSetting("link \(number)", [1], until: now + .seconds(60)) }
            try store.setSetting("stays", [2])
            // A value that stays again outlives its former end.
            try store.setSetting("link 3", [3], until: nil)
        }
        func settings() async throws -> [String] {
            try await fixture.test.engine.read {
                try $0.values("SELECT name FROM setting WHERE name LIKE 'link%' OR name = 'stays' ORDER BY name")
            }
        }
        fixture.time.advance(by: .seconds(59))
        try await fixture.pruneAll()
        #expect(try await settings() == ["link 1", "link 2", "link 3", "stays"])
        fixture.time.advance(by: .seconds(1))
        try await fixture.pruneAll(limit: 2)
        #expect(try await settings() == ["link 3", "stays"])
    }

    @Test("a setting is taken once, and not after its end", arguments: StoreUnderTest.allCases)
    func takenOnce(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let start = fixture.now
        try await fixture.store.write(.control) { store in
            try store.setSetting("a", [1], until: start + .seconds(60))
            try store.setSetting("b", [2], until: start + .seconds(60))
        }
        func take(_ name: String, _ seconds: Int64) async throws -> [UInt8]? {
            try await fixture.store.write(.control) { try $0.takeSetting(name, now: start + .seconds(seconds)) }
        }
        #expect(try await take("a", 59) == [1])
        #expect(try await take("a", 59) == nil)
        #expect(try await take("b", 60) == nil)
        #expect(try await take("c", 0) == nil)
    }

    @Test("a star is deleted with its device, and with its app", arguments: StoreUnderTest.allCases)
    func stars(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.registerMany(1...3)
        let (app, now) = (fixture.app, fixture.now)
        try await fixture.store.write(.control) { store in
            for key in 1...3 as ClosedRange<DeviceKey> { try store.star(app: app, device: key, now: now) }
            try store.star(app: app, device: 1, now: now)
            try store.unstar(app: app, device: 3)
        }
        func stars() async throws -> [DeviceKey] {
            try await fixture.store.read { try $0.starredDevices(app: app).map(\.key) }
        }
        #expect(try await stars() == [1, 2])
        try await fixture.store.write(.control) { _ = try $0.deleteDevice(app: app, id: Fixture.deviceID(1), now: now) }
        #expect(try await stars() == [2])
        #expect(try await Self.count("starred_device", app: app, fixture.test) == 1)
    }

    @Test("the audit log is pruned from its old end", arguments: StoreUnderTest.allCases)
    func audit(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        func note(_ object: String) async throws {
            try await fixture.store.write(.control) { [now = fixture.now] in
                try $0.audit(AuditEntry(at: now, actor: Actor("me"), action: "do", object: object))
            }
            try await fixture.store.chainAudit()
        }
        for _ in 1...5 { try await note("old") }
        fixture.time.advance(by: .seconds(StoreRetention().auditSeconds))
        try await note("new")
        try await fixture.pruneAll(limit: 2)
        let audit = AuditVerbs(store: fixture.store)
        #expect(try await audit.rows(AuditFilter(), before: nil, limit: 9).items.map(\.entry.object) == ["new"])
        #expect(try await audit.verify() == .sound(rows: 1))
    }

    @Test(
        "messages are deleted with everything that belongs to them, even if some have many rows",
        arguments: StoreUnderTest.allCases, [7, 1000])
    func messages(_ engine: StoreUnderTest, _ limit: Int) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.registerMany(1...40)
        let drafts = (0..<40).map { _ in fixture.draft(.devices(1, 2)) }
        try await fixture.store.write(.intake) { [app = fixture.app, now = fixture.now] store in
            for (index, draft) in drafts.enumerated() {
                _ = try store.insertPlanned(draft, under: nil, now: now)
                _ = try store.moveMessage(app: app, id: draft.id, from: [.sending], to: .cancelled, now: now)
                // Every seventh has more receipts than are deleted together with other messages.
                let devices = index.isMultiple(of: 7) ? 1...40 : 1...2 as ClosedRange<DeviceKey>
                let receipts = devices.map { Receipt(message: draft.id, device: $0, kind: .opened, at: now) }
                try store.record(receipts, app: app)
            }
        }
        _ = try await fixture.test.engine.write(.rest) { try $0.execute("UPDATE message SET slices_open = 0", []) }
        fixture.time.advance(by: .seconds(StoreRetention().messageSeconds - 1))
        let kept = try await fixture.send(.devices(3)).id
        fixture.time.advance(by: .seconds(1))
        let pieces = try await fixture.pruneAll(limit: limit)
        #expect(pieces.allSatisfy { $0 <= limit + 1 }, "\(pieces)")
        for table in ["message"] + TablePiece.ofMessage.map(\.table) {
            let count = try await fixture.test.engine.read { connection in
                try connection.count("SELECT COUNT(*) FROM \(name: table) WHERE message <> \(kept)")
            }
            #expect(count == 0, "\(table)")
        }
        #expect(try await fixture.state(kept) != nil)
    }

    @Test("2,000 messages with their logs are deleted in fewer pieces than fit into a minute")
    func throughput() async throws {
        let fixture = try await Fixture(.sqlite)
        try await fixture.registerMany(1...2)
        let drafts = (0..<2000).map { _ in fixture.draft(.devices(1, 2)) }
        let offer = LeaseOffer(
            owner: "me", interruptions: 0, leaseUntil: fixture.now + .seconds(30), madeAt: fixture.time.uptime)
        try await fixture.store.write(.intake) { [app = fixture.app, now = fixture.now] store in
            for draft in drafts {
                _ = try store.insertPlanned(draft, under: offer, now: now)
                _ = try store.moveMessage(app: app, id: draft.id, from: [.sending], to: .cancelled, now: now)
            }
        }
        _ = try await fixture.test.engine.write(.rest) { try $0.execute("UPDATE message SET slices_open = 0", []) }
        fixture.time.advance(by: .seconds(StoreRetention().messageSeconds))
        let pieces = try await fixture.pruneAll()
        #expect(try await Self.count("message", app: fixture.app, fixture.test) == 0)
        // Each takes a few milliseconds and is followed by a pause of at most a second.
        #expect(pieces.count < 60, "\(pieces)")
    }
}

/// Reading the schema, and rows of any table.
extension PruningTests {
    struct Table: Sendable {
        struct Column: Sendable, Comparable {
            let name: String
            let type: String
            let keyPosition: Int

            static func < (left: Column, right: Column) -> Bool { left.keyPosition < right.keyPosition }
        }

        let name: String
        let columns: [Column]

        /// One, where the app is the whole key.
        func rowsMax(_ count: Int) -> Int { columns.count { $0.keyPosition > 0 } == 1 && name != "api_key" ? 1 : count }
    }

    static func tables(_ test: TestStore) async throws -> [Table] {
        try await test.engine.read { connection in
            let names: [String] = try connection.values(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
            return try names.map { name in
                let columns = try connection.all("PRAGMA table_info(\(name: name))") { row -> Table.Column in
                    _ = try row.next(Int.self)
                    let (name, type): (String, String) = (try row.next(), try row.next())
                    _ = (try row.next(Int.self), try row.next(String?.self))
                    return Table.Column(name: name, type: type, keyPosition: try row.next())
                }
                return Table(name: name, columns: columns)
            }
        }
    }

    /// Far in the future, so that nothing has expired.
    private static let never: Int64 = 1 << 52

    /// Inserts a row with `number` in every column of the key, and times far in the future.
    static func fill(_ tables: [Table], app: AppKey, _ number: Int, _ test: TestStore) async throws {
        try await test.engine.write(.rest) { connection in
            for table in tables {
                let values = table.columns.map { column -> SQLValue in
                    switch (column.name, column.type) {
                    case ("app", _): .int(app)
                    case (let name, "BIGINT") where column.keyPosition == 0 || name.hasSuffix("at"):
                        .int(never + Int64(number))
                    case (_, "BIGINT"): .int(number)
                    case (_, "TEXT"): .text("\(app) \(number)")
                    default: .bytes([UInt8](repeating: UInt8(Int(app) * 16 + number), count: 16))
                    }
                }
                let parameters = values.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
                try connection.execute(
                    "INSERT INTO \(table.name) VALUES (\(parameters)) ON CONFLICT DO NOTHING", values)
            }
        }
    }

    static func count(_ table: String, app: AppKey, _ test: TestStore) async throws -> Int {
        try await test.engine.read { try $0.count("SELECT COUNT(*) FROM \(name: table) WHERE app = \(app)") }
    }
}
