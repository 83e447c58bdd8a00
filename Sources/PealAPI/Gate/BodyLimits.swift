internal import PealCore
internal import Synchronization

/// Limits the memory of bodies that are being received or handled, and of long answers that are being read: of all
/// together, of each client network, and of each app. One client or app cannot take what the others need.
final class BodyBudget: Sendable {
    private struct Held {
        var all = 0
        var unknown = 0
        /// By owner. An owner without bodies has no entry.
        var owners: [Owner: Int] = [:]

        func room(of owner: Owner) -> Int { owner.bytesMax - (owners[owner] ?? 0) }

        mutating func add(_ count: Int, to owner: Owner) {
            let bytes = (owners[owner] ?? 0) + count
            owners[owner] = bytes == 0 ? nil : bytes
        }
    }

    /// Who has a share of the budget.
    private enum Owner: Hashable {
        case network(String)
        /// A network's bodies whose callers are not known yet.
        case unknown(String)
        case app(AppKey)

        var bytesMax: Int {
            switch self {
            case .network, .app: Limits.bodyBytesHeldMax / Limits.bodyBudgetShares
            case .unknown: Limits.unknownBodyBytesHeldMax / Limits.bodyBudgetShares
            }
        }
    }

    private let state = Mutex(Held())

    /// The body of one request, and the answer to it.
    final class Share: BodyShare {
        private let budget: BodyBudget
        private let network: String
        private let app: AppKey?
        private let state = Mutex((bytes: 0, isUnknown: false))

        fileprivate init(_ budget: BodyBudget, network: String, app: AppKey?) {
            self.budget = budget
            self.network = network
            self.app = app
        }

        private var owners: [Owner] { [.network(network)] + (app.map { [.app($0)] } ?? []) }

        /// - Parameter isUnknown: the caller has not been authenticated yet.
        /// - Throws: `unavailable` when other requests, or other bodies of this client or app, hold too much.
        func take(_ count: Int, isUnknown: Bool) throws(PealError) {
            let owners = owners + (isUnknown ? [.unknown(network)] : [])
            let hasRoom = budget.state.withLock { held in
                guard held.all + count <= Limits.bodyBytesHeldMax else { return false }
                guard !isUnknown || held.unknown + count <= Limits.unknownBodyBytesHeldMax else { return false }
                guard owners.allSatisfy({ held.room(of: $0) >= count }) else { return false }
                held.all += count
                if isUnknown { held.unknown += count }
                for owner in owners { held.add(count, to: owner) }
                return true
            }
            guard hasRoom else {
                throw PealError(
                    .unavailable, "too many large requests and answers are in progress", retryAfterSeconds: 1)
            }
            state.withLock { $0 = ($0.bytes + count, isUnknown) }
        }

        /// The caller has been authenticated.
        func becomeKnown() {
            let bytes = state.withLock { state -> Int in
                defer { state.isUnknown = false }
                return state.isUnknown ? state.bytes : 0
            }
            guard bytes > 0 else { return }
            budget.state.withLock { held in
                held.unknown -= bytes
                held.add(-bytes, to: .unknown(network))
            }
        }

        /// The request has been answered, and the client has read a long answer.
        func release() {
            becomeKnown()
            let bytes = state.withLock { state -> Int in
                defer { state.bytes = 0 }
                return state.bytes
            }
            guard bytes > 0 else { return }
            budget.state.withLock { held in
                held.all -= bytes
                for owner in owners { held.add(-bytes, to: owner) }
            }
        }
    }

    /// - Parameters:
    ///   - client: from where the body comes.
    ///   - app: the app that the request is for; nil if it is not known before the body.
    func share(of client: ClientAddress, app: AppKey?) -> Share { Share(self, network: client.network, app: app) }
}

/// Lets a few large bodies be parsed at a time, in the order of their arrival: each occupies a thread for a while, and
/// takes many times its size in memory.
final class ParsingTurns: Sendable {
    private struct State {
        var free = Limits.parsingsAtOnceMax
        /// In the order of their arrival. A waiter gets true when its turn begins.
        var waiters: [CheckedContinuation<Bool, Never>] = []
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
        let hasBegun = await withCheckedContinuation { continuation in
            let answer = state.withLock { state -> Bool? in
                if state.free > 0 {
                    state.free -= 1
                    return true
                }
                guard state.waiters.count < Limits.parsingsWaitingMax else { return false }
                state.waiters.append(continuation)
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
        guard hasBegun else {
            throw PealError(.unavailable, "too many large bodies are waiting", retryAfterSeconds: 1)
        }
        return Turn(self)
    }

    private func pass() {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard !state.waiters.isEmpty else {
                state.free += 1
                return nil
            }
            return state.waiters.removeFirst()
        }
        next?.resume(returning: true)
    }
}
