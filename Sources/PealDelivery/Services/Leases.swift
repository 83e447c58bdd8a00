internal import Logging
internal import PealCore
internal import Synchronization

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
            context.logFailure("leases could not be extended", error)
        }
    }
}

/// Takes back leases whose holder is gone: when the only process starts, all of them; later, those that have expired.
struct Rescuer: Sendable {
    private static let interval: Duration = .seconds(10)
    /// Messages whose quarantined slices end in one write.
    private static let endedPerWrite = 100

    let context: DeliveryContext

    /// Runs once, before anything is leased.
    func start() async {
        if context.isOnlyProcess { await takeBack(endedBefore: nil) }
        context.leases.noteStart(at: context.time.uptime)
        await endQuarantined()
    }

    /// Runs until the process stops.
    func run() async {
        let sleeper = context.stop.sleeper()
        var lag = context.time.lag
        while await context.stop.pause(sleeper, atMost: Self.interval) {
            let stalled = context.time.lag - lag
            lag += stalled
            // If this process could not run, perhaps because its machine was suspended, the same may be true of others:
            // they get until the next round to extend their leases.
            guard stalled < .seconds(Limits.heartbeatSeconds) else { continue }
            // After an outage, all holders seem to be gone until they have written again.
            guard context.isOnlyProcess || context.health.hasBeenWriting(for: .seconds(Limits.heartbeatSeconds)) else {
                continue
            }
            // The same happens after the clock was set, until they have extended their leases by the new time.
            guard await context.time.isSteady() else { continue }
            await takeBack(endedBefore: context.time.now)
        }
    }

    /// Slices that were quarantined after their message had ended would keep its counts from being final. Done once at
    /// each start, because what cannot be stored is quarantined again.
    private func endQuarantined() async {
        do {
            let count = try await context.store.write(.control) { try $0.endQuarantined(limit: Self.endedPerWrite) }
            if count > 0 {
                context.logger.notice(
                    "ended quarantined slices of ended messages", metadata: ["slices": .stringConvertible(count)])
            }
        } catch {
            context.logger.error("quarantined slices could not be ended", metadata: ["error": "\(error)"])
        }
    }

    private func takeBack(endedBefore instant: Timestamp?) async {
        do {
            let starter = instant == nil ? context.owner : nil
            let count = try await context.store.write(.control) { [context] in
                // This process works on the leases of its board, whatever the clock says.
                try $0.takeBackLeases(endedBefore: instant, keeping: context.leases.held, by: starter)
            }
            guard count > 0 else { return }
            context.metrics.change { $0.leasesTakenBack += count }
            context.logger.notice("leases were taken back", metadata: ["slices": .stringConvertible(count)])
            context.ready.set()
        } catch {
            context.logFailure("leases could not be taken back", error)
        }
    }
}
