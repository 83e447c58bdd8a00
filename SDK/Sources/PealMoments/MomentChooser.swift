/// Limits on the messages shown to one user, besides their windows.
public struct DeliveryRules: Sendable, Hashable {
    /// Two hours: messages in the same good hour compete with each other.
    public static let spacingDefault: Int64 = 2 * 3_600_000

    /// Milliseconds between two messages.
    public var spacing: Int64
    /// The most messages that may be shown within any period of a number of hours; nil for no limit.
    public var cap: DeliveryCap?
    /// Local hours in which no message is shown before its deadline; nil for none.
    public var quietHours: QuietHours?

    /// By default without a cap and quiet hours.
    public init(
        spacing: Int64 = Self.spacingDefault, cap: DeliveryCap? = nil, quietHours: QuietHours? = nil
    ) {
        self.spacing = spacing
        self.cap = cap
        self.quietHours = quietHours
    }

    /// Whether a local time is in the quiet hours.
    public func isQuiet(_ time: LocalTime) -> Bool {
        guard let quietHours else { return false }
        let (from, to) = (quietHours.from, quietHours.to)
        return from <= to ? time.hour >= from && time.hour < to : time.hour >= from || time.hour < to
    }

    /// Whether the last message was shown too recently.
    /// - Parameter shown: when messages were shown, in milliseconds since 1970.
    public func isTooSoon(shown: [Int64], now: Int64) -> Bool { now - (shown.max() ?? .min / 2) < spacing }

    /// Whether the person has received as many messages as the cap allows.
    public func isExhausted(shown: [Int64], now: Int64) -> Bool {
        guard let cap else { return false }
        return shown.count { $0 > now - cap.period } >= cap.messages
    }
}

/// How many messages may be shown in any period.
public struct DeliveryCap: Sendable, Hashable {
    /// The number of messages.
    public let messages: Int
    /// Milliseconds.
    public let period: Int64

    /// A cap for any period of that length.
    public init(messages: Int, period: Int64) {
        self.messages = messages
        self.period = period
    }
}

/// Hours of the day, such as 22 to 7.
public struct QuietHours: Sendable, Hashable {
    /// Local hour at which they begin.
    public let from: Double
    /// Local hour at which they end; below `from` if they span midnight.
    public let to: Double

    /// Quiet hours within 0 to 24.
    public init(from: Double, to: Double) {
        self.from = from
        self.to = to
    }
}

/// A message that waits on the phone for a good moment.
public struct HeldMessage: Sendable, Hashable {
    /// The message's id.
    public let id: String
    /// The model of its campaign.
    public let model: MomentModel
    /// Start of its window, in milliseconds since 1970.
    public let start: Int64
    /// End of its window, at which it is shown in any case.
    public let end: Int64
    /// How its moment is chosen.
    public let mode: ExplorationMode
    /// The randomness in its delivery.
    public let draw: ExplorationDraw
    /// The wakes at which it was considered, in order.
    public var wakes: [Int64]
    /// Whether quiet hours and cap do not apply to it.
    public var isTransactional = false

    /// A message that has not been considered yet.
    public init(
        id: String, model: MomentModel, start: Int64, end: Int64, mode: ExplorationMode = .greedy,
        draw: ExplorationDraw, wakes: [Int64] = []
    ) {
        (self.id, self.model, self.start, self.end) = (id, model, start, end)
        (self.mode, self.draw, self.wakes) = (mode, draw, wakes)
    }
}

/// What was computed for one message at one wake: enough to explain the decision and to weight it later.
public struct WakeTrace: Sendable, Hashable {
    /// The message's id.
    public let messageID: String
    /// The probability of an open now, on the scale used for decisions.
    public let probability: Double
    /// The value of waiting.
    public let threshold: Double
    /// The probability of being shown at this wake, before the draw.
    public let chance: Double
    /// Whether the message should be shown now.
    public let asks: Bool

    /// What was computed at a wake.
    public init(messageID: String, probability: Double, threshold: Double, chance: Double, asks: Bool) {
        (self.messageID, self.probability, self.threshold) = (messageID, probability, threshold)
        (self.chance, self.asks) = (chance, asks)
    }
}

/// Decides at a wake which of the waiting messages is shown: at most one.
public struct MomentChooser: Sendable {
    /// The user's habits.
    public var person: Person
    /// The limits on messages.
    public var rules: DeliveryRules
    /// The chance that a scheduled wake arrives on this phone.
    public var arrival: Double
    /// Milliseconds between scheduled wakes.
    public var wakeInterval: Int64
    /// The phone's offset from UTC at an instant in milliseconds since 1970: the clocks may change within a window.
    public var utcOffsetSeconds: @Sendable (_ milliseconds: Int64) -> Int

