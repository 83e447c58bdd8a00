/// Explains how one message reached its devices, or why it did not, from one state of the store.
struct MessageTrail {
    typealias Event = DeliveryTrail.Event

    let store: any StoreReading
    let message: Message
    /// nil if the caller only searches for traces.
    let draft: MessageDraft?
    let isPaused: Bool
    let now: Timestamp

    /// Oldest first.
    /// - Throws: `not_found` for an unknown device, user or address.
    func events(of subject: DeliveryTrail.Subject) throws -> [Event] {
        let events: [Event]
        switch subject {
        case .device(let id):
            guard let device = try store.device(app: message.app, id: id) else { throw PealError.notFound("device") }
            events = try self.events(of: device)
        case .user(let user): events = try self.events(ofUser: user)
        case .addresses(let addresses):
            let found = try addresses.map { try self.events(of: $0) }
            guard found.contains(where: { $0 != nil }) else { throw PealError.notFound("address") }
            events = found.compactMap(\.self).flatMap(\.self)
        }
        return Self.ordered(events)
    }

    /// By time; events of one instant keep their order.
    private static func ordered(_ events: [Event]) -> [Event] {
        events.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
    }

    /// Whether anything was written about the device.
    func hasTrace(of device: Device) throws -> Bool {
        let recipient = Recipient(device)
        return try !logged(recipient).isEmpty || !reported(recipient).isEmpty
    }

    private func events(ofUser user: String) throws -> [Event] {
        let devices = try devices(of: user)
        guard devices.isEmpty else { return try devices.flatMap { try events(of: $0) } }
        let id = Moment.ID(app: message.app, message: message.id, userID: user)
        guard message.windowUntil != nil, let moment = try store.moment(id) else {
            throw PealError.notFound("user")
        }
        let end = message.windowUntil ?? message.expiresAt
        guard moment.state.isUnfinished else {
            let name = moment.outcome.flatMap { Event.Name(rawValue: $0.name) } ?? .suppressed
            return [Event(device: nil, at: message.endedAt ?? end, name: name, detail: moment.reason)]
        }
        return [Event(device: nil, at: message.createdAt, name: .pending, detail: "the user has no device yet")]
    }

    private func devices(of user: String) throws -> [Device] {
        var devices: [Device] = []
        while true {
            let page = try store.devices(
                app: message.app, DeviceFilter(userID: user), after: devices.last?.key ?? 0,
                limit: Limits.listItemsMax)
            devices += page
            guard page.count == Limits.listItemsMax else { return devices }
        }
    }

    /// For an address that the message named without a device: the address's events, and a device's only if that device
    /// also got the message. A device that registered the address later did not.
    /// - Returns: nil for an address that is unknown.
    private func events(of address: Address) throws -> [Event]? {
        let filter = DeviceFilter(address: address)
        let devices = try store.devices(app: message.app, filter, after: 0, limit: 2)
        guard let number = try store.addressNumber(app: message.app, message: message.id, address: address) else {
            return devices.isEmpty ? nil : try devices.flatMap { device in try events(of: device) }
        }
        let recipient = Recipient(device: nil, route: address.route, key: number)
        let log = try logged(recipient)
        let own = try matched(recipient, by: "its address") + log + rest(recipient, log)
        let reached = try devices.filter { device in try !logged(Recipient(device)).isEmpty }
        return try own + reached.flatMap { device in try events(of: device) }
    }

    private func events(of device: Device) throws -> [Event] {
        guard let draft else { return [] }
        let recipient = Recipient(device)
        let log = try logged(recipient)
        let reported = try reported(recipient)
        let match = try AudienceMatch(
            device, in: draft, of: message, where: condition(draft), joined: joined(device, draft))
        switch match {
        case .no(let reason) where log.isEmpty && reported.isEmpty:
            return [Event(device: device.id, at: begun, name: .notMatched, detail: reason)]
        case .no: return try matched(recipient, by: "its state at the time") + log + rest(recipient, log) + reported
        case .by(let reason, let isNamed):
            if log.isEmpty, reported.isEmpty, let reason = lateArrival(device, isNamed: isNamed) {
                return [Event(device: device.id, at: begun, name: .notMatched, detail: reason)]
            }
            let retirement = Self.isOpen(log) ? lateRetirement(device, log) : nil
            return try matched(recipient, by: reason) + log + (retirement ?? rest(recipient, log)) + reported
        }
    }

    /// A device that was retired after the audience was fixed and before its turn.
    private func lateRetirement(_ device: Device, _ log: [Event]) -> [Event]? {
        guard let retirement = device.retirement, message.cutoffAt != nil else { return nil }
        return [
            leftOut(device.id, at: retirement.at, "it was retired before its turn (\(retirement.reason))", log)
        ]
    }

    private func leftOut(_ device: DeviceID?, at: Timestamp, _ reason: String, _ log: [Event]) -> Event {
        let isSent = log.contains { $0.name == .sent }
        return Event(
            device: device, at: at, name: .leftOut, detail: reason + (isSent ? "" : "; never handed to a network"))
    }

