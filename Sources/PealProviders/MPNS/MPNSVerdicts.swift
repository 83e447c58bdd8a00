import PealCore

/// Maps MPNS's answers to verdicts (Microsoft: "Push notification service response codes for Windows Phone 8").
enum MPNSVerdicts: WindowsVerdicts {
    static let ownReasons: Set<String> = [
        "DailyLimitReached", "DeviceInactive", "Inactive", "QueueFull", "SubscriptionExpired", "Suppressed",
        "TempDisconnected",
    ]
    /// How long a device with a full queue is held.
    static let queueHold = Duration.seconds(300)
    /// How long a device that is inactive or has reached its daily limit is held: Microsoft asks for one attempt per
    /// hour.
    static let deviceHold = Duration.seconds(3600)
    /// How long a message waits after a 503 without Retry-After.
    static let unavailablePause = Duration.seconds(120)

    static func acceptance(_ state: WindowsState) -> (verdict: Verdict, reason: String) {
        switch state.notification {
        case "queuefull": (.holdAddress(after: queueHold), "QueueFull")
        // The app has switched off this type of notification.
        case "suppressed": (.accepted, "Suppressed")
        case "dropped": (.accepted, "Dropped")
        default: (.accepted, remark(state.device))
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
    static func verdict(_ status: Int, _ state: WindowsState) -> Verdict {
        switch status {
        case 401: .stopApp
        case 404: .retireAddress(since: nil, isSuspicious: false)
        case 406, 412: .holdAddress(after: state.retryAfter.map { max($0, deviceHold) } ?? deviceHold)
        case 503: .retry(after: state.retryAfter ?? unavailablePause)
        // 408: the request did not arrive in full (RFC 9110 §15.5.9).
        case 408, 500...: .retry(after: state.retryAfter)
        default: .rejectMessage
        }
    }

    static func reason(_ status: Int, _ state: WindowsState) -> String? {
        switch status {
        case 404 where state.subscription == "expired": "SubscriptionExpired"
        case 406: "DailyLimitReached"
        case 412: "DeviceInactive"
        default: nil
        }
    }
}