    /// A chooser; by default for a wake every half hour.
    public init(
        person: Person, rules: DeliveryRules = DeliveryRules(), arrival: Double, wakeInterval: Int64 = 1_800_000,
        utcOffsetSeconds: @escaping @Sendable (_ milliseconds: Int64) -> Int
    ) {
        (self.person, self.rules, self.arrival) = (person, rules, arrival)
        self.wakeInterval = max(wakeInterval, 60_000)
        self.utcOffsetSeconds = utcOffsetSeconds
    }

    /// The message to show now, if any.
    /// - Parameters:
    ///   - shown: when messages were shown before.
    ///   - isForeground: whether the app is in the foreground; then nothing is shown.
    /// - Returns: the id of the message to show, and what was computed for each. Messages whose window has ended are
    ///   not considered: the server shows them. Those that gain less than the one to show are left out:
    ///   even if one of them asked, it would not be shown, so its probability would be wrong.
    public func decide(
        _ messages: [HeldMessage], signals: Signals, now: Int64, shown: [Int64], isForeground: Bool
    ) -> (show: String?, traces: [WakeTrace]) {
        let time = localTime(now)
        guard !isForeground, !rules.isTooSoon(shown: shown, now: now) else { return (nil, []) }
        let isRestricted = rules.isQuiet(time) || rules.isExhausted(shown: shown, now: now)
        let open = messages.filter { now >= $0.start && now < $0.end && (!isRestricted || $0.isTransactional) }
        let known = FeatureSchema.known(at: time, for: person)
        let sensed = FeatureSchema.sensed(signals)
        let traces = open.map { trace($0, now: now, known: known, sensed: sensed) }
        let candidates = Array(zip(open, traces))
        guard let best = candidates.filter({ $0.1.asks }).max(by: Self.isLess) else { return (nil, traces) }
        return (best.0.id, candidates.filter { !Self.isLess($0, best) }.map(\.1))
    }

    private static func isLess(_ left: (HeldMessage, WakeTrace), _ right: (HeldMessage, WakeTrace)) -> Bool {
        let (one, other) = (left.1.probability - left.1.threshold, right.1.probability - right.1.threshold)
        return one == other ? left.0.end > right.0.end : one < other
    }

    /// The value of waiting for a message at each of its remaining wakes, the current one first.
    public func rule(for message: HeldMessage, now: Int64) -> StoppingRule {
        var wakes: [StoppingRule.Wake] = []
        var instant = now
        while instant < message.end {
            let time = localTime(instant)
            if instant == now || message.isTransactional || !rules.isQuiet(time) {
                wakes.append(wake(at: time, message.model))
            }
            instant += wakeInterval
        }
        return StoppingRule(
            wakes: wakes, deadline: wake(at: localTime(message.end), message.model), table: message.model.table,
            arrival: arrival)
    }

    private func trace(_ message: HeldMessage, now: Int64, known: [Double], sensed: [Double]) -> WakeTrace {
        let probability = message.model.probability(known: known, sensed: sensed)
        let rule = rule(for: message, now: now)
        let chance: Double
        let asks: Bool
        switch message.mode {
        case .greedy:
            asks = rule.shows(now: probability)
            chance = asks ? 1 : 0
        case .soft:
            chance = ExplorationDraw.softChance(
                probability: probability, threshold: rule.continuationValues.first ?? 0)
            asks = message.draw.hits(chance, atWake: message.wakes.count)
        case .uniform:
            chance = ExplorationDraw.uniformChance(
                previous: message.wakes.last ?? message.start, now: now, end: message.end)
            asks = now >= message.draw.target(start: message.start, end: message.end)
        }
        return WakeTrace(
            messageID: message.id, probability: probability, threshold: rule.continuationValues.first ?? 0,
            chance: chance, asks: asks)
    }

    private func wake(at time: LocalTime, _ model: MomentModel) -> StoppingRule.Wake {
        StoppingRule.Wake(
            knownScore: model.knownScore(FeatureSchema.known(at: time, for: person)[...]),
            ownHour: person.ownHour(at: time))
    }

    private func localTime(_ milliseconds: Int64) -> LocalTime {
        LocalTime(milliseconds: milliseconds, utcOffsetSeconds: utcOffsetSeconds(milliseconds))
    }
}
