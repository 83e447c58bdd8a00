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
    @Test(
        "keeps the later of two leases of a slice, in whichever order they become known",
        arguments: [[1, 2], [2, 1]] as [[Int64]])
    func later(terms: [Int64]) {
        let board = LeaseBoard()
        let id = Slice.ID(
            app: 1, message: MessageID(high: 1, low: 2), route: .apnsProduction, rangeStart: 0, part: 0)
        let slices = terms.map {
            Slice(id: id, keyFrom: 1, keyTo: 1, cursor: 0, estimate: 1, term: $0, lane: .direct)
        }
        for slice in slices { board.add(slice.lease, askedAt: .zero) }
        #expect(slices.filter { board.end(of: $0.lease) != nil }.map(\.term) == [2])
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
