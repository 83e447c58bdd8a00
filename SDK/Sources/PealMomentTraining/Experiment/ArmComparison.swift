internal import Foundation

/// One user's matured messages in an experiment, by the planned arm, whatever happened to them.
public struct ExperimentUser: Sendable, Hashable {
    /// The planned arm.
    public let arm: ExperimentAssignment.Arm
    /// Messages that were scheduled and not cancelled.
    public let messages: Int
    /// Those opened at most 24 hours after the end of their window.
    public let opens: Int
    /// How much more often than usual the user opened messages before the experiment, in thousandths; 0 if unknown.
    public let prior: Int

    /// Totals of a user.
    public init(arm: ExperimentAssignment.Arm, messages: Int, opens: Int, prior: Int = 0) {
        (self.arm, self.messages, self.opens, self.prior) = (arm, messages, opens, prior)
    }
}

/// Sums over the users of one arm, without the users: what is kept of an experiment permanently.
public struct ArmTotals: Sendable, Hashable {
    /// Users with at least one message.
    public var users: Int64 = 0
    public var messages: Int64 = 0
    public var opens: Int64 = 0
    /// The sum of each user's squared messages.
    public var squaredMessages: Int64 = 0
    /// The sum of each user's messages × opens.
    public var products: Int64 = 0
    /// The sum of each user's squared opens.
    public var squaredOpens: Int64 = 0
    /// The sum of each user's expectation: messages × prior.
    public var expected: Int64 = 0
    /// The sum of each user's messages × expectation.
    public var expectedMessages: Int64 = 0
    /// The sum of each user's opens × expectation.
    public var expectedOpens: Int64 = 0
    /// The sum of each user's squared expectation.
    public var squaredExpected: Int64 = 0

    /// No users.
    public init() {}

    /// Adds a user. A user without messages does not count.
    public mutating func add(_ user: ExperimentUser) {
        guard user.messages > 0 else { return }
        let (messages, opens) = (Int64(user.messages), Int64(user.opens))
        let expectation = messages * Int64(user.prior)
        users += 1
        self.messages += messages
        self.opens += opens
        squaredMessages += messages * messages
        products += messages * opens
        squaredOpens += opens * opens
        expected += expectation
        expectedMessages += messages * expectation
        expectedOpens += opens * expectation
        squaredExpected += expectation * expectation
    }
}

/// The ratios of an arm and how they vary, by the delta method: opens and expectation per message, both of which are
/// linearized per user, so that their residuals sum to zero.
private struct ArmRatios {
    let rate: Double
    let expectation: Double
    /// The variances of both ratios, and their covariance.
    let rateVariance: Double
    let expectationVariance: Double
    let covariance: Double

    /// - Parameter totals: of at least two users.
    init(_ totals: ArmTotals) {
        let (users, messages) = (Double(totals.users), Double(totals.messages))
        let (rate, expectation) = (Double(totals.opens) / messages, Double(totals.expected) / messages)
        let squares = Double(totals.squaredMessages)
        let scale = users / (users - 1) / (messages * messages)
        /// The sum of products of the residuals of two variables with these ratios.
        func residuals(_ product: Int64, _ one: Int64, _ ratio: Double, _ other: Int64, _ second: Double) -> Double {
            Double(product) - ratio * Double(other) - second * Double(one) + ratio * second * squares
        }
        let (products, expected) = (totals.products, totals.expectedMessages)
        (self.rate, self.expectation) = (rate, expectation)
        rateVariance = max(residuals(totals.squaredOpens, products, rate, products, rate), 0) * scale
        expectationVariance =
            max(residuals(totals.squaredExpected, expected, expectation, expected, expectation), 0) * scale
        covariance = residuals(totals.expectedOpens, products, rate, expected, expectation) * scale
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

        init(_ totals: ArmTotals) {
            (users, messages, opens) = (Int(totals.users), Int(totals.messages), Int(totals.opens))
        }
    }

    /// The arm with moments chosen by phones.
    public let contextAware: ArmSummary
    /// The arm with messages shown immediately.
    public let traditional: ArmSummary
    /// The rate of the context-aware arm minus that of the traditional arm, corrected for users' priors.
    public let difference: Double
    /// The variance of `difference`, by the delta method.
    public let variance: Double
    /// The variance without the correction for users' priors.
    public let plainVariance: Double
    /// The variance of the traditional rate, and its covariance with `difference`.
    private let traditionalVariance: Double
    private let covariance: Double

