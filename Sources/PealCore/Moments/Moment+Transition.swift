/// All transitions of a moment, as pure functions. The store applies a result only if the row is still the one from
/// which it was computed, so that exactly one of several competing events wins.
extension Moment {
    /// The moment after `event`. An event without meaning in the current state changes nothing.
    package func after(_ event: MomentEvent, at now: Timestamp) -> MomentStep {
        switch event {
        case .supersede(let terms, let outlook, let request): superseded(terms, outlook, request)
        case .cancel: cancelled()
        case .claim(let claim): claimed(claim, now)
        case .fallback(let target): fallenBack(to: target.map { [$0] } ?? [], now)
        case .fallbackToAll(let targets): fallenBack(to: targets, now)
        case .quiet(let end): delayed(until: end, now)
        case .registered: registered(now)
        case .claimEnded(let holder): afterClaim(holder, now)
        case .settled(let outcome, let reason, let next): settled(outcome, reason, next)
        case .settledOne(let target, let outcome, let reason): settled(target, outcome, reason)
        case .receipt(let receipt, let device): received(receipt, device)
        }
    }

    private func superseded(_ terms: Terms, _ outlook: Outlook?, _ request: Request?) -> MomentStep {
        var step = MomentStep(self)
        guard state == .open else { return step }
        step.moment.rev += 1
        step.moment.plannedArm = terms.arm
        step.moment.isClaimable = terms.isClaimable
        step.moment.fallbackAt = terms.fallbackAt
        step.moment.deadline = terms.deadline
        step.moment.awaitsDevice = false
        step.moment.reason = ""
        if let outlook {
            (step.moment.route, step.moment.hadSDK) = (outlook.route, outlook.hasSDK)
            step.moment.exploration = outlook.exploration
        }
        step.moment.request = request ?? step.moment.request
        return step
    }

    /// Exact: a message that is reported as cancelled is never shown, because `cancelled` is a final state.
    private func cancelled() -> MomentStep {
        var step = MomentStep(self)
        switch state {
        case .open:
            step.moment.end(.cancelled, .suppressed, Reason.cancelled)
            step.report(.cancelled, nil)
        case .claimed: step.moment.cancelRequested = true
        case .sending, .recovering, .sent, .shown, .opened, .dismissed, .cancelled, .failed: break
        }
        return step
    }

    private func claimed(_ request: MomentClaim, _ now: Timestamp) -> MomentStep {
        var step = MomentStep(self)
        if let refusal = refusal(of: request, now) {
            step.refusal = refusal
        } else if state == .open {
            step.moment.state = .claimed
            step.moment.claim = Claim(
                id: request.id, until: now + .seconds(Limits.claimSeconds), hasLedger: request.hasLedger,
                score: request.score)
            step.moment.device = request.target.device
            step.moment.route = request.target.route
            step.moment.reason = ""
            step.report(.pending, request.target.device)
        } else if let claim, !claim.hasLedger {
            // No other device will show it, so this one gets more time.
            step.moment.claim?.until = max(claim.until, now + .seconds(Limits.claimSeconds))
        }
        return step
    }

    /// nil if the claim is granted: for the first time, or again to the device that has it.
    private func refusal(of request: MomentClaim, _ now: Timestamp) -> MomentClaim.Refusal? {
        switch state {
        case .open:
            if now >= deadline { return .expired }
            if !isClaimable { return .closed }
            if request.rev != rev { return .superseded }
            return now >= fallbackAt ? .fallback : nil
        case .claimed:
            guard let claim, claim.id == request.id, device == request.target.device else { return .claimed }
            if now >= givenUpAt { return .expired }
            // After the claim ends, an alert may be on its way to the same device, unless a cancellation prevents it.
            guard claim.hasLedger, now >= claim.until else { return nil }
            return cancelRequested ? .cancelled : .fallback
        case .sending, .recovering, .sent: return .fallback
        case .cancelled: return .cancelled
        case .shown, .opened, .dismissed: return claim == nil || device == request.target.device ? .closed : .claimed
        case .failed: return .expired
        }
    }

