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

    let context: DeliveryContext

    /// Runs until it is cancelled, even while a stopping process waits for its last answers.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.probeAlways() }
            while !Task.isCancelled {
                do { try await context.time.sleep(for: Self.interval) } catch { return }
                await beat()
            }
        }
    }

    private func probeAlways() async {
        repeat {
            if !context.health.isWriting || context.health.isIdle(for: Self.interval) { await probe() }
            do { try await context.time.sleep(for: Self.probeInterval) } catch { return }
        } while !Task.isCancelled
    }

    /// Writes the time.
    private func probe() async {
        let attempt = context.health.begin()
        let now = Array(context.time.now.description.utf8)
        do {
            try await context.store.write(.control) { try $0.setSetting(Self.setting, now) }
            context.health.end(attempt, failure: nil)
        } catch {
            context.health.end(attempt, failure: error)
        }
    }

    private func beat() async {
        let now = context.time.uptime
        let stale = context.leases.stale(since: now - .seconds(Limits.heartbeatSeconds))
        guard !stale.isEmpty else { return }
        do {
            // Not among the settlements: if those are slow, leases must not end meanwhile.
            let held = Set(
                try await context.store.write(.control) { [context] in
                    try $0.extendLeases(stale, owner: context.owner, until: context.leaseEnd)
                })
            context.metrics.change { $0.leasesExtended += held.count }
            for lease in stale {
                if held.contains(lease) {
                    context.leases.renew(lease, askedAt: now)
                } else {
                    context.leases.remove(lease)
                }
            }
        } catch {
            context.logger.error("leases could not be extended", metadata: ["error": "\(error)"])
        }
    }
}

/// The leases that this process holds, with their ends on `TimeSource.uptime`, which never jumps.
final class LeaseBoard: Sendable {
    private struct Entry {
        let term: Int64
        var end: Duration
        /// When it was taken or last extended.
        var renewedAt: Duration
    }

    private let entries = Mutex<[Slice.ID: Entry]>([:])
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
        entries.withLock { Set($0.map { Slice.Lease(id: $0.key, term: $0.value.term) }) }
    }

    /// Adds a lease that was requested at `askedAt`. Its end counts from then, so it is never too late. A lease on the
    /// board with the same or a later term stays: this one may have been taken back before its holder learned of it.
    /// - Returns: whether it is new.
    @discardableResult
    func add(_ lease: Slice.Lease, askedAt: Duration) -> Bool {
        entries.withLock {
            if let known = $0[lease.id], known.term >= lease.term { return false }
            $0[lease.id] = Entry(term: lease.term, end: askedAt + .seconds(Limits.leaseSeconds), renewedAt: askedAt)
            return true
        }
    }

    /// Removes a lease that was released or lost.
    func remove(_ lease: Slice.Lease) {
        entries.withLock { if $0[lease.id]?.term == lease.term { $0[lease.id] = nil } }
    }

    /// The end of a lease; nil when it is lost.
    func end(of lease: Slice.Lease) -> Duration? {
        entries.withLock { $0[lease.id].flatMap { $0.term == lease.term ? $0.end : nil } }
    }

    /// Extends a lease, unless a later request extended it before.
    func renew(_ lease: Slice.Lease, askedAt: Duration) {
        entries.withLock {
            guard let entry = $0[lease.id], entry.term == lease.term, entry.renewedAt < askedAt else { return }
            $0[lease.id]?.end = askedAt + .seconds(Limits.leaseSeconds)
            $0[lease.id]?.renewedAt = askedAt
        }
    }

    /// Leases that were not renewed since `instant`.
    func stale(since instant: Duration) -> [Slice.Lease] {
        entries.withLock {
            $0.filter { $0.value.renewedAt <= instant }.map { Slice.Lease(id: $0.key, term: $0.value.term) }
        }
    }
}
