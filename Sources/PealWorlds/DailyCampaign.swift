/// A campaign in PocketDay with one message a day for each person: what simulated phones live through, and what the
/// laboratory predicts for them.
package struct DailyCampaign: Sendable {
    /// The first day of the world that people live with the app; before it they only open it.
    package static let firstDay = 7

    /// A message and its window.
    package struct Message: Sendable {
        package let person: Int
        /// Slot in which it is sent and its window begins.
        package let start: Int
        /// Slot in which its author cancels it; nil for never.
        package let cancelSlot: Int?
    }

    /// What the author sends.
    package struct Plan: Sendable, Hashable {
        package var days = 2
        package var windowHours = 6
        /// The share of messages that their author cancels at some time in their window.
        package var cancelled = 0.03
        /// Slots from one look at the world to the next.
        package var stride = 1

        package init() {}
    }

    package let seed: Int
    package let world: PocketDay
    /// The truth about opens.
    package let truth: PocketDayCampaign

    package init(seed: Int, people: Int) {
        let world = PocketDay(seed: seed, people: people)
        var random = WorldRandom(seed: seed, stream: 3)
        truth = PocketDayCampaign(world, &random, spread: 0.45, rate: 0.05)
        (self.seed, self.world) = (seed, world)
    }

    /// One message a day for each person, at a random time from which the window ends by 22 h; in the order of starts.
    package func messages(_ plan: Plan) -> [Message] {
        var random = WorldRandom(seed: seed, stream: 40)
        var messages: [Message] = []
        for day in Self.firstDay..<Self.firstDay + plan.days {
            for person in world.citizens.indices {
                let latest = (14 - plan.windowHours) * 6 / plan.stride
                let start = day * PocketDay.slotsPerDay + 48 + random.below(latest + 1) * plan.stride
                let isCancelled = random.hits(plan.cancelled)
                let cancelSlot = start + random.below(plan.windowHours * 6 / plan.stride) * plan.stride
                messages.append(Message(person: person, start: start, cancelSlot: isCancelled ? cancelSlot : nil))
            }
        }
        return messages.sorted { $0.start < $1.start }
    }

    /// The true probability that a message that appears in this slot is opened.
    package func probability(_ person: Int, _ slot: Int) -> Double { truth.probability(world, person, slot) }

    /// Whether the person opens a message that appears in this slot: by the true probability, and a number that belongs
    /// to person and day, so that the same dice fall for every policy.
    package func opens(_ person: Int, _ slot: Int) -> Bool {
        var random = WorldRandom(
            seed: seed, stream: 5_000_000 + person * PocketDay.days + slot / PocketDay.slotsPerDay)
        return random.hits(probability(person, slot))
    }
}
