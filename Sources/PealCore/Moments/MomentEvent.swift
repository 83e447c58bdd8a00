/// What happens to a moment.
package enum MomentEvent: Sendable, Hashable {
    /// The same request again, with other content or another window.
    case supersede(Moment.Terms)
    case cancel
    case claim(MomentClaim)
    /// The time to send has come; nil = the user has no device at present.
    case fallback(to: Moment.Target?)
    /// A device of the user registered.
    case registered
    /// The time of a claim is over.
    case claimEnded
    /// An alert's end: what the provider said, and which device comes next where its address is dead.
    case settled(Outcome, reason: String, next: Moment.Target?)
    /// What a device tells of it.
    case receipt(MomentReceipt, device: DeviceKey)
}

/// A device's wish to show a message now.
package struct MomentClaim: Sendable, Hashable {
    package let id: ClaimID
    package let target: Moment.Target
    /// The revision that the device holds.
    package let rev: Int64
    /// See `Moment.Claim.hasLedger`.
    package let hasLedger: Bool

    package init(id: ClaimID, target: Moment.Target, rev: Int64, hasLedger: Bool) {
        self.id = id
        self.target = target
        self.rev = rev
        self.hasLedger = hasLedger
    }

    /// Why it was not granted. The raw value stands in the API.
    package enum Refusal: String, CaseIterable, Sendable, Hashable {
        case cancelled, superseded
        /// The server sends it.
        case fallback
        /// Another device has it.
        case claimed
        case expired
        /// It is over, or is not for devices to take.
        case closed
    }
}

/// A fact from a device. The raw value stands in the API.
package enum MomentReceipt: String, CaseIterable, Sendable, Hashable {
    case shown, opened, dismissed
}
