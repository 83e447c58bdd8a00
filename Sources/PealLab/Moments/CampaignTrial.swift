import Foundation
import PealCore
import PealLearning
import PealMomentTraining
import PealMoments
import PealWorlds

/// A whole campaign in PocketDay without a network: wake-ups from the server's budget, the phones' decisions,
/// exploration, and hourly training from what phones report. All of it is the production code; only delivery is left
/// out. What simulated phones in front of a real server find should agree with this.
struct CampaignTrial {
    struct Settings: Sendable, Hashable {
        var seed = 1
        var people = 100
        var plan = DailyCampaign.Plan()
        /// The chance that a wake-up reaches its phone.
        var arrival = 0.8
    }

    /// A message that waits.
    private struct Waiting {
        let index: Int
        let exploration: Exploration
        var looks: [Int64] = []
        /// The trace of a soft message.
        var trace: [UInt8] = []
    }

    /// What one phone knows.
    private struct Phone {
        var wakes = WakeUps()
        /// Wake-ups that were lost since the last one that arrived.
        var missed = 0
        var rate: WakeRate?
        var wasUnlocked: Bool?
        var waiting: Waiting?
        /// Which of `shelves` the phone has: they are renewed with each message.
        var shelf = 0
        /// Habits of a day, with the model's template.
        var habits: (day: Int, shelf: Int, person: Person)?
    }

    /// The models that phones have at one time.
    private struct Shelf {
        var campaign: MomentModel?
        var global = MomentModel.builtIn(app: CampaignTrial.app)
    }

    private static let app = "lab"
    private static let name = "phones"
    private static let firstDay = DailyCampaign.firstDay
    /// Phones look up what is due some seconds after the beginning of a slot.
    private static let lag: Int64 = 15_000
    private static let day: Int64 = 86_400_000

    let settings: Settings
    private let daily: DailyCampaign
    private let messages: [DailyCampaign.Message]
    private let isContextAware: [Bool]
    /// A Monday.
    private let monday: Int64 = 4 * 86_400_000 + 2900 * 7 * 86_400_000
    private var random: WorldRandom
    private var phones: [Phone]
    private var shelves = [Shelf()]
    private var labels: [MomentLabel] = []
    private var journeys: [(at: Timestamp, journey: MomentJourney)] = []
    private var learnings: [String: CampaignLearning] = [:]
    private var releases: [String: ModelRelease] = [:]
    private var formerReleases: [String: [ModelRelease]] = [:]
    private var outcome: Outcome

    /// The results, as means over all people. All people get chosen moments here, but the model learns only from those
    /// in the experiment's context-aware arm.
    struct Outcome: Codable, Sendable {
        let seed: Int
        let users: Int
        let days: Int
        let windowHours: Int
        let stepMinutes: Int
        var messages = 0
        var cancelled = 0
        var shownByPhone = 0
        var wakes = 0
        /// Messages at random moments, while the campaign calibrated.
        var calibrating = 0
        var labels = 0
        /// Models that were released for the campaign.
        var models = 0
        /// The off-policy estimate of the last model, in opens per message, and its standard error; nil without one.
        var offPolicyGain: Double?
        var offPolicyError: Double?
        /// Mean true probability of an open at the start of the window, and at the chosen moments.
        var immediateRate = 0.0
        var chosenRate = 0.0
        /// The lift of the chosen moments over immediate display.
        var lift = 0.0

        init(_ settings: Settings) {
            (seed, users, days) = (settings.seed, settings.people, settings.plan.days)
            (windowHours, stepMinutes) = (settings.plan.windowHours, settings.plan.stride * 10)
        }
    }

    init(_ settings: Settings) {
        self.settings = settings
        daily = DailyCampaign(seed: settings.seed, people: settings.people)
        messages = daily.messages(settings.plan)
        let experiment = ExperimentAssignment(app: Self.app, salt: "s\(settings.seed)", campaign: Self.name)
        isContextAware = (0..<settings.people).map { experiment.arm(of: "p\($0)", share: 0.5) == .contextAware }
        random = WorldRandom(seed: settings.seed, stream: 41)
        phones = [Phone](repeating: Phone(), count: settings.people)
        outcome = Outcome(settings)
    }

