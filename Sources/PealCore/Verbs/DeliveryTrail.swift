/// Reads from the store what happened to messages on their way to devices.
package struct DeliveryTrail: Sendable {
    package let store: any Store
    /// Whether this server sends nothing (`serve --paused`).
    package let isPaused: Bool

    package init(store: any Store, isPaused: Bool) {
        self.store = store
        self.isPaused = isPaused
    }

    /// Something that happened to a message on its way to one device.
    package struct Event: Sendable, Hashable {
        /// nil for an address that no device owns.
        package let device: DeviceID?
        package let at: Timestamp
        package let name: Name
        /// A sentence or a reason.
        package let detail: String

        /// The names of events, listed in `docs/api/native.md`.
        package enum Name: String, CaseIterable, Sendable {
            case matched, held, sent, healed, deferred, accepted, rejected, retired, expired, suppressed, pending,
                quarantined, received, shown, opened, dismissed
            case notMatched = "not_matched"
            case contentOpened = "content_opened"
            case leftOut = "left_out"
        }
    }

    /// The device or address whose trail is requested.
    package enum Subject: Sendable {
        case device(DeviceID)
        case user(String)
        /// The addresses that a text may represent.
        case addresses([Address])
    }

    /// Oldest first.
    /// - Throws: `not_found` for an unknown message, device, user or address.
    package func events(
        of message: MessageID, app: AppKey, _ subject: Subject, now: Timestamp
    ) async throws -> [Event] {
        try await store.read(.heavy) { store in
            guard let message = try store.message(app: app, id: message),
                let draft = try store.draft(app: app, id: message.id)
            else { throw PealError.notFound("message") }
            return try MessageTrail(store: store, message: message, draft: draft, isPaused: isPaused, now: now)
                .events(of: subject)
        }
    }
}

/// A device's events over messages.
extension DeliveryTrail {
    /// An event in the timeline of a device, with its message.
    package struct Entry: Sendable, Hashable {
        package let message: MessageID
        package let title: String?
        package let event: Event
        /// The entry's number within its message; the newest is 0.
        package let index: Int
    }

    /// Where a list of entries continues.
    package struct Position: Sendable, Hashable {
        package let message: MessageID
        /// How many of the message's entries came before.
        package let index: Int

        package init(message: MessageID, index: Int) {
            self.message = message
            self.index = index
        }
    }

    /// A page of a device's timeline.
    package struct Page: Sendable, Hashable {
        package var entries: [Entry] = []
        /// nil on the last page.
        package var next: Position?
    }

    /// The newest first, of the newest messages first. Reads at most `Limits.timelineMessagesMax` messages, so a page
    /// may have fewer entries than `limit` although another page follows.
    /// - Throws: `not_found` for an unknown device.
    package func timeline(
        of id: DeviceID, app: AppKey, from position: Position?, limit: Int, now: Timestamp
    ) async throws -> Page {
        try await store.read(.heavy) { store in
            guard let device = try store.device(app: app, id: id) else { throw PealError.notFound("device") }
            var (page, cursor, seen) = (Page(), position?.message, 0)
            var messages: [Message] = []
            if let position, let message = try store.message(app: app, id: position.message) { messages = [message] }
            while true {
                for message in messages {
                    let skipped = message.id == position?.message ? position?.index ?? 0 : 0
                    let entries = try entries(of: device, message, in: store, now: now).dropFirst(skipped)
                    for entry in entries {
                        guard page.entries.count < limit else {
                            page.next = Position(message: message.id, index: entry.index)
                            return page
                        }
                        page.entries.append(entry)
                    }
                    cursor = message.id
                }
                guard seen < Limits.timelineMessagesMax else {
                    page.next = cursor.map { Position(message: $0, index: Int(Int32.max)) }
                    return page
                }
                messages = try store.messages(app: app, MessageFilter(), before: cursor, limit: Limits.listItemsMax)
                seen += messages.count
                guard !messages.isEmpty else { return page }
            }
        }
    }

    /// Skips a message that has ended without a trace of the device, without reading the message.
    private func entries(
        of device: Device, _ message: Message, in store: any StoreReading, now: Timestamp
    ) throws -> [Entry] {
        let trail = MessageTrail(store: store, message: message, draft: nil, isPaused: isPaused, now: now)
        guard try !message.state.isFinal || trail.hasTrace(of: device),
            let draft = try store.draft(app: message.app, id: message.id)
        else { return [] }
        let whole = MessageTrail(store: store, message: message, draft: draft, isPaused: isPaused, now: now)
        let events = try whole.events(of: .device(device.id))
        guard events.contains(where: { $0.name != .notMatched }) else { return [] }
        let title = draft.content.headline
        return events.reversed().enumerated().map { index, event in
            Entry(message: message.id, title: title, event: event, index: index)
        }
    }
}

/// Finds devices for the reasons of a message: a few for each, from the beginning of its delivery log.
package struct OutcomeSamples: Sendable {
    package let store: any Store

    package init(store: any Store) { self.store = store }

    /// How many devices each reason gets.
    static let devicesPerReason = 3
    private static let rowsRead = 64

    /// Devices that still exist, by the reason of their outcome. A rare reason late in a long log may be missing.
    package func devices(of message: MessageID, app: AppKey) async throws -> [String: [DeviceID]] {
        try await store.read(.heavy) { store in
            var keys: [String: [DeviceKey]] = [:]
            for stored in try store.logRows(app: app, message: message, limit: Self.rowsRead)
            where !stored.slice.holdsAddresses {
                Self.collect(try DeliveryLog.decode(stored.row.data), into: &keys)
            }
            return try keys.mapValues { keys in
                try keys.compactMap { key in
                    let found = try store.devices(app: app, DeviceFilter(), after: key - 1, limit: 1).first
                    return found?.key == key ? found?.id : nil
                }
            }
        }
    }

    private static func collect(_ log: DeliveryLog, into keys: inout [String: [DeviceKey]]) {
        let isWanted = log.endings.map { ending in
            !ending.reason.isEmpty && keys[ending.reason, default: []].count < devicesPerReason
        }
        guard isWanted.contains(true) else { return }
        for (index, ending) in log.endingOf.enumerated() where isWanted[Int(ending)] {
            let reason = log.endings[Int(ending)].reason
            guard keys[reason, default: []].count < devicesPerReason else { continue }
            keys[reason, default: []].append(log.keys[index])
        }
    }
}
