internal import PealCore
internal import Synchronization

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