    /// Whether the log's events have no final result yet.
    private static func isOpen(_ log: [Event]) -> Bool {
        log.last.map { $0.name == .deferred || $0.name == .held } ?? true
    }

    private struct Recipient {
        let device: DeviceID?
        let route: Route
        let key: DeviceKey
        let user: String?

        init(device: DeviceID?, route: Route, key: DeviceKey, user: String? = nil) {
            self.device = device
            self.route = route
            self.key = key
            self.user = user
        }

        init(_ device: Device) {
            self.init(device: device.id, route: device.address.route, key: device.key, user: device.userID)
        }
    }

    private var begun: Timestamp { message.cutoffAt ?? message.createdAt }

    private func matched(_ recipient: Recipient, by reason: String) throws -> [Event] {
        // A message whose audience could not be determined matched nobody.
        if message.state == .failed, message.cutoffAt == nil { return [] }
        let matched = Event(device: recipient.device, at: begun, name: .matched, detail: "by \(reason)")
        guard let detail = try wait(of: recipient) else { return [matched] }
        let held = Event(device: recipient.device, at: message.createdAt, name: .held, detail: detail)
        return [held, matched]
    }

    /// What the message waited for before it could go to the recipient; nil if it did not wait.
    private func wait(of recipient: Recipient) throws -> String? {
        var end = message.startAt ?? message.createdAt
        if message.windowUntil != nil, let moment = try moment(of: recipient) {
            if moment.state == .open, !moment.reason.isEmpty { return "\(moment.reason), until \(moment.fallbackAt)" }
            if moment.isClaimable { return "for a good moment, until \(moment.fallbackAt) at the latest" }
            end = moment.fallbackAt
        }
        return end > message.createdAt ? "until \(end)" : nil
    }

    /// The moment that the device has or had; otherwise that of the user who has the device now.
    private func moment(of recipient: Recipient) throws -> Moment? {
        let held = try store.moment(app: message.app, message: message.id, device: recipient.key)
        guard held == nil, let user = recipient.user else { return held }
        return try store.moment(Moment.ID(app: message.app, message: message.id, userID: user))
    }

    /// For a device without a result in the log: what will happen, or why nothing will.
    private func rest(_ recipient: Recipient, _ log: [Event]) throws -> [Event] {
        guard Self.isOpen(log) else { return [] }
        let quarantine = try store.quarantineReason(
            app: message.app, message: message.id, route: recipient.route, key: recipient.key,
            inAddresses: recipient.device == nil)
        if let quarantine {
            let detail = "the results of its slice cannot be stored: \(quarantine)"
            return [Event(device: recipient.device, at: log.last?.at ?? begun, name: .quarantined, detail: detail)]
        }
        if message.windowUntil != nil, let moment = try moment(of: recipient), !moment.state.isUnfinished {
            return try end(of: moment, recipient, log)
        }
        let ended = message.endedAt ?? begun
        let device = recipient.device
        switch message.state {
        case .sent:
            guard message.windowUntil == nil else { return [] }
            return [leftOut(device, at: ended, "it was not in the audience when its turn came", log)]
        case .cancelled: return [Event(device: device, at: ended, name: .suppressed, detail: Reason.cancelled)]
        case .failed:
            let detail = [Reason.messageFailed, message.failure].compactMap(\.self).joined(separator: ": ")
            return [Event(device: device, at: ended, name: .suppressed, detail: detail)]
        case .expired: return [Event(device: device, at: ended, name: .expired, detail: Reason.expired)]
        case .scheduled, .planning, .sending, .paused:
            if try waitsForItsInstant(recipient, log) { return [] }
            let wait = message.state == .paused ? "the message is paused" : message.state.name
            let tried = log.contains { $0.name != .held } ? "to be tried again" : "no result from a network yet"
            let halt = isPaused ? "the server sends nothing: it was started with --paused" : nil
            let detail = try [wait, tried, halt, obstacle(on: recipient.route), rate()].compactMap(\.self)
                .joined(separator: "; ")
            return [Event(device: device, at: log.last?.at ?? begun, name: .pending, detail: detail)]
        }
    }

    /// Why a device got nothing, once its user's part of a message with a delivery window has ended.
    private func end(of moment: Moment, _ recipient: Recipient, _ log: [Event]) throws -> [Event] {
        guard log.isEmpty, try reported(recipient).isEmpty else { return [] }
        let ended = message.endedAt ?? min(now, moment.fallbackAt)
        switch moment.state.status {
        case .cancelled, .failed, .pending:
            let name = moment.outcome.flatMap { Event.Name(rawValue: $0.name) } ?? .suppressed
            return [Event(device: recipient.device, at: ended, name: name, detail: moment.reason)]
        case .delivered, .opened:
            guard moment.device != recipient.key else { return [] }
            return [leftOut(recipient.device, at: ended, "another device of its user got it", log)]
        }
    }

