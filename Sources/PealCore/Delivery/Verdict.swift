/// A provider's answer, reduced to what the engine must do. A missing answer is not a verdict but
/// `ProviderAnswer.Result.lost`.
package enum Verdict: Sendable, Hashable {
    /// The provider accepted the notification, which does not mean that it was delivered.
    case accepted
    /// The provider will never accept this notification.
    case rejectMessage
    /// The address has been dead since `since` (by the provider's clock); nil for now. A suspicious reason may mean
    /// that we misconfigured something (wrong environment, wrong topic), so many of them stop the app instead.
    case retireAddress(since: Timestamp?, isSuspicious: Bool)
    /// Only this address must wait.
    case holdAddress(after: Duration)
    /// The whole app must wait at this provider.
    case holdApp(after: Duration)
    /// The provider token is too old: retry with a new one.
    case refreshCredential
    /// The provider accepts nothing from this app until its configuration is fixed.
    case stopApp
    /// Retry on another connection.
    case reconnect
    /// The provider has a temporary problem: retry later. nil if the retry policy decides when.
    case retry(after: Duration?)
}

/// The result of sending one notification.
package struct ProviderAnswer: Sendable, Hashable {
    package let result: Result
    /// The provider's own reason, such as `BadDeviceToken`, or one that Peal defines, such as `ConnectionLost`. For an
    /// acceptance it is a remark for the delivery's history, such as WNS's `dropped`, and usually empty.
    package let reason: String
    /// The HTTP status, 0 without one.
    package let status: Int
    /// Whether an untrusted host is the cause of a deferral, which then says nothing about the route.
    package var isOfHostAlone = false

    package enum Result: Sendable, Hashable {
        case verdict(Verdict)
        /// The request was written and no answer arrived: the notification may have been delivered.
        case lost
        /// The request never reached the provider, and the attempt is over (deadline, stop, no connection).
        case unsent
        /// The request was not sent, because the peer for this address asked to wait. Other addresses on the route are
        /// not affected.
        case held(after: Duration)
    }

    package init(_ result: Result, reason: String, status: Int = 0) {
        self.result = result
        self.reason = reason
        self.status = status
    }

    /// The same answer with another verdict.
    package func with(_ verdict: Verdict) -> ProviderAnswer {
        ProviderAnswer(.verdict(verdict), reason: reason, status: status)
    }

    package static let accepted = ProviderAnswer(.verdict(.accepted), reason: "", status: 200)
}

/// Peal's own reasons for an outcome, in addition to the providers'. `docs/states.md` lists them.
package enum Reason {
    package static let cancelled = "Cancelled"
    /// The device was removed before it was sent to, or after it had claimed the message.
    package static let deviceGone = "DeviceGone"
    /// A remark on an acceptance.
    package static let environmentHealed = "EnvironmentHealed"
    package static let expired = "Expired"
    package static let gaveUp = "GaveUp"
    package static let lateAnswer = "LateAnswer"
    package static let lostAnswer = "LostAnswer"
    /// Why a route is stopped: too many addresses were reported as dead while none was accepted.
    package static let massRetirement = "MassRetirement"
    package static let messageFailed = "MessageFailed"
    /// The message has no content for the platform.
    package static let noContent = "NoContent"
    package static let noCredential = "NoCredential"
    /// The user of a message with a delivery window had no device until the window ended.
    package static let noDevice = "NoDevice"
    package static let noProvider = "NoProvider"
    package static let retirementDoubted = "RetirementDoubted"
    /// The device that claimed the message never confirmed that it showed it.
    package static let unconfirmed = "Unconfirmed"

    /// `lostAnswer`, followed by what happened to the request, if the message is sent again.
    package static func lostAnswer(_ cause: String) -> String {
        cause.isEmpty || cause == lostAnswer ? lostAnswer : "\(lostAnswer) \(cause)"
    }

    /// Every reason of Peal's own that a notification may end with.
    package static let known: Set<String> = ownRefusals.union(HoldReason.allCases.map(\.rawValue)).union([
        cancelled, deviceGone, environmentHealed, expired, gaveUp, lateAnswer, lostAnswer, messageFailed, noContent,
        noCredential, noDevice, noProvider, retirementDoubted, unconfirmed, "AccessTokenRefused", "AddressMoved",
        "BadKey", "BadResponse", "BadTokenAnswer", "ConnectionLost", "Deadline", "Draining", "InvalidField",
        "MissingField", "NoAccessToken", "NoAddress", "NoConnection", "NoTLS", "NoVariant", "OriginHeld",
        "PayloadTooLarge", "Refused", "RouteStopped", "SigningFailed", "Stopped", "StreamReset", "Throttled",
        "Timeout",
    ])
    /// Peal's own refusals of an address or a message for it: no request was made. Networks use none of these names.
    package static let ownRefusals: Set<String> = [
        "HostNotAllowed", "PrivateAddress", "UnusableURI", "BadSubscription", "UnknownApplicationServerKey",
        "EncryptionFailed", "TopicNotInCertificate",
    ]
}

/// What became of one device's notification. The raw value is stored in the delivery log.
package enum Outcome: UInt8, CaseIterable, Sendable, Hashable {
    case accepted = 0
    case rejected = 1
    case retired = 2
    case expired = 3
    case suppressed = 4
    /// Not final: the outcome is in a later row of the same key range.
    case moved = 5

    package var name: String { String(describing: self) }

    /// The reason under which devices with this outcome are counted; nil for a remark with a value (a name, a space and
    /// the value), because it differs from device to device.
    package func counted(_ reason: String) -> String? {
        reason.isEmpty || self == .accepted && reason.contains(" ") ? nil : reason
    }
}

/// The number of devices by outcome. `pending` is an estimate until their key range has been read.
package struct OutcomeCounts: Sendable, Hashable {
    package var accepted = 0
    package var rejected = 0
    package var retired = 0
    package var expired = 0
    package var suppressed = 0
    package var pending = 0
    /// How many of these devices were sent to again although an earlier request may have reached them, because its
    /// answer was lost or the process that held their slice died. At most this many received the message twice.
    package var resent = 0
    /// Devices per reason, such as `BadDeviceToken` or `NoCredential`.
    package var reasons: [String: Int] = [:]

    package init() {}

    package var settled: Int { accepted + rejected + retired + expired + suppressed }
    package var devices: Int { settled + pending }

    package mutating func add(_ other: OutcomeCounts) {
        accepted += other.accepted
        rejected += other.rejected
        retired += other.retired
        expired += other.expired
        suppressed += other.suppressed
        pending += other.pending
        resent += other.resent
        reasons.merge(other.reasons, uniquingKeysWith: +)
    }

    /// Counts `count` devices with `outcome`. `moved` is not final and does not count.
    package mutating func count(_ outcome: Outcome, _ count: Int = 1, reason: String? = nil) {
        switch outcome {
        case .accepted: accepted += count
        case .rejected: rejected += count
        case .retired: retired += count
        case .expired: expired += count
        case .suppressed: suppressed += count
        case .moved: return
        }
        if let reason { reasons[reason, default: 0] += count }
    }
}
