extension MessageTrail {
    /// Whether the message, which has no delivery window, went to the device, or may have gone and has no log yet: pages
    /// are logged after the push, and devices report at once. Exact but for broadcast channels, whose devices only APNs
    /// knows, and for devices that join or leave the audience while it is being sent.
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
}
