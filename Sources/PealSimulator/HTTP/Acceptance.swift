/// A request that passed all checks: whom it is for, and what is answered when nothing comes between.
struct Acceptance: Sendable {
    var kind = RequestKind.send
    /// The device token, registration token, channel URI or endpoint; empty when it is for no device.
    var device = ""
    /// The notification's id, as the answer tells it.
    var id = ""
    var answer: Answer
    /// The fingerprint of the provider token, access token or VAPID token that was shown.
    var credential: UInt64?
    /// What the device gets; nil when nothing is delivered.
    var item: InboxItem?
}
