/// One user's part of a message with a delivery window: which device may show it, until when, and the outcome. A
/// message has one for each of its users.
package struct Moment: Sendable, Hashable {
    package var app: AppKey
    package var message: MessageID
    package var userID: String
    package var state: State = .open
    /// Counts replacements of content and window. A claim names the revision that it was created for.
    package var rev: Int64 = 1
    package var plannedArm: Arm
    /// Whether a device may claim it, to show it itself.
    package var isClaimable: Bool
    /// When the server sends it if no device has claimed it.
    package var fallbackAt: Timestamp
    /// The end of the delivery window.
    package var deadline: Timestamp
    /// Whether it was due while the user had no device: the next device to register gets it.
    package var awaitsDevice = false
    /// The route of the device it went to; until then, the route that it would have had when it was scheduled or last
    /// replaced.
    package var route: Route
    /// Whether the user had a device with the SDK when it was scheduled or last replaced. An experiment compares only
    /// these users: other devices neither choose moments nor report opens.
    package var hadSDK: Bool
    /// The device that has it.
    package var device: DeviceKey?
    /// The devices that it was sent to, in order.
    package var tried: [DeviceKey] = []
    /// The claim that won; nil if none did.
    package var claim: Claim?
    /// Whether a cancellation arrived too late: before the end of the window, or while a device had the claim. If the
    /// claimant does not confirm the message, Peal then does not resend it. Experiments leave the message out, as they
    /// do one that was cancelled in time: the traditional arm sends at once, so nearly all of its cancellations come
    /// too late.
    package var cancelRequested = false
    /// The outcome, if it was not shown.
    package var outcome: Outcome?
    /// The provider's reason or one that Peal defines; empty for plain acceptance. While it is open: why it is not sent
    /// although it was due, such as `HoldReason.quietHours`.
    package var reason = ""
    /// The idempotency key of the request that scheduled it; nil if the request had none.
    package var idempotencyKey: String?
    /// The request that scheduled or last replaced it; nil if it had no name.
    package var request: Request?
    /// How the phone chooses the moment.
    package var exploration = Exploration.greedy
    /// The devices whose alerts have not ended, if the alert went to all of the user's devices at once; nil if it goes
    /// to one device at a time.
    package var waiting: [DeviceKey]?

    package init(
        app: AppKey, message: MessageID, userID: String, terms: Terms, route: Route, hadSDK: Bool,
        idempotencyKey: String? = nil, request: Request? = nil
    ) {
        self.app = app
        self.message = message
        self.userID = userID
        plannedArm = terms.arm
        isClaimable = terms.isClaimable
        fallbackAt = terms.fallbackAt
        deadline = terms.deadline
        self.route = route
        self.hadSDK = hadSDK
        self.idempotencyKey = idempotencyKey
        self.request = request
    }

    /// Until when Peal waits for the receipt of a device that claimed it.
    package var givenUpAt: Timestamp { deadline + .seconds(Limits.momentRecoverySeconds) }

    /// How it was delivered: context-aware only if a claim won, so that the device chose the moment.
    package var deliveryArm: Arm { claim == nil ? .traditional : .contextAware }

    package var id: ID { ID(app: app, message: message, userID: userID) }

    /// Whether `request` repeats the one that this moment is from: the same body within a day.
    package func isRepeated(by request: Request?) -> Bool {
        guard let own = self.request, let request, own.digest == request.digest else { return false }
        return request.at - own.at < .seconds(Limits.momentRepetitionSeconds)
    }

    /// A request to schedule a message, to recognize its repetition.
    package struct Request: Sendable, Hashable {
        /// SHA-256 of the body as compact JSON.
        package let digest: [UInt8]
        package let at: Timestamp

        package init(digest: [UInt8], at: Timestamp) {
            self.digest = digest
            self.at = at
        }
    }

    /// Identifies a moment.
    package struct ID: Sendable, Hashable {
        package let app: AppKey
        package let message: MessageID
        package let userID: String

        package init(app: AppKey, message: MessageID, userID: String) {
            self.app = app
            self.message = message
            self.userID = userID
        }
    }

    /// What is known of the user when the message is scheduled or replaced.
    package struct Outlook: Sendable, Hashable {
        /// See `Moment.route`.
        package let route: Route
        /// See `Moment.hadSDK`.
        package let hasSDK: Bool
        package let exploration: Exploration

        package init(route: Route, hasSDK: Bool, exploration: Exploration) {
            self.route = route
            self.hasSDK = hasSDK
            self.exploration = exploration
        }
    }

    /// When to send it, which follows from delivery window and arm.
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

    /// A device's right to show the message.
    package struct Claim: Sendable, Hashable {
        /// Created by the device, so that it can repeat the request.
        package let id: ClaimID
        /// Until when only this device may show it.
        package var until: Timestamp
        /// Whether the device remembers across app and notification service extension what it showed, so that an alert
        /// sent after the claim is not shown twice.
        package let hasLedger: Bool
        /// The probability of an open that the device expected, for reports.
        package let score: Double?

        package init(id: ClaimID, until: Timestamp, hasLedger: Bool, score: Double? = nil) {
            self.id = id
            self.until = until
            self.hasLedger = hasLedger
            self.score = score
        }
    }

    /// A device that may receive the message.
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
    /// The states of a moment, drawn in `docs/states.md`. The raw value is stored. States below `sent` are unfinished.
    package enum State: Int64, CaseIterable, Sendable, Hashable {
        /// The server has it: a claim, the fallback, a cancellation and a replacement compete for it, and one wins.
        case open = 1
        /// A device has it until the claim expires.
        case claimed = 2
        case sending = 3
        /// The claimant did not confirm: the server sends an alert to that device only.
        case recovering = 4
        case sent = 5
        case shown = 6
        case opened = 7
        case dismissed = 8
        case cancelled = 9
        case failed = 10

        package var isUnfinished: Bool { rawValue < State.sent.rawValue }

        /// The state's name in error messages.
        package var name: String { String(describing: self) }

        /// The states that may follow this one; `open`, `claimed` and `sending` may also follow themselves (replaced,
        /// more time, the next device).
        package var successors: Set<State> {
            switch self {
            case .open: [.open, .claimed, .sending, .cancelled, .failed]
            case .claimed: [.claimed, .shown, .opened, .dismissed, .recovering, .failed]
            case .sending: [.sending, .sent, .shown, .opened, .dismissed, .failed]
            case .recovering: [.sent, .shown, .opened, .dismissed, .failed]
            case .sent: [.shown, .opened, .dismissed]
            case .shown: [.opened, .dismissed]
            case .opened, .dismissed, .cancelled, .failed: []
            }
        }

        /// The status that authors see.
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

    /// The status of a moment that authors see. The raw value is part of the API.
    package enum Status: String, CaseIterable, Sendable, Hashable {
        case pending, delivered, opened, cancelled, failed
    }
}

/// A position in the list of a user's open moments, which is ordered by deadline and message.
package struct MomentCursor: Sendable, Hashable {
    package let deadline: Timestamp
    package let message: MessageID

    package init(deadline: Timestamp, message: MessageID) {
        self.deadline = deadline
        self.message = message
    }
}

/// The time in which a message may be shown, and whether server or device chooses the instant.
package struct DeliveryWindow: Sendable, Hashable {
    package var until: Timestamp
    package var method: Method
    /// How long a traditional message waits before it is sent, so that it can be cancelled.
    package var holdSeconds: Int64
    /// The name by which a later request finds the message; nil if only its id does.
    package var name: MomentName?
    /// See `Moment.Request`; nil without a name.
    package var request: Moment.Request?
    /// How long after the window the server still tries to deliver a message that a device could have shown. It is not
    /// stored: the message's expiry follows from it.
    package var graceSeconds = Setting.windowGrace.standard.seconds

    package init(
        until: Timestamp, method: Method, holdSeconds: Int64 = 0, name: MomentName? = nil,
        request: Moment.Request? = nil, graceSeconds: Int64 = Setting.windowGrace.standard.seconds
    ) {
        self.until = until
        self.method = method
        self.holdSeconds = holdSeconds
        self.name = name
        self.request = request
        self.graceSeconds = graceSeconds
    }

    /// When the message ends if its author states no expiry: a traditional one with the window, because it is sent long
    /// before; one that a device may show until the end has the grace time for its alert.
    package var lastInstant: Timestamp { method == .traditional ? until : until + .seconds(graceSeconds) }

    /// The raw value is part of the API and is stored.
    package enum Method: String, CaseIterable, Sendable, Hashable {
        case contextAware = "context_aware"
        case traditional
        /// The server assigns users to the other two.
        case experiment = "ab_test"

        /// nil if the server assigns users to an arm.
        package var arm: Arm? {
            switch self {
            case .contextAware: .contextAware
            case .traditional: .traditional
            case .experiment: nil
            }
        }
    }

    /// The terms for a user of `arm`.
    /// - Parameter fallback: when the server sends it if no device claims it; nil for the end of the window.
    package func terms(_ arm: Arm, now: Timestamp, fallback: Timestamp? = nil) -> Moment.Terms {
        // In a window shorter than twice the hold, the hold is half of it: the alert must be sent before the end.
        let hold = min(.seconds(holdSeconds), max(.zero, until - now) / 2)
        let soonest = now + hold
        let fallbackAt = arm == .traditional ? soonest : fallback.map { max(soonest, min($0, until)) } ?? until
        return Moment.Terms(
            arm: arm, isClaimable: arm == .contextAware, fallbackAt: fallbackAt, deadline: until)
    }
}

/// The author's name for one user's message. While the message is open, the last request with the name applies.
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
