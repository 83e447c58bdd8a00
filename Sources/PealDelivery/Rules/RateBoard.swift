internal import PealCore
internal import Synchronization

/// Spreads the work on messages with a rate limit. Slices that must wait get a turn, so that few ask at once, and only
/// some slices of such a message are worked on at a time, so that workers remain for other messages.
final class RateBoard: Sendable {
    /// Two, so that one continues while another begins.
    private static let slicesPerMessageMax = 2
    private static let turn: Duration = .milliseconds(100)
    private static let turnsMax = 1024

    /// The owner of the rate limit that is used up.
    enum Key: Hashable {
        case app(AppKey)
        case message(MessageID)
    }

    private struct State {
        var working: [MessageID: Int] = [:]
        /// When the last waiter may ask again.
        var turns: [Key: Duration] = [:]
    }

    private let state = Mutex(State())

    /// Whether another slice of the message may be worked on now. `leave` must be called then.
    func enter(_ message: MessageID) -> Bool {
        state.withLock { state in
            guard state.working[message, default: 0] < Self.slicesPerMessageMax else { return false }
            state.working[message, default: 0] += 1
            return true
        }
    }

    func leave(_ message: MessageID) {
        state.withLock { state in
            let left = state.working[message, default: 1] - 1
            state.working[message] = left > 0 ? left : nil
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
