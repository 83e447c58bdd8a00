import Foundation
import PealMomentTraining
import PealMoments
import PealWorlds

/// Chooses a slot in advance: at once, at random, or by the hour.
struct PlannedPolicy: BusyDaysPolicy {
    let world: BusyDays
    /// Chooses among the slots of a window, the last of which is its end.
    let choose: (_ campaign: Int, _ person: Int, _ slots: [Int]) -> Int

    func slot(_ campaign: Int, _ day: Int, _ person: Int) -> Int? {
        let start = world.start(campaign, day, person)
        let count = BusyDays.campaigns[campaign].windowHours * 6 / BusyDays.stride
        return choose(campaign, person, (0...count).map { start + $0 * BusyDays.stride })
    }

    static func immediate(_ world: BusyDays) -> Self { Self(world: world) { _, _, slots in slots[0] } }

    static func random(_ world: BusyDays) -> Self {
        Self(world: world) { campaign, person, slots in
            var random = WorldRandom(seed: world.settings.seed, stream: slots[0] * 4 + campaign + person * 100_000)
            return slots[1 + random.below(slots.count - 1)]
        }
    }

    /// The slot with the highest score, except the beginning of the window.
    static func best(
        _ world: BusyDays, _ score: @escaping (_ campaign: Int, _ person: Int, _ slot: Int) -> Double
    ) -> Self {
        Self(world: world) { campaign, person, slots in
            slots.dropFirst().max { score(campaign, person, $0) < score(campaign, person, $1) } ?? slots[0]
        }
    }
}

/// The product's policy: its features, its models, its stopping rule and its spacing.
struct PhoneBusyDaysPolicy: BusyDaysPolicy {
    let world: BusyDays
    let habits: BusyDaysHabits
    let models: [MomentModel]
    /// Slots between two messages.
    let spacing: Double
    private var rules: [Int: [Double]] = [:]

    init(
        _ world: BusyDays, _ habits: BusyDaysHabits, models: [MomentModel],
        spacing: Int64 = DeliveryRules.spacingDefault
    ) {
        (self.world, self.habits, self.models) = (world, habits, models)
        self.spacing = Double(spacing) / 600_000
    }

    mutating func begin(_ context: BusyDaysRun.Context) {
        let model = models[context.campaign]
        let slots = stride(from: context.start, through: context.deadline, by: BusyDays.stride).dropFirst()
        let wakes = slots.map { slot in
            let (person, time) = (habits.person(context.person, slot), PocketDay.time(slot))
            return StoppingRule.Wake(
                knownScore: model.knownScore(FeatureSchema.known(at: time, for: person)[...]),
                ownHour: person.ownHour(at: time))
        }
        rules[context.campaign] =
            StoppingRule(
                wakes: Array(wakes.dropLast()), deadline: wakes[wakes.count - 1], table: model.table,
                arrival: habits.arrivals[context.person]
            ).continuationValues
    }

    func gain(_ context: BusyDaysRun.Context, _ slot: Int) -> Double {
        guard context.since >= spacing, let rule = rules[context.campaign] else { return -1 }
        let (person, time) = (habits.person(context.person, slot), PocketDay.time(slot))
        let probability = models[context.campaign].probability(
            known: FeatureSchema.known(at: time, for: person),
            sensed: FeatureSchema.sensed(world.signals(context.person, slot)))
        return probability - rule[(slot - context.start) / BusyDays.stride - 1]
    }
}

/// Stops on the true score, which only the laboratory knows, including habituation and ageing.
struct OracleBusyDaysPolicy: BusyDaysPolicy {
    /// How to compute the part of the score that changes from wake to wake, and its distribution.
    struct View {
        let score: (_ campaign: Int, _ person: Int, _ slot: Int) -> Double
        /// Equally likely values, for each campaign.
        let quantiles: [[Double]]
    }

    let world: BusyDays
    /// True mean log-odds: `(campaign * people + person) * 24 + hour`.
    let means: [Double]
    let view: View

    func gain(_ context: BusyDaysRun.Context, _ slot: Int) -> Double {
        func known(_ later: Int) -> Double {
            let shown = context.shown * pow(0.5, Double(later - slot) / 216)
            let since = context.since + Double(later - slot)
            return mean(context, later) - world.burden(later, start: context.start, shown: shown, since: since)
        }
        let arrival = world.citizens[context.person].wakeRate
        var waiting = 0.0
        for later in stride(from: context.deadline, to: slot, by: -BusyDays.stride) {
            let score = known(later)
            let chances = view.quantiles[context.campaign].map { Logistic.probability(score + $0) }
            if later == context.deadline {
                waiting = PocketDayTrial.mean(chances)
            } else {
                let reached = PocketDayTrial.mean(chances.map { max($0, waiting) })
                waiting = arrival * reached + (1 - arrival) * waiting
            }
        }
        return Logistic.probability(known(slot) + view.score(context.campaign, context.person, slot)) - waiting
    }

    private func mean(_ context: BusyDaysRun.Context, _ slot: Int) -> Double {
        let row = (context.campaign * world.settings.people + context.person) * 24
        return means[row + Int(PocketDay.hour(slot))]
    }
}

/// What phones and server know about people's habits in the second and the third world.
struct BusyDaysHabits {
    let template: HourTemplate
    /// The wake rates that each phone assumes.
    let arrivals: [Double]
    private let people: [Person]
    private let count: Int

    init(_ world: BusyDays) {
        let count = world.settings.people
        let template = HourTemplate(learningFrom: (0..<count).map { world.opens($0, before: 7) }) ?? .plain
        var people: [Person] = []
        for day in 0..<BusyDays.days {
            let logs = (0..<count).map { log(Double(world.opens($0, before: day).reduce(0, +)) + 5) }
            let mean = PocketDayTrial.mean(logs)
            for person in 0..<count where day >= BusyDays.trainingDays.lowerBound {
                people.append(
                    Person(openCounts: world.opens(person, before: day), template: template, audienceOpens: mean))
            }
        }
        (self.template, self.people, self.count) = (template, people, count)
        arrivals = (0..<count).map { person in
            var rate = WakeRate(prior: 0.6, now: 0)
            for slot in stride(from: 7 * 144, to: BusyDays.testDays.lowerBound * 144, by: BusyDays.stride)
            where PocketDay.hour(slot) >= 8 {
                let hasArrived = world.arrived[(person * BusyDays.slots + slot) / BusyDays.stride]
                rate.record(hasArrived: hasArrived, now: Int64(slot) * 600_000)
            }
            return rate.chance
        }
    }

    func person(_ person: Int, _ slot: Int) -> Person {
        people[(slot / BusyDays.slotsPerDay - BusyDays.trainingDays.lowerBound) * count + person]
    }
}
