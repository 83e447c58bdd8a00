internal import Foundation

/// Intervals that stay valid however often one looks: the normal-mixture sequential probability ratio test.
public enum AlwaysValid {
    /// The standard deviation of the mixture: differences around a fifth of the rate are detected soonest.
    public static func spread(rate: Double) -> Double { 0.2 * max(rate, 1e-6) }

    /// Half the width of a difference's interval.
    public static func halfWidth(variance: Double, spread: Double, alpha: Double) -> Double {
        let mixture = spread * spread
        guard variance > 0, mixture > 0 else { return 0 }
        let factor = variance * (variance + mixture) / mixture
        return (factor * (log((variance + mixture) / variance) + 2 * log(1 / alpha))).squareRoot()
    }
}

/// Checks that the arms have the expected sizes: a sequential Bayes factor against every other split. An alarm means
/// that assignment or logging is broken and the experiment's results cannot be trusted.
public struct SampleRatioAlarm: Sendable, Hashable {
    /// The weight of the prior of other splits, in users.
    private static let priorUsers = 100.0
    /// A Bayes factor above this value is an alarm.
    public static let limit = 1000.0

    /// The expected share of users in the context-aware arm.
    public let share: Double
    /// Users so far.
    public private(set) var contextAware = 0
    /// Users so far.
    public private(set) var traditional = 0
    /// Whether the factor has ever exceeded the limit.
    public private(set) var isRaised = false

    /// An alarm for an experiment with that share, between 0 and 1.
    public init(share: Double) { self.share = min(max(share, 0), 1) }

    /// Adds the counts of users at a look.
    public mutating func record(contextAware: Int, traditional: Int) {
        (self.contextAware, self.traditional) = (contextAware, traditional)
        isRaised = isRaised || logFactor > log(Self.limit)
    }

    /// The logarithm of the Bayes factor; infinite if an arm that should be empty is not.
    public var logFactor: Double {
        if share == 0 || share == 1 {
            return (share == 0 ? contextAware : traditional) > 0 ? .infinity : -.infinity
        }
        let (one, other) = (Double(contextAware), Double(traditional))
        let (first, second) = (Self.priorUsers * share, Self.priorUsers * (1 - share))
        return logBeta(first + one, second + other) - logBeta(first, second)
            - one * log(share) - other * log(1 - share)
    }

    private func logBeta(_ one: Double, _ other: Double) -> Double {
        lgamma(one) + lgamma(other) - lgamma(one + other)
    }
}

/// The result of an experiment.
public enum ExperimentDecision: String, Sendable, Hashable, Codable {
    /// Nothing yet.
    case undecided
    /// Good moments win: 95 % of users get them, the rest remain as holdout.
    case promote
    /// Good moments lose: all users get messages immediately.
    case revert
    /// The difference is too small to matter: the simpler arm is used.
    case noDifference = "no_difference"
    /// The sizes of the arms are wrong.
    case untrustworthy

    /// Differences below this share of the rate do not matter.
    public static let relevantLift = 0.02
    /// With fewer users in an arm, the interval is too narrow: if all of them do the same, it has no width at all.
    public static let usersMin = 10
    /// The share of users who stay in the traditional arm after a promotion, to keep measuring.
    public static let holdout = 0.05

    /// The decision so far. It may be taken at any time, because the interval is always valid.
    public init(_ comparison: ArmComparison, isRatioSound: Bool) {
        let interval = comparison.interval()
        let margin = Self.relevantLift * comparison.traditional.rate
        let deviation = (2 * comparison.variance).squareRoot()
        func below(_ value: Double) -> Double {
            deviation > 0 ? 0.5 * erfc((comparison.difference - value) / deviation) : 0
        }
        if !isRatioSound {
            self = .untrustworthy
        } else if min(comparison.contextAware.users, comparison.traditional.users) < Self.usersMin {
            self = .undecided
        } else if interval.lowerBound > 0 {
            self = .promote
        } else if interval.upperBound < 0 {
            self = .revert
        } else if below(margin) - below(-margin) > 0.95 {
            self = .noDifference
        } else {
            self = .undecided
        }
    }

    /// The share of users whose messages are shown at good moments afterwards; nil while the experiment continues.
    public var shareAfterwards: Double? {
        switch self {
        case .undecided, .untrustworthy: nil
        case .promote: 1 - Self.holdout
        case .revert, .noDifference: 0
        }
    }

    /// The number of messages that each arm needs to detect a lift with 80 % power and a look every day.
    /// - Parameters:
    ///   - rate: opens per message.
    ///   - messagesPerUser: the mean over the experiment.
    ///   - correlation: between messages of one user.
    public static func messagesNeeded(
        rate: Double, lift: Double, messagesPerUser: Double = 1, correlation: Double = 0.05
    ) -> Int {
        let difference = rate * lift
        guard difference != 0, rate > 0, rate < 1 else { return .max }
        let fixed = 16 * rate * (1 - rate) / (difference * difference)
        let clustering = 1 + max(messagesPerUser - 1, 0) * correlation
        return Int((1.6 * clustering * fixed).rounded(.up))
    }
}