    /// Lives all days.
    mutating func run() throws -> Outcome {
        var next = 0
        for day in Self.firstDay..<Self.firstDay + settings.plan.days {
            let first = day * PocketDay.slotsPerDay
            // Windows are between 8 and 22 h.
            for slot in stride(from: first + 48, through: first + 132, by: settings.plan.stride) {
                if slot % 6 == 0 { try learn(at: now(slot)) }
                while next < messages.count, messages[next].start <= slot {
                    send(next, in: slot)
                    next += 1
                }
                for person in phones.indices where phones[person].waiting != nil { live(person, slot) }
            }
        }
        outcome.labels = labels.count
        // Immediate display cannot be cancelled.
        outcome.immediateRate = PocketDayTrial.mean(messages.map { daily.probability($0.person, $0.start) })
        outcome.chosenRate /= Double(max(outcome.messages - outcome.cancelled, 1))
        outcome.lift = outcome.chosenRate / outcome.immediateRate - 1
        return outcome
    }

    private func instant(_ slot: Int) -> Int64 {
        monday + Int64(slot - Self.firstDay * PocketDay.slotsPerDay) * 600_000
    }

    private func now(_ slot: Int) -> Timestamp { Timestamp(milliseconds: instant(slot) + Self.lag) }

    // MARK: Phones

    private mutating func send(_ index: Int, in slot: Int) {
        let message = messages[index]
        let learning = learnings[Self.name] ?? CampaignLearning(campaign: Self.name)
        let phase = CampaignPhase(
            window: .seconds(settings.plan.windowHours * 3600), hasPrior: releases[""] != nil,
            displays: learning.displays, opens: learning.opens)
        let exploration = Exploration(
            of: MessageID(high: UInt64(settings.seed), low: UInt64(index)), userID: "p\(message.person)", in: phase)
        outcome.messages += 1
        outcome.calibrating += phase == .calibrating ? 1 : 0
        phones[message.person].waiting = Waiting(index: index, exploration: exploration)
        phones[message.person].shelf = shelves.count - 1
        phones[message.person].wakes.request(at: now(slot))
    }

    /// What happens to a person's message in a slot.
    private mutating func live(_ person: Int, _ slot: Int) {
        guard let waiting = phones[person].waiting else { return }
        let message = messages[waiting.index]
        if message.cancelSlot == slot {
            // A person who gets messages at once has it already.
            outcome.cancelled += 1
            phones[person].waiting = nil
        } else if slot >= message.start + settings.plan.windowHours * 6 {
            outcome.chosenRate += daily.probability(person, slot)
            log(waiting, of: person, slot, isShownByPhone: false)
            phones[person].waiting = nil
        } else if let due = phones[person].wakes.dueAt, due <= now(slot) {
            phones[person].wakes.take(
                asking: false, at: now(slot),
                jitter: .seconds(
                    Int64(random.below(2 * Int(Limits.wakeJitterSeconds) + 1)) - Limits.wakeJitterSeconds))
            outcome.wakes += 1
            guard random.hits(settings.arrival) else {
                phones[person].missed += 1
                return
            }
            wake(person, waiting, slot)
        }
    }

    /// A wake-up arrives, and the phone decides.
    private mutating func wake(_ person: Int, _ waiting: Waiting, _ slot: Int) {
        let (message, now) = (messages[waiting.index], now(slot).milliseconds)
        var rate = phones[person].rate ?? WakeRate(prior: 0.6, now: now)
        for _ in 0..<phones[person].missed { rate.record(hasArrived: false, now: now) }
        rate.record(hasArrived: true, now: now)
        (phones[person].rate, phones[person].missed) = (rate, 0)
        var signals = daily.world.signals(person, slot, previous: slot)
        let isUnlocked = signals.isUnlocked
        signals.wasUnlocked = phones[person].wasUnlocked
        phones[person].wasUnlocked = isUnlocked
        let shelf = shelves[phones[person].shelf]
        let habits = habits(person, day: slot / PocketDay.slotsPerDay)
        let end = instant(message.start + settings.plan.windowHours * 6)
        let id = "\(waiting.index)"
        let chooser = MomentChooser(
            person: habits, arrival: rate.chance, wakeInterval: Limits.wakeIntervalSeconds * 1000,
            utcOffsetSeconds: { _ in 0 })
        let held = HeldMessage(
            id: id, model: shelf.campaign ?? shelf.global, start: instant(message.start), end: end,
            mode: ExplorationMode(rawValue: waiting.exploration.name) ?? .greedy,
            draw: ExplorationDraw(messageID: id, salt: "lab"), wakes: waiting.looks)
        let decision = chooser.decide([held], signals: signals, now: now, shown: [], isForeground: false)
        let time = LocalTime(milliseconds: now, utcOffsetSeconds: 0)
        let snapshot = ContextSnapshot.encode(signals, at: time, for: habits)
        var traced = waiting
        if waiting.exploration == .soft, let trace = decision.traces.first {
            traced.trace += TraceLine.encode(trace, start: held.start, now: now, context: snapshot)
        }
        guard decision.show != nil else {
            traced.looks.append(now)
            phones[person].waiting = traced
            return
        }
        phones[person].waiting = nil
        log(traced, of: person, slot, isShownByPhone: true)
        outcome.shownByPhone += 1
        outcome.chosenRate += daily.probability(person, slot)
        guard isContextAware[person] else { return }
        labels.append(
            MomentLabel(
                campaign: Self.name, snapshot: snapshot, exploration: waiting.exploration,
                shownAt: Timestamp(milliseconds: now), isOpened: daily.opens(person, slot)))
    }

