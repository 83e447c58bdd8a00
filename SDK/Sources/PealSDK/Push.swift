internal import PealDevice
public import PealWire

/// The result of a wake, for the system's completion handler.
public enum WakeOutcome: Sendable, Hashable {
    case newData, noData, failed
}

/// What the person did with a notification.
public enum NotificationResponse: Sendable, Hashable {
    case opened, dismissed
    case button(String)
}

/// The payload of a push or notification, as a value that may cross threads.
public struct Push: Sendable, Hashable {
    /// The message's id; nil if the notification is not Peal's.
    public let message: String?
    let wake: WakePush?
    /// Whether the phone displays it itself, without a push.
    let isLocal: Bool
    private let payload: JSONValue

    /// Reads a payload.
    /// - Parameters:
    ///   - userInfo: as received from the system.
    ///   - identifier: the identifier of the notification's request. That of a local one is ignored, because only the
    ///     app knows what it means.
    ///   - isLocal: whether the notification was displayed by this phone, without a push.
    public init(_ userInfo: [AnyHashable: Any], identifier: String? = nil, isLocal: Bool = false) {
        self.isLocal = isLocal
        message = MessageReference.messageID(in: userInfo, identifier: isLocal ? nil : identifier)
        wake = WakePush(userInfo: userInfo)
        payload = JSONValue(userInfo) ?? .null
    }

    /// What a tap on the notification, or on one of its buttons, asks for.
    public func action(button: String? = nil) -> PushAction {
        PushAction(userInfo: payload.propertyList as? [String: Any] ?? [:], button: button)
    }
}
