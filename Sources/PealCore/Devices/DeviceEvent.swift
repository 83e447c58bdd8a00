/// Something that happened on a device, as its app reports it over the device API.
package struct DeviceEvent: Sendable, Hashable {
    /// Created by the device, so that a report can be repeated.
    package var id: Identifier<DeviceEvent>
    package var kind: Kind
    /// nil if it concerns no message.
    package var message: MessageID?
    /// By the server's clock, as the device estimates it.
    package var at: Timestamp
    /// Further details of the event.
    package var detail = Detail()
    /// The context that the person agreed to share.
    package var shared = Shared()

    package init(id: Identifier<DeviceEvent>, kind: Kind, message: MessageID? = nil, at: Timestamp) {
        self.id = id
        self.kind = kind
        self.message = message
        self.at = at
    }

    /// The raw value is stored.
    package enum Kind: Int64, CaseIterable, Sendable, Hashable {
        case received = 1
        case shown = 2
        case opened = 3
        case dismissed = 4
        case suppressed = 5
        case contentOpened = 6
        case appOpened = 7

        /// The name in the API.
        package var name: String {
            switch self {
            case .received: "received"
            case .shown: "shown"
            case .opened: "opened"
            case .dismissed: "dismissed"
            case .suppressed: "suppressed"
            case .contentOpened: "content_opened"
            case .appOpened: "app_opened"
            }
        }

        /// Whether it must name a message.
        package var needsMessage: Bool { self != .contentOpened && self != .appOpened }

        /// What it means for a moment.
        var momentReceipt: MomentReceipt? {
            switch self {
            case .shown: .shown
            case .opened: .opened
            case .dismissed: .dismissed
            case .received, .suppressed, .contentOpened, .appOpened: nil
            }
        }

        /// What counts for the message. A response proves a display, and an open a receipt.
        package var receipts: [Receipt.Kind] {
            switch self {
            case .received: [.received]
            case .shown: [.shown]
            case .opened: [.opened, .shown] + Receipt.Kind.opened.implied
            case .dismissed: [.dismissed, .shown]
            case .suppressed: [.suppressed]
            case .contentOpened: [.contentOpened]
            case .appOpened: []
            }
        }
    }

    package struct Detail: Sendable, Hashable {
        /// The id of the button that was tapped.
        package var button: String?
        /// What was opened, by the app's own name.
        package var content: String?
        /// Why the device did not alert.
        package var reason: String?

        package init() {}
    }

    package struct Shared: Sendable, Hashable {
        /// The context at the display.
        package var snapshot: [UInt8]?
        /// What was computed at each wake.
        package var trace: [UInt8]?
        /// The local hour at which the app was opened.
        package var hour: Int64?

        package init() {}
    }
}

/// An event that was not stored.
package struct RefusedEvent: Sendable, Hashable {
    /// As received.
    package let id: String
    package let error: PealError

    package init(id: String, error: PealError) {
        self.id = id
        self.error = error
    }
}
