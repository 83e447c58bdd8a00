internal import Foundation

/// One user's matured messages in an experiment, by the planned arm, whatever happened to them.
public struct ExperimentUser: Sendable, Hashable {
    /// The planned arm.
    public let arm: ExperimentAssignment.Arm
    /// Messages that were scheduled and not cancelled.
    public let messages: Int
    /// Those opened at most 24 hours after the end of their window.
    public let opens: Int
    /// The share of messages that the user opened before the experiment; nil without messages.
    public let priorRate: Double?

    /// Totals of a user.
    public init(arm: ExperimentAssignment.Arm, messages: Int, opens: Int, priorRate: Double? = nil) {
        (self.arm, self.messages, self.opens, self.priorRate) = (arm, messages, opens, priorRate)
    }
}

/// Sums over the users of one arm, without the users: what is kept of an experiment for good.
public struct ArmTotals: Sendable, Hashable {
    public var users: Int64
    public var messages: Int64
    public var opens: Int64
    /// The sum of each user's squared messages.
    public var squaredMessages: Int64
    /// The sum of each user's messages × opens.
    public var products: Int64
    /// The sum of each user's squared opens.
    public var squaredOpens: Int64

    /// Sums over users with at least one message.
    public init(
        users: Int64, messages: Int64, opens: Int64, squaredMessages: Int64, products: Int64, squaredOpens: Int64
    ) {
        (self.users, self.messages, self.opens) = (users, messages, opens)
        (self.squaredMessages, self.products, self.squaredOpens) = (squaredMessages, products, squaredOpens)
    }

    /// Opens per message, and its variance by the delta method.
    fileprivate var ratio: (rate: Double, variance: Double) {
        let (users, rate) = (Double(users), Double(opens) / Double(messages))
        let perUser = Double(messages) / users
        // The residuals opens - rate * messages of the users sum to zero.
        let squares =
            Double(squaredOpens) - 2 * rate * Double(products) + rate * rate * Double(squaredMessages)
        return (rate, max(squares, 0) / (users - 1) / (perUser * perUser) / users)
    }
}

/// The results of an experiment at one look: opens per message in both arms, by intention to treat, with the user as
/// the unit of randomization.
public struct ArmComparison: Sendable, Hashable {
    /// One arm.
    public struct ArmSummary: Sendable, Hashable {
        /// Users with at least one matured message.
        public let users: Int
        /// Their messages.
        public let messages: Int
        /// Their opens.
        public let opens: Int
        /// Opens per message.
        public var rate: Double { messages > 0 ? Double(opens) / Double(messages) : 0 }
    }

    /// The arm with moments chosen by phones.
    public let contextAware: ArmSummary
    /// The arm with messages shown immediately.
    public let traditional: ArmSummary
    /// The rate of the context-aware arm minus that of the traditional arm.
    public let difference: Double
    /// The variance of `difference`, by the delta method.
    public let variance: Double
    /// The variance without the correction for users' prior rates.
    public let plainVariance: Double

    /// - Parameter usesPriorRates: whether to correct the difference for the share of messages that users opened before
    ///   the experiment (CUPED), which narrows the interval.
    /// - Returns: nil unless both arms have two users with messages.
    public init?(_ users: [ExperimentUser], usesPriorRates: Bool = true) {
        let active = users.filter { $0.messages > 0 }
        let arms = [ExperimentAssignment.Arm.contextAware, .traditional].map { arm in
            active.filter { $0.arm == arm }
        }
        guard arms.allSatisfy({ $0.count > 1 }) else { return nil }
        let slope = usesPriorRates ? Self.slope(active) : 0
        let mean = Self.meanPriorRate(active)
        let plain = arms.map { Self.ratio($0, slope: 0, mean: mean) }
        let corrected = arms.map { Self.ratio($0, slope: slope, mean: mean) }
        contextAware = Self.summary(arms[0])
        traditional = Self.summary(arms[1])
        difference = corrected[0].rate - corrected[1].rate
        variance = corrected[0].variance + corrected[1].variance
        plainVariance = plain[0].variance + plain[1].variance
    }

    /// The comparison by sums over users, without their prior rates.
    /// - Returns: nil unless both arms have two users with messages.
    public init?(contextAware: ArmTotals, traditional: ArmTotals) {
        let arms = [contextAware, traditional]
        guard arms.allSatisfy({ $0.users > 1 && $0.messages > 0 }) else { return nil }
        let ratios = arms.map(\.ratio)
        let summaries = arms.map {
            ArmSummary(users: Int($0.users), messages: Int($0.messages), opens: Int($0.opens))
        }
        (self.contextAware, self.traditional) = (summaries[0], summaries[1])
        difference = ratios[0].rate - ratios[1].rate
        variance = ratios[0].variance + ratios[1].variance
        plainVariance = variance
    }

    /// The difference as a share of the traditional rate.
    public var lift: Double { traditional.rate > 0 ? difference / traditional.rate : 0 }

    /// The interval of the difference, valid at all looks together.
    public func interval(alpha: Double = 0.05) -> ClosedRange<Double> {
        let width = AlwaysValid.halfWidth(
            variance: variance, spread: AlwaysValid.spread(rate: traditional.rate), alpha: alpha)
        return difference - width...difference + width
    }

    /// The probability that the context-aware arm is better, by a normal approximation of the posterior without a
    /// prior.
    public var chanceOfGain: Double {
        variance > 0 ? 0.5 * erfc(-difference / (2 * variance).squareRoot()) : 0.5
    }

    /// The expected loss in opens per message if the context-aware arm is chosen although it is worse.
    public var expectedLoss: Double {
        let deviation = variance.squareRoot()
        guard deviation > 0 else { return max(-difference, 0) }
        let standard = difference / deviation
        let density = exp(-0.5 * standard * standard) / (2 * Double.pi).squareRoot()
        return deviation * density - difference * 0.5 * erfc(standard / 2.0.squareRoot())
    }

    private static func summary(_ users: [ExperimentUser]) -> ArmSummary {
        ArmSummary(
            users: users.count, messages: users.reduce(0) { $0 + $1.messages },
            opens: users.reduce(0) { $0 + $1.opens })
    }

    private static func meanPriorRate(_ users: [ExperimentUser]) -> Double {
        let rates = users.compactMap(\.priorRate)
        return rates.isEmpty ? 0 : rates.reduce(0, +) / Double(rates.count)
    }

    /// Of the residuals after the prior rates, both in messages.
    private static func slope(_ users: [ExperimentUser]) -> Double {
        let mean = meanPriorRate(users)
        let total = summary(users)
        var (product, square) = (0.0, 0.0)
        for user in users {
            guard let prior = user.priorRate else { continue }
            let messages = Double(user.messages)
            let deviation = (prior - mean) * messages
            product += (Double(user.opens) - total.rate * messages) * deviation
            square += deviation * deviation
        }
        return square > 0 ? product / square : 0
    }

    /// A ratio of sums and its variance: the residual of each user, linearized at the ratio.
    private static func ratio(
        _ users: [ExperimentUser], slope: Double, mean: Double
    ) -> (rate: Double, variance: Double) {
        let opens = users.map { user in
            Double(user.opens) - slope * ((user.priorRate ?? mean) - mean) * Double(user.messages)
        }
        let messages = users.reduce(0.0) { $0 + Double($1.messages) }
        let rate = opens.reduce(0, +) / messages
        let perUser = messages / Double(users.count)
        let residuals = Moments(zip(opens, users).map { ($0 - rate * Double($1.messages)) / perUser })
        return (rate, residuals.variance / Double(users.count))
    }
}
