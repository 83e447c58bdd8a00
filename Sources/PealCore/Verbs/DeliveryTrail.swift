/// Reads from the store what happened to one message on its way to one device, oldest first.
package struct DeliveryTrail: Sendable {
    package let store: any Store

    package init(store: any Store) { self.store = store }

    package struct Event: Sendable, Hashable {
        /// nil for an address that no device owns.
        package let device: DeviceID?
        package let at: Timestamp
        package let name: Name
        /// A sentence or a reason.
        package let detail: String

        /// The names of events, listed in `docs/api/native.md`.
        package enum Name: String, CaseIterable, Sendable {
            case matched, held, sent, deferred, accepted, rejected, retired, expired, suppressed, pending, received,
                shown, opened, dismissed
            case notMatched = "not_matched"
        }
    }

    /// The device or address whose trail is requested.
    package enum Subject: Sendable {
        case device(DeviceID)
        case user(String)
        /// The addresses that a text may be.
        case addresses([Address])
    }

    /// - Throws: `not_found` for an unknown message or device.
    package func events(of message: MessageID, app: AppKey, _ subject: Subject) async throws -> [Event] {
        try await store.read(.heavy) { store in
            guard let job = try store.message(app: app, id: message), let draft = try store.draft(app: app, id: message)
            else { throw PealError.notFound("message") }
            let condition = try store.plannedCondition(app: app, message: message)
            let reader = Reader(
                store: store, message: job, draft: draft,
                condition: condition ?? draft.audience.condition.flatMap { try? store.resolved($0, app: app) })
            return try reader.events(of: subject).sorted { $0.at < $1.at }
        }
    }

    private struct Reader {
        let store: any StoreReading
        let message: Message
        let draft: MessageDraft
        /// Without segments.
        let condition: Condition?

        func events(of subject: Subject) throws -> [Event] {
            switch subject {
            case .device(let id):
                guard let device = try store.device(app: message.app, id: id) else {
                    throw PealError.notFound("device")
                }
                return try events(of: device)
            case .user(let user):
                return try devices(of: user).flatMap { device in try events(of: device) }
            case .addresses(let addresses): return try addresses.flatMap { address in try events(of: address) }
            }
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

        /// For an address that the message named without a device: the address's events, and a device's only if that
        /// device also got the message. A device that registered the address later did not.
        private func events(of address: Address) throws -> [Event] {
            let filter = DeviceFilter(address: address)
            let devices = try store.devices(app: message.app, filter, after: 0, limit: 2)
            guard let number = try store.addressNumber(app: message.app, message: message.id, address: address) else {
                return try devices.flatMap { device in try events(of: device) }
            }
            let recipient = Recipient(device: nil, route: address.route, key: number)
            let log = try logged(recipient)
            let own = try matched(recipient, by: "its address") + (log.isEmpty ? unlogged(recipient) : log)
            let reached = try devices.filter { device in try !logged(Recipient(device)).isEmpty }
            return try own + reached.flatMap { device in try events(of: device) }
        }

        private func events(of device: Device) throws -> [Event] {
            let recipient = Recipient(device)
            let log = try logged(recipient) + reported(recipient)
            switch AudienceMatch(device, in: draft, where: condition) {
            case .no(let reason) where log.isEmpty:
                return [Event(device: device.id, at: begun, name: .notMatched, detail: reason)]
            case .no: return matched(recipient, by: "what it was then") + log
            case .by(let reason): return try matched(recipient, by: reason) + (log.isEmpty ? unlogged(recipient) : log)
            }
        }

        private struct Recipient {
            let device: DeviceID?
            let route: Route
            let key: DeviceKey

            init(device: DeviceID?, route: Route, key: DeviceKey) {
                self.device = device
                self.route = route
                self.key = key
            }

            init(_ device: Device) {
                self.init(device: device.id, route: device.address.route, key: device.key)
            }
        }

        private var begun: Timestamp { message.cutoffAt ?? message.createdAt }

        private func matched(_ recipient: Recipient, by reason: String) -> [Event] {
            let matched = Event(device: recipient.device, at: begun, name: .matched, detail: "by \(reason)")
            let window = message.windowUntil.map { "for a good moment, until \($0) at the latest" }
            let wait = message.startAt.flatMap { $0 > message.createdAt ? "until \($0)" : nil }
            guard let detail = window ?? wait else { return [matched] }
            let held = Event(device: recipient.device, at: message.createdAt, name: .held, detail: detail)
            return [held, matched]
        }

        /// The event of a device without a row in the log: not reached yet, or dropped with the message.
        private func unlogged(_ recipient: Recipient) throws -> [Event] {
            let ended = message.endedAt ?? begun
            switch message.state {
            case .sent: return []
            case .cancelled: return [Event(device: recipient.device, at: ended, name: .suppressed, detail: "Cancelled")]
            case .failed:
                return [Event(device: recipient.device, at: ended, name: .suppressed, detail: "MessageFailed")]
            case .expired: return [Event(device: recipient.device, at: ended, name: .expired, detail: "Expired")]
            case .scheduled, .planning, .sending, .paused:
                let detail = try [message.state.name, stop(of: recipient.route)].compactMap(\.self).joined(
                    separator: "; ")
                return [Event(device: recipient.device, at: begun, name: .pending, detail: detail)]
            }
        }

        /// Why nothing is sent over the route now; nil when no reason is known.
        private func stop(of route: Route) throws -> String? {
            let record = try store.credentialRecords(app: message.app).first { record in
                record.provider == route.provider && record.environment == route.environment
            }
            guard case .stopped(let at, let reason)? = record?.health else { return nil }
            return "\(route) is stopped since \(at): \(reason)"
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
            return try rows.flatMap { stored in
                try DeliveryLog.find(recipient.key, in: stored.row.data).map { events(recipient, stored, $0) } ?? []
            }
        }

        /// The device's own reports.
        private func reported(_ recipient: Recipient) throws -> [Event] {
            try store.receipts(app: message.app, message: message.id, device: recipient.key).compactMap { receipt in
                switch receipt.kind {
                case .received: Event(device: recipient.device, at: receipt.at, name: .received, detail: "")
                case .opened: Event(device: recipient.device, at: receipt.at, name: .opened, detail: "")
                case .shown: Event(device: recipient.device, at: receipt.at, name: .shown, detail: "")
                case .dismissed: Event(device: recipient.device, at: receipt.at, name: .dismissed, detail: "")
                case .heartbeat, .suppressed, .contentOpened: nil
                }
            }
        }

        private func events(_ recipient: Recipient, _ stored: StoredLogRow, _ entry: DeliveryLogEntry) -> [Event] {
            let (row, route) = (stored.row, stored.slice.route)
            var events: [Event] = []
            if entry.attempt > 0 {
                let locale = entry.locale.map { ", rendered in \($0)" } ?? ""
                let detail = "attempt \(entry.attempt) over \(route)" + locale
                events.append(Event(device: recipient.device, at: row.sentAt, name: .sent, detail: detail))
            }
            let answered = row.sentAt + .milliseconds(row.tookMilliseconds)
            let name = Event.Name(rawValue: entry.outcome.name) ?? .deferred
            return events + [Event(device: recipient.device, at: answered, name: name, detail: entry.reason)]
        }
    }
}
