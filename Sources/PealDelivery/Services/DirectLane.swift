internal import DequeModule
internal import PealCore
internal import Synchronization

/// Sends small messages at once: they were leased when they were accepted, and never wait behind bulk pages.
struct DirectLane: Sendable {
    let context: DeliveryContext

    /// Runs until the process stops and every worker has ended.
    func run() async {
        await withDiscardingTaskGroup { workers in
            while true {
                for (slice, askedAt) in context.direct.take() {
                    workers.addTask {
                        await work(slice, askedAt)
                        context.direct.finish()
                    }
                }
                if context.stop.isOn, context.direct.isEmpty { return }
                await context.direct.arrival.wait()
            }
        }
    }

    /// A message that was accepted while this process started may have lost its lease to the start itself.
    private func work(_ slice: Slice, _ askedAt: Duration) async {
        if context.leases.isFromBeforeStart(askedAt), await !isHeld(slice) {
            context.leases.remove(slice)
            return context.ready.set()
        }
        await SliceWorker(context: context).work(slice, askedAt: askedAt)
    }

    private func isHeld(_ slice: Slice) async -> Bool {
        let (owner, lease, until) = (context.owner, (id: slice.id, term: slice.term), context.leaseEnd)
        let held = try? await context.store.write(.settle) {
            try $0.extendLeases([lease], owner: owner, until: until)
        }
        return held?.isEmpty == false
    }
}

/// Small messages that were leased to this process in the transaction that accepted them.
final class DirectQueue: Sendable {
    private struct State {
        var slices: Deque<(slice: Slice, askedAt: Duration)> = []
        var activeCount = 0
    }

    private let state = Mutex(State())
    let arrival = Signal()

    /// Returns how many did not fit. They are leased again when their leases have expired.
    func put(_ slices: [Slice], askedAt: Duration) -> Int {
        let taken = state.withLock { state in
            let taken = slices.prefix(max(0, Limits.directSlicesWaitingMax - state.slices.count))
            state.slices += taken.map { (slice: $0, askedAt: askedAt) }
            return taken.count
        }
        arrival.set()
        return slices.count - taken
    }

    /// The slices that may be sent now. `finish` must be called for each.
    func take() -> [(slice: Slice, askedAt: Duration)] {
        state.withLock { state in
            let taken = Array(state.slices.prefix(Limits.directSlicesActiveMax - state.activeCount))
            state.slices.removeFirst(taken.count)
            state.activeCount += taken.count
            return taken
        }
    }

    var isEmpty: Bool { state.withLock { $0.slices.isEmpty } }
    /// Whether there is room for slices of messages that are planned now.
    var hasRoom: Bool { state.withLock { $0.slices.count < Limits.directSlicesWaitingMax - 512 } }

    func finish() {
        let hasMore = state.withLock { state in
            state.activeCount -= 1
            return !state.slices.isEmpty
        }
        if hasMore { arrival.set() }
    }
}
