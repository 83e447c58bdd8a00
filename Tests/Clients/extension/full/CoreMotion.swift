import Foundation

// Stubs of Apple's framework as far as the SDK uses it: enough to type-check its code for Apple's systems.
public struct CMAcceleration { public var x = 0.0, y = 0.0, z = 0.0 }
open class CMAccelerometerData: NSObject { open var acceleration: CMAcceleration { CMAcceleration() } }
open class CMMotionManager: NSObject {
    open var accelerometerUpdateInterval: TimeInterval = 0
    open var isAccelerometerAvailable: Bool { true }
    open var accelerometerData: CMAccelerometerData? { nil }
    open func startAccelerometerUpdates() {}
    open func stopAccelerometerUpdates() {}
}
