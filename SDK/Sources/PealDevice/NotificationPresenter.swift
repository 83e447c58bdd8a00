public import Foundation
public import PealWire

/// Where notifications are displayed. Conformers: Apple's notification centre; a simulated one in tests.
public protocol NotificationPresenter: Sendable {
    /// Displays a notification now. One with the same id is replaced.
    func add(_ notification: LocalNotification) async throws
    /// Whether a notification with this id is displayed, or about to be.
    func contains(_ id: String) async -> Bool
    /// What the person allows.
    func permission() async -> NotificationPermission
    /// Registers the categories of buttons that notifications name.
    func register(_ categories: [NotificationCategory]) async
}

/// What the person allows.
public struct NotificationPermission: Sendable, Hashable {
    /// Whether notifications may be shown.
    public var allowsAlerts: Bool
    /// Whether the system holds them back for a summary.
    public var isSummarized: Bool

    /// A permission with these values.
    public init(allowsAlerts: Bool, isSummarized: Bool = false) {
        (self.allowsAlerts, self.isSummarized) = (allowsAlerts, isSummarized)
    }
}

/// A notification to display.
public struct LocalNotification: Sendable, Hashable {
    /// The message's id.
    public let id: String
    public let content: MessageContent
    /// A downloaded image.
    public var image: URL?
    /// Without sound and banner, for a message that may have alerted already.
    public var isSilent: Bool

    /// A notification that alerts unless said otherwise.
    public init(id: String, content: MessageContent, image: URL? = nil, isSilent: Bool = false) {
        (self.id, self.content, self.image, self.isSilent) = (id, content, image, isSilent)
    }
}

/// Buttons under a notification, with texts in the person's language.
public struct NotificationCategory: Sendable, Hashable {
    /// A button and its text.
    public struct Button: Sendable, Hashable {
        public let id: String
        public let title: String
        /// Whether a tap opens the app.
        public let opensApp: Bool

        /// A button with its text.
        public init(id: String, title: String, opensApp: Bool) {
            (self.id, self.title, self.opensApp) = (id, title, opensApp)
        }
    }

    public let id: String
    public let buttons: [Button]

    /// A category with these buttons.
    public init(id: String, buttons: [Button]) { (self.id, self.buttons) = (id, buttons) }

    /// The category of notifications without buttons: it makes the system report dismissals.
    public static let plain = Self(id: "peal", buttons: [])

    /// devtodev's templates.
    /// - Parameter languages: tags such as `de-AT`, the most preferred first.
    public static func templates(languages: [String]) -> [Self] {
        let language = ButtonLabels.language(for: languages)
        return ButtonTemplates.all.map { template in
            Self(
                id: template.id,
                buttons: template.buttons.map {
                    Button(id: $0.id, title: ButtonLabels.text($0.id, in: language), opensApp: $0.opensApp)
                })
        }
    }
}
