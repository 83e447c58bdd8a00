internal import Logging
internal import PealCore
internal import Synchronization

/// Extends the leases of slices that have not settled anything for a while, so that a slow page keeps its slice. If
/// nothing else writes, it writes from time to time to find out whether the store accepts writes.
struct Heartbeat: Sendable {
    private static let interval: Duration = .seconds(Limits.heartbeatSeconds / 2)
    /// How often it tries to write while the store refuses.
    private static let probeInterval: Duration = .seconds(1)
    private static let setting = "heartbeat"

    private let store: any Store
    private let time: any TimeSource
    private let logger: Logger
    private let metrics: DeliveryMetrics
    private let leases: LeaseBoard
    private let health: StoreHealth
    private let owner: String

    init(_ context: DeliveryContext) {
        store = context.store
        time = context.time
        logger = context.logger
        metrics = context.metrics
        leases = context.leases
        health = context.health
        owner = context.owner
    }

    /// Runs until it is cancelled, even while a stopping process waits for its last answers.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.probeAlways() }
            while !Task.isCancelled {
                do { try await time.sleep(for: Self.interval) } catch { return }
                await beat()
            }
        }
    }

    private func probeAlways() async {
        repeat {
            if !health.isWriting || health.isIdle(for: Self.interval) { await probe() }
            do { try await time.sleep(for: Self.probeInterval) } catch { return }
        } while !Task.isCancelled
    }

    /// Writes the time.
    private func probe() async {
        let attempt = health.begin()
        let now = Array(time.now.description.utf8)
        let hasWritten = (try? await store.write(.control) { try $0.setSetting(Self.setting, now) }) != nil
        health.end(attempt, hasWritten: hasWritten)
    }

    private func beat() async {
        let now = time.uptime
        let stale = leases.stale(since: now - .seconds(Limits.heartbeatSeconds))
        guard !stale.isEmpty else { return }
        let owner = owner
        do {
            // Not among the settlements: if those are slow, leases must not end meanwhile.
            let held = Set(
                try await store.write(.control) { [time] in
                    try $0.extendLeases(stale, owner: owner, until: time.now + .seconds(Limits.leaseSeconds))
                })
            metrics.change { $0.leasesExtended += held.count }
            for lease in stale {
                if held.contains(lease.id) {
                    leases.renew(lease.id, term: lease.term, askedAt: now)
                } else {
                    leases.lose(lease.id, term: lease.term)
                }
            }
        } catch {
            logger.error("leases could not be extended", metadata: ["error": "\(error)"])
        }
    }
}

/// The leases that this process holds, with their ends on `TimeSource.uptime`, which never jumps.
final class LeaseBoard: Sendable {
    struct Lease: Sendable, Hashable {
        let term: Int64
        var end: Duration
        /// When it was taken or last extended.
        var renewedAt: Duration
    }

    private let leases = Mutex<[Slice.ID: Lease]>([:])
    /// When leases of an earlier run were taken back; nil before.
    private let startedAt = Mutex<Duration?>(nil)

    /// Records that every lease from before `now` may have been taken back.
    func noteStart(at now: Duration) { startedAt.withLock { $0 = now } }

    /// Whether this process's own start may have taken back a lease that was asked for at `askedAt`.
    func isFromBeforeStart(_ askedAt: Duration) -> Bool {
        startedAt.withLock { $0.map { askedAt <= $0 } ?? true }
    }

    /// Every lease on the board: no process takes these back from this one.
    var held: Set<Slice.Lease> {
        leases.withLock { Set($0.map { Slice.Lease(id: $0.key, term: $0.value.term) }) }
    }

    /// Adds a lease that was requested at `askedAt`. Its end counts from then, so it is never too late. A lease on the
    /// board with the same or a later term stays: this one may have been taken back before its holder learned of it.
    func add(_ slice: Slice, askedAt: Duration) {
        leases.withLock {
            if let known = $0[slice.id], known.term >= slice.term { return }
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

    /// Extends a lease, unless a later request extended it before.
    func renew(_ id: Slice.ID, term: Int64, askedAt: Duration) {
        leases.withLock {
            guard let lease = $0[id], lease.term == term, lease.renewedAt < askedAt else { return }
            $0[id]?.end = askedAt + .seconds(Limits.leaseSeconds)
            $0[id]?.renewedAt = askedAt
        }
    }

    func lose(_ id: Slice.ID, term: Int64) {
        leases.withLock { if $0[id]?.term == term { $0[id] = nil } }
    }

    /// Leases that were not renewed since `instant`.
    func stale(since instant: Duration) -> [(id: Slice.ID, term: Int64)] {
        leases.withLock { $0.filter { $0.value.renewedAt <= instant }.map { (id: $0.key, term: $0.value.term) } }
    }
}
