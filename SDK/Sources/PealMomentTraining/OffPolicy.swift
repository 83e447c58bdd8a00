internal import Foundation

/// A message whose moment was chosen with known probabilities and whose wakes were all logged.
public struct LoggedMessage: Sendable {
    /// The predicted probability of an open at each wake and, last, at the deadline.
    public let expected: [Double]
    /// The probability with which each of them was chosen.
    public let propensities: [Double]
    /// Which one was chosen.
    public let shown: Int
    /// Whether the message was opened.
    public let opened: Bool

    /// A message with as many propensities as expectations.
    public init(expected: [Double], propensities: [Double], shown: Int, opened: Bool) {
        precondition(expected.count == propensities.count && expected.indices.contains(shown))
        (self.expected, self.propensities, self.shown, self.opened) = (expected, propensities, shown, opened)
    }
}

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

/// Estimates what another policy would have achieved with logged messages (doubly robust). The estimates warn of a
/// harmful model; whether a model is better is decided by an experiment.
public enum OffPolicy {
    /// The maximum weight of a message.
    public static let ratioMax = 20.0

    /// The value of a policy.
    /// - Parameter target: for each message, the probabilities with which the policy would choose among its moments.
    public static func value(_ messages: [LoggedMessage], target: [[Double]]) -> OffPolicyEstimate {
        estimate(zip(messages, target).map { term($0, $1) })
    }

    /// The advantage of a policy over another on the same messages.
    public static func advantage(
        _ messages: [LoggedMessage], of target: [[Double]], over other: [[Double]]
    ) -> OffPolicyEstimate {
        let terms = messages.indices.map { index in
            let (one, two) = (term(messages[index], target[index]), term(messages[index], other[index]))
            return (value: one.value - two.value, ratio: one.ratio)
        }
        return estimate(terms)
    }

    private static func term(_ message: LoggedMessage, _ target: [Double]) -> (value: Double, ratio: Double) {
        let model = zip(target, message.expected).reduce(0) { $0 + $1.0 * $1.1 }
        let propensity = message.propensities[message.shown]
        let ratio = propensity > 0 ? min(target[message.shown] / propensity, ratioMax) : 0
        return (model + ratio * ((message.opened ? 1 : 0) - message.expected[message.shown]), ratio)
    }

    static func estimate(_ terms: [(value: Double, ratio: Double)]) -> OffPolicyEstimate {
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
