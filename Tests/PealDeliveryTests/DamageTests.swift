import PealCore
import PealStore
import PealTesting
import Synchronization
import Testing

@testable import PealDelivery

@Suite("Delivery from a damaged database", .timeLimit(.minutes(10)))
struct DamageTests {
    @Test("a slice that cannot be leased delays no other route")
    func lease() async throws {
        let fixture = try await DeliveryFixture(.sqlite)
        try await fixture.register(1...10)
        let other = try await fixture.another()
        try await other.putCredential()
        try await other.register(11...20)
        let damaged = try await fixture.accept(fixture.draft(.all))
        let good = try await other.accept(other.draft(.all))
        let message = damaged.description.replacing("-", with: "").uppercased()
        try await fixture.test.execute(
            """
            CREATE TRIGGER damage BEFORE UPDATE OF owner ON slice WHEN hex(NEW.message) = '\(message)'
            BEGIN SELECT RAISE(ABORT, 'damaged row'); END
            """)
        let service = fixture.service()
        try await fixture.running(service) {
            try await fixture.eventually { try await other.state(good) == .sent }
            #expect(try await fixture.state(damaged) == .sending)
            try await fixture.test.execute("DROP TRIGGER damage")
            try await fixture.drive(isWorkUnderWay: true) { try await fixture.state(damaged) == .sent }
            #expect(try await fixture.counts(damaged) == .accepted(10))
        }
    }

    @Test("a message whose planning fails is planned when the fault has passed, and fails after a minute")
    func planning() async throws {
        let fixture = try await DeliveryFixture(.sqlite)
        try await fixture.register(1...10)
        try await fixture.test.execute(
            "CREATE TRIGGER damage BEFORE INSERT ON slice BEGIN SELECT RAISE(ABORT, 'not now'); END")
        let service = fixture.service()
        try await fixture.running(service) {
            let start = fixture.now + .seconds(1)
            let passing = try await fixture.accept(fixture.draft(.all, startAt: start), engine: service)
            try await fixture.pass(seconds: 30)
            #expect(try await fixture.state(passing) == .planning)
            try await fixture.test.execute("DROP TRIGGER damage")
            try await fixture.drive(isWorkUnderWay: true) { try await fixture.state(passing) == .sent }
            try await fixture.test.execute(
                "CREATE TRIGGER damage BEFORE INSERT ON slice BEGIN SELECT RAISE(ABORT, 'never'); END")
            let other = fixture.now + .seconds(1)
            let damaged = try await fixture.accept(fixture.draft(.all, startAt: other), engine: service)
            try await fixture.drive(by: .seconds(1), isWorkUnderWay: true) {
                try await fixture.state(damaged)?.isFinal ?? false
            }
            #expect(try await fixture.state(damaged) == .failed)
            #expect(fixture.now - other >= .seconds(60))
        }
    }

    @Test("an outage after an earlier one does not count as damage of a route")
    func outage() async throws {
        let fixture = try await DeliveryFixture(.sqlite)
        try await fixture.register(1...10)
        let store = RefusingStore(fixture.store)
        let service = fixture.service(on: store)
        try await fixture.running(service) {
            try await fixture.eventually { service.isRunning }
            store.refuse(true)
            let id = try await fixture.accept(fixture.draft(.all))
            service.wake()
            try await fixture.eventually { store.leasesRefused > 0 }
            try await fixture.move(id, from: [.sending], to: .paused)
            store.refuse(false)
            // Nothing is ready meanwhile, but the store is written to.
            try await fixture.pass(seconds: 20)
            store.refuse(true)
            try await fixture.move(id, from: [.paused], to: .sending)
            service.wake()
            try await fixture.eventually { store.leasesRefused > 0 }
            store.refuse(false)
            service.wake()
            let restoredAt = fixture.now
            try await fixture.drive(by: .milliseconds(10), isWorkUnderWay: true) {
                try await fixture.state(id) == .sent
            }
            #expect(fixture.now - restoredAt < .seconds(5), "a damaged route is left out for so long")
        }
    }

