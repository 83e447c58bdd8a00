/// One person's part of a message with a delivery window: who may show it, until when, and what became of it. A message
/// has one for each of its users.
package struct Moment: Sendable, Hashable {
    package var app: AppKey
    package var message: MessageID
    package var userID: String
    package var state: State = .open
    /// Counts replacements of content and window. A claim names the revision that it was made for.
    package var rev: Int64 = 1
    package var plannedArm: Arm
    /// Whether a device may claim it, to show it by itself.
    package var isClaimable: Bool
    /// When the server sends it if no device has claimed it.
    package var fallbackAt: Timestamp
    /// The end of the window.
    package var deadline: Timestamp
    /// Whether it was due and the user had no device: the next one to register gets it.
    package var awaitsDevice = false
    /// The route of the device it went to; before that, the route it would have taken when it was scheduled.
    package var route: Route
    /// Whether the user had a device when it was scheduled. Only these users are compared in an experiment.
    package var hadDevice: Bool
    /// The device that has it.
    package var device: DeviceKey?
    /// Devices that it was sent to, in order.
    package var tried: [DeviceKey] = []
    /// The claim that won; nil = none did.
    package var claim: Claim?
    /// Whether a cancellation came too late. If the claimant does not confirm the message, it is then not sent again.
    package var cancelRequested = false
    /// How it ended, where it was not shown.
    package var outcome: Outcome?
    /// The provider's reason or ours; empty for plain acceptance.
    package var reason = ""
    /// The idempotency key of the request that scheduled it; nil where none was given.
    package var idempotencyKey: String?

    package init(
        app: AppKey, message: MessageID, userID: String, terms: Terms, route: Route, hadDevice: Bool,
        idempotencyKey: String? = nil
    ) {
        self.app = app
        self.message = message
        self.userID = userID
        plannedArm = terms.arm
        isClaimable = terms.isClaimable
        fallbackAt = terms.fallbackAt
        deadline = terms.deadline
        self.route = route
        self.hadDevice = hadDevice
        self.idempotencyKey = idempotencyKey
    }

    /// Until when an unconfirmed alert is tried.
    package var givenUpAt: Timestamp { deadline + .seconds(Limits.momentRecoverySeconds) }

    /// How it was delivered: only where a claim won, at a moment that the device chose.
    package var deliveryArm: Arm { claim == nil ? .traditional : .contextAware }

    package var place: Place { Place(app: app, message: message, userID: userID) }

    /// Identifies a moment.
    package struct Place: Sendable, Hashable {
        package let app: AppKey
        package let message: MessageID
        package let userID: String

        package init(app: AppKey, message: MessageID, userID: String) {
            self.app = app
            self.message = message
            self.userID = userID
        }
    }

    /// When it is sent, which follows from window and arm.
    package struct Terms: Sendable, Hashable {
        package let arm: Arm
        package let isClaimable: Bool
        package let fallbackAt: Timestamp
        package let deadline: Timestamp

        package init(arm: Arm, isClaimable: Bool, fallbackAt: Timestamp, deadline: Timestamp) {
            self.arm = arm
            self.isClaimable = isClaimable
            self.fallbackAt = fallbackAt
            self.deadline = deadline
        }
    }

    /// A device's right to show it.
    package struct Claim: Sendable, Hashable {
        /// Made by the device, so that it can repeat the request.
        package let id: ClaimID
        /// Until when the device alone may show it.
        package let until: Timestamp
        /// Whether the device remembers across app and notification service extension what it showed, so that an alert
        /// sent after the claim is not shown twice.
        package let hasLedger: Bool

        package init(id: ClaimID, until: Timestamp, hasLedger: Bool) {
            self.id = id
            self.until = until
            self.hasLedger = hasLedger
        }
    }

    /// A device that may get it.
    package struct Target: Sendable, Hashable {
        package let device: DeviceKey
        package let route: Route

        package init(device: DeviceKey, route: Route) {
            self.device = device
            self.route = route
        }
    }
}

package typealias ClaimID = Identifier<Moment.Claim>

extension Moment {
    /// The life of a moment; `docs/states.md` draws it. The raw value is stored. States below `sent` are unfinished.
    package enum State: Int64, CaseIterable, Sendable, Hashable {
        /// With the server: a claim, the fallback, a cancellation and a replacement compete for it, and one wins.
        case open = 1
        /// With a device, until the claim ends.
        case claimed = 2
        case sending = 3
        /// The claimant did not confirm: an alert is sent to it alone.
        case recovering = 4
        case sent = 5
        case shown = 6
        case opened = 7
        case dismissed = 8
        case cancelled = 9
        case failed = 10

        package var isUnfinished: Bool { rawValue < State.sent.rawValue }

        /// The word in messages to people.
        package var name: String { String(describing: self) }

        /// The states that may follow; `open` and `sending` may also follow themselves (replaced, the next device).
        package var successors: Set<State> {
            switch self {
            case .open: [.open, .claimed, .sending, .cancelled, .failed]
            case .claimed: [.shown, .opened, .dismissed, .recovering, .failed]
            case .sending: [.sending, .sent, .shown, .opened, .dismissed, .failed]
            case .recovering: [.sent, .shown, .opened, .dismissed, .failed]
            case .sent: [.shown, .opened, .dismissed]
            case .shown: [.opened, .dismissed]
            case .opened, .dismissed, .cancelled, .failed: []
            }
        }

        /// The state that is reported to authors.
        package var status: Status {
            switch self {
            case .open, .claimed, .sending, .recovering: .pending
            case .sent, .shown, .dismissed: .delivered
            case .opened: .opened
            case .cancelled: .cancelled
            case .failed: .failed
            }
        }
    }

    /// A state as it is reported to authors. The raw value is part of the API.
    package enum Status: String, CaseIterable, Sendable, Hashable {
        case pending, delivered, opened, cancelled, failed
    }
}

/// Until when a message may be shown, and who chooses the instant.
package struct DeliveryWindow: Sendable, Hashable {
    package var until: Timestamp
    package var method: Method
    /// How long a traditional message waits before it is sent, so that it can be cancelled.
    package var holdSeconds: Int64
    /// The name by which a later request finds it; nil = only its id.
    package var name: MomentName?

    package init(until: Timestamp, method: Method, holdSeconds: Int64 = 0, name: MomentName? = nil) {
        self.until = until
        self.method = method
        self.holdSeconds = holdSeconds
        self.name = name
    }

    /// The raw value is part of the API and is stored.
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

    /// The terms for a user of that arm.
    package func terms(_ arm: Arm, now: Timestamp) -> Moment.Terms {
        let fallbackAt = arm == .traditional ? min(now + .seconds(holdSeconds), until) : until
        return Moment.Terms(
            arm: arm, isClaimable: arm == .contextAware, fallbackAt: fallbackAt, deadline: until)
    }
}

/// The author's name for one person's message. While the message is open, the last request under a name counts.
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
