internal import PealCore
internal import Synchronization

/// Awaits the answers of stragglers and settles their list slices, so that one slow stream holds no page. Answers that
/// arrive meanwhile are settled without the rest, which become stragglers again.
struct StragglerService: Sendable {
    let context: DeliveryContext

    /// Runs until the queue is closed and every straggler is settled or given up.
    func run() async {
        await withDiscardingTaskGroup { group in
            while true {
                for run in context.stragglers.take() {
                    group.addTask {
                        var own = run
                        await own.run()
                        context.leases.remove(run.slice.lease)
                        context.stragglers.finish(run)
                    }
                }
                if context.stragglers.isOver { return }
                await context.stragglers.arrival.wait()
            }
        }
    }
}

/// Passes the runs that await stragglers from workers to the service, and limits the memory that their pages occupy.
final class StragglerQueue: Sendable {
    private struct State {
        var waiting: [SliceRun] = []
        /// Devices of the pages that stragglers were in.
        var deviceCount = 0
        var count = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    let arrival = Signal()

    var isFull: Bool { state.withLock { $0.deviceCount >= Limits.stragglerPageDevicesMax } }

    func put(_ run: SliceRun) {
        state.withLock {
            $0.waiting.append(run)
            $0.count += 1
            $0.deviceCount += Self.deviceCount(run)
        }
        arrival.set()
    }

    func take() -> [SliceRun] {
        state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
    }

    /// - Parameter run: As it was put.
    func finish(_ run: SliceRun) {
        state.withLock {
            $0.count -= 1
            $0.deviceCount -= Self.deviceCount(run)
        }
        arrival.set()
    }

    private static func deviceCount(_ run: SliceRun) -> Int { run.pages.reduce(0) { $0 + ($1.order?.page.count ?? 0) } }

    /// Whether the queue is empty and nothing more can be added.
    var isOver: Bool { state.withLock { $0.isClosed && $0.count == 0 } }

    /// Closes the queue, because no worker is left to add anything.
    func close() {
        state.withLock { $0.isClosed = true }
        arrival.set()
    }
}
