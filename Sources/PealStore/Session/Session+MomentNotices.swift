internal import Crypto
internal import PealCore

/// What webhooks are told of moments, and what messages count of them.
extension StoreSession {
    func tell(_ notice: MomentStep.Notice, of moment: Moment, now: Timestamp) throws {
        guard let writer = context.noticeWriter, let message = try message(app: moment.app, id: moment.message),
            message.dialect == .contextpush
        else { return }
        let source = try connection.first(
            "SELECT source FROM message_content WHERE app = $1 AND message = $2",
            [.int(moment.app), .id(moment.message)]
        ) { $0.bytesIfPresent(0) }
        let status = MomentStatus(
            moment: moment, status: notice.status, campaignID: message.campaignID,
            deviceAddress: try notice.device.flatMap { try addressText(app: moment.app, device: $0) },
            source: source ?? nil, at: now)
        let event = OutboxEvent(
            id: Self.noticeID(moment, notice), app: moment.app, type: "message_status",
            payload: writer.item(status).bytes, createdAt: now)
        _ = try enqueue(event, for: [.contextpush])
    }

    /// The same notice has the same id wherever it is written.
    private static func noticeID(_ moment: Moment, _ notice: MomentStep.Notice) -> OutboxEventID {
        let text =
            "\(moment.message) \(notice.status.rawValue) \(notice.device ?? 0) \(moment.state.name) \(moment.userID)"
        let bytes = Array(SHA256.hash(data: Array(text.utf8)).prefix(16))
        return OutboxEventID(bytes: bytes) ?? OutboxEventID(high: moment.message.high, low: moment.message.low)
    }

    func report(_ transition: DeviceTransition, id: OutboxEventID) throws {
        guard let writer = context.noticeWriter else { return }
        _ = try enqueue(
            OutboxEvent(
                id: id, app: transition.app, type: "device_transition", payload: writer.item(transition, id: id).bytes,
                createdAt: transition.at),
            for: [.contextpush])
    }

    /// In the letter case that the app sent.
    private func addressText(app: AppKey, device: DeviceKey) throws -> String? {
        let address = try connection.first(
            "SELECT route, address FROM device WHERE app = $1 AND seq = $2", [.int(app), .int(device)]
        ) { Address(route: try $0.route(0), bytes: $0.bytes(1)) }
        guard let address else { return nil }
        let detail = try DetailCoding.decode(try detail(app: app, device: device))
        return detail.addressAsSent ?? address.json.stringValue ?? address.json.text
    }

    /// One a user, by the route of the device that has or had it.
    func momentCounts(app: AppKey, id: MessageID) throws -> [Route: OutcomeCounts] {
        var routes: [Route: OutcomeCounts] = [:]
        try connection.query(MomentSQL.counts, [.int(app), .id(id)]) { row in
            guard let state = Moment.State(rawValue: row.int(0)) else { throw PealError.damaged("a moment") }
            let route = try row.route(1)
            let outcome = row.intIfPresent(2).flatMap { Outcome(rawValue: UInt8(truncatingIfNeeded: $0)) }
            let reason = row.text(3)
            if state.isUnfinished {
                routes[route, default: .init()].pending += 1
            } else {
                let isPlain = reason.isEmpty || outcome == .accepted && reason.contains(" ")
                routes[route, default: .init()].count(outcome ?? .accepted, reason: isPlain ? nil : reason)
            }
        }
        return routes
    }
}
