import PealCore

/// Maps the answers of one of Microsoft's networks to verdicts: WNS or MPNS, whose answers have the same form.
protocol WindowsVerdicts {
    /// What a success status means, which only the headers determine, and a remark, usually empty.
    static func acceptance(_ state: WindowsState) -> (verdict: Verdict, reason: String)

    static func verdict(_ status: Int, _ state: WindowsState) -> Verdict

    /// The network's own reasons, in addition to the common ones.
    static var ownReasons: Set<String> { get }

    /// The network's own word for a status; nil if both networks have the same.
    static func reason(_ status: Int, _ state: WindowsState) -> String?
}

/// The headers of an answer that describe its outcome; empty if missing.
struct WindowsState: Sendable, Hashable {
    /// `X-WNS-Status` or `X-NotificationStatus` in lower case.
    var notification = ""
    /// `X-WNS-DeviceConnectionStatus` or `X-DeviceConnectionStatus` in lower case.
    var device = ""
    /// MPNS: `X-SubscriptionStatus` in lower case.
    var subscription = ""
    /// WNS: `X-WNS-Error-Description`.
    var description = ""
    var retryAfter: Duration?
}

extension WindowsVerdicts {
    /// - Returns: an answer with a one-word reason; for an acceptance the reason is a remark, usually empty.
    static func answer(status: Int, _ state: WindowsState = .init()) -> ProviderAnswer {
        guard (200...299).contains(status) else {
            return ProviderAnswer(
                .verdict(verdict(status, state)), reason: reason(status, state) ?? word(status), status: status)
        }
        let (verdict, remark) = acceptance(state)
        return ProviderAnswer(.verdict(verdict), reason: remark, status: status)
    }

    /// Every reason of the network.
    static var reasons: Set<String> {
        ownReasons.union([
            "BadRequest", "Unauthorized", "NotFound", "MethodNotAllowed", "ServiceUnavailable", "Dropped",
            "Disconnected",
        ])
    }

    private static func word(_ status: Int) -> String {
        switch status {
        case 400: "BadRequest"
        case 401: "Unauthorized"
        case 404: "NotFound"
        case 405: "MethodNotAllowed"
        case 503: "ServiceUnavailable"
        default: "Status\(status)"
        }
    }
}
