import PealCore

/// Decides what is at fault if a push network refuses a new signature or access token. Some networks refuse a single
/// device as if the credential were at fault: Edge's Web Push service answers 401 without a reason for some old
/// subscriptions. That must not stop the app for all other devices. But while a network refuses everything, no message
/// may be lost.
enum RefusalEvidence {
    /// How long to hold a device that is refused although the credential is known to work. Holds of ten minutes do not
    /// count as a problem of the route.
    static let hold = Duration.seconds(600)
    /// How long an acceptance shows that the network accepts other devices now. Short, because an outage may have begun
    /// since.
    static let overlap = Duration.seconds(10)
    /// How long an acceptance shows that the credential works.
    private static let memory = Duration.seconds(6 * 3600)

    /// Whether an acceptance is recent enough to show that the credential works.
    static func isKnownToWork(_ acceptedAt: Duration?, uptime: Duration) -> Bool {
        acceptedAt.map { uptime - $0 < memory } ?? false
    }

    /// - Parameters:
    ///   - renewedAt: when the refused signature or token was made.
    ///   - acceptedAt: when the network last accepted a request with the credential; nil if it never did.
    /// - Returns: `rejectMessage` if the network accepts others with the new signature or token, `holdAddress` if the
    ///   credential worked recently, otherwise `stopApp`.
    static func verdict(renewedAt: Duration, acceptedAt: Duration?, uptime: Duration) -> Verdict {
        guard let acceptedAt, isKnownToWork(acceptedAt, uptime: uptime) else { return .stopApp }
        let acceptsOthers = acceptedAt > renewedAt && uptime - acceptedAt < overlap
        return acceptsOthers ? .rejectMessage : .holdAddress(after: hold)
    }
}
