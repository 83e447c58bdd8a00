import Foundation
package import PealMoments

/// The first synthetic world: people whose days consist of eight activities, with a phone that is sometimes in use and
/// whose sensors show some of it. Time goes in slots of ten minutes.
package struct PocketDay: Sendable {
    package static let slotsPerDay = 144
    package static let days = 21
    package static let slots = days * slotsPerDay
    /// Activities, by index: sleep, commute, focus, break, leisure on the phone, chores, out, sport.
    package static let activityCount = 8

    package struct Citizen: Sendable {
        /// How many hours later than usual the person's day is; nine more for night workers.
        package var shift = 0.0
        /// How much this person likes each activity.
        package var routine = [Double](repeating: 1, count: activityCount)
        /// Added to the log-odds of using the phone.
        package var useBias = 0.0
        /// Added to the log-odds of opening any message.
        package var openness = 0.0
        /// A private preference for hours: weights of sine and cosine.
        package var taste = (sine: 0.0, cosine: 0.0)
    }

    /// The state of a slot. The phone can sense all of it except `using`.
    package struct Flags: OptionSet, Sendable {
        package let rawValue: UInt16
        package init(rawValue: UInt16) { self.rawValue = rawValue }

        package static let using = Self(rawValue: 1)
        package static let unlocked = Self(rawValue: 2)
        package static let vehicle = Self(rawValue: 4)
        package static let walking = Self(rawValue: 8)
        package static let charging = Self(rawValue: 16)
        package static let wifi = Self(rawValue: 32)
        package static let headphones = Self(rawValue: 64)
        package static let faceDown = Self(rawValue: 128)
        package static let lowPower = Self(rawValue: 256)
        package static let silent = Self(rawValue: 512)
    }

    package let citizens: [Citizen]
    /// Slot by slot, person after person: `person * slots + slot`.
    package private(set) var activities: [UInt8]
    package private(set) var flags: [Flags]
    package private(set) var brightness: [Float]
    package private(set) var battery: [Float]
    /// App opens before each day by hour: `(person * (days + 1) + day) * 24 + hour`.
    package private(set) var openCounts: [Int32]

    package init(seed: Int, people: Int) {
        var random = WorldRandom(seed: seed, stream: 1)
        citizens = (0..<people).map { _ in Self.citizen(&random) }
        activities = [UInt8](repeating: 0, count: people * Self.slots)
        flags = [Flags](repeating: [], count: people * Self.slots)
        brightness = [Float](repeating: 0, count: people * Self.slots)
        battery = [Float](repeating: 0, count: people * Self.slots)
        openCounts = [Int32](repeating: 0, count: people * (Self.days + 1) * 24)
        for person in 0..<people {
            var random = WorldRandom(seed: seed, stream: 1000 + person)
            live(person, &random)
            openApp(person, &random)
        }
    }

    private static func citizen(_ random: inout WorldRandom) -> Citizen {
        var citizen = Citizen()
        citizen.shift = min(max(random.normal(0, 1.3), -3), 3) + (random.hits(0.06) ? 9 : 0)
        for activity in 1..<activityCount { citizen.routine[activity] = exp(random.normal(0, 0.45)) }
        citizen.useBias = random.normal(0, 0.5)
        citizen.openness = random.normal(0, 0.8)
        citizen.taste = (random.normal(0, 0.35), random.normal(0, 0.35))
        return citizen
    }

    /// One person's three weeks: a Markov chain over activities, with the phone in use from time to time.
    private mutating func live(_ person: Int, _ random: inout WorldRandom) {
        let citizen = citizens[person]
        var activity = random.below(Self.activityCount)
        var using = false
        for slot in 0..<Self.slots {
            let hour = Self.wrapped(Self.hour(slot) - citizen.shift)
            var stay = Routine.persistence[activity]
            if activity == 0, hour > 7, hour < 22 { stay = 0.3 }
            if activity != 0, hour >= 23.5 || hour < 5 { stay = 0.55 }
            let moves = random.unit() > stay
            if moves {
                let weights = Routine.weights(hour: hour, isWeekend: Self.isWeekend(slot), citizen.routine)
                var left = random.unit() * weights.reduce(0, +)
                activity =
                    weights.firstIndex {
                        left -= $0; return left < 0
                    } ?? 0
            }
            let keeps = random.hits(0.45) && !moves
            if !keeps {
                let use = Routine.use[activity]
                using = random.hits(Logistic.probability(Logistic.logit(use) + citizen.useBias))
            }
            sense(person, slot, hour, activity, using, &random)
        }
    }

    /// What the sensors show.
    private mutating func sense(
        _ person: Int, _ slot: Int, _ hour: Double, _ activity: Int, _ using: Bool, _ random: inout WorldRandom
    ) {
        let index = person * Self.slots + slot
        var seen: Flags = using ? .using : []
        if random.hits(Emission.vehicle[activity]) { seen.insert(.vehicle) }
        if random.hits(Emission.walking[activity]), !seen.contains(.vehicle) { seen.insert(.walking) }
        if random.hits(using ? Emission.unlockedUsing : Emission.unlockedIdle) { seen.insert(.unlocked) }
        if random.hits(Emission.charging[activity]) { seen.insert(.charging) }
        if random.hits(Emission.wifi[activity]) { seen.insert(.wifi) }
        if random.hits(Emission.headphones[activity]) { seen.insert(.headphones) }
        if random.hits(Emission.faceDown[activity]), !seen.contains(.unlocked) { seen.insert(.faceDown) }
        if random.hits(Emission.silent[activity]) { seen.insert(.silent) }
        let light = Emission.brightness[activity] + (using ? 0.12 : 0) + random.normal(0, 0.15)
        brightness[index] = Float(min(max(light, 0), 1))
        let drained = 1 - Self.wrapped(hour - 7) / 20 + random.normal(0, 0.08)
        let charge = min(max(drained, 0.03), 1)
        battery[index] = Float(seen.contains(.charging) ? min(1, charge + 0.2) : charge)
        if battery[index] < 0.2, random.hits(0.6) { seen.insert(.lowPower) }
        activities[index] = UInt8(activity)
        flags[index] = seen
    }

    /// App opens. They happen while the phone is in use, more often for people with high openness and at hours they
    /// prefer.
    private mutating func openApp(_ person: Int, _ random: inout WorldRandom) {
        let citizen = citizens[person]
        for day in 0..<Self.days {
            let row = (person * (Self.days + 1) + day) * 24
            for hour in 0..<24 { openCounts[row + 24 + hour] = openCounts[row + hour] }
            for slot in day * Self.slotsPerDay..<(day + 1) * Self.slotsPerDay {
                guard flags[person * Self.slots + slot].contains(.using) else { continue }
                let angle = 2 * Double.pi * Self.hour(slot) / 24
                let liking =
                    0.6 * citizen.openness + citizen.taste.sine * sin(angle) + citizen.taste.cosine * cos(angle)
                if random.hits(min(0.5, 0.045 * exp(liking))) {
                    openCounts[row + 24 + Int(Self.hour(slot))] += 1
                }
            }
        }
    }

    package static func hour(_ slot: Int) -> Double { Double(slot % slotsPerDay) / 6 }

    package static func isWeekend(_ slot: Int) -> Bool { slot / slotsPerDay % 7 >= 5 }

    package static func time(_ slot: Int) -> LocalTime { LocalTime(hour: hour(slot), isWeekend: isWeekend(slot)) }

    package static func wrapped(_ hour: Double) -> Double {
        let rest = hour.truncatingRemainder(dividingBy: 24)
        return rest < 0 ? rest + 24 : rest
    }

    /// The counters on a person's phone in the morning of a day.
    package func opens(_ person: Int, before day: Int) -> [Int] {
        let row = (person * (Self.days + 1) + day) * 24
        return openCounts[row..<row + 24].map(Int.init)
    }

    /// - Parameter previous: the slot of the previous scheduled wake.
    package func signals(_ person: Int, _ slot: Int, previous: Int) -> Signals {
        let index = person * Self.slots + slot
        return Signals(
            flags[index], before: flags[person * Self.slots + max(previous, 0)], brightness: brightness[index],
            battery: battery[index])
    }
}

