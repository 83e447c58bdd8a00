internal import Logging
internal import PealCore
internal import Synchronization

/// Extends the leases of slices that settled nothing for a while, so that a slow page keeps its slice.
struct Heartbeat: Sendable {
    private static let interval: Duration = .seconds(Limits.heartbeatSeconds / 2)

    let context: DeliveryContext

    /// Runs until it is cancelled: also while a stopping process awaits its last answers.
    func run() async {
        while !Task.isCancelled {
            do { try await context.time.sleep(for: Self.interval) } catch { return }
            await beat()
        }
    }

    private func beat() async {
        let now = context.time.uptime
        let stale = context.leases.stale(since: now - .seconds(Limits.heartbeatSeconds))
        guard !stale.isEmpty else { return }
        let (owner, until) = (context.owner, context.leaseEnd)
        do {
            let held = Set(
                try await context.store.write(.settle) {
                    try $0.extendLeases(stale, owner: owner, until: until)
                })
            context.metrics.change { $0.leasesExtended += held.count }
            for lease in stale {
                if held.contains(lease.id) {
                    context.leases.renew(lease.id, term: lease.term, askedAt: now)
                } else {
                    context.leases.lose(lease.id, term: lease.term)
                }
            }
        } catch {
            context.logger.error("leases could not be extended", metadata: ["error": "\(error)"])
        }
    }
}

/// The leases this process holds, with their ends on a clock that never jumps.
final class LeaseBoard: Sendable {
    struct Lease: Sendable, Hashable {
        let term: Int64
        var end: Duration
        /// When it was last extended, or taken.
        var renewedAt: Duration
    }

    private let leases = Mutex<[Slice.ID: Lease]>([:])

    /// Notes a lease that was asked for at `askedAt`, so that its end is rather too early than too late.
    func add(_ slice: Slice, askedAt: Duration) {
        leases.withLock {
            $0[slice.id] = Lease(
                term: slice.term, end: askedAt + .seconds(Limits.leaseSeconds), renewedAt: askedAt)
        }
    }

    func remove(_ slice: Slice) {
        leases.withLock { if $0[slice.id]?.term == slice.term { $0[slice.id] = nil } }
    }

    /// The end of a lease; nil when it is lost.
    func end(of slice: Slice) -> Duration? {
        leases.withLock { $0[slice.id].flatMap { $0.term == slice.term ? $0.end : nil } }
    }

    func renew(_ id: Slice.ID, term: Int64, askedAt: Duration) {
        leases.withLock {
            guard $0[id]?.term == term else { return }
            $0[id]?.end = askedAt + .seconds(Limits.leaseSeconds)
            $0[id]?.renewedAt = askedAt
        }
    }

    func lose(_ id: Slice.ID, term: Int64) {
        leases.withLock { if $0[id]?.term == term { $0[id] = nil } }
    }

    /// Leases that nothing renewed since `instant`.
    func stale(since instant: Duration) -> [(id: Slice.ID, term: Int64)] {
        leases.withLock { $0.filter { $0.value.renewedAt <= instant }.map { (id: $0.key, term: $0.value.term) } }
    }
}
