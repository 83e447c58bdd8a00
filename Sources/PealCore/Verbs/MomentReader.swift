/// Reads what one device may see: messages of its user on its route, messages that it has itself, and for receipts
/// messages without a delivery window that were sent to it (see `MessageTrail.mayHaveReached`).
package struct MomentReader {
    let store: any StoreReading
    let device: Device
    let app: AppKey

    package init(store: any StoreReading, device: Device, app: AppKey) {
        self.store = store
        self.device = device
        self.app = app
    }

    /// The moment that the device may claim or report on; nil if it cannot see one.
    package func moment(_ message: MessageID) throws -> Moment? {
        if let own = try store.moment(app: app, message: message, device: device.key) { return own }
        guard let user = device.userID,
            let moment = try store.moment(.init(app: app, message: message, userID: user)),
            try store.momentRoutes(app: app, message: message).contains(device.address.route)
        else { return nil }
        return moment
    }

    /// Those of the messages that the device may report on.
    func visible(among messages: Set<MessageID>, now: Timestamp) throws -> Set<MessageID> {
        try messages.filter { id in
            guard let message = try store.message(app: app, id: id) else { return false }
            guard message.windowUntil == nil else { return try moment(id) != nil }
            return try MessageTrail(store: store, message: message, draft: nil, isPaused: false, now: now)
                .mayHaveReached(device)
        }
    }

    /// Whether a message waits for the device's user.
    func hasOpen() throws -> Bool {
        guard let user = device.userID else { return false }
        return try !store.openMoments(app: app, userID: user, after: nil, limit: 1).isEmpty
    }

    /// What a sync returns, without the events that it refuses.
    package func open(_ sync: DeviceSync) throws -> SyncResult {
        var result = SyncResult(device: device)
        for id in sync.held.keys.sorted() where sync.cursor == nil {
            let moment = try moment(id)
            let isMine = moment.map { ExactText($0.userID) } == device.userID.map(ExactText.init)
            if moment?.state != .open || !isMine { result.revoked.append(id) }
        }
        guard let user = device.userID else { return result }
        let moments = try store.openMoments(
            app: app, userID: user, after: sync.cursor, limit: Limits.syncMomentsRead)
        for (index, moment) in moments.enumerated() {
            if sync.held[moment.message] != moment.rev { try add(moment, to: &result) }
            let isFull = result.messages.count == Limits.syncMessagesMax && index < moments.count - 1
            if isFull || index == Limits.syncMomentsRead - 1 {
                result.next = MomentCursor(deadline: moment.deadline, message: moment.message)
                break
            }
        }
        return result
    }

    private func add(_ moment: Moment, to result: inout SyncResult) throws {
        guard let draft = try store.draft(app: app, id: moment.message),
            try store.momentRoutes(app: app, message: moment.message).contains(device.address.route)
        else { return }
        result.messages.append(
            OpenMoment(
                moment: moment, campaignID: draft.campaignID, content: draft.content,
                start: draft.startAt ?? draft.createdAt, isTransactional: draft.options.isTransactional))
    }

    /// Stores new events with everything that follows from them.
    /// - Parameter visible: the result of `visible`; nil to compute it here.
    /// - Returns: the events that were refused.
    package func record(
        _ events: [DeviceEvent], visible: Set<MessageID>? = nil, in store: any StoreWriting, now: Timestamp
    ) throws -> [RefusedEvent] {
        let visible = try visible ?? self.visible(among: Set(events.compactMap(\.message)), now: now)
        let (accepted, refused) = try judged(events, visible: visible, in: store, now: now)
        let isNew = try store.record(accepted, app: app, device: device.key, now: now)
        var receipts: [Receipt] = []
        for (event, isNew) in zip(accepted, isNew) where isNew {
            receipts += try apply(event, after: receipts, in: store, now: now)
        }
        try store.record(receipts, app: app)
        return refused
    }

    /// The events that the device may report, with plausible times, and those that are refused. An event about a
    /// message that another device of the user has, or none yet, is neither: nothing follows from it.
    private func judged(
        _ events: [DeviceEvent], visible: Set<MessageID>, in store: any StoreReading, now: Timestamp
    ) throws -> (accepted: [DeviceEvent], refused: [RefusedEvent]) {
        var (accepted, refused): ([DeviceEvent], [RefusedEvent]) = ([], [])
        for var event in events {
            // A device whose clock was set may be wrong by days, but nothing happens to a message before it exists.
            let message = try event.message.flatMap { try store.message(app: app, id: $0) }
            event.at = min(max(event.at, message?.createdAt ?? event.at), now)
            let isOld = event.at < now - .seconds(Limits.deviceEventAgeSeconds)
            if isOld {
                refused.append(.init(id: event.id.description, error: .invalid("at", "the event is too old")))
            } else if let id = event.message, !visible.contains(id) || message == nil {
                refused.append(.init(id: event.id.description, error: .notFound("message")))
            } else if try message.map(has) ?? true {
                accepted.append(event)
            }
        }
        return (accepted, refused)
    }

    /// Whether a message went to the device: with a delivery window, only what it claimed or was alerted for. Messages
    /// without one are judged by `visible`.
    private func has(_ message: Message) throws -> Bool {
        guard message.windowUntil != nil else { return true }
        return try store.moment(app: app, message: message.id, device: device.key) != nil
    }

    /// Does what follows from a new event.
    /// - Parameter earlier: receipts of the same request.
    /// - Returns: the receipts to store.
    private func apply(
        _ event: DeviceEvent, after earlier: [Receipt], in store: any StoreWriting, now: Timestamp
    ) throws -> [Receipt] {
        let receipt = event.kind.momentReceipt
        let moment = try receipt == nil ? nil : event.message.flatMap { try self.moment($0) }
        if let user = device.userID, event.kind == .opened || event.shared.hour != nil {
            let hour = event.shared.hour.map { Int($0) }
            try store.countOpen(
                app: app, userID: user,
                hour: hour ?? store.localHour(at: event.at, zone: device.timeZone, app: app))
        }
        guard let message = event.message else { return [] }
        if let receipt, let moment, try !isRepeated(event, of: moment, after: earlier) {
            _ = try store.apply(.receipt(receipt, device: device.key), to: moment, now: now)
        }
        return event.kind.receipts.map { Receipt(message: message, device: device.key, kind: $0, at: event.at) }
    }

    /// Whether the device has reported under another id that it opened the message. Of an alert to several devices,
    /// authors learn each device's open, once.
    private func isRepeated(_ event: DeviceEvent, of moment: Moment, after earlier: [Receipt]) throws -> Bool {
        guard event.kind == .opened, moment.state == .opened, moment.waiting != nil else { return false }
        let known = try earlier + store.receipts(app: app, message: moment.message, device: device.key)
        return known.contains { $0.message == moment.message && $0.kind == .opened }
    }
}
