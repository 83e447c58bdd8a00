/// What is known of a campaign's experiment: the users' matured messages by their planned arm, whatever happened to
/// them.
package struct ExperimentFacts: Sendable, Hashable {
    /// Part of the assignment.
    package let salt: String
    package let startedAt: Timestamp
    package let users: [User]

    package init(salt: String, startedAt: Timestamp, users: [User]) {
        self.salt = salt
        self.startedAt = startedAt
        self.users = users
    }

    /// A user's messages whose windows ended at least a day ago, without cancelled ones.
    package struct User: Sendable, Hashable {
        package let arm: Arm
        package let messages: Int
        /// Those opened at most a day after the end of their window.
        package let opens: Int

        package init(arm: Arm, messages: Int, opens: Int) {
            self.arm = arm
            self.messages = messages
            self.opens = opens
        }
    }
}
