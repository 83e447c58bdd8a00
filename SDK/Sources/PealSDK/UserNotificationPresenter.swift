#if canImport(UserNotifications) && !os(tvOS)
    internal import Foundation
    public import PealDevice
    internal import PealWire
    internal import UserNotifications

    /// Apple's notification centre (UserNotifications, `UNUserNotificationCenter`).
    public struct UserNotificationPresenter: NotificationPresenter {
        /// The app's notification centre.
        public init() {}

        private var center: UNUserNotificationCenter { .current() }

        public func add(_ notification: LocalNotification) async throws {
            let request = UNNotificationRequest(
                identifier: notification.id, content: Self.content(notification), trigger: nil)
            try await center.add(request)
        }

        public func contains(_ id: String) async -> Bool {
            if await center.deliveredNotifications().contains(where: { $0.request.identifier == id }) { return true }
            return await center.pendingNotificationRequests().contains { $0.identifier == id }
        }

        public func permission() async -> NotificationPermission {
            let settings = await center.notificationSettings()
            // Also provisional, and ephemeral in App Clips.
            let isAllowed = ![.notDetermined, .denied].contains(settings.authorizationStatus)
            #if os(iOS)
                let isSummarized = settings.scheduledDeliverySetting == .enabled
            #else
                let isSummarized = false
            #endif
            return NotificationPermission(allowsAlerts: isAllowed, isSummarized: isSummarized)
        }

        public func register(_ categories: [NotificationCategory]) async {
            center.setNotificationCategories(Set(categories.map(Self.category)))
        }

        private static func category(_ category: NotificationCategory) -> UNNotificationCategory {
            UNNotificationCategory(
                identifier: category.id,
                actions: category.buttons.map {
                    UNNotificationAction(
                        identifier: $0.id, title: $0.title, options: $0.opensApp ? [.foreground] : [])
                },
                // Without it the system does not report dismissals.
                intentIdentifiers: [], options: [.customDismissAction])
        }

        private static func content(_ notification: LocalNotification) -> UNNotificationContent {
            let given = notification.content
            let content = UNMutableNotificationContent()
            content.title = given.title ?? ""
            content.subtitle = given.subtitle ?? ""
            content.body = given.body ?? ""
            content.badge = given.badge.map { NSNumber(value: $0) }
            content.threadIdentifier = given.threadID ?? ""
            content.categoryIdentifier = given.category ?? NotificationCategory.plain.id
            var userInfo: [AnyHashable: Any] = given.data?.compactMapValues(\.propertyList) ?? [:]
            userInfo["peal"] = ["message": notification.id]
            content.userInfo = userInfo
            if notification.isSilent {
                content.interruptionLevel = .passive
            } else {
                content.sound = given.sound.map(sound)
                switch given.interruptionLevel {
                case "passive": content.interruptionLevel = .passive
                case "time_sensitive": content.interruptionLevel = .timeSensitive
                default: break
                }
            }
            if let image = notification.image,
                let attachment = try? UNNotificationAttachment(identifier: image.lastPathComponent, url: image)
            {
                content.attachments = [attachment]
            }
            return content
        }

        private static func sound(_ name: String) -> UNNotificationSound {
            #if os(watchOS)
                // watchOS has no sounds of the app's own (UNNotificationSound, `init(named:)`).
                return .default
            #else
                return name == "default" ? .default : UNNotificationSound(named: UNNotificationSoundName(name))
            #endif
        }
    }
#endif