    @Test("a message that cannot be read is not leased over and over after its end")
    func unreadable() async throws {
        let fixture = try await DeliveryFixture(.sqlite)
        try await fixture.register(1...10)
        let id = try await fixture.accept(fixture.draft(.all))
        try await fixture.test.execute("UPDATE message_content SET content = x'FF'")
        try await fixture.move(id, from: [.sending], to: .cancelled)
        let service = fixture.service()
        try await fixture.running(service) {
            try await fixture.eventually { try await fixture.census().slicesLeased == 1 }
            try await fixture.pass(seconds: 5)
            #expect(service.metrics.snapshot.settles == 0)
            #expect(try await fixture.census().slicesLeased == 1)
        }
    }

    /// A message to 4,000 devices whose slice is quarantined because the answers to its two pages cannot be logged.
    /// - Parameter damage: what else fails before the answers arrive.
    private func quarantined(
        _ fixture: DeliveryFixture, _ service: DeliveryService, damage: (MessageID) async throws -> Void = { _ in }
    ) async throws -> MessageID {
        try await fixture.register(1...4000)
        fixture.provider.hold()
        let id = try await fixture.accept(fixture.draft(.all), engine: service)
        try await fixture.refuseLog(of: id)
        try await fixture.eventually { fixture.provider.heldCount == 2 }
        try await damage(id)
        fixture.provider.release()
        try await fixture.drive(isWorkUnderWay: true) { try await fixture.census().slicesQuarantined == 1 }
        return id
    }

    @Test("a quarantined slice keeps the answers to all of its pages in flight")
    func pagesInFlight() async throws {
        let fixture = try await DeliveryFixture(.sqlite)
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await quarantined(fixture, service)
            try await fixture.eventually { try await fixture.counts(id).accepted == 4000 }
            try await fixture.repairLog()
            try await fixture.move(id, from: [.sending], to: .paused)
            try await fixture.move(id, from: [.paused], to: .sending)
            service.interrupt(id)
            try await fixture.drive { try await fixture.state(id) == .sent }
            #expect(fixture.provider.repeatCount(id) == 0)
            #expect(try await fixture.counts(id).accepted == 4000)
        }
    }

    @Test(
        "devices whose answers a quarantined slice cannot get are counted once, as resent",
        arguments: [Slice.State.leased, .quarantined])
    func answersInDoubt(stuck: Slice.State) async throws {
        let fixture = try await DeliveryFixture(.sqlite)
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await quarantined(fixture, service) { try await fixture.refuseCursor(of: $0, in: stuck) }
            try await fixture.eventually {
                let doubt = try await fixture.test.engine.read { try $0.count("SELECT doubt FROM slice") }
                return try await fixture.counts(id).accepted + doubt == 4000
            }
            try await fixture.repairLog()
            try await fixture.repairCursor()
            _ = try await fixture.store.write(.control) { [app = fixture.app] in
                try $0.resumeQuarantined(app: app, id: id)
            }
            service.interrupt(id)
            try await fixture.drive { try await fixture.state(id) == .sent }
            let (counts, repeated) = (try await fixture.counts(id), fixture.provider.repeatCount(id))
            #expect(counts.accepted == 4000 && counts.resent == repeated)
            #expect(stuck == .leased ? repeated == 4000 : (1..<4000).contains(repeated))
            // Counted after the commit that ends the message.
            try await fixture.eventually { service.metrics.snapshot.notifications.values.reduce(0, +) == 4000 }
            #expect(service.metrics.snapshot.resent == repeated)
        }
    }
}

/// A store that can be read while it refuses writes.
private final class RefusingStore: WrappingStore {
    private struct State {
        var isRefusing = false
        var leasesRefused = 0
    }

    let store: any Store
    private let state = Mutex(State())

    init(_ store: any Store) { self.store = store }

    /// How many writes of the kind that leases slices were refused since the last change.
    var leasesRefused: Int { state.withLock { $0.leasesRefused } }

    func refuse(_ refuses: Bool) { state.withLock { $0 = State(isRefusing: refuses) } }

    func write<R: Sendable>(
        _ lane: WriteLane, _ body: @escaping @Sendable (any StoreWriting) throws -> R
    ) async throws -> R {
        let isRefused = state.withLock { state in
            if state.isRefusing, lane == .settle { state.leasesRefused += 1 }
            return state.isRefusing
        }
        if isRefused { throw PealError(.unavailable, "the disk is full") }
        return try await store.write(lane, body)
    }
}
