import Foundation

// Stubs of Apple's framework as far as the SDK uses it: enough to type-check its code for Apple's systems.
public struct UIBackgroundTaskIdentifier: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    public static let invalid = Self(rawValue: 0)
}
@MainActor open class UIApplication: NSObject {
    open class var shared: UIApplication { UIApplication() }
    open var isProtectedDataAvailable: Bool { true }
    open nonisolated func beginBackgroundTask(
        withName taskName: String?, expirationHandler handler: (@MainActor @Sendable () -> Void)? = nil
    ) -> UIBackgroundTaskIdentifier { .invalid }
    open nonisolated func endBackgroundTask(_ identifier: UIBackgroundTaskIdentifier) {}
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
