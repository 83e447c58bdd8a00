import Foundation
import PealMomentTraining
import PealMoments
import PealWorlds

/// A policy in the second and third world: a slot chosen in advance, or a rule evaluated at wakes.
protocol BusyDaysPolicy {
    /// For a policy without the phone: the slot at which the message is shown.
    func slot(_ campaign: Int, _ day: Int, _ person: Int) -> Int?

    /// For a policy on phones: the gain of showing at a wake over waiting. It waits if this is negative.
    func gain(_ context: BusyDaysRun.Context, _ slot: Int) -> Double

    /// Called before the first wake of a window.
    mutating func begin(_ context: BusyDaysRun.Context)
}

/// One policy over some days, person by person: habituation and disturbance depend on what was shown before.
struct BusyDaysRun {
    /// A waiting message.
    struct Context {
        let campaign: Int
        let person: Int
        let start: Int
        let deadline: Int
        /// Decayed number of messages shown earlier.
        var shown = 0.0
        /// Slots since the latest one.
        var since = 0.0
    }

    /// A message that was shown.
    struct Display {
        let campaign: Int
        let person: Int
        let slot: Int
        let opened: Bool
        let probability: Double
    }

    /// The effect of earlier messages on each person.
    struct Memory {
        var shown: [Double]
        var since: [Double]

        init(people: Int) {
            shown = [Double](repeating: 0, count: people)
            since = [Double](repeating: 500, count: people)
        }
    }

    let world: BusyDays
    private(set) var displays: [Display] = []
    private(set) var memory: Memory
    private static let halfLifeSlots = 216.0

    /// - Parameter policyOf: the policy of each person, which differs within an experiment.
    init(
        _ world: BusyDays, days: Range<Int>, memory: Memory? = nil,
        policyOf: (Int) -> any BusyDaysPolicy
    ) {
        self.world = world
        self.memory = memory ?? Memory(people: world.settings.people)
        for person in 0..<world.settings.people {
            var policy = policyOf(person)
            for day in days { live(day, person, &policy) }
        }
    }

    private mutating func live(_ day: Int, _ person: Int, _ policy: inout any BusyDaysPolicy) {
        var waiting = BusyDays.campaigns.indices.map { campaign in
            let start = world.start(campaign, day, person)
            return Context(
                campaign: campaign, person: person, start: start,
                deadline: start + BusyDays.campaigns[campaign].windowHours * 6)
        }
        let slots = waiting.map { policy.slot($0.campaign, day, person) }
        for context in waiting where slots[context.campaign] == nil { policy.begin(context) }
        for slot in stride(from: day * BusyDays.slotsPerDay, to: (day + 1) * BusyDays.slotsPerDay, by: BusyDays.stride)
        {
            decay()
            func gain(_ context: Context) -> Double? {
                if let planned = slots[context.campaign] { return slot >= planned ? 0 : nil }
                if slot >= context.deadline { return 0 }
                guard slot > context.start, world.arrived[(person * BusyDays.slots + slot) / BusyDays.stride] else {
                    return nil
                }
                var context = context
                (context.shown, context.since) = (memory.shown[person], memory.since[person])
                let gain = policy.gain(context, slot)
                return gain >= 0 ? gain : nil
            }
            let asking = waiting.compactMap { context in gain(context).map { (context, $0) } }
            // The better of two good moments wins. A message at its deadline is shown in any case.
            let best = asking.map(\.1).max() ?? 0
            for (context, gain) in asking {
                let isDue = slots[context.campaign] != nil || slot >= context.deadline
                guard isDue || gain == best else { continue }
                show(context, slot)
                waiting.removeAll { $0.campaign == context.campaign }
            }
        }

        func decay() {
            memory.shown[person] *= pow(0.5, Double(BusyDays.stride) / Self.halfLifeSlots)
            memory.since[person] += Double(BusyDays.stride)
        }
    }

    private mutating func show(_ context: Context, _ slot: Int) {
        let (person, index) = (context.person, context.person * BusyDays.slots + slot)
        let score = world.score(
            context.campaign, person, slot, start: context.start, shown: memory.shown[person],
            since: memory.since[person])
        let probability = Logistic.probability(score)
        let opened = Double(world.draws[index]) < probability
        displays.append(
            Display(
                campaign: context.campaign, person: person, slot: slot, opened: opened, probability: probability))
        // An open undoes a part of the habituation.
        memory.shown[person] = memory.shown[person] * (opened ? 0.6 : 1) + 1
        memory.since[person] = 0
    }

    /// Expected opens over all messages.
    var value: Double { displays.reduce(0) { $0 + $1.probability } }
}

extension BusyDays {
    /// How much earlier messages and age reduce the log-odds.
    func burden(_ slot: Int, start: Int, shown: Double, since: Double) -> Double {
        settings.habituation * shown + settings.disturbance * exp(-since / 12)
            + settings.ageing * Double(slot - start) / 6
    }

    func score(_ campaign: Int, _ person: Int, _ slot: Int, start: Int, shown: Double, since: Double) -> Double {
        Double(scores[campaign][person * Self.slots + slot]) - burden(slot, start: start, shown: shown, since: since)
    }
}

extension BusyDaysPolicy {
    func slot(_ campaign: Int, _ day: Int, _ person: Int) -> Int? { nil }
    func gain(_ context: BusyDaysRun.Context, _ slot: Int) -> Double { 0 }
    mutating func begin(_ context: BusyDaysRun.Context) {}
}