    /// If the user has no device before the window ends, the moment waits for the next device to register.
    /// - Parameter targets: the device to alert, or several that are alerted at once; empty if the user has none.
    private func fallenBack(to targets: [Target], _ now: Timestamp) -> MomentStep {
        var step = MomentStep(self)
        guard state == .open, now >= fallbackAt else { return step }
        if let target = targets.first {
            if targets.count > 1 { step.moment.waiting = targets.map(\.device) }
            for target in targets.dropFirst() { step.send(to: target, as: .sending) }
            step.send(to: target, as: .sending)
        } else if now < deadline {
            step.moment.fallbackAt = deadline
            step.moment.awaitsDevice = true
            // The reason was the quiet hours that are over.
            step.moment.reason = ""
        } else {
            step.moment.end(.failed, .suppressed, Reason.noDevice)
            step.report(.failed, nil)
        }
        return step
    }

    /// Quiet hours delay an alert, but never beyond the window, which takes precedence over the app's rule. Until then
    /// the moment can still be claimed, replaced and cancelled.
    private func delayed(until end: Timestamp, _ now: Timestamp) -> MomentStep {
        var step = MomentStep(self)
        guard state == .open, now >= fallbackAt, now < deadline, end > now else { return step }
        step.moment.fallbackAt = min(end, deadline)
        step.moment.reason = HoldReason.quietHours.rawValue
        return step
    }

    private func registered(_ now: Timestamp) -> MomentStep {
        var step = MomentStep(self)
        guard state == .open, awaitsDevice else { return step }
        step.moment.fallbackAt = min(now, deadline)
        step.moment.awaitsDevice = false
        return step
    }

    /// Sends an alert only to the claimant, and only while the device still belongs to the same user.
    private func afterClaim(_ holder: ClaimHolder, _ now: Timestamp) -> MomentStep {
        var step = MomentStep(self)
        guard state == .claimed, let claim, let device, now >= claim.until else { return step }
        if holder == .gone {
            step.moment.end(.failed, .retired, Reason.deviceGone)
            step.report(.failed, device)
        } else if now >= givenUpAt {
            step.moment.end(.failed, .expired, Reason.unconfirmed)
            step.report(.failed, device)
        } else if claim.hasLedger, !cancelRequested, holder == .user {
            step.send(to: Target(device: device, route: route), as: .recovering)
        }
        return step
    }

    /// Whether the alert may go to another device: the one before certainly did not get it.
    package static func mayFollow(_ outcome: Outcome, _ reason: String) -> Bool {
        switch outcome {
        case .retired: true
        // An earlier attempt of these may have arrived.
        case .rejected: ![Reason.gaveUp, Reason.lostAnswer].contains(reason)
        case .suppressed: ![Reason.cancelled, Reason.messageFailed].contains(reason)
        case .accepted, .expired, .moved: false
        }
    }

    /// Another device never follows after a claim, which belongs only to the claimant.
    private func settled(_ outcome: Outcome, _ reason: String, _ next: Target?) -> MomentStep {
        var step = MomentStep(self)
        guard state == .sending || state == .recovering, outcome != .moved else { return step }
        if outcome == .accepted {
            step.moment.end(.sent, .accepted, reason)
            step.report(.delivered, device)
        } else if Self.mayFollow(outcome, reason), state == .sending, let next {
            step.send(to: next, as: .sending)
        } else {
            step.moment.end(.failed, outcome, reason)
            step.reportFailed()
        }
        return step
    }

    /// One of several alerts that were sent together. The moment ends with the last of them.
    private func settled(_ target: Target, _ outcome: Outcome, _ reason: String) -> MomentStep {
        var step = MomentStep(self)
        guard outcome != .moved, var left = waiting, let index = left.firstIndex(of: target.device) else { return step }
        left.remove(at: index)
        step.moment.waiting = left
        if outcome == .accepted {
            if self.outcome != .accepted {
                (step.moment.device, step.moment.route) = (target.device, target.route)
                (step.moment.outcome, step.moment.reason) = (.accepted, reason)
            }
            step.report(.delivered, target.device)
        } else if self.outcome != .accepted {
            (step.moment.outcome, step.moment.reason) = (outcome, reason)
        }
        guard left.isEmpty, state == .sending else { return step }
        step.moment.state = step.moment.outcome == .accepted ? .sent : .failed
        if step.moment.state == .failed { step.reportFailed() }
        return step
    }

