import PealCore
import PealStore
import PealTesting
import Synchronization
import Testing

@Suite("Lists with rows that cannot be read")
struct DamagedListTests {
    /// What was reported to the operator.
    private final class Lines: Sendable {
        private let state = Mutex<[String]>([])
        var all: [String] { state.withLock { $0 } }
        func add(_ line: String) { state.withLock { $0.append(line) } }
    }

    private static func damage(
        _ column: String, of table: String, where condition: String, _ fixture: Fixture
    ) async throws {
        let count = try await fixture.test.engine.write(.control) { connection in
            try connection.execute("UPDATE \(table) SET \(column) = $1 WHERE \(condition)", [.bytes([0xFF])])
        }
        #expect(count == 1)
    }

    /// Four segments, the second of which is damaged.
    private static func segments(_ fixture: Fixture) async throws {
        try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] store in
            for name in ["a", "b", "c", "d"] {
                _ = try store.putSegment(
                    Segment(name: name, condition: .topic(name), createdAt: now, changedAt: now), app: app)
            }
        }
        try await damage("condition", of: "segment", where: "name = 'b'", fixture)
    }

    @Test("show as many others as are asked for, and report each row once", arguments: StoreUnderTest.allCases)
    func others(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await Self.segments(fixture)
        let lines = Lines()
        let store = SQLStore(
            engine: fixture.test.engine, masterKey: fixture.test.masterKey, report: { lines.add($0) })
        func names(after cursor: String?, _ limit: Int) async throws -> [String] {
            try await store.checkedList { [app = fixture.app] store, more in
                try store.segments(app: app, after: cursor, limit: limit + more).map(\.name)
            }.items
        }
        #expect(try await names(after: nil, 1) == ["a"])
        #expect(lines.all.isEmpty, "it was not read")
        #expect(try await names(after: nil, 2) == ["a", "c"])
        #expect(try await names(after: nil, 3) == ["a", "c", "d"])
        #expect(try await names(after: "c", 3) == ["d"])
        let expected = "lists omit a row of segment (b, \(fixture.app)): "
        #expect(lines.all.count == 1 && lines.all.allSatisfy { $0.hasPrefix(expected) }, "\(lines.all)")
        await #expect(throws: PealError.self, "only lists skip rows") {
            try await store.read { [app = fixture.app] in try $0.segments(app: app, after: nil, limit: 3) }
        }
    }

    @Test("show a device without its detail", arguments: StoreUnderTest.allCases)
    func device(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        for number in 1...2 {
            var registration = Fixture.registration(number)
            registration.detail.alias = "phone \(number)"
            try await fixture.register(registration)
        }
        try await Self.damage("detail", of: "device_detail", where: "seq = 1", fixture)
        func aliases(after key: DeviceKey) async throws -> (items: [String?], isComplete: Bool) {
            try await fixture.store.checkedList(.request) { [app = fixture.app] store, more in
                try store.devices(app: app, DeviceFilter(), after: key, limit: 10 + more).map(\.detail.alias)
            }
        }
        let (all, rest) = (try await aliases(after: 0), try await aliases(after: 1))
        #expect(all.items == [nil, "phone 2"] && !all.isComplete)
        #expect(rest.items == ["phone 2"] && rest.isComplete)
    }

    @Test("show a message without its figures", arguments: StoreUnderTest.allCases)
    func message(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1)
        var ids: [MessageID] = []
        for _ in 1...2 {
            ids.append(try await fixture.send(.all).id)
            _ = try await Worker(fixture: fixture).run()
            fixture.time.advance(by: .seconds(1))
        }
        let isFirst = "created_at = (SELECT MIN(created_at) FROM message)"
        try await Self.damage("counts", of: "message", where: isFirst, fixture)
        let (figures, isComplete) = try await fixture.store.checkedList { [app = fixture.app] store, more in
            try store.messages(app: app, MessageFilter(), before: nil, limit: 10 + more).map { message in
                (id: message.id, accepted: try store.report(app: app, id: message.id)?.total.accepted)
            }
        }
        #expect(figures.map(\.id) == ids.reversed())
        #expect(figures.map(\.accepted) == [1, 0] && !isComplete)
    }

    @Test("fail if too many rows cannot be read")
    func many() async throws {
        let fixture = try await Fixture(.sqlite)
        try await fixture.registerMany(1...300)
        try await fixture.test.execute("UPDATE device SET route = 999")
        await #expect(throws: PealError.self) {
            try await fixture.store.checkedList { [app = fixture.app] store, more in
                try store.devices(app: app, DeviceFilter(), after: 0, limit: 100 + more)
            }
        }
    }
}
