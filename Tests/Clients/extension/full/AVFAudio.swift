import Foundation

// Stubs of Apple's framework as far as the SDK uses it: enough to type-check its code for Apple's systems.
open class AVAudioSessionPortDescription: NSObject { open var portType: AVAudioSession.Port { .headphones } }
open class AVAudioSessionRouteDescription: NSObject { open var outputs: [AVAudioSessionPortDescription] { [] } }
open class AVAudioSession: NSObject {
    public struct Port: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public static let headphones = Self(rawValue: "h"), bluetoothA2DP = Self(rawValue: "a")
        public static let bluetoothHFP = Self(rawValue: "f"), bluetoothLE = Self(rawValue: "l")
        public static let carAudio = Self(rawValue: "c")
    }
    open class func sharedInstance() -> AVAudioSession { AVAudioSession() }
    open var currentRoute: AVAudioSessionRouteDescription { AVAudioSessionRouteDescription() }
    open var outputVolume: Float { 0 }
}
