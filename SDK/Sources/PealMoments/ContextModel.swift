/// A logistic regression of "opens when shown now": part of its features is known ahead for every future wake (hour,
/// weekday, the person's own habits), part must be sensed at the wake. The two parts add up, which is what lets the
/// stopping rule look ahead.
public struct ContextModel: Sendable, Hashable {
    /// Weights of the features known ahead.
    public let knownWeights: [Double]
    /// Weights of the sensed features.
    public let sensedWeights: [Double]
    /// Mean and scale of the sensed features over the whole audience, by which they are standardised.
    public let sensedMeans: [Double]
    public let sensedScales: [Double]

    /// Returns nil unless weights, means and scales fit each other and are finite, and no scale is zero.
    public init?(knownWeights: [Double], sensedWeights: [Double], sensedMeans: [Double], sensedScales: [Double]) {
        let counts = [sensedWeights.count, sensedMeans.count, sensedScales.count]
        let numbers = knownWeights + sensedWeights + sensedMeans + sensedScales
        guard Set(counts).count == 1, numbers.allSatisfy(\.isFinite), !sensedScales.contains(0) else { return nil }
        self.knownWeights = knownWeights
        self.sensedWeights = sensedWeights
        self.sensedMeans = sensedMeans
        self.sensedScales = sensedScales
    }

    /// The part of the log-odds that is known ahead. Features beyond the model's are passed over.
    public func knownScore(_ features: [Double]) -> Double {
        zip(knownWeights, features).reduce(0) { $0 + $1.0 * $1.1 }
    }

    /// The sensed part; a feature that could not be sensed is nil and counts as its mean.
    public func sensedScore(_ features: [Double?]) -> Double {
        var score = 0.0
        for (index, feature) in features.prefix(sensedWeights.count).enumerated() {
            guard let feature, feature.isFinite else { continue }
            score += sensedWeights[index] * (feature - sensedMeans[index]) / sensedScales[index]
        }
        return score
    }

    /// The probability that a message shown now is opened.
    public func probability(known: [Double], sensed: [Double?]) -> Double {
        Logistic.probability(knownScore(known) + sensedScore(sensed))
    }
}
