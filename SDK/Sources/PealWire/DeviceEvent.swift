/// Something that happened on the device. Its id makes it safe to report twice.
public struct DeviceEvent: Sendable, Hashable, Codable {
    public var eventID: String
    public var message: String?
    public var type: Kind
    /// By the server's clock.
    public var at: WireTime
    /// The button that was tapped.
    public var button: String?
    /// What was opened, in the app's terms.
    public var content: String?
    public var reason: SuppressionReason?
    /// The context at the display, base64; only with context sharing.
    public var snapshot: String?
    /// What was computed at each wake, base64; only with context sharing.
    public var trace: String?
    /// The local hour of an `app_opened`; only with context sharing.
    public var hour: Int?

    /// An event without details.
    public init(eventID: String, message: String? = nil, type: Kind, at: WireTime) {
        (self.eventID, self.message, self.type, self.at) = (eventID, message, type, at)
    }

    /// What happened; the device API describes each.
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        case received, shown, opened, dismissed, suppressed
        case contentOpened = "content_opened"
        case appOpened = "app_opened"

        /// Whether it is a receipt of a display, which is dropped last.
        public var isReceipt: Bool { self == .shown || self == .opened || self == .dismissed }
    }

    /// Why a device did not alert.
    public enum SuppressionReason: String, Sendable, Hashable, Codable, CaseIterable {
        case duplicate, revoked, foreground, late
        case noPermission = "no_permission"
    }

    enum CodingKeys: String, CodingKey {
        case message, type, at, button, content, reason, snapshot, trace, hour
        case eventID = "event_id"
    }
}

/// The response to `POST events`.
public struct EventsAnswer: Sendable, Hashable, Codable {
    public var now: WireTime
    /// Events that were not stored and must not be sent again.
    public var refused: [RefusedEvent]?

    /// A response to events of which all were stored, unless given.
    public init(now: WireTime, refused: [RefusedEvent]? = nil) {
        self.now = now
        self.refused = refused
    }
}

/// An event that the server did not store.
public struct RefusedEvent: Sendable, Hashable, Codable {
    public var eventID: String
    public var code: String
    public var message: String?

    /// A refusal of one event.
    public init(eventID: String, code: String, message: String? = nil) {
        (self.eventID, self.code, self.message) = (eventID, code, message)
    }

    enum CodingKeys: String, CodingKey {
        case code, message
        case eventID = "event_id"
    }
}
