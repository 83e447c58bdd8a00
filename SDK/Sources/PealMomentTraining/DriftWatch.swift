internal import Foundation

/// Watches whether people open a campaign's messages as often as its models expected, and raises an alarm if not.
///
/// It bets against the models (Ville 1939; Ramdas et al. 2023, "Game-theoretic statistics and safe anytime-valid
/// inference"). A bet assumes that from some message on the odds of an open are e^change times the expected ones. The
/// likelihood ratio of each outcome multiplies its value:
///
///     value ← value · (opened ? e^change : 1) / (1 − p + p · e^change)
///
/// Here p is the expected probability, moved towards the bet by the tolerance. If the models are right within the
/// tolerance, no bet gains on average, so the sum of all values, which begins at 1, exceeds 1 / 0.01 with a probability
/// of at most 0.01, however many messages are added.
///
/// The stakes are divided among the changes, and among all messages from which a change may begin. A bet that begins
/// later has a smaller stake, but the stakes decrease so slowly that late changes are found too.
public struct DriftWatch: Sendable, Hashable {
    /// Deviations of the rate of opens up to this share of it count as none.
    public static let tolerance = 0.05
    /// The highest probability of an alarm, ever, if no deviation exceeds the tolerance.
    public static let falseAlarmsMax = 0.01

    /// In log-odds. These four are close to the best bet on any change by more than a fifth.
    private static let changes = [0.25, 0.75, -0.25, -0.75]
    /// The factors of the odds.
    private static let factors = changes.map { exp($0) }
    /// Half of the stakes are on changes before the expected opens reach (e − 1) times this number.
    private static let earlyOpens = 10.0

    /// Whether there were clearly more, or fewer, opens than expected. It stays true.
    public private(set) var hasDrifted = false
    /// The values of the bets on each change that have begun, each relative to its share.
    private var values = [Double](repeating: 0, count: changes.count)
    /// The stakes of bets that have not begun.
    private var reserve = 1.0
    private var expectedOpens = 0.0

    /// Before the first message.
    public init() {}

    /// Adds one matured message. Messages come in the order in which they were shown.
    /// - Parameter expected: the probability of an open, by a model that was trained before.
    public mutating func record(expected: Double, opened: Bool) {
        guard !hasDrifted else { return }
        expectedOpens += expected
        let left = 1 / (1 + log1p(expectedOpens / Self.earlyOpens))
        let stake = reserve - left
        reserve = left
        var sum = 0.0
        for index in values.indices {
            let factor = Self.factors[index]
            let tolerated = min(expected * (1 + (factor > 1 ? Self.tolerance : -Self.tolerance)), 1)
            values[index] = (values[index] + stake) * (opened ? factor : 1) / (1 - tolerated + tolerated * factor)
            sum += values[index]
        }
        hasDrifted = sum / Double(values.count) + reserve > 1 / Self.falseAlarmsMax
    }
}

/// How much the distribution of a feature has shifted.
public enum PopulationStability {
    /// Above this value, a feature counts as shifted.
    public static let limit = 0.25

    /// The population stability index of two samples: Σ (q − p) · ln(q / p) over intervals, where p and q are their
    /// shares of the first and the second sample. The intervals lie between the deciles of the first sample.
    /// - Returns: 0 if one of the samples is empty.
    public static func index(reference: [Double], current: [Double]) -> Double {
        let sorted = reference.filter(\.isFinite).sorted()
        let fresh = current.filter(\.isFinite)
        guard let first = sorted.first, !fresh.isEmpty else { return 0 }
        var edges: [Double] = []
        for tenth in 1..<10 {
            let edge = sorted[tenth * sorted.count / 10]
            if edge > edges.last ?? first { edges.append(edge) }
        }
        // A signal that is seldom set, or always, has no decile above its lowest value.
        if edges.isEmpty {
            edges = [first]
            if let next = (sorted + fresh).filter({ $0 > first }).min() { edges.append(next) }
        }
        func shares(_ values: [Double]) -> [Double] {
            // Half a value more in each interval, so that none is empty.
            var counts = [Double](repeating: 0.5, count: edges.count + 1)
            for value in values { counts[edges.count { $0 <= value }] += 1 }
            let sum = counts.reduce(0, +)
            return counts.map { $0 / sum }
        }
        return zip(shares(sorted), shares(fresh)).reduce(0) { $0 + ($1.1 - $1.0) * log($1.1 / $1.0) }
    }
}
