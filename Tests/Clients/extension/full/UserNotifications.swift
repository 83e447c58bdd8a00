import Foundation

// Stubs of Apple's framework as far as the SDK uses it: enough to type-check its code for Apple's systems.
open class UNNotificationContent: NSObject, @unchecked Sendable {
    open var userInfo: [AnyHashable: Any] { [:] }
    override open func mutableCopy() -> Any { UNMutableNotificationContent() }
}
public struct UNNotificationSoundName { public init(_ s: String) {} }
open class UNNotificationSound: NSObject {
    public class var `default`: UNNotificationSound { UNNotificationSound() };
    public convenience init(named: UNNotificationSoundName) { self.init() }
}
public enum UNNotificationInterruptionLevel { case passive, active, timeSensitive, critical }
open class UNMutableNotificationContent: UNNotificationContent, @unchecked Sendable {
    open override var userInfo: [AnyHashable: Any] {
        get { [:] }
        set {}
    }
    open var attachments: [UNNotificationAttachment] = []
    open var title = "", subtitle = "", body = "", threadIdentifier = "", categoryIdentifier = ""
    open var badge: NSNumber?; open var sound: UNNotificationSound?;
    open var interruptionLevel: UNNotificationInterruptionLevel = .active
}
open class UNNotificationTrigger: NSObject {}
open class UNPushNotificationTrigger: UNNotificationTrigger {}
open class UNNotificationRequest: NSObject, @unchecked Sendable {
    open var content: UNNotificationContent { UNNotificationContent() }; open var identifier: String { "" }
    open var trigger: UNNotificationTrigger? { nil }
    public convenience init(identifier: String, content: UNNotificationContent, trigger: UNNotificationTrigger?) {
        self.init()
    }
}
open class UNNotification: NSObject, @unchecked Sendable {
    open var request: UNNotificationRequest { UNNotificationRequest() }
}
open class UNNotificationResponse: NSObject, @unchecked Sendable {
    open var notification: UNNotification { UNNotification() }; open var actionIdentifier: String { "" }
}
public let UNNotificationDefaultActionIdentifier = "d", UNNotificationDismissActionIdentifier = "x"
open class UNNotificationAttachment: NSObject {
    public init(identifier: String, url: URL, options: [AnyHashable: Any]? = nil) throws {}
}
public struct UNNotificationActionOptions: OptionSet, Sendable {
    public let rawValue: UInt; public init(rawValue: UInt) { self.rawValue = rawValue };
    public static let foreground = Self(rawValue: 4)
}
open class UNNotificationAction: NSObject {
    public convenience init(identifier: String, title: String, options: UNNotificationActionOptions = []) {
        self.init()
    }
}
public struct UNNotificationCategoryOptions: OptionSet, Sendable {
    public let rawValue: UInt; public init(rawValue: UInt) { self.rawValue = rawValue };
    public static let customDismissAction = Self(rawValue: 1)
}
open class UNNotificationCategory: NSObject {
    public convenience init(
        identifier: String, actions: [UNNotificationAction], intentIdentifiers: [String],
        options: UNNotificationCategoryOptions = []
    ) { self.init() }
}
public struct UNNotificationPresentationOptions: OptionSet, Sendable {
    public let rawValue: UInt; public init(rawValue: UInt) { self.rawValue = rawValue };
    public static let badge = Self(rawValue: 1), sound = Self(rawValue: 2)
    public static let list = Self(rawValue: 8), banner = Self(rawValue: 16)
}
public enum UNAuthorizationStatus { case notDetermined, denied, authorized, provisional, ephemeral }
public enum UNNotificationSetting { case notSupported, disabled, enabled }
open class UNNotificationSettings: NSObject {
    open var authorizationStatus: UNAuthorizationStatus { .authorized };
    open var scheduledDeliverySetting: UNNotificationSetting { .enabled }
}
open class UNUserNotificationCenter: NSObject, @unchecked Sendable {
    open class func current() -> UNUserNotificationCenter { UNUserNotificationCenter() }
    open func add(_ request: UNNotificationRequest) async throws {}
    open func deliveredNotifications() async -> [UNNotification] { [] }
    open func pendingNotificationRequests() async -> [UNNotificationRequest] { [] }
    open func notificationSettings() async -> UNNotificationSettings { UNNotificationSettings() }
    open func setNotificationCategories(_ c: Set<UNNotificationCategory>) {}
}
open class UNNotificationServiceExtension: NSObject {
    open func didReceive(
        _ request: UNNotificationRequest, withContentHandler contentHandler: @escaping (UNNotificationContent) -> Void
    ) {}
    open func serviceExtensionTimeWillExpire() {}
}
