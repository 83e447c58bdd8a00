/// When to show: optimal stopping with a deadline. At each wake the phone knows the probability of an open now; showing
/// is right when that is at least the value of waiting, computed backwards from the deadline over the distribution of
/// what later wakes may sense.
public struct StoppingRule: Sendable, Hashable {
    /// `values[k]` is what waiting is worth at wake `k`, of the wakes handed in.
    public let continuationValues: [Double]

    /// - Parameters:
    ///   - knownScores: log-odds known ahead, one for each remaining wake, the present one first.
    ///   - deadlineScore: log-odds known ahead for the deadline, when the message is shown blindly.
    ///   - sensedScores: equally likely values of the sensed part (quantiles of its distribution); not empty.
    ///   - arrival: the chance, 0 to 1, that a wake really comes.
    public init(knownScores: [Double], deadlineScore: Double, sensedScores: [Double], arrival: Double) {
        let chance = min(max(arrival, 0), 1)
        let sensed = sensedScores.isEmpty ? [0] : sensedScores
        func mean(_ score: Double, _ value: (Double) -> Double) -> Double {
            sensed.reduce(0) { $0 + value(Logistic.probability(score + $1)) } / Double(sensed.count)
        }
        var waiting = mean(deadlineScore) { $0 }
        var values: [Double] = []
        for score in knownScores.reversed() {
            values.append(waiting)
            let best = waiting
            waiting = chance * mean(score) { max($0, best) } + (1 - chance) * best
        }
        continuationValues = values.reversed()
    }

    /// Whether to show at the present wake, the first of those handed in, at which an open has that probability.
    public func shows(now probability: Double) -> Bool {
        guard let waiting = continuationValues.first else { return true }
        return probability >= waiting
    }
}
