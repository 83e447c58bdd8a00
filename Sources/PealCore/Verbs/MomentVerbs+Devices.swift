extension MomentVerbs {
    /// A device's right to show a message, or why it has none.
    package enum Grant: Sendable, Hashable {
        case granted(showBy: Timestamp)
        case refused(MomentClaim.Refusal)
    }

    /// A device asks to show a message to its user now. Asked again with the same claim, it is given the same answer.
    /// - Throws: `not_found` where the message holds no moment of the device's user.
    package func claim(
        _ message: MessageID, for device: Device, app: AppKey, id: ClaimID, rev: Int64, hasLedger: Bool, now: Timestamp
    ) async throws -> Grant {
        let claim = MomentClaim(
            id: id, target: .init(device: device.key, route: device.address.route), rev: rev, hasLedger: hasLedger)
        return try await store.write(.intake) { store in
            let moment = try Self.moment(message, of: device, app: app, in: store)
            guard let step = try store.apply(.claim(claim), to: moment, now: now) else { return .refused(.claimed) }
            if let refusal = step.refusal { return .refused(refusal) }
            return .granted(showBy: step.moment.claim?.until ?? now)
        }
    }

    /// What a device tells of a message. A fact that is told again changes nothing.
    /// - Throws: `not_found` where the message holds no moment of the device's user.
    package func receive(
        _ receipt: MomentReceipt, of message: MessageID, from device: Device, app: AppKey, now: Timestamp
    ) async throws -> Moment {
        try await store.write(.intake) { store in
            let moment = try Self.moment(message, of: device, app: app, in: store)
            return try store.apply(.receipt(receipt, device: device.key), to: moment, now: now)?.moment ?? moment
        }
    }

    /// Tells webhooks that a device can be reached better or worse in the background.
    package func report(_ transition: DeviceTransition, id: OutboxEventID) async throws {
        try await store.write(.control) { store in try store.report(transition, id: id) }
    }

    private static func moment(
        _ message: MessageID, of device: Device, app: AppKey, in store: any StoreReading
    ) throws -> Moment {
        guard let user = device.userID,
            let moment = try store.moment(.init(app: app, message: message, userID: user))
        else { throw PealError.notFound("message") }
        return moment
    }
}
