import PealCore
import PealDelivery
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
