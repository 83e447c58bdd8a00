/// An app that registered its own device over the device API: its token, what it can do, and how well it can be reached
/// in the background.
package struct Installation: Sendable, Hashable {
    package var app: AppKey
    package var device: DeviceKey
    /// The hash of the device's token, by `KeyHasher`.
    package var tokenHash: [UInt8]
    /// The app's key that registered the device. The token ends with the key.
    package var key: KeyID
    package var capabilities: Capabilities
    package var sdkVersion: String?
    /// When it last called the server.
    package var seenAt: Timestamp
    package var wakes = WakeUps()
    package var reachability = Reachability()
    package var classification = DeviceClassification.unknown

    package init(
        app: AppKey, device: DeviceKey, tokenHash: [UInt8], key: KeyID, capabilities: Capabilities,
        sdkVersion: String? = nil, seenAt: Timestamp
    ) {
        self.app = app
        self.device = device
        self.tokenHash = tokenHash
        self.key = key
        self.capabilities = capabilities
        self.sdkVersion = sdkVersion
        self.seenAt = seenAt
    }

    /// What the device says it can do. The raw value is stored.
    package struct Capabilities: OptionSet, Sendable, Hashable {
        package let rawValue: Int64

        package init(rawValue: Int64) { self.rawValue = rawValue }

        /// App and notification service extension share a ledger of what was shown.
        package static let ledger = Capabilities(rawValue: 1)
        /// The system grants background time.
        package static let background = Capabilities(rawValue: 2)
        /// The person allows notifications.
        package static let alerts = Capabilities(rawValue: 4)
        /// The system holds notifications back for a summary.
        package static let scheduledSummary = Capabilities(rawValue: 8)

        /// The capabilities of a device that states none. People allow notifications until they refuse them.
        package static let unstated: Capabilities = [.alerts]

        /// Whether the device can show a message at a moment of its own choice.
        package var choosesMoments: Bool { contains([.background, .alerts]) && !contains(.scheduledSummary) }
    }
}

/// The wake-up pushes of one device and their budget: two an hour, at least 20 minutes apart.
package struct WakeUps: Sendable, Hashable {
    /// The number of the last one; 0 before the first.
    package var number: Int64 = 0
    package var lastAt: Timestamp?
    /// When the wake-up before the last one was sent.
    package var earlierAt: Timestamp?
    /// Whether the last wake-up asked for a sync.
    package var hasAsked = false
    /// `Reachability` includes the wake-ups up to this number.
    package var countedThrough: Int64 = 0
    /// When to wake the device again; nil while no message needs it.
    package var dueAt: Timestamp?

    package init() {}

    /// The earliest instant at which the budget allows another wake-up. Wake-ups far in the future were counted by a
    /// clock that was set back since, and are ignored: otherwise the device would not be woken until then.
    package func allowed(at now: Timestamp) -> Timestamp {
        func end(_ at: Timestamp?, _ seconds: Int64) -> Timestamp {
            guard let at, at - now <= .seconds(Limits.wakeBudgetSeconds) else { return now }
            return at + .seconds(seconds)
        }
        let spaced = end(lastAt, Limits.wakeSpacingSeconds)
        return max(now, spaced, end(earlierAt, Limits.wakeBudgetSeconds + Limits.wakeLatenessSeconds))
    }

    /// Counts wake-ups that the same phone got under an earlier registration.
    mutating func inherit(_ spent: [Timestamp]) {
        let latest = Set(spent + [lastAt, earlierAt].compactMap { $0 }).sorted(by: >)
        (lastAt, earlierAt) = (latest.first, latest.dropFirst().first)
        dueAt = dueAt.map(allowed)
    }

    /// Asks for a wake-up as soon as the budget allows it.
    package mutating func request(at now: Timestamp) {
        let earliest = allowed(at: now)
        dueAt = min(dueAt ?? earliest, earliest)
    }

    /// Takes the next number for a wake-up that is sent now.
    /// - Parameter jitter: added to the usual interval, so that devices spread.
    package mutating func take(asking: Bool, at now: Timestamp, jitter: Duration) {
        number += 1
        (earlierAt, lastAt) = (lastAt, now)
        hasAsked = asking
        dueAt = max(allowed(at: now), now + .seconds(Limits.wakeIntervalSeconds) + jitter)
    }

    /// Takes back a wake-up that was not delivered, so that the next one gets its number.
    /// - Returns: false if another one followed, or if `Reachability` already counts it.
    package mutating func takeBack(_ number: Int64) -> Bool {
        guard number == self.number, number > countedThrough else { return false }
        self.number -= 1
        // Earlier wake-ups that asked for no sync may have arrived.
        hasAsked = false
        return true
    }
}

/// How well a device can be reached in the background. The raw value is part of webhooks.
package enum DeviceClassification: String, CaseIterable, Sendable, Hashable {
    case unknown, available, unavailable
}

