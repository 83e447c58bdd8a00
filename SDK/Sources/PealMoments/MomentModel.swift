internal import Foundation

/// A logistic regression of "opens when shown now": the log-odds of an open are
///
///     w₀ + Σ w_j · (feature_j − mean_j) / scale_j
///
/// The part of this score that is known ahead and the part that is sensed add up, which is what lets the stopping rule
/// look ahead. The numbers are rounded to what a model file carries, so that the server computes with exactly what
/// phones get.
public struct MomentModel: Sendable, Hashable {
    /// The app that the model belongs to.
    public var app: String
    /// The campaign; nil for the model of all campaigns of the app.
    public var campaign: String?
    /// Grows with every model of this campaign, a rollback included.
    public var version: Int
    /// Milliseconds since 1970.
    public var trainedAt: Int64
    /// Milliseconds since 1970; from then on a phone uses the built-in model instead.
    public var expires: Int64
    /// The model that this one was derived from, such as `global@17`.
    public var parent: String?

    /// The mean of each feature except the constant over the audience.
    public let means: [Double]
    /// The standard deviation of each feature except the constant.
    public let scales: [Double]
    /// The weights of the standardized features, the constant first.
    public let weights: [Double]
    /// Maps a score to a probability for reports.
    public let calibration: CalibrationMap
    /// What people do when their phones wake; the probabilities of situations are features.
    public let situations: Situations
    /// The distribution of the sensed part of the score.
    public let table: ScoreTable
    /// The audience's day, with which a phone compares its user's habits.
    public let template: HourTemplate
    /// The audience's mean of log(opens + 5).
    public let audienceOpens: Double
    /// The probability that a scheduled wake arrives, for a phone without data of its own.
    public let arrival: Double

    /// The maximum weight; a model with a larger one has diverged.
    public static let weightMax = 6.0
    /// No audience has larger means and scales. Beyond these limits, scores could become infinite or NaN.
    private static let numberMax = 1e6
    private static let scaleMin = 1e-9

    /// Throws unless there are 31 weights, 30 means and 30 scales, all of plausible size.
    public init(
        app: String, campaign: String?, version: Int, trainedAt: Int64, expires: Int64, parent: String? = nil,
        means: [Double], scales: [Double], weights: [Double], calibration: CalibrationMap = .identity,
        situations: Situations = .unknown, table: ScoreTable, template: HourTemplate, audienceOpens: Double,
        arrival: Double
    ) throws(ModelRefusal) {
        let count = FeatureSchema.count
        guard means.count == count - 1, scales.count == count - 1, weights.count == count else {
            throw .malformed("number of weights")
        }
        let numbers = means + [weights[0], audienceOpens, calibration.slope, calibration.intercept]
        guard numbers.allSatisfy({ abs($0) <= Self.numberMax }), (0...1).contains(arrival),
            scales.allSatisfy({ (Self.scaleMin...Self.numberMax).contains($0) })
        else { throw .malformed("implausible number") }
        // The constant contains the base rate and may be larger.
        guard weights.dropFirst().allSatisfy({ abs($0) <= Self.weightMax }) else {
            throw .malformed("weight too large")
        }
        (self.app, self.campaign, self.version, self.parent) = (app, campaign, version, parent)
        (self.trainedAt, self.expires) = (trainedAt, expires)
        self.means = means.map { $0.rounded(significantDigits: 4) }
        self.scales = scales.map { $0.rounded(significantDigits: 4) }
        self.weights = weights.map { $0.rounded(significantDigits: 4) }
        self.calibration = calibration.rounded()
        self.situations = situations
        self.table = table.rounded()
        self.template = template.rounded()
        self.audienceOpens = audienceOpens.rounded(significantDigits: 4)
        self.arrival = arrival.rounded(significantDigits: 3)
    }

    /// The part of the log-odds that is known in advance.
    public func knownScore(_ features: ArraySlice<Double>) -> Double {
        weights[0] + score(features.dropFirst(), firstWeight: 1)
    }

    /// The sensed part, at an hour of the user's own day. A feature that is NaN counts as its mean.
    public func sensedScore(_ features: ArraySlice<Double>, at hour: OwnHour) -> Double {
        let signals = score(features, firstWeight: FeatureSchema.knownCount)
        guard weights[FeatureSchema.measuredCount...].contains(where: { $0 != 0 }) else { return signals }
        let probabilities = situations.probabilities(features, at: hour)
        return signals + score(probabilities.dropFirst(), firstWeight: FeatureSchema.measuredCount)
    }

    /// The log-odds of an open in a context: its known features, then its sensed ones.
    public func score(_ features: ArraySlice<Double>) -> Double {
        let known = features.prefix(FeatureSchema.knownCount)
        return knownScore(known)
            + sensedScore(features.dropFirst(FeatureSchema.knownCount), at: OwnHour(known: known))
    }

    /// The probability that a message shown now is opened, as phones use it to compare moments. For reports use
    /// `calibration`.
    public func probability(known: [Double], sensed: [Double]) -> Double {
        Logistic.probability(score((known + sensed)[...]))
    }

    @inline(__always)
    private func score(_ features: ArraySlice<Double>, firstWeight: Int) -> Double {
        var sum = 0.0
        var weight = firstWeight
        for feature in features where weight < weights.count {
            if feature.isFinite { sum += weights[weight] * (feature - means[weight - 1]) / scales[weight - 1] }
            weight += 1
        }
        return sum
    }
}

/// A linear map from score to calibrated log-odds. Only reports use it: the stopping rule needs no calibrated scores.
public struct CalibrationMap: Sendable, Hashable {
    /// The slope.
    public let slope: Double
    /// The intercept.
    public let intercept: Double

    /// The identity.
    public static let identity = Self(slope: 1, intercept: 0)

    /// A map with this slope and intercept.
    public init(slope: Double, intercept: Double) {
        self.slope = slope
        self.intercept = intercept
    }

    /// The calibrated probability for a score.
    public func probability(_ score: Double) -> Double { Logistic.probability(slope * score + intercept) }

    func rounded() -> Self {
        Self(slope: slope.rounded(significantDigits: 4), intercept: intercept.rounded(significantDigits: 4))
    }
}

/// The logistic function and its inverse.
public enum Logistic {
    /// The probability for log-odds `logit`; never overflows.
    public static func probability(_ logit: Double) -> Double {
        logit >= 0 ? 1 / (1 + exp(-logit)) : exp(logit) / (1 + exp(logit))
    }

    /// The log-odds of a probability within (0, 1).
    public static func logit(_ probability: Double) -> Double { log(probability / (1 - probability)) }
}