    /// With fewer users in an arm, correcting for their priors would narrow the interval too much.
    static let correctedUsersMin: Int64 = 50

    /// The comparison by sums over users.
    /// - Parameter usesPriors: whether to correct the difference for how often users opened messages before the
    ///   experiment (CUPED, Deng and others 2013), which narrows the interval.
    /// - Returns: nil unless both arms have two users with messages.
    public init?(contextAware: ArmTotals, traditional: ArmTotals, usesPriors: Bool = true) {
        let arms = [contextAware, traditional]
        guard arms.allSatisfy({ $0.users > 1 && $0.messages > 0 }) else { return nil }
        let (aware, plain) = (ArmRatios(contextAware), ArmRatios(traditional))
        let spread = aware.expectationVariance + plain.expectationVariance
        let shared = aware.covariance + plain.covariance
        // The factor with the smallest variance.
        let isCorrected = usesPriors && spread > 0 && arms.allSatisfy { $0.users >= Self.correctedUsersMin }
        let factor = isCorrected ? shared / spread : 0
        (self.contextAware, self.traditional) = (ArmSummary(contextAware), ArmSummary(traditional))
        difference = aware.rate - plain.rate - factor * (aware.expectation - plain.expectation)
        plainVariance = aware.rateVariance + plain.rateVariance
        variance = max(plainVariance - factor * shared, 0)
        (traditionalVariance, covariance) = (plain.rateVariance, factor * plain.covariance - plain.rateVariance)
    }

    /// The comparison of these users.
    /// - Returns: nil unless both arms have two users with messages.
    public init?(_ users: [ExperimentUser], usesPriors: Bool = true) {
        func totals(_ arm: ExperimentAssignment.Arm) -> ArmTotals {
            users.reduce(into: ArmTotals()) { if $1.arm == arm { $0.add($1) } }
        }
        self.init(
            contextAware: totals(.contextAware), traditional: totals(.traditional), usesPriors: usesPriors)
    }

    /// How much of the variance the correction for users' priors leaves; 1 without a correction.
    public var varianceRatio: Double { plainVariance > 0 ? variance / plainVariance : 1 }

    /// The difference as a share of the traditional rate.
    public var lift: Double { traditional.rate > 0 ? difference / traditional.rate : 0 }

    /// The interval of the difference, valid at all looks together.
    public func interval(alpha: Double = 0.05) -> ClosedRange<Double> {
        let width = AlwaysValid.halfWidth(
            variance: variance, spread: AlwaysValid.spread(rate: traditional.rate), alpha: alpha)
        return difference - width...difference + width
    }

    /// The upper bound of a lift's interval while few messages were opened, unless the lift itself is larger.
    static let liftMax = 10.0

    /// The interval of the lift, valid at all looks together: the lifts that the results do not refute (Fieller's
    /// theorem). It contains zero if and only if `interval` does. It is wider than `interval` as a share of the
    /// traditional rate, because that rate is uncertain too; with a holdout of 5 % of the users, much wider.
    /// - Returns: nil without opens in the traditional arm.
    public func liftInterval(alpha: Double = 0.05) -> ClosedRange<Double>? {
        let rate = traditional.rate
        guard rate > 0 else { return nil }
        func isPossible(_ lift: Double) -> Bool {
            let spread = AlwaysValid.spread(rate: rate) * max(1, 1 + lift)
            let variance = variance - 2 * lift * covariance + lift * lift * traditionalVariance
            let width = AlwaysValid.halfWidth(variance: max(variance, 0), spread: spread, alpha: alpha)
            return abs(difference - lift * rate) <= width
        }
        /// The bound between a possible lift and one beyond the interval, or that one if it is possible.
        func bound(_ possible: Double, _ end: Double) -> Double {
            if isPossible(end) { return end }
            var (inside, outside) = (possible, end)
            for _ in 0..<50 {
                let middle = (inside + outside) / 2
                if isPossible(middle) { inside = middle } else { outside = middle }
            }
            return inside
        }
        let (lowest, highest) = (min(-1, lift), max(Self.liftMax, 10 * lift))
        if isPossible(0) { return bound(min(lift, 0), lowest)...bound(max(lift, 0), highest) }
        return lift > 0 ? bound(lift, 0)...bound(lift, highest) : bound(lift, lowest)...bound(lift, 0)
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
}
