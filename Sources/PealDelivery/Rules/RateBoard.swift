internal import PealCore
internal import Synchronization

/// Schedules the slices of messages and apps with a rate limit. Slices that must wait get a turn, so that few ask for
/// the rate at once, and workers process only a few slices under one limit at a time, so that they remain available to
/// others.
final class RateBoard: Sendable {
    /// Two, so that one continues while another begins.
    private static let slicesPerMessageMax = 2
    /// More, so that one slow message leaves room for the app's others.
    private static let slicesPerAppMax = 4
    /// The longest time between two turns.
    private static let turnMax: Duration = .milliseconds(100)
    private static let turnsMax = 1024
    /// How many workers wait under one limit, and how long.
    private static let waitersMax = 10
    private static let waitMax: Duration = .seconds(1)

    /// The owner of a rate limit.
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
        /// When the next waiter may ask for the rate.
        var turns: [Key: Duration] = [:]
    }

    private let state = Mutex(State())

    /// The limits under which a slice is sent.
    static func keys(of slice: Slice.ID, _ rates: GateRates) -> [Key] {
        (rates.ofApp == nil ? [] : [.app(slice.app)]) + (rates.ofMessage == nil ? [] : [.message(slice.message)])
    }

    /// Whether another slice under all of these limits may be processed now. If so, the caller must call `leave`
    /// afterwards.
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

    /// When a slice that must wait may ask for the rate again.
    struct Turn: Sendable, Hashable {
        let delay: Duration
        /// Whether the worker waits for the turn. Otherwise it releases the slice until then.
        let isNear: Bool
    }

    /// The next turn under a limit that is used up. Turns follow each other as fast as the rate allows, at most 100 ms
    /// apart; the turn of a small message is short.
    /// - Parameters:
    ///   - wait: the time after which the rate allows more.
    ///   - takes: See `RateGrant.takes`.
    func turn(_ key: Key, after wait: Duration, takes: Duration, now: Duration) -> Turn {
        state.withLock { state in
            if state.turns.count >= Self.turnsMax { state.turns = state.turns.filter { $0.value > now } }
            let step = min(takes, Self.turnMax)
            let turn = max(now + wait, state.turns[key] ?? .zero)
            state.turns[key] = turn + step
            let delay = turn - now
            return Turn(delay: delay, isNear: delay <= Self.waitMax && delay - wait <= step * Self.waitersMax)
        }
    }
}
