import Foundation
import Testing

@testable import PealMoments

@Suite("Situations")
struct SituationsTests {
    /// In situation 1 and later, flag and hour of the same number are frequent, and the screen is brighter.
    static let made = Situations(
        shares: (0..<48 * 8).map { $0 % 8 == $0 / 8 % 24 ? 0.65 : 0.05 },
        chances: (0..<9 * 8).map { $0 / 8 == $0 % 8 ? 0.9 : 0.2 }, means: (0..<8).map { 0.2 + Double($0) / 20 },
        deviations: [Double](repeating: 0.15, count: 8))

    private static func sensed(_ change: (inout Signals) -> Void) -> [Double] {
        var signals = Signals()
        change(&signals)
        return FeatureSchema.sensed(signals)
    }

    @Test("are as frequent as at this hour when nothing could be read")
    func unread() {
        let shares = Self.made.probabilities(Self.sensed { _ in }[...], at: OwnHour(hour: 3, isWeekend: true))
        #expect(abs(shares.reduce(0, +) - 1) < 1e-12)
        #expect(abs(shares[3] - 0.65) < 0.005 && abs(shares[4] - 0.05) < 0.005)
    }

    @Test("are recognized by Bayes' rule")
    func bayes() {
        let hour = OwnHour(hour: 12, isWeekend: false)
        // At noon all are equally frequent. Flag 1 is the vehicle: 0.9 in situation 1, 0.2 in the seven others.
        let shares = Self.made.probabilities(Self.sensed { $0.isInVehicle = true }[...], at: hour)
        #expect(abs(shares[1] - 0.9 / (0.9 + 7 * 0.2)) < 0.01)
        let others = Self.made.probabilities(Self.sensed { $0.isInVehicle = false }[...], at: hour)
        #expect(abs(others[1] - 0.1 / (0.1 + 7 * 0.8)) < 0.01)
        let dark = Self.made.probabilities(Self.sensed { $0.brightness = 0.1 }[...], at: hour)
        #expect(dark == dark.sorted(by: >) && dark[0] > 2 * dark[7])
        // The previous wake and the battery are no signs of a situation.
        let same = Self.made.probabilities(
            Self.sensed { ($0.isInVehicle, $0.wasUnlocked, $0.battery) = (true, true, 0.1) }[...], at: hour)
        #expect(same == shares)
    }

    @Test("travel as bytes")
    func bytes() {
        #expect(Self.made.bytes.count == Situations.byteCount)
        #expect(Situations(bytes: Self.made.bytes) == Self.made)
        #expect(Situations(bytes: Array(Self.made.bytes.dropLast())) == nil)
        #expect(Situations(bytes: [UInt8](repeating: 0, count: Situations.byteCount)) == nil)
        // A model file may contain any other bytes.
        let wild = Situations(bytes: (0..<Situations.byteCount).map { $0 % 2 == 0 ? 1 : 255 })
        let all = Self.sensed {
            ($0.isUnlocked, $0.isInVehicle, $0.isWalking, $0.isOnWiFi) = (true, true, true, true)
            $0.brightness = 1
        }
        let shares = wild?.probabilities(all[...], at: OwnHour(hour: 0, isWeekend: false)) ?? []
        #expect(shares.count == 8 && shares.allSatisfy { $0 >= 0 && $0 <= 1 })
    }

    @Test("say nothing before they are known")
    func unknown() {
        let sensed = Self.sensed { ($0.isUnlocked, $0.brightness) = (true, 0.9) }
        let shares = Situations.unknown.probabilities(sensed[...], at: OwnHour(hour: 7, isWeekend: true))
        #expect(shares.allSatisfy { abs($0 - 0.125) < 1e-12 })
    }
}
