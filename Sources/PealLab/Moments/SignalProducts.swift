import Foundation
import PealMoments

/// The sensed features of the first two schemas: signals, and products of two of them or with the hour. The yardsticks
/// still use them.
enum SignalProducts {
    static let count = 24

    /// Appends the features at a time on the wall clock.
    static func append(_ signals: Signals, at time: LocalTime, to features: inout [Double]) {
        func number(_ flag: Bool?) -> Double { flag.map { $0 ? 1 : 0 } ?? .nan }
        FeatureSchema.appendSensed(signals, to: &features)
        let (unlocked, before) = (number(signals.isUnlocked), number(signals.wasUnlocked))
        let (vehicle, headphones) = (number(signals.isInVehicle), number(signals.hasHeadphones))
        let (charging, wifi) = (number(signals.isCharging), number(signals.isOnWiFi))
        let angle = 2 * Double.pi * time.hour / 24
        features += [
            unlocked * charging, unlocked * wifi, unlocked * vehicle, headphones * vehicle,
            headphones * number(signals.isWalking), charging * number(signals.isFaceDown), unlocked * before,
            unlocked * cos(angle), charging * cos(angle), wifi * cos(angle), wifi * sin(angle),
            number(signals.isSilent) * cos(angle),
        ]
    }
}
