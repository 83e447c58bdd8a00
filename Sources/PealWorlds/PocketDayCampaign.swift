import Foundation
import PealMoments

/// The true model of opens in PocketDay.
package struct PocketDayCampaign: Sendable {
    /// Effect of each activity.
    package var activities: [Double]
    package var use: Double
    /// Effect of headphones on a commute.
    package var headphones: Double
    package var hour: (sine: Double, cosine: Double)
    package var weekend: Double
    package var lowPower = -0.35
    package var intercept = 0.0

    /// - Parameters:
    ///   - spread: how much campaigns differ.
    ///   - rate: the mean open probability in daytime.
    package init(_ world: PocketDay, _ random: inout WorldRandom, spread: Double, rate: Double) {
        let base = [-2.2, 0.05, -0.9, 0.55, 0.75, -0.25, -0.9, -1.6]
        let width = [0.3, 1, 1, 1, 1, 1, 1, 0.5]
        activities = zip(base, width).map { $0 + random.normal(0, spread) * $1 }
        use = 1.15 + random.normal(0, 0.2)
        headphones = random.normal(0, 0.5)
        hour = (random.normal(0, 0.35), random.normal(0, 0.35))
        weekend = random.normal(0, 0.2)
        calibrate(world, to: rate)
    }

    /// The part of the log-odds that depends on person and time.
    package func known(_ world: PocketDay, _ person: Int, _ slot: Int) -> Double {
        let citizen = world.citizens[person]
        let (sine, cosine) = PocketDayClock.waves[slot % PocketDay.slotsPerDay]
        let hours = (hour.sine + citizen.taste.sine) * sine + (hour.cosine + citizen.taste.cosine) * cosine
        return intercept + citizen.openness + hours + (PocketDay.isWeekend(slot) ? weekend : 0)
    }

    /// The part that depends on what the person does.
    package func hidden(activity: Int, using: Bool, _ seen: PocketDay.Flags) -> Double {
        activities[activity] + (using ? use : 0)
            + (activity == 1 && seen.contains(.headphones) ? headphones : 0)
            + (seen.contains(.lowPower) ? lowPower : 0)
    }

    /// The log-odds that a message shown in a slot is opened.
    package func score(_ world: PocketDay, _ person: Int, _ slot: Int) -> Double {
        let index = person * PocketDay.slots + slot
        let seen = world.flags[index]
        return known(world, person, slot)
            + hidden(activity: Int(world.activities[index]), using: seen.contains(.using), seen)
    }

    package func probability(_ world: PocketDay, _ person: Int, _ slot: Int) -> Double {
        Logistic.probability(score(world, person, slot))
    }

    /// Sets the intercept so that between 9 and 21 h the mean open probability is `rate`.
    private mutating func calibrate(_ world: PocketDay, to rate: Double) {
        var scores: [Double] = []
        for person in world.citizens.indices {
            for slot in stride(from: person % 29, to: PocketDay.slots, by: 29) {
                let hour = PocketDay.hour(slot)
                if hour >= 9, hour < 21 { scores.append(score(world, person, slot)) }
            }
        }
        var (low, high) = (-12.0, 4.0)
        for _ in 0..<26 {
            let middle = (low + high) / 2
            let mean = scores.reduce(0) { $0 + Logistic.probability($1 + middle) } / Double(scores.count)
            (low, high) = mean < rate ? (middle, high) : (low, middle)
        }
        intercept = (low + high) / 2
    }
}

/// Sine and cosine of each slot of a day.
private enum PocketDayClock {
    static let waves: [(Double, Double)] = (0..<PocketDay.slotsPerDay).map { slot in
        let angle = 2 * Double.pi * PocketDay.hour(slot) / 24
        return (sin(angle), cos(angle))
    }
}
