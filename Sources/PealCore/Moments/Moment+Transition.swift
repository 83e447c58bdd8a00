/// Every transition of a moment, in one place and pure: the store applies the result only where the row is still the
/// one that was judged, so that of all who compete one wins.
extension Moment {
    /// What `event` makes of this moment. An event that means nothing to its state leaves it as it is.
    package func after(_ event: MomentEvent, at now: Timestamp) -> MomentStep {
        switch event {
        case .supersede(let terms): superseded(terms)
        case .cancel: cancelled()
        case .claim(let claim): claimed(claim, now)
        case .fallback(let target): fallenBack(to: target, now)
        case .registered: registered(now)
        case .claimEnded: afterClaim(now)
        case .settled(let outcome, let reason, let next): settled(outcome, reason, next)
        case .receipt(let receipt, let device): received(receipt, device)
        }
    }

    private func superseded(_ terms: Terms) -> MomentStep {
        var step = MomentStep(self)
        guard state == .open else { return step }
        step.moment.rev += 1
        step.moment.plannedArm = terms.arm
        step.moment.isClaimable = terms.isClaimable
        step.moment.fallbackAt = terms.fallbackAt
        step.moment.deadline = terms.deadline
        step.moment.awaitsDevice = false
        return step
    }

    /// Exact: who is told `cancelled` will never see it, for nothing but this leads out of open any more.
    private func cancelled() -> MomentStep {
        var step = MomentStep(self)
        switch state {
        case .open:
            step.moment.end(.cancelled, .suppressed, "Cancelled")
            step.tell(.cancelled, nil)
        case .claimed: step.moment.cancelRequested = true
        default: break
        }
        return step
    }

    private func claimed(_ wish: MomentClaim, _ now: Timestamp) -> MomentStep {
        var step = MomentStep(self)
        if let refusal = refusal(of: wish, now) {
            step.refusal = refusal
        } else if state == .open {
            step.moment.state = .claimed
            step.moment.claim = Claim(
                id: wish.id, until: now + .seconds(Limits.claimSeconds), hasLedger: wish.hasLedger)
            step.moment.device = wish.target.device
            step.moment.route = wish.target.route
            step.tell(.pending, wish.target.device)
        }
        return step
    }

    /// nil where it is granted: for the first time, or once more to who has it.
    private func refusal(of wish: MomentClaim, _ now: Timestamp) -> MomentClaim.Refusal? {
        switch state {
        case .open:
            if now >= deadline { return .expired }
            if !isClaimable { return .closed }
            if wish.rev != rev { return .superseded }
            return now >= fallbackAt ? .fallback : nil
        case .claimed:
            guard let claim, claim.id == wish.id, device == wish.target.device else { return .claimed }
            // From then on an alert may be on its way to the same device.
            return claim.hasLedger && now >= claim.until ? .fallback : nil
        case .sending, .recovering, .sent: return .fallback
        case .cancelled: return .cancelled
        case .shown, .opened, .dismissed: return claim == nil || device == wish.target.device ? .closed : .claimed
        case .failed: return .expired
        }
    }

    /// To nobody before the window ends: whoever registers gets it.
    private func fallenBack(to target: Target?, _ now: Timestamp) -> MomentStep {
        var step = MomentStep(self)
        guard state == .open, now >= fallbackAt else { return step }
        if let target {
            step.send(to: target, as: .sending)
        } else if now < deadline {
            step.moment.fallbackAt = deadline
            step.moment.awaitsDevice = true
        } else {
            step.moment.end(.failed, .suppressed, "NoDevice")
            step.tell(.failed, nil)
        }
        return step
    }

    private func registered(_ now: Timestamp) -> MomentStep {
        var step = MomentStep(self)
        guard state == .open, awaitsDevice else { return step }
        step.moment.fallbackAt = min(now, deadline)
        step.moment.awaitsDevice = false
        return step
    }

    private func afterClaim(_ now: Timestamp) -> MomentStep {
        var step = MomentStep(self)
        guard state == .claimed, let claim, let device, now >= claim.until else { return step }
        if now >= givenUpAt {
            step.moment.end(.failed, .expired, "Unconfirmed")
            step.tell(.failed, device)
        } else if claim.hasLedger, !cancelRequested {
            step.send(to: Target(device: device, route: route), as: .recovering)
        }
        return step
    }

    /// Only the next device of a dead address may follow, and never after a claim: that is the claimant's alone.
    private func settled(_ outcome: Outcome, _ reason: String, _ next: Target?) -> MomentStep {
        var step = MomentStep(self)
        guard state == .sending || state == .recovering, outcome != .moved else { return step }
        if outcome == .accepted {
            step.moment.end(.sent, .accepted, reason)
            step.tell(.delivered, device)
        } else if outcome == .retired, state == .sending, let next {
            step.tell(.failed, device)
            step.send(to: next, as: .sending)
        } else {
            step.moment.end(.failed, outcome, reason)
            step.tell(.failed, device)
        }
        return step
    }

    /// A device's word counts only from the device that has the message, and only as news.
    private func received(_ receipt: MomentReceipt, _ device: DeviceKey) -> MomentStep {
        var step = MomentStep(self)
        let goal: State =
            switch receipt {
            case .shown: .shown
            case .opened: .opened
            case .dismissed: .dismissed
            }
        guard self.device == device, state != goal, state.successors.contains(goal) else { return step }
        step.moment.state = goal
        step.moment.outcome = .accepted
        if goal.status != state.status { step.tell(goal.status, device) }
        return step
    }

    private mutating func end(_ state: State, _ outcome: Outcome, _ reason: String) {
        self.state = state
        self.outcome = outcome
        self.reason = reason
    }
}

extension MomentStep {
    fileprivate mutating func send(to target: Moment.Target, as state: Moment.State) {
        moment.state = state
        moment.device = target.device
        moment.route = target.route
        moment.tried.append(target.device)
        moment.awaitsDevice = false
        alert = target
    }
}

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

/// What an event makes of a moment: the new row, and what goes with it in the same transaction.
package struct MomentStep: Sendable, Hashable {
    package var moment: Moment
    /// An alert to be sent.
    package var alert: Moment.Target?
    /// What authors are told, each about one device.
    package var notices: [Notice] = []
    /// Why a claim was not granted.
    package var refusal: MomentClaim.Refusal?

    init(_ moment: Moment) { self.moment = moment }

    package struct Notice: Sendable, Hashable {
        package let status: Moment.Status
        /// nil where no device had it.
        package let device: DeviceKey?

        package init(status: Moment.Status, device: DeviceKey?) {
            self.status = status
            self.device = device
        }
    }

    mutating func tell(_ status: Moment.Status, _ device: DeviceKey?) {
        notices.append(Notice(status: status, device: device))
    }
}