/// The evidence for how often wake-ups reach a device: counts that halve every three days.
package struct Reachability: Sendable, Hashable {
    /// Wake-ups that arrived, in millionths.
    package var hits: Int64 = 0
    /// Wake-ups that did not arrive, in millionths.
    package var misses: Int64 = 0
    /// When the counts were last reduced.
    package var at: Timestamp?

    package init() {}

    private static let one: Int64 = 1_000_000
    /// With less evidence than this, a device is not classified.
    private static let evidenceMin = 0.9

    /// Adds evidence from wake-ups.
    package mutating func add(hits: Int, misses: Int, at now: Timestamp) {
        let halves =
            at.map { Double(max(0, (now - $0).milliseconds)) / Double(Limits.reachHalfLifeSeconds * 1000) } ?? 0
        let rest = Self.power(halves)
        self.hits = Int64(Double(self.hits) * rest) + Int64(hits) * Self.one
        self.misses = Int64(Double(self.misses) * rest) + Int64(misses) * Self.one
        at = now
    }

    /// The expected share of wake-ups that arrive, with a uniform prior.
    package var rate: Double { rate(prior: 0.5) }

    /// The expected share of wake-ups that arrive: the device's own evidence, and two wake-ups of which `prior` arrive.
    /// - Parameter prior: the share among the app's devices.
    package func rate(prior: Double) -> Double {
        let (hits, misses) = (Double(hits) / Double(Self.one), Double(misses) / Double(Self.one))
        return (hits + 2 * prior) / (hits + misses + 2)
    }

    /// The class of a device with this evidence. It changes to available above 0.35, to unavailable below 0.2.
    package func classification(
        _ capabilities: Installation.Capabilities, before: DeviceClassification
    ) -> DeviceClassification {
        guard capabilities.choosesMoments else { return .unavailable }
        let evidence = Double(hits + misses) / Double(Self.one)
        guard evidence >= Self.evidenceMin else { return .unknown }
        if rate > 0.35 { return .available }
        return rate < 0.2 ? .unavailable : before
    }

    /// 0.5 to the power of `exponent`, without the C library: halving, then the series of e^x for the rest.
    private static func power(_ exponent: Double) -> Double {
        guard exponent < 60 else { return 0 }
        let whole = exponent.rounded(.down)
        let x = -(exponent - whole) * 0.693_147_180_559_945_3
        let rest = (1...12).reversed().reduce(1.0) { sum, n in 1 + x / Double(n) * sum }
        return rest * Double(sign: .plus, exponent: -Int(whole), significand: 1)
    }
}

extension Installation {
    /// Counts the wake-ups that a sync reports as arrived, and all others up to the last one as lost. A repeated report
    /// changes nothing.
    package mutating func report(wakes reported: [Int64], at now: Timestamp) {
        let arrived = Set(reported).filter { $0 > wakes.countedThrough && $0 <= wakes.number }
        // The newest may still be in transit.
        let isFresh = wakes.lastAt.map { now - $0 < .seconds(Limits.wakeAnswerSeconds) } ?? true
        let end =
            arrived.contains(wakes.number) || !isFresh ? wakes.number : max(wakes.countedThrough, wakes.number - 1)
        guard end > wakes.countedThrough else { return }
        let hits = arrived.filter { $0 <= end }.count
        reachability.add(hits: hits, misses: Int(end - wakes.countedThrough) - hits, at: now)
        wakes.countedThrough = end
    }

    /// Counts the wake-ups as lost if the last one asked for a sync and none came in time.
    package mutating func recordMissingSync(at now: Timestamp) {
        guard wakes.hasAsked, let lastAt = wakes.lastAt, seenAt < lastAt, wakes.number > wakes.countedThrough,
            now - lastAt >= .seconds(Limits.wakeAnswerSeconds)
        else { return }
        reachability.add(hits: 0, misses: Int(min(wakes.number - wakes.countedThrough, 64)), at: now)
        wakes.countedThrough = wakes.number
    }

    /// How many wake-ups a device may get: one now and every half hour, but none in quiet hours. Counts at most 48.
    /// - Parameters:
    ///   - start: what the device's clock shows, as if it were UTC.
    ///   - span: until when; a wake-up now is possible even if it is short.
    package static func wakeChances(from start: Timestamp, within span: Duration, quiet: QuietHours?) -> Int {
        let step = Duration.seconds(Limits.wakeBudgetSeconds / 2)
        var (count, passed) = (0, Duration.zero)
        repeat {
            let minute = Int((start + passed).milliseconds.floorDivided(by: 60_000) % 1440)
            if quiet?.contain(minute: minute) != true { count += 1 }
            passed += step
        } while passed + step <= span && count < 48
        return count
    }

    /// Whether a device probably wakes at least once.
    /// - Parameters:
    ///   - chances: how many wake-ups it may get.
    ///   - prior: the share of wake-ups that arrive among the app's devices; nil if it is unknown.
    package func isReachable(byWakes chances: Int, prior: Double?) -> Bool {
        guard capabilities.choosesMoments, classification != .unavailable else { return false }
        let rate = reachability.rate(prior: prior ?? 0.5)
        let missed = (0..<chances).reduce(1.0) { missed, _ in missed * (1 - rate) }
        return 1 - missed >= 0.5
    }

    /// Updates the class according to the current evidence.
    /// - Returns: the class before, if it changed.
    mutating func classify() -> DeviceClassification? {
        let before = classification
        classification = reachability.classification(capabilities, before: before)
        return classification == before ? nil : before
    }
}
