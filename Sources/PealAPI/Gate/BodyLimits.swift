internal import PealCore
internal import Synchronization

/// Limits the memory of bodies that are being received or handled.
final class BodyBudget: Sendable {
    private let state = Mutex((all: 0, unknown: 0))

    /// The bodies of one request.
    final class Share: Sendable {
        private let budget: BodyBudget
        private let state = Mutex((bytes: 0, isUnknown: false))

        fileprivate init(_ budget: BodyBudget) { self.budget = budget }

        /// - Parameter isUnknown: the caller has not been authenticated yet.
        /// - Throws: `unavailable` when other requests hold too much.
        func take(_ count: Int, isUnknown: Bool) throws(PealError) {
            let hasRoom = budget.state.withLock { held in
                guard held.all + count <= Limits.bodyBytesHeldMax else { return false }
                guard !isUnknown || held.unknown + count <= Limits.unknownBodyBytesHeldMax else { return false }
                held.all += count
                if isUnknown { held.unknown += count }
                return true
            }
            guard hasRoom else {
                throw PealError(.unavailable, "too many bodies are being received", retryAfterSeconds: 1)
            }
            state.withLock { $0 = ($0.bytes + count, isUnknown) }
        }

        /// The caller has been authenticated.
        func becomeKnown() {
            let bytes = state.withLock { state -> Int in
                defer { state.isUnknown = false }
                return state.isUnknown ? state.bytes : 0
            }
            budget.state.withLock { $0.unknown -= bytes }
        }

        /// The request has been answered.
        func release() {
            becomeKnown()
            let bytes = state.withLock { state -> Int in
                defer { state.bytes = 0 }
                return state.bytes
            }
            budget.state.withLock { $0.all -= bytes }
        }
    }

    func share() -> Share { Share(self) }
}

/// Lets a few large bodies be parsed at a time, in the order of their arrival: each occupies a thread for a while, and
/// takes many times its size in memory.
final class ParsingTurns: Sendable {
    private struct State {
        var free = Limits.parsingsAtOnceMax
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// A turn that has begun. It may be ended more than once.
    final class Turn: Sendable {
        private let turns: Mutex<ParsingTurns?>

        fileprivate init(_ turns: ParsingTurns) { self.turns = Mutex(turns) }

        func end() { turns.withLock { $0.take() }?.pass() }
    }

    /// Waits for a turn.
    /// - Throws: `unavailable` when too many wait.
    func begin() async throws(PealError) -> Turn {
        let hasRoom = state.withLock { $0.waiters.count < Limits.parsingsWaitingMax }
        guard hasRoom else {
            throw PealError(.unavailable, "too many large bodies are waiting", retryAfterSeconds: 1)
        }
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.free > 0 {
                    state.free -= 1
                    return true
                }
                state.waiters.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
        return Turn(self)
    }

    private func pass() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard !state.waiters.isEmpty else {
                state.free += 1
                return nil
            }
            return state.waiters.removeFirst()
        }
        next?.resume()
    }
}