    /// Whether the recipient only waits for the instant that the last event of its log names.
    private func waitsForItsInstant(_ recipient: Recipient, _ log: [Event]) throws -> Bool {
        guard log.last?.name == .held else { return false }
        guard message.state != .paused, !isPaused else { return false }
        return try dueAt(recipient).map { $0 > now } ?? true
    }

    private func dueAt(_ recipient: Recipient) throws -> Timestamp? {
        try store.dueAt(
            app: message.app, message: message.id, route: recipient.route, key: recipient.key,
            inAddresses: recipient.device == nil)
    }

    /// The rate limit for which the device is waiting.
    private func rate() throws -> String? {
        let ofApp = try store.app(key: message.app)?.settings.rules.ratePerSecond
        guard let rate = [draft?.options.ratePerSecond, ofApp].compactMap(\.self).min() else { return nil }
        return "\(HoldReason.rateLimit.rawValue): at most \(rate) a second"
    }

    /// Why nothing is sent over the route now; nil when no reason is known.
    private func obstacle(on route: Route) throws -> String? {
        let record = try store.credentialRecords(app: message.app).first { $0.isUsed(on: route) }
        if case .stopped(let at, let reason)? = record?.health {
            return "\(route) has been stopped since \(at): \(reason)"
        }
        let gate = try store.gates(app: message.app).first { $0.route.route == route && $0.state != .open }
        guard let gate else { return nil }
        let status = gate.status(at: now)
        let state = status == .probing ? "being probed" : status.rawValue
        let until = gate.closedUntil > now ? " until \(gate.closedUntil)" : ""
        return "\(route) is \(state)\(until)" + (gate.reason.isEmpty ? "" : ": \(gate.reason)")
    }

    private func logged(_ recipient: Recipient) throws -> [Event] {
        // The device may have moved to the other environment since the message was sent to it.
        let routes =
            [recipient.route]
            + (recipient.device == nil ? [] : [recipient.route.otherEnvironment].compactMap { $0 })
        let rows = try routes.flatMap { route in
            try store.logRows(
                app: message.app, message: message.id, route: route, key: recipient.key,
                inAddresses: recipient.device == nil)
        }
        var (attempts, found): (Int, [Event]) = (0, [])
        for stored in rows.sorted(by: { $0.row.sentAt < $1.row.sentAt }) {
            guard let entry = try DeliveryLog.find(recipient.key, in: stored.row.data) else { continue }
            found += events(recipient, stored, entry, isSent: entry.attempt > attempts)
            attempts = max(attempts, entry.attempt)
        }
        found = Self.ordered(found)
        if let last = found.last, last.name == .held,
            let due = try dueAt(recipient)
        {
            found[found.count - 1] = Event(
                device: last.device, at: last.at, name: .held, detail: "\(last.detail), until \(due)")
        }
        return found
    }

    /// The device's own reports.
    private func reported(_ recipient: Recipient) throws -> [Event] {
        let (app, id, key) = (message.app, message.id, recipient.key)
        let events = try store.eventDetails(app: app, message: id, device: key)
        return try store.receipts(app: app, message: id, device: key).compactMap { receipt in
            Self.name(of: receipt.kind).map { name in
                // A receipt is that of the first event of its kind: it has the button or the content.
                let detail = events.first { $0.kind.receipts.first == receipt.kind }?.detail ?? ""
                return Event(device: recipient.device, at: receipt.at, name: name, detail: detail)
            }
        }
    }

    private static func name(of kind: Receipt.Kind) -> Event.Name? {
        switch kind {
        case .received: .received
        case .opened: .opened
        case .shown: .shown
        case .dismissed: .dismissed
        case .contentOpened: .contentOpened
        case .heartbeat, .suppressed: nil
        }
    }

    /// - Parameter isSent: whether a request was made; what Peal refuses or holds back itself has no attempt of its
    /// own.
    private func events(
        _ recipient: Recipient, _ stored: StoredLogRow, _ entry: DeliveryLogEntry, isSent: Bool
    ) -> [Event] {
        let (row, route) = (stored.row, stored.slice.route)
        if entry.outcome == .moved, HoldReason(rawValue: entry.reason) != nil {
            return [Event(device: recipient.device, at: row.sentAt, name: .held, detail: entry.reason)]
        }
        var events: [Event] = []
        if isSent {
            let locale = entry.locale.map { ", rendered in \($0)" } ?? ""
            let detail = "attempt \(entry.attempt) over \(route)" + locale
            events.append(Event(device: recipient.device, at: row.sentAt, name: .sent, detail: detail))
        }
        let answered = row.sentAt + .milliseconds(row.tookMilliseconds)
        if entry.outcome == .accepted, entry.reason == Reason.environmentHealed, let other = route.otherEnvironment {
            let detail = "unknown in \(route.environment.rawValue); sent over \(other), where the device belongs now"
            events.append(Event(device: recipient.device, at: answered, name: .healed, detail: detail))
        }
        let name = Event.Name(rawValue: entry.outcome.name) ?? .deferred
        return events + [Event(device: recipient.device, at: answered, name: name, detail: entry.reason)]
    }
}
