/// What one row of the delivery log tells of one device.
package struct DeliveryLogEntry: Sendable, Hashable {
    package let key: DeviceKey
    package let outcome: Outcome
    /// The provider's own word or ours; empty for plain acceptance.
    package let reason: String
    /// Sends tried so far, this one included; 0 where none was.
    package let attempt: Int
    /// The content locale it was rendered in; nil where nothing is localized or nothing was rendered.
    package let locale: String?

    package init(key: DeviceKey, outcome: Outcome, reason: String = "", attempt: Int, locale: String? = nil) {
        self.key = key
        self.outcome = outcome
        self.reason = reason
        self.attempt = attempt
        self.locale = locale
    }
}
