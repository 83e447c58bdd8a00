import Foundation
import PealMoments
import PealWorlds

/// Messages of one campaign with a delivery window, one for each person and day.
struct TrialWindows: Sendable {
    let people: [Int]
    /// Slots in which the windows begin.
    let starts: [Int]
    /// Slots between scheduled wakes.
    let stride: Int
    /// Number of scheduled wakes in a window; the last is the deadline.
    let wakeCount: Int
    /// Which wakes arrive: `message * wakeCount + wake`. The deadline is not a wake.
    let arrived: [Bool]

    var count: Int { people.count }

    /// Windows begin at 8 h at the earliest and end at 22 h at the latest.
    init(
        days: Range<Int>, people: Int, windowHours: Int, stride: Int, arrival: Double, _ random: inout WorldRandom
    ) {
        wakeCount = windowHours * 6 / stride
        self.stride = stride
        var (who, starts, arrived) = ([Int](), [Int](), [Bool]())
        for day in days {
            for person in 0..<people {
                who.append(person)
                starts.append(day * PocketDay.slotsPerDay + 48 + random.below((14 - windowHours) * 6 + 1))
                for wake in 0..<wakeCount { arrived.append(random.hits(arrival) && wake < wakeCount - 1) }
            }
        }
        (self.people, self.starts, self.arrived) = (who, starts, arrived)
    }

    /// The slot of a wake.
    func slot(_ message: Int, _ wake: Int) -> Int { starts[message] + (wake + 1) * stride }
}

/// One seed of PocketDay with a campaign: a week of history, a week of labels, and a week in which policies are
/// compared by the true probability of the moments that they choose.
struct PocketDayTrial: Sendable {
    struct Settings: Sendable, Hashable {
        var seed = 1
        var people = 1500
        var windowHours = 6
        /// Slots of ten minutes between wakes.
        var stride = 3
        var arrival = 0.8
        /// How much campaigns differ.
        var spread = 0.45
    }

    /// A message that was shown at a random moment, and whether it was opened.
    struct Label: Sendable {
        let person: Int
        let slot: Int
        let opened: Bool
    }

    let settings: Settings
    let world: PocketDay
    let campaign: PocketDayCampaign
    let training: TrialWindows
    let test: TrialWindows
    let labels: [Label]
    /// True probabilities at every wake of the test, `message * wakeCount + wake`.
    let probabilities: [Double]
    /// True probabilities when messages are shown at once.
    let immediate: [Double]

    init(_ settings: Settings) {
        self.settings = settings
        let (seed, people) = (settings.seed, settings.people)
        let world = PocketDay(seed: seed, people: people)
        var random = WorldRandom(seed: seed, stream: 3)
        let campaign = PocketDayCampaign(world, &random, spread: settings.spread, rate: 0.05)
        func windows(_ days: Range<Int>, _ stream: Int) -> TrialWindows {
            var random = WorldRandom(seed: seed, stream: stream + 100 * settings.windowHours)
            return TrialWindows(
                days: days, people: people, windowHours: settings.windowHours, stride: settings.stride,
                arrival: settings.arrival, &random)
        }
        (training, test) = (windows(7..<14, 20), windows(14..<21, 30))
        (self.world, self.campaign) = (world, campaign)
        labels = Self.labels(campaign, world, training, &random)
        let test = test
        probabilities = (0..<test.count).flatMap { message in
            (0..<test.wakeCount).map { campaign.probability(world, test.people[message], test.slot(message, $0)) }
        }
        immediate = (0..<test.count).map { campaign.probability(world, test.people[$0], test.starts[$0]) }
    }

    /// The labels of an earlier campaign, by its number.
    func earlierLabels(_ number: Int) -> [Label] {
        var random = WorldRandom(seed: settings.seed, stream: 500 + number)
        let rates = [0.02, 0.03, 0.05, 0.08]
        let earlier = PocketDayCampaign(
            world, &random, spread: settings.spread, rate: rates[number % rates.count])
        return Self.labels(earlier, world, training, &random)
    }

    /// Shows every message at a wake of its window drawn uniformly.
    private static func labels(
        _ campaign: PocketDayCampaign, _ world: PocketDay, _ windows: TrialWindows, _ random: inout WorldRandom
    ) -> [Label] {
        (0..<windows.count).map { message in
            let slot = windows.slot(message, random.below(windows.wakeCount))
            let person = windows.people[message]
            return Label(
                person: person, slot: slot, opened: random.hits(campaign.probability(world, person, slot)))
        }
    }

    /// The true probabilities of the wakes that a policy chose, one for each message.
    func values(_ choices: [Int]) -> [Double] {
        choices.indices.map { probabilities[$0 * test.wakeCount + choices[$0]] }
    }

    var immediateMean: Double { Self.mean(immediate) }

    /// The relative increase of opens over immediate display.
    func lift(_ values: [Double]) -> Double { Self.mean(values) / immediateMean - 1 }

    static func mean(_ values: [Double]) -> Double { values.reduce(0, +) / Double(max(values.count, 1)) }
}
