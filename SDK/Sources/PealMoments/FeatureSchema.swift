internal import Foundation

/// What the model knows about a user besides what is sensed.
public struct Person: Sendable, Hashable {
    /// When the user tends to use the app.
    public let profile: HourProfile
    /// How much more often the user opens the app than the audience: the logarithm of opens + 5, minus its mean.
    public let openness: Double

    /// A user with a known profile and openness.
    public init(profile: HourProfile, openness: Double) {
        self.profile = profile
        self.openness = openness
    }

    /// A user as described by counters of app opens.
    /// - Parameters:
    ///   - openCounts: opens so far in each of 24 hours.
    ///   - audienceOpens: the audience's mean of log(opens + 5), from the model.
    public init(openCounts: [Int], template: HourTemplate, audienceOpens: Double) {
        let opens = openCounts.reduce(0) { $0 + max($1, 0) }
        self.init(
            profile: HourProfile(openCounts: openCounts, template: template),
            openness: log(Double(opens) + 5) - audienceOpens)
    }

    /// The hour of the user's own day.
    public func ownHour(at time: LocalTime) -> OwnHour {
        let hour = (time.hour - profile.shift).truncatingRemainder(dividingBy: 24)
        return OwnHour(hour: Int(hour < 0 ? hour + 24 : hour), isWeekend: time.isWeekend)
    }
}

/// Schema 3: the numbers that describe a wake, and their order. Known features can be computed for every later wake,
/// sensed ones only at the wake itself. A sensed feature that cannot be read is NaN. A model adds the probabilities of
/// its situations, which follow from both.
public enum FeatureSchema {
    /// The `schema` in a model file.
    public static let version = 3
    /// Number of known features; the first is always 1.
    public static let knownCount = 12
    /// Number of sensed features.
    public static let sensedCount = 12
    /// Number of known and sensed features.
    public static let measuredCount = knownCount + sensedCount
    /// Number of features that a model adds. The probability of the first situation follows from the others.
    public static let situationCount = Situations.count - 1
    /// Number of all features, which is the number of weights.
    public static let count = measuredCount + situationCount

    /// The names of all features: known ones, sensed ones, situations.
    public static let names = [
        "constant", "sin hour", "cos hour", "sin 2 hour", "cos 2 hour", "weekend", "weekend × cos hour", "openness",
        "daily taste", "finer taste", "sin own hour", "cos own hour",
        "unlocked", "unlocked before", "vehicle", "walking", "charging", "Wi-Fi", "headphones", "face down",
        "brightness", "battery", "low power", "silent", "situation 2", "situation 3", "situation 4", "situation 5",
        "situation 6", "situation 7", "situation 8",
    ]

    /// The known features that depend only on the hour. Campaigns differ most in their weights.
    public static let hourFeatures = [1, 2, 3, 4, 5, 6, 10, 11]

    /// The features that are known only at the wake: sensed ones and situations.
    public static let sensedFeatures = knownCount..<count

    /// The known features at a time.
    public static func known(at time: LocalTime, for person: Person) -> [Double] {
        var features: [Double] = []
        features.reserveCapacity(knownCount)
        appendKnown(at: time, for: person, to: &features)
        return features
    }

    /// The sensed features.
    public static func sensed(_ signals: Signals) -> [Double] {
        var features: [Double] = []
        features.reserveCapacity(sensedCount)
        appendSensed(signals, to: &features)
        return features
    }

    /// Appends what `known` returns.
    public static func appendKnown(at time: LocalTime, for person: Person, to features: inout [Double]) {
        let angle = 2 * Double.pi * time.hour / 24
        let own = ownAngle(time, person)
        let weekend = time.isWeekend ? 1.0 : 0.0
        let taste = person.profile.taste(at: time.hour)
        features.append(1)
        features.append(sin(angle))
        features.append(cos(angle))
        features.append(sin(2 * angle))
        features.append(cos(2 * angle))
        features.append(weekend)
        features.append(weekend * cos(angle))
        features.append(person.openness)
        features.append(taste.daily)
        features.append(taste.finer)
        features.append(sin(own))
        features.append(cos(own))
    }

    /// Appends what `sensed` returns.
    public static func appendSensed(_ signals: Signals, to features: inout [Double]) {
        func number(_ flag: Bool?) -> Double { flag.map { $0 ? 1 : 0 } ?? .nan }
        // As far as a context states it: the model was trained with contexts.
        func share(_ value: Double?) -> Double {
            guard let value, value.isFinite else { return .nan }
            return min(max(value, 0), 1)
        }
        for flag in [
            signals.isUnlocked, signals.wasUnlocked, signals.isInVehicle, signals.isWalking, signals.isCharging,
            signals.isOnWiFi, signals.hasHeadphones, signals.isFaceDown,
        ] {
            features.append(number(flag))
        }
        features.append(share(signals.brightness))
        features.append(share(signals.battery))
        features.append(number(signals.isInLowPowerMode))
        features.append(number(signals.isSilent))
    }

    private static func ownAngle(_ time: LocalTime, _ person: Person) -> Double {
        2 * Double.pi * (time.hour - person.profile.shift) / 24
    }
}

extension OwnHour {
    /// The hour that known features state, from its sine and cosine.
    public init(known: ArraySlice<Double>) {
        let first = known.startIndex
        let hour = atan2(known[first + 10], known[first + 11]) * 12 / Double.pi
        // What rounding has moved across the full hour belongs to the later one.
        self.init(hour: Int((hour < 0 ? hour + 24 : hour) + 1e-9) % 24, isWeekend: known[first + 5] > 0.5)
    }
}