/// How people spend their days.
private enum Routine {
    /// The probability that an activity continues for another slot.
    static let persistence = [0.97, 0.75, 0.90, 0.70, 0.80, 0.82, 0.90, 0.80]
    /// The probability that the phone is in use.
    static let use = [0.01, 0.45, 0.10, 0.45, 0.75, 0.25, 0.15, 0.08]

    /// How attractive each activity is at an hour of the person's day.
    static func weights(hour: Double, isWeekend: Bool, _ routine: [Double]) -> [Double] {
        func near(_ middle: Double, _ width: Double) -> Double {
            let distance = (PocketDay.wrapped(hour - middle + 12) - 12) / width
            return exp(-0.5 * distance * distance)
        }
        let office = Logistic.probability((hour - 9) * 2.5) * Logistic.probability((17.3 - hour) * 2)
        let (work, free) = isWeekend ? (0.0, 1.0) : (1.0, 0.0)
        let weights = [
            hour < 6.5 || hour >= 23.3 ? 12 : 0.02,
            work * 1.5 * (near(8.2, 0.6) + near(17.9, 0.8)) + 0.06 + 0.25 * free * near(13, 3),
            work * 3 * office * (1 - 0.75 * near(12.4, 0.6)) + 0.05,
            work * (0.7 * office + 1.8 * near(12.4, 0.6)) + 0.15,
            0.35 + 1.3 * near(20.8, 1.6) + 0.9 * near(7.2, 0.7) + 0.5 * free * office,
            0.3 + near(19, 1.6) + free * office,
            0.1 + 0.5 * near(19.5, 1.8) + 0.8 * free * office,
            0.03 + 0.25 * near(18.3, 1) + 0.15 * near(7, 0.7),
        ]
        return zip(weights, routine).map { $0 * $1 }
    }
}

