import PealCore

/// Apple's answers and what they mean (providers.md §1.6, after "Handling error responses from APNs").
enum APNsVerdicts {
    /// How long one device waits after `TooManyRequests`.
    static let deviceHold = Duration.seconds(30)
    /// How long a message waits after `TooManyProviderTokenUpdates`, which the previous provider token mends.
    static let tokenUpdatesPause = Duration.seconds(10)

    /// - Parameters:
    ///   - reason: the word in the body; empty when there was none. An unknown one is judged by the status class and
    ///     never retires an address.
    ///   - timestamp: of a 410, when APNs last knew the address to be dead.
    static func verdict(status: Int, reason: String, timestamp: Timestamp? = nil) -> Verdict {
        switch (status, reason) {
        case (200, _): .accepted
        case (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"): .retireAddress(since: nil, isSuspicious: true)
        case (400, "BadTopic"), (400, "MissingTopic"), (400, "TopicDisallowed"): .stopApp
        case (400, "IdleTimeout"): .reconnect
        case (403, "ExpiredProviderToken"): .refreshCredential
        case (403, "UnrelatedKeyIdInToken"): .reconnect
        case (403, _): .stopApp
        case (410, "Unregistered"), (410, ""): .retireAddress(since: timestamp, isSuspicious: false)
        case (410, "ExpiredToken"): .retireAddress(since: timestamp, isSuspicious: false)
        case (429, "TooManyProviderTokenUpdates"): .retry(after: tokenUpdatesPause)
        case (429, _): .holdAddress(after: deviceHold)
        case (503, "Shutdown"): .reconnect
        case (500..., _): .retry(after: nil)
        default: .rejectMessage
        }
    }
}
