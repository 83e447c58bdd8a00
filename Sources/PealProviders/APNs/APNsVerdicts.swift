import PealCore

/// Maps Apple's answers to verdicts. Sources: "Handling notification responses from APNs", and for broadcasts "Handling
/// error responses from Apple Push Notification service" (developer.apple.com/documentation/usernotifications). The
/// table is in `docs/providers/apns.md`.
enum APNsVerdicts {
    /// Every reason of Apple's tables, and those that were seen elsewhere.
    static let reasons: Set<String> = [
        "BadCertificate", "BadCertificateEnvironment", "BadChannelId", "BadCollapseId", "BadDeviceToken",
        "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken", "BadExpirationDate", "BadMessageId", "BadPath",
        "BadPriority", "BadRequestParams", "BadRequestPayload", "BadTopic", "CannotCreateChannelConfig",
        "ChannelNotRegistered", "DeviceTokenNotForTopic", "DuplicateHeaders", "ExpiredProviderToken", "ExpiredToken",
        "FeatureNotEnabled", "Forbidden", "IdleTimeout", "InternalServerError", "InvalidProviderToken",
        "InvalidPushType", "MethodNotAllowed", "MissingChannelId", "MissingChannelQueueSize", "MissingDeviceToken",
        "MissingProviderToken", "MissingPushType", "MissingTopic", "PayloadEmpty", "PayloadTooLarge",
        "ServiceUnavailable", "Shutdown", "TooManyProviderTokenUpdates", "TooManyRequests", "TopicDisallowed",
        "TopicMismatch", "Unregistered", "UnrelatedKeyIdInToken",
    ]
    /// How long a device is held after `TooManyRequests`.
    static let deviceHold = Duration.seconds(30)
    /// How long a message waits after `TooManyProviderTokenUpdates`, until the previous provider token is used again.
    static let tokenUpdatesPause = Duration.seconds(10)

    /// - Parameters:
    ///   - reason: the reason in the body; empty if there was none. An unknown one is judged by the status class and
    ///     never retires an address.
    ///   - timestamp: in a 410, when APNs last confirmed that the address was invalid.
    ///   - isBroadcast: whether the address is a channel.
    static func verdict(
        status: Int, reason: String, timestamp: Timestamp? = nil, isBroadcast: Bool = false
    ) -> Verdict {
        switch status {
        case 200: .accepted
        case 400: isBroadcast ? badBroadcast(reason) : badRequest(reason)
        case 403: forbidden(reason)
        case 410 where reason == "Unregistered" || reason == "ExpiredToken":
            .retireAddress(since: timestamp, isSuspicious: false)
        case 429 where reason == "TooManyProviderTokenUpdates": .retry(after: tokenUpdatesPause)
        case 429: .holdAddress(after: deviceHold)
        case 503 where reason == "Shutdown": .reconnect
        // 408: the request did not arrive in full (RFC 9110 §15.5.9).
        case 408, 500...: .retry(after: nil)
        default: .rejectMessage
        }
    }

    /// What a GOAWAY's reason means for queued requests if the connection answered nothing. nil unless the reason says
    /// that the credential was refused.
    static func verdict(goAway reason: String) -> Verdict? {
        // A response with this reason refuses one message, a GOAWAY the connection.
        let verdict = reason == "Forbidden" ? .stopApp : forbidden(reason)
        return verdict == .stopApp || verdict == .refreshCredential ? verdict : nil
    }

    /// They stop the app, unless the message chose its topic itself.
    static let topicReasons: Set<String> = ["BadTopic", "MissingTopic", "TopicDisallowed"]

    private static func badRequest(_ reason: String) -> Verdict {
        switch reason {
        case "BadDeviceToken", "DeviceTokenNotForTopic": .retireAddress(since: nil, isSuspicious: true)
        case let reason where topicReasons.contains(reason): .stopApp
        case "IdleTimeout": .reconnect
        default: .rejectMessage
        }
    }

    /// The channel is the address. A feature that the app lacks stops its broadcasts.
    private static func badBroadcast(_ reason: String) -> Verdict {
        switch reason {
        case "ChannelNotRegistered", "BadChannelId": .retireAddress(since: nil, isSuspicious: false)
        case "FeatureNotEnabled": .stopApp
        default: badRequest(reason)
        }
    }

    /// `Forbidden` refuses this kind of message: Apple asks senders not to repeat it, and others may be accepted.
    private static func forbidden(_ reason: String) -> Verdict {
        switch reason {
        case "ExpiredProviderToken": .refreshCredential
        case "UnrelatedKeyIdInToken": .reconnect
        case "BadCertificate", "BadCertificateEnvironment", "InvalidProviderToken", "MissingProviderToken",
            "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken", "TopicMismatch":
            .stopApp
        default: .rejectMessage
        }
    }
}