/// The probability of each signal during each activity.
package enum Emission {
    package static let vehicle = [0, 0.62, 0.01, 0.01, 0.01, 0.02, 0.08, 0.02]
    package static let walking = [0, 0.22, 0.03, 0.10, 0.05, 0.25, 0.22, 0.65]
    package static let charging = [0.75, 0.12, 0.15, 0.12, 0.22, 0.18, 0.05, 0.01]
    package static let wifi = [0.93, 0.15, 0.85, 0.75, 0.93, 0.9, 0.35, 0.25]
    package static let headphones = [0.01, 0.45, 0.22, 0.08, 0.12, 0.10, 0.04, 0.60]
    package static let faceDown = [0.3, 0.03, 0.35, 0.12, 0.03, 0.2, 0.2, 0.05]
    package static let silent = [0.7, 0.55, 0.8, 0.6, 0.5, 0.5, 0.5, 0.4]
    package static let brightness = [0.1, 0.6, 0.5, 0.5, 0.45, 0.45, 0.55, 0.6]
    package static let unlockedUsing = 0.8
    package static let unlockedIdle = 0.04
}

extension Signals {
    /// The signals of a synthetic phone.
    package init(_ seen: PocketDay.Flags, before: PocketDay.Flags, brightness: Float, battery: Float) {
        self.init()
        isUnlocked = seen.contains(.unlocked)
        wasUnlocked = before.contains(.unlocked)
        isInVehicle = seen.contains(.vehicle)
        isWalking = seen.contains(.walking)
        isCharging = seen.contains(.charging)
        isOnWiFi = seen.contains(.wifi)
        hasHeadphones = seen.contains(.headphones)
        isFaceDown = seen.contains(.faceDown)
        self.brightness = Double(brightness)
        self.battery = Double(battery)
        isInLowPowerMode = seen.contains(.lowPower)
        isSilent = seen.contains(.silent)
    }
}
