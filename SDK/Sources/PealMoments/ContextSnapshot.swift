internal import Foundation

/// The context of a display in 16 bytes: what a person who agreed to context sharing contributes to the training of the
/// model. It has the known and the sensed features, coarsely, and nothing else.
public struct ContextSnapshot: Sendable {
    /// The bytes of a snapshot.
    public static let byteCount = 16
    /// The first byte. Schemas 2 and 3 have the same contexts.
    static let version: UInt8 = 2

    /// The features that can be computed ahead, then the sensed ones, as `FeatureSchema` orders them.
    public let features: [Double]
    /// Local time of the context, to the minute.
    public let time: LocalTime
    /// How much more often the user opens the app than the audience.
    public let openness: Double
    /// How many hours later the user's day is than the audience's.
    public let shift: Double
    /// What the user's preference for this hour adds: the part with one period a day, and the finer part.
    public let taste: (daily: Double, finer: Double)

    /// Encodes the context of a wake.
    public static func encode(_ signals: Signals, at time: LocalTime, for person: Person) -> [UInt8] {
        let taste = person.profile.taste(at: time.hour)
        let own = (time.hour - person.profile.shift).truncatingRemainder(dividingBy: 24)
        var bytes: [UInt8] = [version]
        bytes += word(UInt16(min(time.hour * 60, 1439)) | (time.isWeekend ? 0x8000 : 0))
        for value in [person.openness, taste.daily, taste.finer] { bytes += word(thousandths(value)) }
        bytes += word(UInt16(min((own < 0 ? own + 24 : own) * 1000, 23_999)))
        var packed: UInt32 = 0
        for (index, flag) in flags(of: signals).enumerated() {
            packed |= (flag.map { $0 ? 2 : 1 } ?? 0) << UInt32(2 * index)
        }
        bytes += [UInt8(packed & 0xFF), UInt8(packed >> 8 & 0xFF), UInt8(packed >> 16 & 0xFF)]
        return bytes + [level(signals.brightness), level(signals.battery)]
    }

    /// Anyone can register a device and send nonsense. No person's habits lead to larger features.
    private static let featureMax = 10.0

    /// Decodes a snapshot; nil for another version or length, and for one that no phone measures.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount, bytes[0] == Self.version else { return nil }
        func word(_ index: Int) -> UInt16 { UInt16(bytes[index]) | UInt16(bytes[index + 1]) << 8 }
        func signed(_ index: Int) -> Double { Double(Int16(bitPattern: word(index))) / 1000 }
        let minute = word(1) & 0x7FFF
        guard minute < 1440, word(9) < 24_000 else { return nil }
        let time = LocalTime(hour: Double(minute) / 60, isWeekend: word(1) & 0x8000 != 0)
        let profile = HourProfile(preference: [], shift: time.hour - Double(word(9)) / 1000)
        let person = Person(profile: profile, openness: signed(3))
        var signals = Signals()
        let packed = UInt32(bytes[11]) | UInt32(bytes[12]) << 8 | UInt32(bytes[13]) << 16
        for (index, path) in Self.flagPaths.enumerated() {
            let value = packed >> UInt32(2 * index) & 3
            signals[keyPath: path] = value == 0 ? nil : value == 2
        }
        signals.brightness = bytes[14] == 255 ? nil : Double(bytes[14]) / 254
        signals.battery = bytes[15] == 255 ? nil : Double(bytes[15]) / 254
        var known = FeatureSchema.known(at: time, for: person)
        taste = (signed(5), signed(7))
        (known[8], known[9]) = (taste.daily, taste.finer)
        // Sensed features are at most 1, or NaN.
        guard known.allSatisfy({ abs($0) <= Self.featureMax }) else { return nil }
        (self.time, openness, shift) = (time, person.openness, profile.shift)
        features = known + FeatureSchema.sensed(signals)
    }

    /// In the order of the bits.
    private static var flagPaths: [WritableKeyPath<Signals, Bool?>] {
        [
            \.isUnlocked, \.wasUnlocked, \.isInVehicle, \.isWalking, \.isCharging, \.isOnWiFi, \.hasHeadphones,
            \.isFaceDown, \.isInLowPowerMode, \.isSilent,
        ]
    }

    private static func flags(of signals: Signals) -> [Bool?] { flagPaths.map { signals[keyPath: $0] } }

    private static func word(_ value: UInt16) -> [UInt8] { [UInt8(value & 0xFF), UInt8(value >> 8)] }

    private static func thousandths(_ value: Double) -> UInt16 {
        guard value.isFinite else { return 0 }
        return UInt16(bitPattern: Int16(min(max((value * 1000).rounded(), -32_768), 32_767)))
    }

    private static func level(_ value: Double?) -> UInt8 {
        guard let value, value.isFinite else { return 255 }
        return UInt8((min(max(value, 0), 1) * 254).rounded())
    }
}
