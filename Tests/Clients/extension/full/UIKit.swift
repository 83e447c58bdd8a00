@_exported public import Foundation
public import UserNotifications

// Stubs of Apple's frameworks as far as the SDK and the iPhone guide use them: enough to type-check their code.
@MainActor open class UIResponder: NSObject {}
@MainActor public protocol UIApplicationDelegate: AnyObject {
    func application(
        _ application: UIApplication, didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool
    func application(
        _ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data)
    func application(
        _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any]
    ) async -> UIBackgroundFetchResult
}
public struct UIBackgroundTaskIdentifier: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    public static let invalid = Self(rawValue: 0)
}
open class UIApplication: UIResponder {
    public struct LaunchOptionsKey: Hashable, Sendable {}
    public enum State: Sendable { case active, inactive, background }
    open class var shared: UIApplication { UIApplication() }
    open weak var delegate: (any UIApplicationDelegate)?
    open var applicationState: State { .active }
    open var isProtectedDataAvailable: Bool { true }
    open func registerForRemoteNotifications() {}
    open nonisolated func beginBackgroundTask(
        withName taskName: String?, expirationHandler handler: (@MainActor @Sendable () -> Void)? = nil
    ) -> UIBackgroundTaskIdentifier { .invalid }
    open nonisolated func endBackgroundTask(_ identifier: UIBackgroundTaskIdentifier) {}
}
open class UIScene: UIResponder {}
@MainActor public protocol UIWindowSceneDelegate: AnyObject {
    func sceneDidBecomeActive(_ scene: UIScene)
    func sceneDidEnterBackground(_ scene: UIScene)
}
public enum UIBackgroundFetchResult: Sendable { case newData, noData, failed }
public protocol UNUserNotificationCenterDelegate: AnyObject {
    func userNotificationCenter(
        _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
        withCompletionHandler completionHandler: @escaping () -> Void)
    func userNotificationCenter(
        _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
        withCompletionHandler completionHandler: @escaping (UNNotificationPresentationOptions) -> Void)
}
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
@MainActor open class UIDevice: NSObject {
    public enum BatteryState: Int, Sendable { case unknown, unplugged, charging, full }
    open class var current: UIDevice { UIDevice() }
    open var isBatteryMonitoringEnabled = false
    open var batteryState: BatteryState { .unknown }
    open var batteryLevel: Float { -1 }
}
@MainActor open class UIScreen: NSObject {
    open class var main: UIScreen { UIScreen() }
    open var brightness: CGFloat = 0.5
}
// Only Apple's Foundation has it.
extension ProcessInfo { public var isLowPowerModeEnabled: Bool { false } }
