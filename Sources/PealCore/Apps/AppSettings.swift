/// What an app may choose for itself, with the defaults.
package struct AppSettings: Sendable, Hashable {
    package var pivotal = Pivotal()

    package init() {}

    package struct Pivotal: Sendable, Hashable {
        /// Whether `custom_user_id` must be a signed token.
        package var verifyCustomUserID = true
        /// Whether PUT of an unknown device makes it.
        package var upsertOnPut = true
        /// Whether payloads carry `receiptId`.
        package var sendReceipt = true
        /// Whether a `scheduleIn` beyond 30 days that divides by 1000 is read as milliseconds.
        package var scheduleInMillisHeuristic = false

        package init() {}
    }
}
