import PealCore

/// Maps WNS's answers to verdicts (Microsoft: "Push notification service request and response headers", response
/// codes).
enum WNSVerdicts: WindowsVerdicts {
    static let ownReasons: Set<String> = [
        "ChannelThrottled", "DomainBlocked", "Forbidden", "Gone", "InternalServerError", "NotAcceptable",
        "RequestEntityTooLarge", "TooManyRequests",
    ]
    /// How long a device with a throttled channel is held if WNS gives no time.
    static let channelHold = Duration.seconds(300)
    /// How long an app that sent too much waits if WNS gives no time.
    static let appHold = Duration.seconds(60)

    static func acceptance(_ state: WindowsState) -> (verdict: Verdict, reason: String) {
        switch state.notification {
        case "channelthrottled": (.holdAddress(after: state.retryAfter ?? channelHold), "ChannelThrottled")
        // The app has switched notifications off, or the device is offline and a toast is not cached.
        case "dropped": (.accepted, "Dropped")
        default: (.accepted, ["disconnected", "tempdisconnected"].contains(state.device) ? "Disconnected" : "")
        }
    }

    /// Judges an unknown status by its class and never retires a channel for it.
    static func verdict(_ status: Int, _ state: WindowsState) -> Verdict {
        switch status {
        case 401: .refreshCredential
        // The channel belongs to another app: either this device or the credential is wrong.
        case 403: .retireAddress(since: nil, isSuspicious: true)
        case 404: .retireAddress(since: nil, isSuspicious: false)
        case 410 where isDomainBlocked(state): .stopApp
        case 410: .retireAddress(since: nil, isSuspicious: false)
        case 406, 429: .holdApp(after: state.retryAfter ?? appHold)
        // 408: the request did not arrive in full (RFC 9110 §15.5.9).
        case 408, 500...: .retry(after: state.retryAfter)
        default: .rejectMessage
        }
    }

    /// WNS blocks senders whose notifications misbehave, with the same status as for an expired channel.
    private static func isDomainBlocked(_ state: WindowsState) -> Bool {
        state.description.lowercased().contains("domain") && state.description.lowercased().contains("blocked")
    }

    static func reason(_ status: Int, _ state: WindowsState) -> String? {
        if status == 410, isDomainBlocked(state) { return "DomainBlocked" }
        return switch status {
        case 403: "Forbidden"
        case 406: "NotAcceptable"
        case 410: "Gone"
        case 413: "RequestEntityTooLarge"
        case 429: "TooManyRequests"
        case 500: "InternalServerError"
        default: nil
        }
    }
}
