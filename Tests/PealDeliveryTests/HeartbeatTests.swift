import PealCore
@testable import PealDelivery
import PealStore
import PealTesting
import Synchronization
import Testing

@Suite("Heartbeats", .timeLimit(.minutes(10)))
struct HeartbeatTests {
    @Test("leases are extended although settlements wait for the store")
    func extend() async throws {
        let fixture = try await DeliveryFixture(.sqlite)
        try await fixture.register(1...300)
        fixture.provider.hold()
        let slow = SlowStore(fixture.store)
        defer { slow.hold(false) }
        let service = fixture.service(on: slow)
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.eventually { fixture.provider.heldCount == 1 }
            slow.hold(true)
            defer { slow.hold(false) }
            try await fixture.pass(seconds: 20)
            let until = try await fixture.test.engine.read {
                try $0.value("SELECT lease_until FROM slice", Timestamp.self)
            }
            #expect(until.map { $0 > fixture.start + .seconds(Limits.leaseSeconds) } == true)
            slow.hold(false)
            fixture.provider.release()
            try await fixture.drive(isWorkUnderWay: true) { try await fixture.state(id) == .sent }
            #expect(fixture.provider.repeatCount(id) == 0)
        }
    }

    @Test("a paused process shows the others that it uses the database")
    func paused() async throws {
        let fixture = try await DeliveryFixture()
        var options = DeliveryOptions()
        (options.isPaused, options.isOnlyProcess) = (true, false)
        let service = DeliveryService(
            store: fixture.store, providers: [.apns: fixture.provider], time: fixture.time,
            randomness: fixture.randomness, options: options)
        @Sendable func names() async throws -> [String] {
            try await fixture.store.read { [now = fixture.now] in
                try $0.servers(seenSince: now - .seconds(Limits.serverPresenceSeconds)).map(\.name)
            }
        }
        try await fixture.running(service) {
            try await fixture.eventually { try await names() == [service.owner] }
            try await fixture.pass(seconds: 30)
            #expect(try await names() == [service.owner])
        }
        #expect(try await names() == [])
    }

    @Test("a lease that the database forgot in a failover gets no second worker")
    func forgottenLease() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...300)
        fixture.provider.hold()
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.eventually { fixture.provider.heldCount == 1 }
            try await fixture.test.execute("UPDATE slice SET state = 1, owner = NULL, term = term - 1, lease_until = 0")
            service.wake()
            try await fixture.eventually { try await fixture.census().slicesLeased == 1 }
            try await fixture.pass(seconds: 2)
            #expect(fixture.provider.heldCount == 1)
            fixture.provider.release()
            try await fixture.drive(isWorkUnderWay: true) { try await fixture.state(id) == .sent }
            #expect(fixture.provider.repeatCount(id) == 0)
        }
    }

    @Test("a process takes no leases from one that was stopped together with it and continues a little later")
    func stoppedTogether() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...1)
        fixture.provider.answers { _ in .silence }
        let time = ManualTime(now: fixture.now)
        let first = fixture.service(isOnlyProcess: false)
        let second = fixture.service(isOnlyProcess: false, time: time)
        try await fixture.running(first) {
            try await fixture.running(second) {
                try await fixture.eventually { first.isRunning && second.isRunning }
                // The second takes back leases from here on.
                for _ in 0..<15 {
                    time.advance(by: .seconds(1))
                    try await fixture.pass(seconds: 1)
                }
                let id = try await fixture.accept(fixture.draft(.devices(1...1)), engine: first)
                try await fixture.eventually { fixture.provider.pages.count == 1 }
                time.stall(for: .seconds(45))
                for _ in 0..<5 { try await fixture.settle() }
                fixture.time.stall(for: .seconds(45))
                try await fixture.eventually { first.metrics.snapshot.leasesExtended > 0 }
                time.advance(by: .seconds(11))
                for _ in 0..<5 { try await fixture.settle() }
                #expect([first, second].map(\.metrics.snapshot.leasesTakenBack) == [0, 0])
                fixture.provider.answerOpen()
                try await fixture.drive { try await fixture.state(id) == .sent }
                #expect(fixture.provider.pages.count == 1)
            }
        }
    }
}

@Suite("The board of leases")
struct LeaseBoardTests {
    private static func lease(term: Int64) -> Slice.Lease {
        let id = Slice.ID(
            app: 1, message: MessageID(high: 1, low: 2), route: .apnsProduction, rangeStart: 0, part: 0)
        return Slice.Lease(id: id, term: term)
    }

    @Test(
        "keeps the later of two leases of a slice, in whichever order they become known",
        arguments: [[1, 2], [2, 1]] as [[Int64]])
    func later(terms: [Int64]) {
        let board = LeaseBoard()
        let leases = terms.map(Self.lease)
        for lease in leases { board.add(lease, askedAt: .zero) }
        #expect(leases.filter { board.end(of: $0) != nil }.map(\.term) == [2])
    }

    @Test("only the term that holds a slice extends or ends its lease, and no request shortens it")
    func holder() {
        let board = LeaseBoard()
        let (earlier, lease) = (Self.lease(term: 1), Self.lease(term: 2))
        func end(_ step: () -> Void) -> Duration? {
            step()
            return board.end(of: lease)
        }
        let life = Duration.seconds(Limits.leaseSeconds)
        #expect(end { board.add(lease, askedAt: .zero) } == life)
        #expect(end { board.renew(earlier, askedAt: .seconds(10)) } == life)
        #expect(end { board.renew(lease, askedAt: .seconds(10)) } == .seconds(10) + life)
        #expect(end { board.renew(lease, askedAt: .seconds(5)) } == .seconds(10) + life)
        #expect(end { board.add(lease, askedAt: .seconds(5)) } == .seconds(10) + life)
        #expect(board.stale(since: .seconds(9)).isEmpty && board.stale(since: .seconds(10)) == [lease])
        #expect(end { board.remove(earlier) } != nil)
        #expect(end { board.remove(lease) } == nil)
    }
}

/// A store whose settlements wait while a test holds them.
private final class SlowStore: WrappingStore {
    let store: any Store
    private let isHolding = Mutex(false)

    init(_ store: any Store) { self.store = store }

    func hold(_ holds: Bool) { isHolding.withLock { $0 = holds } }

    func write<R: Sendable>(
        _ lane: WriteLane, _ body: @escaping @Sendable (any StoreWriting) throws -> R
    ) async throws -> R {
        while lane == .settle, isHolding.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(2)) }
        return try await store.write(lane, body)
    }
}
