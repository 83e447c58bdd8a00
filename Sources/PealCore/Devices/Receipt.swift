/// A report from a device about a message. The first of each kind counts.
package struct Receipt: Sendable, Hashable {
    package var message: MessageID
    package var device: DeviceKey
    package var kind: Kind
    package var at: Timestamp

    package init(message: MessageID, device: DeviceKey, kind: Kind, at: Timestamp) {
        self.message = message
        self.device = device
        self.kind = kind
        self.at = at
    }

    package enum Kind: Int64, CaseIterable, Sendable, Hashable {
        case received = 1
        case opened = 2
        /// The answer to a heartbeat.
        case heartbeat = 3
        /// The content that the message refers to was opened, such as an article.
        case contentOpened = 4
        case shown = 5
        case dismissed = 6
        /// The device did not alert for it.
        case suppressed = 7

        /// What a report of this kind also proves: a message that was opened was received.
        var implied: [Kind] { self == .opened ? [.received] : [] }

        /// The order of receipts of one instant: an opened notification that proves the others has their time.
        package var rank: Int {
            switch self {
            case .received: 0
            case .shown: 1
            case .opened: 2
            case .contentOpened: 3
            case .dismissed: 4
            case .suppressed, .heartbeat: 5
            }
        }
    }
}

/// A report from a device, before Peal checks whether the device and the message exist.
package struct DeviceFact: Sendable, Hashable {
    package var device: DeviceID
    package var subject: Subject
    /// The time by the device's own clock; nil if it reported none.
    package var at: Timestamp?

    package init(device: DeviceID, subject: Subject, at: Timestamp?) {
        self.device = device
        self.subject = subject
        self.at = at
    }

    package enum Subject: Sendable, Hashable {
        case message(MessageID, Receipt.Kind)
        case geofence(Int64, location: Int64)
    }
}

/// A device's report that it crossed the border of a geofence's location.
package struct GeofenceTrigger: Sendable, Hashable {
    package var geofence: Int64
    package var location: Int64
    package var device: DeviceKey
    package var at: Timestamp
}
