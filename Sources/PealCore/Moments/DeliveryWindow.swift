/// Until when a message may be shown, and who chooses the instant.
package struct DeliveryWindow: Sendable, Hashable {
    package var until: Timestamp
    package var method: Method
    /// How long a traditional message waits before it is sent, so that it can be cancelled.
    package var holdSeconds: Int64
    /// By which a later request finds it again; nil = by its id alone.
    package var name: MomentName?

    package init(until: Timestamp, method: Method, holdSeconds: Int64 = 0, name: MomentName? = nil) {
        self.until = until
        self.method = method
        self.holdSeconds = holdSeconds
        self.name = name
    }

    /// The raw value stands in the API and is stored.
    package enum Method: String, CaseIterable, Sendable, Hashable {
        case contextAware = "context_aware"
        case traditional
        /// The server assigns users to the other two.
        case experiment = "ab_test"

        /// nil where users are assigned.
        package var arm: Arm? {
            switch self {
            case .contextAware: .contextAware
            case .traditional: .traditional
            case .experiment: nil
            }
        }
    }

    /// What follows for a user of that arm.
    package func terms(_ arm: Arm, now: Timestamp) -> Moment.Terms {
        let fallbackAt = arm == .traditional ? min(now + .seconds(holdSeconds), until) : until
        return Moment.Terms(
            arm: arm, isClaimable: arm == .contextAware, fallbackAt: fallbackAt, deadline: until)
    }
}

/// What an author calls one person's message: the last request under a name counts while it is open.
package struct MomentName: Sendable, Hashable {
    package let platform: Platform
    package let userID: String
    package let campaignID: String
    package let key: String

    package init(platform: Platform, userID: String, campaignID: String, key: String) {
        self.platform = platform
        self.userID = userID
        self.campaignID = campaignID
        self.key = key
    }
}
