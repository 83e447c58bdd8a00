internal import PealCore
internal import Synchronization

/// Awaits the answers of stragglers and settles their list slices, so that one slow stream holds no page.
struct LatecomerService: Sendable {
    let context: DeliveryContext

    /// Runs until the queue is closed and every straggler is settled or given up.
    func run() async {
        await withDiscardingTaskGroup { group in
            while true {
                for latecomer in context.latecomers.take() {
                    group.addTask {
                        await finish(latecomer)
                        context.leases.remove(latecomer.slice)
                        context.latecomers.finish()
                    }
                }
                if context.latecomers.isOver { return }
                await context.latecomers.arrival.wait()
            }
        }
    }

    /// Everybody else in the page has an answer, so the flight is complete when the stragglers have theirs.
    private func finish(_ latecomer: Latecomer) async {
        guard let flight = latecomer.page.order?.flight else { return }
        while true {
            let now = context.time.uptime
            let isOver = now >= latecomer.until || context.stop.isDrained(at: now)
            let snapshot = flight.snapshot
            if isOver || snapshot.isComplete { return await settle(latecomer, snapshot) }
            await context.time.race(atMost: min(.seconds(1), latecomer.until - now)) { await flight.wait() }
        }
    }

    private func settle(_ latecomer: Latecomer, _ snapshot: PageFlight.Snapshot) async {
        let whole = PageFates(latecomer.page, snapshot, lostAnswer: latecomer.lostAnswer, isFinal: true)
        var fates = PageFates(whole, places: latecomer.places)
        let slice = latecomer.slice
        await postponeDoubted(&fates, of: slice)
        let route = ActiveRoute(app: slice.id.app, route: slice.id.route)
        let report = await context.report(
            [fates], on: route, key: latecomer.key, version: latecomer.accessVersion, isProbe: false,
            isOwnStop: context.stop.isOn)
        let now = context.time.now
        let readyAt = report.readyAt ?? now + .seconds(1)
        let conclusion = Conclusion(
            [fates], locales: latecomer.locales,
            terms: Conclusion.Terms(
                attempt: slice.attempt, life: latecomer.life, now: now, readyAt: readyAt,
                suspiciousUntil: report.trustsSuspicious ? nil : readyAt, stragglersLeasedUntil: now,
                keepsTail: false, holdsAddresses: slice.id.holdsAddresses),
            chance: context.randomness.next())
        let settlements = conclusion.settlements(
            of: slice, owner: context.owner, pending: 0, sentAt: latecomer.page.sentAt, next: .done,
            keep: .keep(leaseUntil: context.leaseEnd), part: context.randomness.positiveNumber)
        let results = await context.settler.settle(settlements)
        if results.allSatisfy(\.isApplied) { context.count(conclusion, since: slice.counts, settlements) }
    }

    /// Who may belong to the other environment is tried there by the next attempt.
    private func postponeDoubted(_ fates: inout PageFates, of slice: Slice) async {
        guard let name = slice.id.route.provider, let provider = context.providers[name],
            let other = slice.id.route.otherEnvironment, !slice.id.holdsAddresses
        else { return }
        let doubted = fates.doubted(by: provider)
        guard !doubted.isEmpty, (try? await context.healingAccess(app: slice.id.app, other)) != nil else { return }
        fates.postpone(doubted)
    }
}

/// Stragglers of a page that was settled without them: their slice, and where they stand in the page.
struct Latecomer: Sendable {
    /// A list slice, leased by this process.
    let slice: Slice
    let page: SentPage
    /// Ascending; the keys of `slice` in their order.
    let places: [Int]
    let locales: [String?]
    let life: PlatformLife
    let lostAnswer: MessageOptions.LostAnswer
    let key: AccessCache.Key
    let accessVersion: Int
    /// On `TimeSource.uptime`: when who has not answered is lost.
    let until: Duration
}

/// Hands stragglers from workers to the service that awaits them, and bounds how many pages have any.
final class LatecomerQueue: Sendable {
    private struct State {
        var waiting: [Latecomer] = []
        var count = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    let arrival = Signal()

    var isFull: Bool { state.withLock { $0.count >= Limits.stragglerPagesMax } }

    func put(_ latecomer: Latecomer) {
        state.withLock {
            $0.waiting.append(latecomer)
            $0.count += 1
        }
        arrival.set()
    }

    func take() -> [Latecomer] {
        state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
    }

    func finish() {
        state.withLock { $0.count -= 1 }
        arrival.set()
    }

    /// Whether nothing is left and nothing more can come.
    var isOver: Bool { state.withLock { $0.isClosed && $0.count == 0 } }

    /// Says that no worker is left that could bring more.
    func close() {
        state.withLock { $0.isClosed = true }
        arrival.set()
    }
}
