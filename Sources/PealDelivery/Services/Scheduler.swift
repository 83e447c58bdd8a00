internal import Logging
internal import PealCore
internal import Synchronization

/// Starts what is due: plans messages whose start time has come, sends moments that no device claimed, and makes
/// waiting slices ready. It sleeps until the next instant that the store names, or until a signal announces new work.
struct Scheduler: Sendable {
    private static let messagesPerRound = 512
    private static let expiriesPerRound = 64
    private static let slicesPerRound = 1000
    private static let momentsPerRound = 500
    /// The longest time before work that another process stored is noticed.
    private static let fullRoundAfter: Duration = .seconds(5)

    let context: DeliveryContext
    let pollInterval: Duration
    private let failures = PlanFailures()

    private var damaged: DamagedWork {
        DamagedWork(store: context.store, lane: .control, time: context.time, logger: context.logger)
    }

    /// Runs until the process stops.
    func run() async {
        var lastRound: Duration?
        var wasWoken = true
        repeat {
            let now = context.time.uptime
            let isOld = lastRound.map { now - $0 >= Self.fullRoundAfter } ?? true
            var mustLook = wasWoken || isOld
            if !mustLook { mustLook = await isSomethingDue() }
            if mustLook {
                lastRound = now
                await round()
            }
            wasWoken = await sleep()
        } while !context.stop.isOn
    }

    /// Returns whether a signal announced new work.
    private func sleep() async -> Bool {
        guard !context.stop.isOn else { return false }
        let next = try? await context.store.read { try $0.nextDueAt() }
        let untilNext = next.map { $0 - context.time.now } ?? pollInterval
        let wait = untilNext > .zero ? min(untilNext, pollInterval) : .milliseconds(250)
        let before = context.time.uptime
        await context.due.wait(atMost: wait, on: context.time)
        return context.time.uptime - before < wait
    }

    private func isSomethingDue() async -> Bool {
        guard let next = try? await context.store.read({ try $0.nextDueAt() }) else { return false }
        return next <= context.time.now
    }

    private func round() async {
        while !context.stop.isOn {
            let now = context.time.now
            let resets = context.routes.takeResets()
            do {
                let (found, freed, isMore) = try await context.store.write(.control) { writer in
                    for route in resets { try writer.openGate(route) }
                    let ended = try writer.endExpiredMessages(now: now, limit: Self.expiriesPerRound)
                    let fired = try writer.fireDueMoments(now: now, limit: Self.momentsPerRound, quiet: .system)
                    let revoked = try writer.endDueClaims(now: now, limit: Self.momentsPerRound)
                    let released = try writer.releaseDueSlices(now: now, limit: Self.slicesPerRound)
                    return (
                        try writer.dueMessages(now: now, limit: Self.messagesPerRound),
                        ended + fired + revoked + released + resets.count,
                        ended >= Self.expiriesPerRound || max(fired, revoked) >= Self.momentsPerRound
                            || released >= Self.slicesPerRound
                    )
                }
                let messages = failures.without(waiting: found, now: context.time.uptime)
                await plan(messages)
                if !messages.isEmpty || freed > 0 { context.ready.set() }
                if messages.count < Self.messagesPerRound, !isMore { return }
            } catch {
                context.logFailure("due work could not be read", error)
                guard !PealError.isOutage(error) else { return context.routes.putBack(resets) }
                return await apart(resets)
            }
        }
    }

