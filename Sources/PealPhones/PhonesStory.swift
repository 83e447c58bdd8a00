import Foundation
import PealWorlds

/// Reports when each message was shown and why, as it happens.
struct PhonesStory {
    private static let activities = [
        "asleep", "commuting", "focused", "on a break", "at leisure", "doing chores", "out", "doing sport",
    ]
    private static let names = [
        "Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gia", "Hal", "Ida", "Jon", "Kim", "Leo", "Mia", "Noa", "Oda",
        "Pia",
        "Quin", "Rex", "Sam", "Tea",
    ]

    let world: PhonesWorld
    private var reported: Set<String> = []

    init(world: PhonesWorld) { self.world = world }

    mutating func report(_ phones: [SimulatedPhone], _ messages: [PlannedMessage], _ say: (String) -> Void) {
        for message in messages {
            guard let id = message.id, !reported.contains(id),
                let appearance = phones[message.person].screen.appearances[id], let slot = appearance.slot
            else { continue }
            reported.insert(id)
            let opened = world.campaign.opens(message.person, slot) ? "  opened" : ""
            let why = "\(reason(appearance, message, slot)); \(circumstances(message.person, slot))"
            say("\(Self.time(slot))  \(Self.name(message.person))  sent \(Self.time(message.start))  \(why)\(opened)")
        }
    }

    private func reason(_ appearance: Screen.Appearance, _ message: PlannedMessage, _ slot: Int) -> String {
        guard appearance.byPush else { return "the phone chose" }
        return slot - message.start < 6 ? "pushed at once" : "pushed at the window's end"
    }

    /// What the person is doing, and what the phone can sense of it.
    private func circumstances(_ person: Int, _ slot: Int) -> String {
        let index = person * PocketDay.slots + slot
        let seen = world.world.flags[index]
        let signs: [(PocketDay.Flags, String)] = [
            (.unlocked, "unlocked"), (.vehicle, "in a vehicle"), (.walking, "walking"), (.charging, "charging"),
            (.wifi, "Wi-Fi"), (.headphones, "headphones"), (.faceDown, "face down"),
        ]
        let sensed = signs.filter { seen.contains($0.0) }.map(\.1)
        let activity = Self.activities[Int(world.world.activities[index])]
        return sensed.isEmpty ? activity : "\(activity) (\(sensed.joined(separator: ", ")))"
    }

    private static func name(_ person: Int) -> String {
        (person < names.count ? names[person] : "p\(person)").padding(toLength: 5, withPad: " ", startingAt: 0)
    }

    private static func time(_ slot: Int) -> String {
        let minutes = slot % PocketDay.slotsPerDay * 10
        return String(format: "%02d:%02d", minutes / 60, minutes % 60)
    }
}