    /// A receipt counts only if it is new and comes from a device that has the message.
    private func received(_ receipt: MomentReceipt, _ device: DeviceKey) -> MomentStep {
        var step = MomentStep(self)
        let goal: State =
            switch receipt {
            case .shown: .shown
            case .opened: .opened
            case .dismissed: .dismissed
            }
        let hasIt = self.device == device || waiting != nil && tried.contains(device)
        // With alerts to all devices, each reports its own open.
        if hasIt, state == goal, goal == .opened, waiting != nil { step.report(goal.status, device) }
        guard hasIt, state != goal, state.successors.contains(goal) else { return step }
        step.moment.state = goal
        step.moment.outcome = .accepted
        // Of several devices, experiments look at the one that opened it.
        if goal == .opened { step.moment.device = device }
        if goal.status != state.status { step.report(goal.status, device) }
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
        moment.reason = ""
        alerts.append(target)
    }

    /// Reports the failure of each device that was tried. Nothing is reported before, because a message that failed on
    /// one device may still be delivered on another.
    fileprivate mutating func reportFailed() {
        var reported: Set<DeviceKey> = []
        let devices = moment.tried.isEmpty ? [moment.device].compactMap(\.self) : moment.tried
        for device in devices where reported.insert(device).inserted { report(.failed, device) }
    }
}

/// An event in the life of a moment.
package enum MomentEvent: Sendable, Hashable {
    /// The same request again, with different content or another window.
    case supersede(Moment.Terms, outlook: Moment.Outlook? = nil, request: Moment.Request? = nil)
    case cancel
    case claim(MomentClaim)
    /// The moment is due; nil if the user has no device now.
    case fallback(to: Moment.Target?)
    /// The moment is due, and all of the user's devices are alerted at once, the first one being the most important.
    case fallbackToAll([Moment.Target])
    /// The moment is due in the user's quiet hours, which end then.
    case quiet(until: Timestamp)
    /// A device of the user registered.
    case registered
    /// A claim expired.
    case claimEnded(ClaimHolder)
    /// An alert ended: the provider's answer, and the next device if the address is dead.
    case settled(Outcome, reason: String, next: Moment.Target?)
    /// One of several alerts that were sent together ended.
    case settledOne(Moment.Target, Outcome, reason: String)
    /// A report from a device.
    case receipt(MomentReceipt, device: DeviceKey)
}

/// Who owns the claiming device when the claim ends.
package enum ClaimHolder: Sendable, Hashable, CaseIterable {
    /// Still the moment's user.
    case user
    /// It has another user, or none.
    case another
    /// The device was deleted.
    case gone
}

/// A device's request to show a message now.
package struct MomentClaim: Sendable, Hashable {
    package let id: ClaimID
    package let target: Moment.Target
    /// The revision that the device knows.
    package let rev: Int64
    /// See `Moment.Claim.hasLedger`.
    package let hasLedger: Bool
    /// See `Moment.Claim.score`.
    package let score: Double?

    package init(id: ClaimID, target: Moment.Target, rev: Int64, hasLedger: Bool, score: Double? = nil) {
        self.id = id
        self.target = target
        self.rev = rev
        self.hasLedger = hasLedger
        self.score = score
    }

    /// Why the claim was refused. The raw value is part of the API.
    package enum Refusal: String, CaseIterable, Sendable, Hashable {
        case cancelled, superseded
        /// The server sends the message.
        case fallback
        /// Another device has the claim.
        case claimed
        case expired
        /// The moment is over, or devices may not claim it.
        case closed
    }
}

/// A report from a device. The raw value is part of the API.
package enum MomentReceipt: String, CaseIterable, Sendable, Hashable {
    case shown, opened, dismissed
}

/// A moment after an event, and the effects that belong to the same transaction.
package struct MomentStep: Sendable, Hashable {
    package var moment: Moment
    /// The alerts to send: one, or one for each of the user's devices.
    package var alerts: [Moment.Target] = []
    /// What authors receive, one notice for each device.
    package var notices: [Notice] = []
    /// Why a claim was refused.
    package var refusal: MomentClaim.Refusal?

    init(_ moment: Moment) { self.moment = moment }

    package struct Notice: Sendable, Hashable {
        package let status: Moment.Status
        /// nil if no device had it.
        package let device: DeviceKey?

        package init(status: Moment.Status, device: DeviceKey?) {
            self.status = status
            self.device = device
        }
    }

    mutating func report(_ status: Moment.Status, _ device: DeviceKey?) {
        notices.append(Notice(status: status, device: device))
    }
}
