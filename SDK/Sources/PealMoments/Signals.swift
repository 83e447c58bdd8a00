/// What a phone can sense at a wake without asking for a permission. A signal that could not be read is nil and counts
/// as its mean over the audience.
public struct Signals: Sendable, Hashable {
    /// Whether the phone is unlocked now.
    public var isUnlocked: Bool?
    /// Whether it was unlocked at the wake before this one.
    public var wasUnlocked: Bool?
    /// Whether it moves as in a vehicle.
    public var isInVehicle: Bool?
    /// Whether it moves as in a walking person's hand or pocket.
    public var isWalking: Bool?
    /// Whether it is connected to power.
    public var isCharging: Bool?
    /// Whether it is on Wi-Fi rather than on a cellular network.
    public var isOnWiFi: Bool?
    /// Whether sound goes to headphones or a car.
    public var hasHeadphones: Bool?
    /// Whether it lies with its screen down.
    public var isFaceDown: Bool?
    /// Brightness of the screen, 0 to 1.
    public var brightness: Double?
    /// Charge of the battery, 0 to 1.
    public var battery: Double?
    /// Whether Low Power Mode is on.
    public var isInLowPowerMode: Bool?
    /// Whether sound is off.
    public var isSilent: Bool?

    /// Signals of which none could be read.
    public init() {}
}

/// A time of day on the person's wall clock, which is all the model wants to know about a date.
public struct LocalTime: Sendable, Hashable {
    /// Hours since local midnight: 0 up to and without 24.
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
    ///   - utcOffsetSeconds: what the phone's time zone adds to UTC at that instant.
    public init(milliseconds: Int64, utcOffsetSeconds: Int) {
        let local = milliseconds + Int64(utcOffsetSeconds) * 1000
        let dayMilliseconds: Int64 = 86_400_000
        let day = local >= 0 ? local / dayMilliseconds : (local - dayMilliseconds + 1) / dayMilliseconds
        // Day 0 was a Thursday; counted from Monday, Saturday and Sunday are 5 and 6.
        let weekday = ((day + 3) % 7 + 7) % 7
        self.init(hour: Double(local - day * dayMilliseconds) / 3_600_000, isWeekend: weekday >= 5)
    }
}
