/// What a phone can sense at a wake without requesting a permission. A signal that cannot be read is nil and replaced
/// by its mean over the audience.
public struct Signals: Sendable, Hashable {
    /// Whether the phone is unlocked now.
    public var isUnlocked: Bool?
    /// Whether it was unlocked at the previous wake.
    public var wasUnlocked: Bool?
    /// Whether it moves like a vehicle.
    public var isInVehicle: Bool?
    /// Whether it moves as if carried by someone walking.
    public var isWalking: Bool?
    /// Whether it is connected to power.
    public var isCharging: Bool?
    /// Whether it is on Wi-Fi rather than on a cellular network.
    public var isOnWiFi: Bool?
    /// Whether audio is routed to headphones or a car.
    public var hasHeadphones: Bool?
    /// Whether it lies face down.
    public var isFaceDown: Bool?
    /// Brightness of the screen, 0 to 1.
    public var brightness: Double?
    /// Charge of the battery, 0 to 1.
    public var battery: Double?
    /// Whether Low Power Mode is on.
    public var isInLowPowerMode: Bool?
    /// Whether sound is off.
    public var isSilent: Bool?

    /// Signals without any readable value.
    public init() {}
}

/// A time of day on the user's wall clock: all that the model uses of a date.
public struct LocalTime: Sendable, Hashable {
    /// Hours since local midnight, in 0 ..< 24.
    public let hour: Double
    /// Whether it is Saturday or Sunday.
    public let isWeekend: Bool

    /// - Parameter hour: hours since midnight; taken modulo 24.
    public init(hour: Double, isWeekend: Bool) {
        let rest = hour.truncatingRemainder(dividingBy: 24)
        self.hour = rest < 0 ? rest + 24 : rest
        self.isWeekend = isWeekend
    }

    /// The local time of an instant.
    /// - Parameters:
    ///   - milliseconds: since 1970, as the server counts them.
    ///   - utcOffsetSeconds: the phone's offset from UTC at that instant.
    public init(milliseconds: Int64, utcOffsetSeconds: Int) {
        let local = milliseconds + Int64(utcOffsetSeconds) * 1000
        let dayMilliseconds: Int64 = 86_400_000
        let day = local >= 0 ? local / dayMilliseconds : (local - dayMilliseconds + 1) / dayMilliseconds
        // Day 0 was a Thursday; counted from Monday, Saturday and Sunday are 5 and 6.
        let weekday = ((day + 3) % 7 + 7) % 7
        self.init(hour: Double(local - day * dayMilliseconds) / 3_600_000, isWeekend: weekday >= 5)
    }
}
