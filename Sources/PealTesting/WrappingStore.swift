package import PealCore

/// A store that wraps another one, for example to count or refuse writes. A conformer implements only what it changes;
/// the defaults call the wrapped store.
package protocol WrappingStore: Store {
    var store: any Store { get }
}

extension WrappingStore {
    package var setupVersion: Int { store.setupVersion }

    package func read<R: Sendable>(
        _ lane: ReadLane, _ body: @escaping @Sendable (any StoreReading) throws -> R
    ) async throws -> R {
        try await store.read(lane, body)
    }

    package func checkedList<R: Sendable>(
        _ lane: ReadLane, _ body: @escaping @Sendable (any StoreReading, _ more: Int) throws -> R
    ) async throws -> (items: R, isComplete: Bool) {
        try await store.checkedList(lane, body)
    }

    package func write<R: Sendable>(
        _ lane: WriteLane, _ body: @escaping @Sendable (any StoreWriting) throws -> R
    ) async throws -> R {
        try await store.write(lane, body)
    }

    package func chainAudit() async throws { try await store.chainAudit() }
}

/// Offers leases, and ignores everything that it is given.
package struct SilentEngine: DeliveryEngine {
    package let leaseOffer: LeaseOffer? = LeaseOffer(
        owner: "test", interruptions: 0, leaseUntil: Timestamp(milliseconds: 4_000_000_000_000), madeAt: .zero)

    package init() {}

    package func take(_ slices: [Slice], of job: DeliveryJob, under offer: LeaseOffer) {}
    package func wake() {}
    package func interrupt(_ message: MessageID) {}
    package func credentialsChanged(at slot: CredentialSlot) {}
}
