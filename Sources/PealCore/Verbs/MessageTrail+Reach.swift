/// Whether a device is in the message's audience, as it was when sending started.
extension MessageTrail {
    /// Whether the message, which has no delivery window, was sent to the device, or may have been sent and is not
    /// logged yet: pages are logged after the push, and devices report at once. Exact except for broadcast channels,
    /// whose devices only APNs knows, and for devices that join or leave the audience while it is being sent.
    func mayHaveReached(_ device: Device) throws -> Bool {
        if try hasTrace(of: device) { return true }
        guard message.cutoffAt != nil, let draft = try store.draft(app: message.app, id: message.id) else {
            return false
        }
        let isFollower = draft.audience.addresses.contains {
            $0.route.isBroadcast && $0.route.platform == device.platform
        }
        if isFollower { return true }
        // The address may have got it before the device registered it.
        if try store.addressNumber(app: message.app, message: message.id, address: device.address) != nil {
            return true
        }
        // A page in flight is logged before its lease ends, even if the message was cancelled meanwhile.
        if message.state.isFinal, let end = message.endedAt, end + .seconds(Limits.leaseSeconds) < now { return false }
        let match = AudienceMatch(
            device, in: draft, of: message, where: try condition(draft), joined: try joined(device, draft))
        guard case .by(_, let isNamed) = match else { return false }
        return lateArrival(device, isNamed: isNamed) == nil
    }

    /// The condition that the message was planned with, or that it would be planned with now.
    func condition(_ draft: MessageDraft) throws -> Condition? {
        if let planned = try store.plannedCondition(app: message.app, message: message.id) { return planned }
        return draft.audience.condition.flatMap { try? store.resolved($0, app: message.app) }
    }

    /// When the device joined the topics that decide about it. Reads them only if it may have joined too late.
    func joined(_ device: Device, _ draft: MessageDraft) throws -> [ExactText: Timestamp] {
        guard message.cutoffAt != nil, !draft.audience.topics.isEmpty else { return [:] }
        return try store.topicsJoined(app: message.app, device: device.key)
    }

    /// Why a device is not in an audience that was fixed before it registered or moved to its route; nil if it may be.
    /// - Parameter isNamed: whether the audience lists it, so that a list fixed while it was active still contains it.
    func lateArrival(_ device: Device, isNamed: Bool) -> String? {
        // A time in the future was recorded before the clock was set back.
        guard let cutoff = message.cutoffAt, cutoff < device.activeSince, device.activeSince <= now,
            message.windowUntil == nil
        else { return nil }
        if let past = device.detail.pastRetirement, cutoff < past.until, !isNamed || past.retirement.at <= cutoff {
            let retirement = past.retirement
            return "it was retired at \(retirement.at) (\(retirement.reason)) and registered again at \(past.until), "
                + "after sending had started"
        }
        guard !isNamed else { return nil }
        return "it has been active on \(device.address.route) since \(device.activeSince), after sending had started"
    }
}
