/// What the judge found: the refusal or the notification that a device would get.
package enum APNsJudgement: Sendable, Equatable {
    /// Every check passed. `device` is the device token in lower case.
    case accepted(device: String)
    /// The first check that failed.
    case refused(APNsReason)
}
