/// How a campaign's experiment assigns its users. Another share begins a new run; messages of earlier runs do not count
/// in it.
package struct ExperimentRun: Sendable, Hashable {
    /// An input of the assignment.
    package let salt: String
    /// The share of users whose phones choose the moment.
    package let share: Double
    /// Whether a user has the same arm in all campaigns.
    package let isPerUser: Bool
    /// When the first message was sent, or the share was changed.
    package let startedAt: Timestamp

    package init(salt: String, share: Double, isPerUser: Bool = false, startedAt: Timestamp) {
        self.salt = salt
        self.share = share
        self.isPerUser = isPerUser
        self.startedAt = startedAt
    }
}

/// The end of a run: the result that it had, and the share of the next one.
package struct ShareChange: Sendable, Hashable {
    package let at: Timestamp
    package let actor: String
    package let formerShare: Double
    package let share: Double
    package let result: Result

    package init(at: Timestamp, actor: String, formerShare: Double, share: Double, result: Result) {
        self.at = at
        self.actor = actor
        self.formerShare = formerShare
        self.share = share
        self.result = result
    }

    package struct Result: Sendable, Hashable {
        /// The raw value of the decision.
        package let verdict: String
        /// Matured messages and those of them that were opened.
        package let arms: [Arm: Count]
        /// Relative to the traditional rate; nil without opens there.
        package let lift: Double?
        package let liftInterval: ClosedRange<Double>?

        package init(verdict: String, arms: [Arm: Count], lift: Double?, liftInterval: ClosedRange<Double>?) {
            self.verdict = verdict
            self.arms = arms
            self.lift = lift
            self.liftInterval = liftInterval
        }
    }

    package struct Count: Sendable, Hashable {
        package let messages: Int
        package let opens: Int

        package init(messages: Int, opens: Int) {
            self.messages = messages
            self.opens = opens
        }
    }
}
