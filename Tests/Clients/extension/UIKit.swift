@_exported public import Foundation
public import UserNotifications

// The shape of Apple's frameworks as far as the guide for iPhones sees it: enough to type-check its code.
open class UIResponder: NSObject {}
public protocol UIApplicationDelegate: AnyObject {}
@MainActor open class UIApplication: UIResponder {
    public struct LaunchOptionsKey: Hashable, Sendable {}
    public enum State: Sendable { case active, inactive, background }
    open var applicationState: State { .active }
    open func registerForRemoteNotifications() {}
}
public enum UIBackgroundFetchResult: Sendable { case newData, noData, failed }
public protocol UNUserNotificationCenterDelegate: AnyObject {}
public struct UNAuthorizationOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let badge = Self(rawValue: 1), sound = Self(rawValue: 2), alert = Self(rawValue: 4)
}
extension UNUserNotificationCenter {
    public weak var delegate: (any UNUserNotificationCenterDelegate)? {
        get { nil }
        set {}
    }
    public func requestAuthorization(options: UNAuthorizationOptions) async throws -> Bool { true }
}
