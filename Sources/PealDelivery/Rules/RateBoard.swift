internal import PealCore
internal import Synchronization

/// Spreads the work on messages and apps with a rate limit. Slices that must wait get a turn, so that few ask at once,
/// and only some slices under one limit are worked on at a time, so that workers remain for others.
final class RateBoard: Sendable {
    /// Two, so that one continues while another begins.
    private static let slicesPerMessageMax = 2
    /// More, so that one slow message leaves room for the app's others.
    private static let slicesPerAppMax = 4
    private static let turn: Duration = .milliseconds(100)
    private static let turnsMax = 1024

    /// The owner of the rate limit that is used up.
    enum Key: Hashable {
        case app(AppKey)
        case message(MessageID)

        fileprivate var slicesMax: Int {
            switch self {
            case .app: RateBoard.slicesPerAppMax
            case .message: RateBoard.slicesPerMessageMax
            }
        }
    }

    private struct State {
        var working: [Key: Int] = [:]
        /// When the last waiter may ask again.
        var turns: [Key: Duration] = [:]
    }

    private let state = Mutex(State())

    /// The limits under which a slice is sent.
    static func keys(of slice: Slice.ID, _ rates: GateRates) -> [Key] {
        (rates.ofApp == nil ? [] : [.app(slice.app)]) + (rates.ofMessage == nil ? [] : [.message(slice.message)])
    }

    /// Whether another slice under all of these limits may be worked on now. `leave` must be called then.
    func enter(_ keys: [Key]) -> Bool {
        state.withLock { state in
            guard keys.allSatisfy({ state.working[$0, default: 0] < $0.slicesMax }) else { return false }
            for key in keys { state.working[key, default: 0] += 1 }
            return true
        }
    }

    func leave(_ keys: [Key]) {
        state.withLock { state in
            for key in keys {
                let left = state.working[key, default: 1] - 1
                state.working[key] = left > 0 ? left : nil
            }
        }
    }

    /// How long to wait before asking again, if the rate has room after `wait`.
    func delay(_ key: Key, _ wait: Duration, now: Duration) -> Duration {
        state.withLock { state in
            if state.turns.count >= Self.turnsMax { state.turns = state.turns.filter { $0.value > now } }
            let turn = max(now + wait, (state.turns[key] ?? .zero) + Self.turn)
            state.turns[key] = turn
            return turn - now
        }
    }
}
