import Foundation
import PealMoments
import PealWorlds

/// The second and the third synthetic world: moods, busy blocks and habituation instead of activities, people who like
/// two separate hours of the day, weaker sensors, wakes that arrive more often on the phones of keen users, and two
/// messages a day. Designed to differ from what the model assumes.
struct BusyDays: Sendable {
    struct Settings: Sendable, Hashable {
        var seed = 1
        var people = 700
        /// How much a shown message reduces the log-odds of later ones, until it is forgotten.
        var habituation = 0.45
        /// How much a message reduces the log-odds of one that follows closely.
        var disturbance = 0.8
        /// Strength of the sensors' signal: 1 is the second world.
        var sensors = 1.0
        /// How much an hour of delay reduces the log-odds of a message.
        var ageing = 0.0
        /// Log-odds that a wake arrives on the phone of an ordinary user.
        var wakes = 0.9

        /// The second world.
        static func second(seed: Int, people: Int) -> Self { Self(seed: seed, people: people) }

        /// The third world: messages that age, weak sensors, and phones that rarely wake.
        static func third(seed: Int, people: Int) -> Self {
            Self(seed: seed, people: people, sensors: 0.3, ageing: 0.35, wakes: -0.4)
        }
    }

    /// One of the two messages of a day.
    struct Campaign: Sendable {
        let windowHours: Int
        let taste: Double
        let hour: (sine: Double, cosine: Double)
        let mood: Double
        let busy: Double
    }

    static let campaigns = [
        Campaign(windowHours: 6, taste: 1, hour: (0.25, -0.2), mood: 0.7, busy: -1.1),
        Campaign(windowHours: 12, taste: 0.7, hour: (-0.3, 0.15), mood: 0.5, busy: -0.7),
    ]
    static let days = 28
    static let slotsPerDay = 144
    static let slots = days * slotsPerDay
    static let stride = 3
    static let trainingDays = 5..<14
    static let testDays = 14..<28

    struct Citizen: Sendable {
        var openness = 0.0
        var chronotype = 0.0
        /// Preference for messages in each slot of a day.
        var taste: [Double] = []
        /// Preference for the app in each slot of a day, which is correlated with it.
        var appTaste: [Double] = []
        /// The probability that a wake arrives.
        var wakeRate = 0.0
    }

    let settings: Settings
    private(set) var citizens: [Citizen] = []
    /// `person * slots + slot`, like the following arrays.
    private(set) var flags: [PocketDay.Flags]
    private(set) var brightness: [Float]
    private(set) var battery: [Float]
    /// Log-odds by campaign, without habituation and ageing.
    private(set) var scores: [[Float]]
    /// Whether a wake arrives: `person * slots / stride + slot / stride`.
    private(set) var arrived: [Bool]
    /// One number in 0 ..< 1 for each slot. A message is opened if its probability is above it.
    private(set) var draws: [Float]
    /// App opens before each day by hour: `(person * (days + 1) + day) * 24 + hour`.
    private(set) var openCounts: [Int32]
    /// Slots in which windows begin: `(campaign * days + day) * people + person`.
    private(set) var starts: [Int] = []

    init(_ settings: Settings) {
        self.settings = settings
        let count = settings.people * Self.slots
        flags = [PocketDay.Flags](repeating: [], count: count)
        (brightness, battery) = ([Float](repeating: 0, count: count), [Float](repeating: 0, count: count))
        scores = Self.campaigns.map { _ in [Float](repeating: 0, count: count) }
        arrived = [Bool](repeating: false, count: count / Self.stride)
        draws = [Float](repeating: 0, count: count)
        openCounts = [Int32](repeating: 0, count: settings.people * (Self.days + 1) * 24)
        var random = WorldRandom(seed: settings.seed, stream: 2)
        citizens = (0..<settings.people).map { _ in Self.citizen(settings, &random) }
        for person in 0..<settings.people {
            var random = WorldRandom(seed: settings.seed, stream: 2000 + person)
            live(person, &random)
        }
        for campaign in Self.campaigns.indices { calibrate(campaign) }
        for campaign in Self.campaigns {
            let latest = (22 - campaign.windowHours) * 2
            for day in 0..<Self.days {
                for _ in 0..<settings.people {
                    starts.append(day * Self.slotsPerDay + Self.stride * (16 + random.below(latest - 15)))
                }
            }
        }
    }

