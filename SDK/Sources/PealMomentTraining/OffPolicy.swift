public import PealMoments

/// An estimate with its uncertainty.
public struct OffPolicyEstimate: Sendable, Hashable {
    /// Opens for each message, or their difference.
    public let value: Double
    /// Its standard error.
    public let standardError: Double
    /// The effective sample size: as many messages of the policy itself.
    public let effectiveCount: Double

    /// An estimate from elsewhere, such as a stored one.
    public init(value: Double, standardError: Double, effectiveCount: Double) {
        (self.value, self.standardError, self.effectiveCount) = (value, standardError, effectiveCount)
    }
}

/// Estimates what another policy would have achieved with logged messages: doubly robust off-policy evaluation of a
/// sequence of decisions (Jiang and Li 2016). The estimates warn of a harmful model; whether a model is better is
/// decided by an experiment.
public enum OffPolicy {
    /// The maximum weight of a message.
    public static let ratioMax = 20.0

    /// With fewer messages, or an effective sample below half of it, there is no estimate.
    public static let journeysMin = 200

    /// The advantage in opens per message of soft phones with `model` over what soft phones did; nil for too few.
    /// - Parameter own: models that the phones may have had; messages of other models do not count.
    public static func advantage(
        of model: MomentModel, over own: [MomentModel], in journeys: [LoggedJourney]
    ) -> (estimate: OffPolicyEstimate, count: Int)? {
        let known = journeys.compactMap { journey in journey.model(among: own).map { (journey, $0) } }
        guard known.count >= journeysMin else { return nil }
        let opens = Double(known.count { $0.0.opened })
        let steps = known.map { $0.0.steps($0.1, model) }
        let expected = zip(known, steps).reduce(0) { $0 + $1.0.0.expected($1.1.own) }
        let scale = expected > 0 ? min(max(opens / expected, 0.05), 20) : 1
        let terms = known.indices.map { index in
            let journey = known[index].0
            let one = journey.value(steps[index].other, scale: scale)
            return (value: one.value - journey.value(steps[index].own, scale: scale).value, ratio: one.ratio)
        }
        let result = estimate(terms)
        return result.effectiveCount >= Double(journeysMin) / 2 ? (result, known.count) : nil
    }

    private static func estimate(_ terms: [(value: Double, ratio: Double)]) -> OffPolicyEstimate {
        let moments = Moments(terms.map(\.value))
        let sum = terms.reduce(0) { $0 + $1.ratio }
        let squares = terms.reduce(0) { $0 + $1.ratio * $1.ratio }
        return OffPolicyEstimate(
            value: moments.mean, standardError: moments.standardError,
            effectiveCount: squares > 0 ? sum * sum / squares : 0)
    }
}

/// Mean and variance of a sample.
struct Moments {
    let count: Int
    let mean: Double
    /// With Bessel's correction.
    let variance: Double

    init(_ values: [Double]) {
        count = values.count
        let mean = values.isEmpty ? 0 : values.reduce(0, +) / Double(values.count)
        self.mean = mean
        variance = count > 1 ? values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(count - 1) : 0
    }

    var standardError: Double { count > 0 ? (variance / Double(count)).squareRoot() : 0 }
}