    /// Does each kind of due work in its own write, so that one that fails does not stop the others. A moment that
    /// cannot be read is postponed.
    private func apart(_ resets: Set<ActiveRoute>) async {
        let now = context.time.now
        let opened: Void? = await attempt("reopened routes") { for route in resets { try $0.openGate(route) } }
        if opened == nil { context.routes.putBack(resets) }
        let freed = [
            await attempt("expired messages") {
                try $0.endExpiredMessages(now: now, limit: Self.expiriesPerRound)
            },
            await damaged.work("delivery window", limit: Self.momentsPerRound) {
                try $0.fireDueMoments(now: now, limit: $1, quiet: .system)
            } postpone: {
                try $0.postponeDueMoment(.open, to: $1, now: now)
            },
            await damaged.work("claim", limit: Self.momentsPerRound) {
                try $0.endDueClaims(now: now, limit: $1)
            } postpone: {
                try $0.postponeDueMoment(.claimed, to: $1, now: now)
            },
            await attempt("retries") { try $0.releaseDueSlices(now: now, limit: Self.slicesPerRound) },
        ]
        let found = await attempt("schedules") { try $0.dueMessages(now: now, limit: Self.messagesPerRound) } ?? []
        let messages = failures.without(waiting: found, now: context.time.uptime)
        await plan(messages)
        if !resets.isEmpty || !messages.isEmpty || freed.contains(where: { ($0 ?? 0) > 0 }) { context.ready.set() }
    }

    /// nil if the write fails.
    private func attempt<R: Sendable>(
        _ kind: String, _ body: @escaping @Sendable (any StoreWriting) throws -> R
    ) async -> R? {
        do {
            return try await context.store.write(.control, body)
        } catch {
            context.logFailure("due work failed", error, ["kind": "\(kind)"])
            return nil
        }
    }

    /// Plans all of them at once, each in its own write: they share commits, and one that fails does not affect the
    /// others.
    private func plan(_ messages: [(app: AppKey, id: MessageID)]) async {
        await withDiscardingTaskGroup { group in
            for (app, id) in messages { group.addTask { await plan(app, id) } }
        }
    }

    private func plan(_ app: AppKey, _ id: MessageID) async {
        // If the direct lane has no room, the dispatcher leases them.
        let owner = context.direct.hasRoom ? context.owner : nil
        let (now, askedAt) = (context.time.now, context.time.uptime)
        do {
            let plan = try await context.store.write(.control) {
                try $0.plan(app: app, id: id, owner: owner, now: now)
            }
            failures.forget(id)
            context.takeDirect(plan.leasedSlices, askedAt: askedAt)
        } catch let error where failures.mayPass(error, id, now: askedAt) {
            context.logFailure("a message will be planned later", error, ["message": "\(id)"], level: .warning)
        } catch {
            context.logger.error(
                "a message could not be planned", metadata: ["message": "\(id)", "error": "\(error)"])
            let failure = (error as? PealError)?.description ?? "internal error"
            _ = try? await context.store.write(.control) {
                try $0.moveMessage(app: app, id: id, from: [.planning], to: .failed, failure: failure, now: now)
            }
        }
    }
}

/// Messages whose planning failed. A fault of the store may pass, for example while a newer server migrates the
/// database, so they are tried again for a while.
final class PlanFailures: Sendable {
    private static let pause: Duration = .seconds(5)
    /// A message fails when its planning has failed for this long.
    private static let patience: Duration = .seconds(60)
    /// Messages that were cancelled meanwhile, or planned by another process, are forgotten.
    private static let memory: Duration = .seconds(3600)

    private let state = Mutex<[MessageID: (firstAt: Duration, lastAt: Duration)]>([:])

    /// Whether the same message may be planned later.
    func mayPass(_ error: any Error, _ id: MessageID, now: Duration) -> Bool {
        guard !PealError.isOutage(error) else { return true }
        return state.withLock { state in
            let firstAt = state[id]?.firstAt ?? now
            let isDamage = (error as? PealError).map { $0.code == .internal } ?? true
            guard isDamage, now - firstAt < Self.patience else {
                state[id] = nil
                return false
            }
            state[id] = (firstAt, now)
            state = state.filter { now - $0.value.lastAt < Self.memory }
            return true
        }
    }

    func forget(_ id: MessageID) { state.withLock { $0[id] = nil } }

    /// `messages` without those whose next attempt is not due yet.
    func without(
        waiting messages: [(app: AppKey, id: MessageID)], now: Duration
    ) -> [(app: AppKey, id: MessageID)] {
        state.withLock { state in
            messages.filter { message in state[message.id].map { now - $0.lastAt >= Self.pause } ?? true }
        }
    }
}
