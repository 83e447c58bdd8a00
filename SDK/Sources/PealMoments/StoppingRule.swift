/// When to show: optimal stopping with a deadline. At each wake the phone knows the probability of an open now; showing
/// is right when that is at least the value of waiting, computed backwards from the deadline over the distribution of
/// what later wakes may sense.
public struct StoppingRule: Sendable, Hashable {
    /// One instant at which the message may be shown.
    public struct Wake: Sendable, Hashable {
        /// Log-odds known ahead.
        public let knownScore: Double
        /// The hour on the person's own clock.
        public let ownHour: OwnHour

        /// A wake with what is known ahead about it.
        public init(knownScore: Double, ownHour: OwnHour) {
            self.knownScore = knownScore
            self.ownHour = ownHour
        }
    }

    /// `continuationValues[k]` is what waiting is worth at wake `k`, of the wakes handed in.
    public let continuationValues: [Double]

    /// - Parameters:
    ///   - wakes: the remaining wakes, the present one first, without the deadline.
    ///   - deadline: the instant at which the message is shown whatever is sensed.
    ///   - table: how the sensed part of the score is distributed.
    ///   - arrival: the chance, 0 to 1, that a wake really comes.
    public init(wakes: [Wake], deadline: Wake, table: ScoreTable, arrival: Double) {
        let chance = min(max(arrival, 0), 1)
        var waiting = table.mean(at: deadline.ownHour) { Logistic.probability(deadline.knownScore + $0) }
        var values = [Double](repeating: 0, count: wakes.count)
        for index in wakes.indices.reversed() {
            values[index] = waiting
            guard chance > 0 else { continue }
            let (score, best) = (wakes[index].knownScore, waiting)
            let reached = table.mean(at: wakes[index].ownHour) { max(Logistic.probability(score + $0), best) }
            waiting = chance * reached + (1 - chance) * best
        }
        continuationValues = values
    }

    /// Whether to show at the present wake, the first of those handed in, at which an open has that probability.
    public func shows(now probability: Double) -> Bool {
        guard let waiting = continuationValues.first else { return true }
        return probability >= waiting
    }
}