    private static func citizen(_ settings: Settings, _ random: inout WorldRandom) -> Citizen {
        var citizen = Citizen()
        citizen.openness = random.normal(0, 0.7)
        citizen.chronotype = min(max(random.normal(0, 1.4), -3.5), 3.5) + (random.hits(0.05) ? 8 : 0)
        func bump(_ middle: Double, _ sharpness: Double) -> [Double] {
            let values = (0..<slotsPerDay).map { slot in
                exp(sharpness * (cos(2 * Double.pi * (Double(slot) / 6 - middle) / 24) - 1))
            }
            let mean = PocketDayTrial.mean(values)
            return values.map { $0 - mean }
        }
        let draw = random.unit()
        let usual = draw < 0.2 ? 8 : draw < 0.4 ? 12.5 : draw < 0.65 ? 18.0 : 21
        let first = bump(usual + citizen.chronotype + random.normal(0, 0.8), 6)
        let second = bump(7 + 16 * random.unit(), 6)
        let size = 0.9 * exp(random.normal(0, 0.4))
        citizen.taste = zip(first, second).map { size * ($0 + 0.6 * $1) }
        let other = bump(7 + 16 * random.unit(), 5)
        citizen.appTaste = zip(citizen.taste, other).map { 0.6 * $0 + 0.7 * $1 }
        let keenness = settings.wakes + 1.2 * citizen.openness + random.normal(0, 0.6)
        citizen.wakeRate = Logistic.probability(keenness)
        return citizen
    }

    /// One person's four weeks.
    private mutating func live(_ person: Int, _ random: inout WorldRandom) {
        let citizen = citizens[person]
        var mood = random.normal()
        var dayMood = 0.0
        var busyLeft = 0.0
        for slot in 0..<Self.slots {
            let hour = PocketDay.hour(slot)
            if slot % Self.slotsPerDay == 0 { dayMood = random.normal(0, 0.4) }
            mood = 0.93 * mood + (1 - 0.93 * 0.93).squareRoot() * random.normal()
            let atWork = hour > 9 && hour < 17.5 && !PocketDay.isWeekend(slot)
            if busyLeft <= 0 && random.hits(atWork ? 0.12 : 0.03) {
                busyLeft = exp(random.normal(1.6, 0.6))
            } else {
                busyLeft -= 1
            }
            let isBusy = busyLeft > 0
            let asleep = PocketDay.wrapped(hour - citizen.chronotype - 23.3) < 7.2
            let feeling = mood + dayMood - (asleep ? 2.5 : 0)
            let using = feeling + random.normal(0, 0.9) - (isBusy ? 0.8 : 0) > 0.9
            sense(person, slot, using: using, isBusy: isBusy, asleep: asleep, &random)
            score(person, slot, feeling, using: using, isBusy: isBusy)
            openApp(person, slot, using: using, &random)
            let index = person * Self.slots + slot
            draws[index] = Float(random.unit())
            if slot % Self.stride == 0 { arrived[index / Self.stride] = random.hits(citizen.wakeRate) }
        }
    }

