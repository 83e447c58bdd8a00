import PealCore
import PealSQLite
@testable import PealStore
import PealTesting
import Testing

@Suite("Query plans")
struct QueryPlanTests {
    /// Whole tables may be walked by none of the hot statements; what is made on the way (`pick`) may.
    private static let allowedScans = ["SCAN pick", "SCAN sample"]

    private static let statements =
        HotSQL.all.map { $0 } + WebhookSQL.all.map { $0 } + SearchSQL.all.map { $0 } + GeofenceSQL.all.map { $0 }
        + MomentSQL.all.map { $0 }

    @Test("every hot statement goes by an index and sorts nothing", arguments: statements.map(\.key))
    func plan(_ name: String) async throws {
        let test = try await StoreUnderTest.sqlite.open()
        let sql = try #require(Self.statements.first { $0.key == name }?.value)
        let steps = try await test.engine.read { connection in
            try connection.all(
                "EXPLAIN QUERY PLAN " + SQLDialect.sqlite.text(of: sql), Array(repeating: .int(1), count: 25)
            ) { $0.text(3) }
        }
        #expect(!steps.isEmpty || name == "insertPage")
        for step in steps {
            #expect(!step.contains("TEMP B-TREE"), "\(name): \(steps)")
            let isScan = step.hasPrefix("SCAN") && !Self.allowedScans.contains(step) && !step.contains("USING")
            #expect(!isScan, "\(name): \(steps)")
        }
    }

    @Test(
        "the statements that matter most use the index made for them",
        arguments: [
            ("lease", "slice_ready"), ("allStream", "COVERING INDEX device_active"),
            ("plainDevices", "COVERING INDEX device_plain"),
            ("topicStream", "PRIMARY KEY (app=? AND topic=? AND route=? AND seq>? AND seq<?)"),
            ("pageScan", "PRIMARY KEY (app=? AND seq>? AND seq<?)"), ("pagePoint", "PRIMARY KEY (app=? AND seq=?)"),
            ("dueSlices", "slice_waiting"), ("nextReadyRoute", "slice_ready"), ("dueMessages", "message_due"),
            ("planningMessages", "message_planning"), ("findUser", "COVERING INDEX device_user"),
            ("findIdentifier", "PRIMARY KEY (app=? AND kind=? AND value=?)"), ("findAddress", "device_address"),
            ("findDevice", "device_id"),
            ("routeSample", "COVERING INDEX device_active"),
            ("settle", "PRIMARY KEY (app=? AND message=? AND route=? AND window_no=? AND part=?)"),
            ("leaveStreams", "PRIMARY KEY (app=? AND topic=? AND route=? AND seq=?)"),
            ("webhook.events", "sqlite_autoindex_outbox_1 (app=? AND webhook=?)"),
            ("webhook.nextPending", "webhook_delivery_due"), ("webhook.pendingDue", "webhook_delivery_due"),
            ("webhook.leaseDeliveries", "webhook_delivery_due"),
            ("webhook.newestDeliveries", "webhook_delivery_newest"),
            ("webhook.pruneDeliveries", "webhook_delivery_ended"), ("moment.due", "moment_open"),
            ("moment.lapsed", "moment_claimed"), ("moment.nextDue", "moment_open"),
            ("moment.openOfUser", "moment_user"), ("moment.named", "moment_name"), ("moment.awaiting", "moment_user"),
            ("search.routePage", "COVERING INDEX device_active"), ("search.routeAfter", "COVERING INDEX device_active"),
            ("search.topicAfter", "PRIMARY KEY (app=? AND topic=? AND route=? AND seq>?)"),
            ("search.topics", "topic_name"), ("search.users", "COVERING INDEX device_user"),
            ("geofence.places", "PRIMARY KEY (app=? AND geofence=?)"), ("topic.named", "INDEX topic_named"),
            ("topic.firstMember", "PRIMARY KEY (app=? AND topic=?)"),
            ("geofence.pruneTombstones", "geofence_tombstone_over"), ("geofence.pruneTriggers", "geofence_trigger_at"),
            ("receipt.ofDevice", "receipt_device (app=? AND seq=? AND message=?)"),
            ("receipt.prune", "PRIMARY KEY (app=? AND message=?)"),
        ])
    func index(_ name: String, _ index: String) async throws {
        let test = try await StoreUnderTest.sqlite.open()
        let sql = try #require(Self.statements.first { $0.key == name }?.value)
        let steps = try await test.engine.read { connection in
            try connection.all(
                "EXPLAIN QUERY PLAN " + SQLDialect.sqlite.text(of: sql), Array(repeating: .int(1), count: 25)
            ) { $0.text(3) }
        }
        #expect(steps.contains { $0.contains(index) }, "\(steps)")
    }
}
