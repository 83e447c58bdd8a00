import Synchronization

/// How many notifications an unauthenticated channel has had on the present day (UTC).
final class DailyQuota: Sendable {
    private struct State {
        var day: Int64 = 0
        var counts: [String: Int] = [:]
    }

    private let state = Mutex(State())

    /// Counts one more for `uri`; says no when the day's number is used up.
    func take(_ uri: String, milliseconds: Int64) -> Bool {
        state.withLock { state in
            let day = milliseconds / 86_400_000
            if state.day != day || state.counts.count >= SimulatorLimits.devicesMarkedMax {
                state = State(day: day)
            }
            guard state.counts[uri, default: 0] < SimulatorLimits.mpnsNotificationsPerDayMax else { return false }
            state.counts[uri, default: 0] += 1
            return true
        }
    }
}
