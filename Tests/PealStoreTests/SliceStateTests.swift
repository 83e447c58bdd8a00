import PealCore
import PealStore
import PealTesting
import Testing

/// Every statement that changes the state of a slice is tried in every state of the slice and of its message. A trigger
/// records the changes.
@Suite("The states of a slice")
struct SliceStateTests {
    /// A message with one slice, which was leased once.
    private struct Case: Sendable {
        let fixture: Fixture
        let id: MessageID
        let slice: Slice
        let messageState: Message.State

        func write(_ body: @escaping @Sendable (any StoreWriting) throws -> Void) async throws {
            try await fixture.store.write(.control, body)
        }

        func change(_ statement: SQL) async throws {
            try await fixture.test.engine.write(.control) { _ = try $0.execute(statement) }
        }

        func settle(_ next: Settlement.Next, change: (inout Settlement) -> Void = { _ in }) async throws {
            var settlement = Settlement(of: slice, by: "me", to: 2, next: next)
            change(&settlement)
            _ = try await Worker(fixture: fixture).settle([settlement])
        }

        func move(to state: Message.State) async throws {
            try await write { [self] in
                _ = try $0.moveMessage(
                    app: fixture.app, id: id, from: [messageState], to: state, now: fixture.now)
            }
        }
    }

    private static let events: [@Sendable (Case) async throws -> Void] = [
        { one in try await one.write { _ = try $0.releaseDueSlices(now: one.fixture.now, limit: 9) } },
        { one in _ = try await one.fixture.lease() },
        { one in
            try await one.settle(.keep(leaseUntil: one.fixture.now + .seconds(30))) { settlement in
                settlement.deferrals = [
                    .init(part: 1, keys: [1], attempt: 1, readyAt: one.fixture.now + .seconds(9)),
                    .init(
                        part: 2, keys: [2], attempt: 0, readyAt: one.fixture.now,
                        leasedUntil: one.fixture.now + .seconds(30)),
                ]
            }
        },
        { one in try await one.settle(.done) },
        { one in try await one.settle(.done) { $0.isOfOnlySlice = true } },
        { one in try await one.settle(.release(readyAt: nil)) },
        { one in try await one.settle(.release(readyAt: one.fixture.now + .seconds(9))) },
        { one in
            try await one.write {
                _ = try $0.takeBackLeases(endedBefore: one.fixture.now + .seconds(99), keeping: [], by: nil)
            }
        },
        { one in try await quarantine(one, keepsAnswers: true) },
        { one in try await quarantine(one, keepsAnswers: false) },
        { one in
            try await one.change("UPDATE slice SET counts = \([0xFF] as [UInt8])")
            let route = one.slice.id.activeRoute
            try await one.write { _ = try $0.quarantineUnreadable(on: route, limit: 9) }
        },
        { one in try await one.write { _ = try $0.resumeQuarantined(app: one.fixture.app, id: one.id) } },
        { one in try await one.write { _ = try $0.endQuarantined(limit: 9) } },
        { one in
            try await one.write { _ = try $0.endExpiredMessages(now: one.fixture.now + .seconds(7200), limit: 9) }
        },
        { one in try await one.move(to: .paused) },
        { one in try await one.move(to: .sending) },
        { one in
            try await one.change("UPDATE slice SET ready_at = \(one.fixture.now + .seconds(9))")
            try await one.move(to: .sending)
        },
        { one in try await one.move(to: .cancelled) },
    ]

    private static func quarantine(_ one: Case, keepsAnswers: Bool) async throws {
        let settlement = Settlement(of: one.slice, by: "me", to: 2, next: .done)
        try await one.write { [now = one.fixture.now] in
            _ = try $0.quarantine(settlement, reason: "damaged", keepsAnswers: keepsAnswers, now: now)
        }
    }

    @Test("change exactly as drawn")
    func arrows() async throws {
        let fixture = try await Fixture(.sqlite)
        try await fixture.registerMany(1...2)
        try await Self.recordChanges(fixture)
        var arrows: Set<String> = []
        for state in Slice.State.allCases {
            for messageState in [Message.State.sending, .paused, .cancelled] {
                for event in Self.events {
                    let one = try await Self.begin(messageState, fixture)
                    arrows.formUnion(try await Self.takeChanges(fixture))
                    try await one.change("UPDATE slice SET state = \(state.rawValue)")
                    try await one.change("UPDATE message SET state = \(messageState.rawValue)")
                    _ = try await Self.takeChanges(fixture)
                    try await event(one)
                    arrows.formUnion(try await Self.takeChanges(fixture))
                }
            }
        }
        // The trigger does not record what leaves the state as it is.
        let unchanged: Set = ["leased --> leased", "quarantined --> quarantined"]
        #expect(try arrows.union(unchanged) == StateDrawing.arrows("Slice"))
    }

    private static func begin(_ messageState: Message.State, _ fixture: Fixture) async throws -> Case {
        for table in ["slice", "message", "slice_change"] { try await fixture.test.execute("DELETE FROM \(table)") }
        let (id, _) = try await fixture.send(.devices(1, 2))
        let slice = try #require(try await fixture.lease().first)
        return Case(fixture: fixture, id: id, slice: slice, messageState: messageState)
    }

    private static func recordChanges(_ fixture: Fixture) async throws {
        let statements = [
            "CREATE TABLE slice_change (before BIGINT, after BIGINT)",
            """
            CREATE TRIGGER slice_inserted AFTER INSERT ON slice
            BEGIN INSERT INTO slice_change VALUES (NULL, NEW.state); END
            """,
            """
            CREATE TRIGGER slice_updated AFTER UPDATE ON slice WHEN OLD.state <> NEW.state
            BEGIN INSERT INTO slice_change VALUES (OLD.state, NEW.state); END
            """,
            """
            CREATE TRIGGER slice_deleted AFTER DELETE ON slice
            BEGIN INSERT INTO slice_change VALUES (OLD.state, NULL); END
            """,
        ]
        for statement in statements { try await fixture.test.execute(statement) }
    }

    /// The changes since the last call, as arrows.
    private static func takeChanges(_ fixture: Fixture) async throws -> Set<String> {
        let changes = try await fixture.test.engine.read { connection in
            try connection.all("SELECT before, after FROM slice_change") { row in
                (try row.next(Int64?.self), try row.next(Int64?.self))
            }
        }
        try await fixture.test.execute("DELETE FROM slice_change")
        func name(_ state: Int64?) -> String { state.flatMap(Slice.State.init(rawValue:)).map { "\($0)" } ?? "[*]" }
        return Set(changes.map { "\(name($0.0)) --> \(name($0.1))" })
    }
}