    private mutating func sense(
        _ person: Int, _ slot: Int, using: Bool, isBusy: Bool, asleep: Bool, _ random: inout WorldRandom
    ) {
        /// Weak sensors differ less between states.
        func shown(_ yes: Double, _ no: Double) -> Double { no + (yes - no) * settings.sensors }
        var seen: PocketDay.Flags = using ? .using : []
        let atWork = isBusy && !PocketDay.isWeekend(slot)
        let chances: [(PocketDay.Flags, Double)] = [
            (.unlocked, using ? shown(0.55, 0.12) : 0.12), (.vehicle, atWork ? shown(0.22, 0.05) : 0.05),
            (.walking, using ? 0.14 : 0.12), (.charging, asleep ? 0.5 : 0.2),
            (.wifi, asleep || isBusy ? 0.8 : 0.65), (.headphones, using ? 0.12 : 0.09),
            (.faceDown, isBusy ? shown(0.33, 0.15) : 0.15), (.lowPower, using ? 0.08 : 0.05),
            (.silent, isBusy ? shown(0.5, 0.35) : 0.35),
        ]
        for (flag, chance) in chances where random.hits(chance) { seen.insert(flag) }
        let index = person * Self.slots + slot
        flags[index] = seen
        let light = 0.45 + (using ? 0.05 : 0) - (asleep ? 0.2 : 0) + random.normal(0, 0.18)
        brightness[index] = Float(min(max(light, 0), 1))
        battery[index] = Float(random.unit())
    }

    private mutating func score(_ person: Int, _ slot: Int, _ feeling: Double, using: Bool, isBusy: Bool) {
        let angle = 2 * Double.pi * PocketDay.hour(slot) / 24
        let citizen = citizens[person]
        for (index, campaign) in Self.campaigns.enumerated() {
            let hours = campaign.hour.sine * sin(angle) + campaign.hour.cosine * cos(angle)
            let liking = 0.8 * citizen.openness + campaign.taste * citizen.taste[slot % Self.slotsPerDay]
            let state = campaign.mood * feeling + (using ? 0.5 : 0) + (isBusy ? campaign.busy : 0)
            scores[index][person * Self.slots + slot] = Float(liking + state + hours)
        }
    }

    private mutating func openApp(_ person: Int, _ slot: Int, using: Bool, _ random: inout WorldRandom) {
        let row = (person * (Self.days + 1) + slot / Self.slotsPerDay) * 24
        if slot % Self.slotsPerDay == 0 {
            for hour in 0..<24 { openCounts[row + 24 + hour] = openCounts[row + hour] }
        }
        let liking = 0.5 * citizens[person].openness + citizens[person].appTaste[slot % Self.slotsPerDay]
        if using, random.hits(min(0.5, 0.05 * exp(liking))) { openCounts[row + 24 + Int(PocketDay.hour(slot))] += 1 }
    }

    /// In daytime, after four recent messages, one message in twenty is opened.
    private mutating func calibrate(_ campaign: Int) {
        let daytime = Swift.stride(from: 0, to: scores[campaign].count, by: 31).filter { index in
            let hour = PocketDay.hour(index % Self.slots)
            return hour >= 9 && hour < 21
        }
        let sample = daytime.map { Double(scores[campaign][$0]) - 4 * settings.habituation }
        var (low, high) = (-9.0, 3.0)
        for _ in 0..<26 {
            let middle = (low + high) / 2
            let mean = PocketDayTrial.mean(sample.map { Logistic.probability($0 + middle) })
            (low, high) = mean < 0.05 ? (middle, high) : (low, middle)
        }
        let intercept = Float((low + high) / 2)
        for index in scores[campaign].indices { scores[campaign][index] += intercept }
    }

    func start(_ campaign: Int, _ day: Int, _ person: Int) -> Int {
        starts[(campaign * Self.days + day) * settings.people + person]
    }

    func opens(_ person: Int, before day: Int) -> [Int] {
        let row = (person * (Self.days + 1) + day) * 24
        return openCounts[row..<row + 24].map(Int.init)
    }

    func signals(_ person: Int, _ slot: Int) -> Signals {
        let index = person * Self.slots + slot
        return Signals(
            flags[index], before: flags[person * Self.slots + max(slot - Self.stride, 0)],
            brightness: brightness[index], battery: battery[index])
    }
}
