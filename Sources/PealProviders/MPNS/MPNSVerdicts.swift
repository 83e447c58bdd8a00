import PealCore

/// Maps MPNS's answers to verdicts (Microsoft: "Push notification service response codes for Windows Phone 8").
enum MPNSVerdicts {
    /// How long a device with a full queue is held.
    static let queueHold = Duration.seconds(300)
    /// How long a device is held that is inactive or has reached its daily limit: Microsoft asks for one attempt per
    /// hour.
    static let deviceHold = Duration.seconds(3600)
    /// How long a message waits after a 503 without Retry-After.
    static let troublePause = Duration.seconds(120)

    /// The headers of an answer that describe its outcome, in lower case; empty if missing.
    struct State: Sendable, Hashable {
        /// `X-NotificationStatus`: received, queuefull, suppressed, dropped.
        var notification = ""
        /// `X-DeviceConnectionStatus`: connected, tempdisconnected, inactive, disconnected.
        var device = ""
        /// `X-SubscriptionStatus`: active, expired.
        var subscription = ""
        var retryAfter: Duration?
    }

    /// - Returns: an answer with a one-word reason; for an acceptance the reason is a remark, usually empty.
    static func answer(status: Int, _ state: State = .init()) -> ProviderAnswer {
        switch status {
        case 200...299: accepted(status, state)
        default: ProviderAnswer(.verdict(verdict(status, state)), reason: reason(status, state), status: status)
        }
    }

    private static func accepted(_ status: Int, _ state: State) -> ProviderAnswer {
        switch state.notification {
        case "queuefull":
            ProviderAnswer(.verdict(.holdAddress(after: queueHold)), reason: "QueueFull", status: status)
        // The app has switched off this type of notification.
        case "suppressed": ProviderAnswer(.verdict(.accepted), reason: "Suppressed", status: status)
        case "dropped": ProviderAnswer(.verdict(.accepted), reason: "Dropped", status: status)
        default: ProviderAnswer(.verdict(.accepted), reason: remark(state.device), status: status)
        }
    }

    private static func remark(_ device: String) -> String {
        switch device {
        case "tempdisconnected": "TempDisconnected"
        case "inactive": "Inactive"
        case "disconnected": "Disconnected"
        default: ""
        }
    }

    /// Judges an unknown status by its class and never retires a channel for it.
    private static func verdict(_ status: Int, _ state: State) -> Verdict {
        switch status {
        case 401: .stopApp
        case 404: .retireAddress(since: nil, isSuspicious: false)
        case 406, 412: .holdAddress(after: state.retryAfter.map { max($0, deviceHold) } ?? deviceHold)
        case 503: .retry(after: state.retryAfter ?? troublePause)
        case 500...: .retry(after: state.retryAfter)
        default: .rejectMessage
        }
    }

    private static func reason(_ status: Int, _ state: State) -> String {
        switch status {
        case 404 where state.subscription == "expired": "SubscriptionExpired"
        case 406: "DailyLimitReached"
        case 412: "DeviceInactive"
        default: WindowsReason.word(status)
        }
    }
}
