import PealCore

/// Maps WNS's answers to verdicts (Microsoft: "Push notification service request and response headers", response
/// codes).
enum WNSVerdicts {
    /// How long a device is held if its channel is throttled and WNS gives no time.
    static let channelHold = Duration.seconds(300)
    /// How long an app waits that sent too much, if WNS gives no time.
    static let appHold = Duration.seconds(60)

    /// The headers of an answer that describe its outcome.
    struct State: Sendable, Hashable {
        /// `X-WNS-Status` in lower case; empty if missing.
        var notification = ""
        /// `X-WNS-DeviceConnectionStatus` in lower case; empty if missing.
        var device = ""
        /// `X-WNS-Error-Description`; empty if missing.
        var description = ""
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
        case "channelthrottled":
            ProviderAnswer(
                .verdict(.holdAddress(after: state.retryAfter ?? channelHold)), reason: "ChannelThrottled",
                status: status)
        // The app has switched notifications off, or the device is offline and a toast is not cached.
        case "dropped": ProviderAnswer(.verdict(.accepted), reason: "Dropped", status: status)
        default:
            ProviderAnswer(
                .verdict(.accepted),
                reason: ["disconnected", "tempdisconnected"].contains(state.device)
                    ? "Disconnected" : "", status: status)
        }
    }

    /// Judges an unknown status by its class and never retires a channel for it.
    private static func verdict(_ status: Int, _ state: State) -> Verdict {
        switch status {
        case 401: .refreshCredential
        // The channel belongs to another app: either this device or the credential is wrong.
        case 403: .retireAddress(since: nil, isSuspicious: true)
        case 404: .retireAddress(since: nil, isSuspicious: false)
        case 410 where isDomainBlocked(state): .stopApp
        case 410: .retireAddress(since: nil, isSuspicious: false)
        case 406, 429: .holdApp(after: state.retryAfter ?? appHold)
        case 500...: .retry(after: state.retryAfter)
        default: .rejectMessage
        }
    }

    /// WNS blocks senders whose notifications misbehave, with the same status as for an expired channel.
    private static func isDomainBlocked(_ state: State) -> Bool {
        state.description.lowercased().contains("domain") && state.description.lowercased().contains("blocked")
    }

    private static func reason(_ status: Int, _ state: State) -> String {
        if status == 410, isDomainBlocked(state) { return "DomainBlocked" }
        return switch status {
        case 403: "Forbidden"
        case 406: "NotAcceptable"
        case 410: "Gone"
        case 413: "RequestEntityTooLarge"
        case 429: "TooManyRequests"
        case 500: "InternalServerError"
        default: WindowsReason.word(status)
        }
    }
}