    /// A soft message was shown: its phone reports every wake at which it was considered.
    private mutating func log(_ waiting: Waiting, of person: Int, _ slot: Int, isShownByPhone: Bool) {
        guard isContextAware[person], !waiting.trace.isEmpty else { return }
        let journey = MomentJourney(
            campaign: Self.name, trace: waiting.trace, windowMinutes: settings.plan.windowHours * 60,
            isShownByPhone: isShownByPhone, isOpened: daily.opens(person, slot))
        journeys.append((now(slot), journey))
    }

    private mutating func habits(_ person: Int, day: Int) -> Person {
        let shelf = phones[person].shelf
        if let known = phones[person].habits, known.day == day, known.shelf == shelf { return known.person }
        let global = shelves[shelf].global
        let habits = Person(
            openCounts: daily.world.opens(person, before: day), template: global.template,
            audienceOpens: global.audienceOpens)
        phones[person].habits = (day, shelf, habits)
        return habits
    }

    // MARK: The server

    /// Counts displays and trains what is due, as the server does once an hour.
    private mutating func learn(at now: Timestamp) throws {
        let mature = labels.prefix { now - $0.shownAt >= .seconds(Limits.labelMaturitySeconds) }
        guard !mature.isEmpty else { return }
        let counted = labels.prefix {
            now - $0.shownAt >= .seconds(Limits.labelMaturitySeconds + Limits.claimSeconds)
        }
        var present = learnings[Self.name] ?? CampaignLearning(campaign: Self.name)
        (present.displays, present.opens) = (counted.count, counted.count { $0.isOpened })
        learnings[Self.name] = present
        var material = LearningMaterial(
            app: Self.app, labels: Array(mature.suffix(Limits.labelsMax)), now: now)
        material.counters = counters(at: now)
        material.arrival = settings.arrival
        material.journeys = journeys.prefix { now - $0.at >= .seconds(Limits.labelMaturitySeconds) }.map(\.journey)
        (material.learnings, material.releases) = (learnings, releases)
        material.formerReleases = formerReleases
        var hasNews = false
        for lesson in try AppLearner(material).lessons() {
            learnings[lesson.learning.campaign] = lesson.learning
            if let offPolicy = lesson.learning.offPolicy {
                outcome.offPolicyGain = Double(offPolicy.gain) / 1e6
                outcome.offPolicyError = Double(offPolicy.error) / 1e6
            }
            guard let draft = lesson.draft else { continue }
            if let former = releases[draft.campaign] {
                let kept = [former] + (formerReleases[draft.campaign] ?? [])
                formerReleases[draft.campaign] = Array(kept.prefix(Limits.modelVersionsMax - 1))
            }
            releases[draft.campaign] = ModelRelease(draft, keyID: "lab", signature: [])
            outcome.models += draft.campaign == Self.name ? 1 : 0
            hasNews = true
        }
        guard hasNews else { return }
        var shelf = Shelf()
        shelf.campaign = try releases[Self.name].map(Self.model)
        shelf.global = try releases[""].map(Self.model) ?? shelf.global
        shelves.append(shelf)
    }

    /// App opens since the first day, of people who share their context.
    private func counters(at now: Timestamp) -> [[Int]] {
        let day = Self.firstDay + Int((now.milliseconds - monday) / Self.day)
        return (0..<min(settings.people, Limits.countersMax)).map { person in
            zip(daily.world.opens(person, before: day), daily.world.opens(person, before: Self.firstDay)).map(-)
        }.filter { $0.contains { $0 > 0 } }
    }

    private static func model(_ release: ModelRelease) throws -> MomentModel {
        try JSONDecoder().decode(MomentModel.self, from: Data(release.draft.payload))
    }
}
