/// Decides when to show a message: optimal stopping with a deadline, as when a house must be sold by a certain day
/// (Chow, Robbins and Siegmund 1971). At each wake the phone knows the probability of an open now. It shows the message
/// if that is at least the value of waiting, which is computed backwards from the deadline:
///
///     V(deadline) = Σ_b m_b · σ(d + z_b)
///     V(k)        = q · Σ_b m_b · max(σ(d_k + z_b), V(k + 1)) + (1 − q) · V(k + 1)
///
/// The value of waiting at wake k is V(k + 1). σ is the logistic function, d_k the known part of the score at wake k,
/// z_b what may be sensed there, with probability m_b at that hour, and q the probability that the wake arrives.
public struct StoppingRule: Sendable, Hashable {
    /// One instant at which the message may be shown.
    public struct Wake: Sendable, Hashable {
        /// The part of the log-odds that is known in advance.
        public let knownScore: Double
        /// The hour on the user's own clock.
        public let ownHour: OwnHour

        /// A wake and what is known about it in advance.
        public init(knownScore: Double, ownHour: OwnHour) {
            self.knownScore = knownScore
            self.ownHour = ownHour
        }
    }

    /// `continuationValues[k]` is the value of waiting at the given wake `k`.
    public let continuationValues: [Double]

    /// - Parameters:
    ///   - wakes: the remaining wakes, the current one first, without the deadline.
    ///   - deadline: the instant at which the message is shown in any case.
    ///   - table: how the sensed part of the score is distributed.
    ///   - arrival: the probability that a scheduled wake arrives.
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

    /// Whether to show the message at the current wake, the first one given, at which an open has that probability.
    public func shows(now probability: Double) -> Bool {
        guard let waiting = continuationValues.first else { return true }
        return probability >= waiting
    }
}
