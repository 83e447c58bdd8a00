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
