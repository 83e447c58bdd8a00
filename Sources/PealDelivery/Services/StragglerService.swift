internal import PealCore
internal import Synchronization

/// Awaits the answers of stragglers and settles their list slices, so that one slow stream holds no page.
struct StragglerService: Sendable {
    let context: DeliveryContext

    /// Runs until the queue is closed and every straggler is settled or given up.
    func run() async {
        await withDiscardingTaskGroup { group in
            while true {
                for stragglers in context.stragglers.take() {
                    group.addTask {
                        await finish(stragglers)
                        context.leases.remove(stragglers.slice)
                        context.stragglers.finish()
                    }
                }
                if context.stragglers.isOver { return }
                await context.stragglers.arrival.wait()
            }
        }
    }

    /// Everybody else in the page has an answer, so the flight is complete when the stragglers have theirs.
    private func finish(_ stragglers: Stragglers) async {
        guard let flight = stragglers.page.order?.flight else { return }
        while true {
            let now = context.time.uptime
            let isOver = now >= stragglers.until || context.stop.isDrained(at: now)
            let snapshot = flight.snapshot
            if isOver || snapshot.isComplete { return await settle(stragglers, snapshot) }
            await context.time.race(atMost: min(.seconds(1), stragglers.until - now)) { await flight.wait() }
        }
    }

    private func settle(_ stragglers: Stragglers, _ snapshot: PageFlight.Snapshot) async {
        let whole = PageFates(stragglers.page, snapshot, lostAnswer: stragglers.terms.lostAnswer, isFinal: true)
        var fates = PageFates(whole, indices: stragglers.indices)
        let slice = stragglers.slice
        await postponeDoubted(&fates, of: slice)
        let (conclusion, _) = await context.conclude(
            [fates], of: slice, under: stragglers.terms, locales: stragglers.locales, isProbe: false,
            isOwnStop: context.stop.isOn, keepsTail: false)
        let settlements = context.settlements(
            of: conclusion, slice, pending: 0, sentAt: stragglers.page.sentAt, next: .done)
        let results = await context.settler.settle(settlements)
        if results.allSatisfy(\.isApplied) { context.count(conclusion, since: slice.counts, settlements) }
    }

    /// Defers devices that may belong to the other environment: the next attempt tries them there.
    private func postponeDoubted(_ fates: inout PageFates, of slice: Slice) async {
        guard let name = slice.id.route.provider, let provider = context.providers[name],
            let other = slice.id.route.otherEnvironment, !slice.id.holdsAddresses
        else { return }
        let doubted = fates.doubted(by: provider)
        guard !doubted.isEmpty, (try? await context.healingAccess(app: slice.id.app, other)) != nil else { return }
        fates.postpone(doubted)
    }
}

/// The stragglers of a page that was settled without them: their slice, and their indices in the page.
struct Stragglers: Sendable {
    /// A list slice, leased by this process.
    let slice: Slice
    let page: SentPage
    /// Ascending; the keys of `slice` in their order.
    let indices: [Int]
    let locales: [String?]
    let terms: SendTerms
    /// On `TimeSource.uptime`: from then on, missing answers are lost.
    let until: Duration
}

/// Hands stragglers from workers to the service that awaits them, and bounds how many pages may have any.
final class StragglerQueue: Sendable {
    private struct State {
        var waiting: [Stragglers] = []
        var count = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    let arrival = Signal()

    var isFull: Bool { state.withLock { $0.count >= Limits.stragglerPagesMax } }

    func put(_ stragglers: Stragglers) {
        state.withLock {
            $0.waiting.append(stragglers)
            $0.count += 1
        }
        arrival.set()
    }

    func take() -> [Stragglers] {
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

    /// Says that no worker is left to add more.
    func close() {
        state.withLock { $0.isClosed = true }
        arrival.set()
    }
}
