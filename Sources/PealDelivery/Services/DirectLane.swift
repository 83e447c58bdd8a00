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
                        context.direct.finish(slice.id)
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
            context.leases.remove(slice.lease)
            return context.ready.set()
        }
        await SliceWorker(context: context).work(slice)
    }

    private func isHeld(_ slice: Slice) async -> Bool {
        let (owner, lease, until) = (context.owner, slice.lease, context.leaseEnd)
        let held = try? await context.store.write(.settle) {
            try $0.extendLeases([lease], owner: owner, until: until)
        }
        return held?.isEmpty == false
    }
}

/// Small messages that were leased to this process in the transaction that accepted them. A worker whose page is
/// stalled leaves its turn to others, so that a provider that does not answer does not delay other providers. Stalled
/// workers are limited too.
final class DirectQueue: Sendable {
    private struct State {
        var slices: Deque<(slice: Slice, askedAt: Duration)> = []
        var active: Set<Slice.ID> = []
        var stalled = StalledSlices()

        /// Whether so many workers of the route are stalled that others would stall too. A few lost answers say
        /// nothing about the route.
        func isStalled(_ route: ActiveRoute) -> Bool {
            stalled.count(on: route) >= Limits.directRouteStalledMin
        }

        /// Whether a slice may wait here. While too many workers are stalled, slices of their routes may not: no worker
        /// would take them soon, and each search for work would have to skip them.
        func admits(_ slice: Slice.ID) -> Bool {
            guard slices.count < Limits.directSlicesWaitingMax else { return false }
            return stalled.count < Limits.directSlicesStalledMax || !isStalled(slice.activeRoute)
        }

        /// Whether another worker may begin, which counts as stalled from the start if its route is.
        mutating func begin(_ slice: Slice.ID) -> Bool {
            if isStalled(slice.activeRoute) { return addStalled(slice) }
            guard active.count < Limits.directSlicesActiveMax else { return false }
            active.insert(slice)
            return true
        }

        /// Returns false if too many slices are stalled.
        mutating func addStalled(_ slice: Slice.ID) -> Bool {
            guard stalled.count < Limits.directSlicesStalledMax else { return false }
            stalled.insert(slice)
            return true
        }
    }

    private let state = Mutex(State())
    let arrival = Signal()

    /// Returns those that were refused. They are leased again when their leases have expired.
    func put(_ slices: [Slice], askedAt: Duration) -> [Slice] {
        let refused = state.withLock { state in
            slices.filter { slice in
                guard state.admits(slice.id) else { return true }
                state.slices.append((slice: slice, askedAt: askedAt))
                return false
            }
        }
        arrival.set()
        return refused
    }

    /// The slices that may be sent now, in order of arrival. While too many workers are stalled, slices of their routes
    /// do not hold up those behind them. `finish` must be called for each.
    func take() -> [(slice: Slice, askedAt: Duration)] {
        state.withLock { state in
            var taken: [(slice: Slice, askedAt: Duration)] = []
            while let next = state.slices.first, state.begin(next.slice.id) { taken.append(state.slices.removeFirst()) }
            var index = 1
            while index < state.slices.count, state.active.count < Limits.directSlicesActiveMax {
                if state.begin(state.slices[index].slice.id) {
                    taken.append(state.slices.remove(at: index))
                } else {
                    index += 1
                }
            }
            return taken
        }
    }

    var isEmpty: Bool { state.withLock { $0.slices.isEmpty } }
    /// Whether there is room for slices of messages that are planned now.
    var hasRoom: Bool { state.withLock { $0.slices.count < Limits.directSlicesWaitingMax - 512 } }

    /// Whether so many workers of the route are stalled that others would stall too.
    func isStalled(_ route: ActiveRoute) -> Bool { state.withLock { $0.isStalled(route) } }

    /// The slice's page has had no answer for a while: another worker may begin instead.
    func stall(_ slice: Slice.ID) {
        let hasMore = state.withLock { state in
            guard state.active.contains(slice), state.addStalled(slice) else { return false }
            state.active.remove(slice)
            return !state.slices.isEmpty
        }
        if hasMore { arrival.set() }
    }

    /// An answer has arrived again.
    func resume(_ slice: Slice.ID) {
        state.withLock { state in
            if state.stalled.remove(slice) { state.active.insert(slice) }
        }
    }

    func finish(_ slice: Slice.ID) {
        let hasMore = state.withLock { state in
            if !state.stalled.remove(slice) { state.active.remove(slice) }
            return !state.slices.isEmpty
        }
        if hasMore { arrival.set() }
    }
}
