internal import PealDevice
internal import PealMoments
internal import PealWire

/// Decides at a wake which of the held messages to show. Conformers: `ModelPolicy`; a random one in the lifecycle test,
/// whose invariants must hold whatever is chosen.
protocol MomentPolicy: Sendable {
    func choose(_ wake: MomentWake) -> MomentChoice
}

/// What is known at a wake.
struct MomentWake: Sendable {
    /// Claimable messages whose window is open.
    let held: [LedgerEntry]
    let signals: Signals
    /// By the server's clock.
    let now: Int64
    let shown: [Int64]
    let openCounts: [Int]
    let wakeRate: WakeRate?
    let rules: DisplayRules?
    let models: InstalledModels
    /// The phone's offset from UTC at an instant.
    let utcOffsetSeconds: @Sendable (_ milliseconds: Int64) -> Int
    let isForeground: Bool
}

/// What a policy decided.
struct MomentChoice: Sendable {
    /// The message to show.
    var show: String?
    /// Its probability of an open.
    var score: Double?
    /// The context, for those who share it.
    var snapshot: [UInt8] = []
    /// What was computed for each soft message. Nothing needs it for others.
    var traces: [String: [UInt8]] = [:]
}

/// Decides by the model and the stopping rule.
struct ModelPolicy: MomentPolicy {
    private static let wakeInterval: Int64 = 1_800_000
    private static let periodMax: Int64 = 90 * 86_400_000

    func choose(_ wake: MomentWake) -> MomentChoice {
        let global = wake.models.model(for: "", now: wake.now)
        let person = Person(
            openCounts: wake.openCounts, template: global.template, audienceOpens: global.audienceOpens)
        let chooser = MomentChooser(
            person: person, rules: Self.rules(wake.rules), arrival: wake.wakeRate?.chance ?? global.arrival,
            wakeInterval: wake.rules?.wakeIntervalSeconds.map { Self.milliseconds($0, of: 1000) } ?? Self.wakeInterval,
            utcOffsetSeconds: wake.utcOffsetSeconds)
        let messages = wake.held.compactMap { Self.heldMessage($0, wake) }
        let decision = chooser.decide(
            messages, signals: wake.signals, now: wake.now, shown: wake.shown, isForeground: wake.isForeground)
        var choice = MomentChoice(show: decision.show)
        let time = LocalTime(milliseconds: wake.now, utcOffsetSeconds: wake.utcOffsetSeconds(wake.now))
        choice.snapshot = ContextSnapshot.encode(wake.signals, at: time, for: person)
        choice.score = decision.traces.first { $0.messageID == decision.show }?.probability
        for trace in decision.traces {
            guard let message = messages.first(where: { $0.id == trace.messageID }), message.mode == .soft else {
                continue
            }
            choice.traces[trace.messageID] = TraceLine.encode(
                trace, start: message.start, now: wake.now, context: choice.snapshot)
        }
        return choice
    }

    private static func heldMessage(_ entry: LedgerEntry, _ wake: MomentWake) -> HeldMessage? {
        guard let message = entry.message else { return nil }
        var held = HeldMessage(
            id: message.id, model: wake.models.model(for: message.campaign ?? "", now: wake.now),
            start: message.start.milliseconds, end: message.fallbackAt.milliseconds,
            mode: message.explore.flatMap(ExplorationMode.init(rawValue:)) ?? .greedy,
            draw: ExplorationDraw(messageID: message.id, salt: message.salt ?? ""), wakes: entry.looks)
        held.isTransactional = message.transactional ?? false
        return held
    }

    /// The server's rules, completed with the SDK's defaults.
    static func rules(_ rules: DisplayRules?) -> DeliveryRules {
        let spacing = rules?.spacingSeconds.map { milliseconds($0, of: 1000) } ?? DeliveryRules.spacingDefault
        let quiet = rules?.quietHours.flatMap { quiet -> QuietHours? in
            guard let from = hour(quiet.from), let to = hour(quiet.to) else { return nil }
            return QuietHours(from: from, to: to)
        }
        let cap = rules?.frequencyCap.map {
            DeliveryCap(messages: $0.messages, period: milliseconds($0.hours, of: 3_600_000))
        }
        return DeliveryRules(spacing: spacing, cap: cap, quietHours: quiet)
    }

    /// A number of units as the server states it, at most ninety days.
    private static func milliseconds(_ count: Int, of unit: Int64) -> Int64 {
        Int64(min(max(count, 0), Int(periodMax / unit))) * unit
    }

    /// `22:30` is 22.5.
    private static func hour(_ text: String) -> Double? {
        let parts = text.split(separator: ":").compactMap { Double($0) }
        guard parts.count == 2, (0...24).contains(parts[0]), (0..<60).contains(parts[1]) else { return nil }
        return parts[0] + parts[1] / 60
    }
}
