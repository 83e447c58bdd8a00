import Foundation
import PealWorlds

/// The report of a run: the invariants, and the experiment's result from the server next to the truth of the world.
struct PhonesReport: Codable, Sendable {
    let phones: Int
    let days: Int
    let seed: Int
    let windowHours: Int
    let stepMinutes: Int
    /// The share of messages that their author wanted to cancel.
    let cancelledShare: Double
    /// The share of wake-ups that reach their phones.
    let arrival: Double
    /// The share of people who were to get an Android phone.
    let androidShare: Double
    var seconds = 0.0
    /// Figures of each platform.
    var platforms: [String: Share] = [:]
    var messages = 0
    var cancelled = 0
    var shownByPhone = 0
    var shownByPush = 0
    var wakes = 0
    var wakesLost = 0
    /// The most wake-ups of a phone within an hour.
    var wakesPerHourMax = 0
    /// Messages that alerted their person more than once.
    var shownTwice = 0
    /// Messages that alerted after the server had confirmed their cancellation.
    var shownAfterCancel = 0
    /// Messages that were not cancelled and that neither appeared nor were pushed.
    var unattempted = 0
    /// Messages that need no attempt yet, because their window is open or ended today.
    var waiting = 0
    var experiment: Experiment?
    /// Mean true probability of an open in the context-aware arm when its messages are shown at once, and as they were
    /// shown.
    var immediateRate = 0.0
    var chosenRate = 0.0
    /// The true lift of the moments in which messages of the context-aware arm were shown.
    var trueLift: Double?

    /// The part of one platform.
    struct Share: Codable, Sendable {
        var phones = 0
        var messages = 0
        var shownByPhone = 0
        var shownByPush = 0
        var wakes = 0
        var wakesLost = 0
    }

    /// The experiment as the server reports it.
    struct Experiment: Codable, Sendable {
        var verdict = ""
        var lift: Double?
        var low: Double?
        var high: Double?
        var arms: [String: Arm] = [:]

        struct Arm: Codable, Sendable {
            let users: Int
            let messages: Int
            let opens: Int
        }
    }

    init(_ plan: PhonesPlan) {
        (phones, seed, arrival, androidShare) = (plan.count, plan.seed, plan.arrival, plan.android)
        (days, windowHours, cancelledShare) = (plan.daily.days, plan.daily.windowHours, plan.daily.cancelled)
        stepMinutes = plan.daily.stride * 10
    }

    /// Whether every invariant held.
    var holds: Bool { shownTwice == 0 && shownAfterCancel == 0 && unattempted == 0 && wakesPerHourMax <= 2 }

    mutating func count(_ received: ReceivedPushes, on platform: PhonePlatform) {
        wakes += received.wakes.count
        wakesLost += received.wakesLost
        wakesPerHourMax = max(wakesPerHourMax, received.wakesPerHourMax)
        var share = platforms[platform.rawValue] ?? Share()
        share.phones += 1
        share.wakes += received.wakes.count
        share.wakesLost += received.wakesLost
        platforms[platform.rawValue] = share
    }

    /// - Parameters:
    ///   - wasPushed: whether an alert for it reached the phone.
    ///   - isOver: whether it must have been attempted by now.
    mutating func count(
        _ message: PlannedMessage, _ appearance: Screen.Appearance?, wasPushed: Bool, isOver: Bool = true,
        on platform: PhonePlatform
    ) {
        let alerts = appearance?.alerts ?? 0
        let (byPush, byPhone) = (alerts > 0 && appearance?.byPush == true, alerts > 0 && appearance?.byPush != true)
        messages += 1
        if message.isCancelled { cancelled += 1 }
        shownByPush += byPush ? 1 : 0
        shownByPhone += byPhone ? 1 : 0
        platforms[platform.rawValue]?.messages += 1
        platforms[platform.rawValue]?.shownByPush += byPush ? 1 : 0
        platforms[platform.rawValue]?.shownByPhone += byPhone ? 1 : 0
        if alerts > 1 { shownTwice += 1 }
        if message.isCancelled, alerts > message.alertsAtCancellation { shownAfterCancel += 1 }
        if !message.isCancelled, alerts == 0, !wasPushed { if isOver { unattempted += 1 } else { waiting += 1 } }
    }

    /// Adds the experiment, and what the world knows about the arm of chosen moments.
    mutating func compare(
        _ messages: [PlannedMessage], _ answer: PhonesJSON, _ world: PhonesWorld, _ phones: [SimulatedPhone]
    ) {
        var experiment = Experiment()
        experiment.verdict = answer["verdict"].text ?? "none"
        experiment.lift = answer["lift"].number
        let interval = answer["lift_interval"].list.compactMap(\.number)
        (experiment.low, experiment.high) = (interval.first, interval.last)
        for name in ["context_aware", "traditional"] {
            let arm = answer["arms"][name]
            experiment.arms[name] = Experiment.Arm(
                users: arm["users"].integer ?? 0, messages: arm["messages"].integer ?? 0,
                opens: arm["opens"].integer ?? 0)
        }
        self.experiment = experiment
        var (immediate, chosen, count) = (0.0, 0.0, 0.0)
        for message in messages where !message.isCancelled && message.isPlannedForPhone == true {
            count += 1
            immediate += world.campaign.probability(message.person, message.start)
            guard let id = message.id, let slot = phones[message.person].screen.appearances[id]?.slot else { continue }
            chosen += world.campaign.probability(message.person, slot)
        }
        guard count > 0, immediate > 0 else { return }
        (immediateRate, chosenRate, trueLift) = (immediate / count, chosen / count, chosen / immediate - 1)
    }

    var json: String {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    /// The state of the invariants as one line.
    var invariants: String {
        "\(messages) messages, \(shownByPhone) shown by the phone, \(shownByPush) pushed, \(cancelled) cancelled, "
            + "\(waiting) waiting; shown twice \(shownTwice), after a cancellation \(shownAfterCancel), not attempted "
            + "\(unattempted), at most \(wakesPerHourMax) wake-ups an hour and phone; \(Int(seconds)) s"
    }

    var table: String {
        func percent(_ value: Double?) -> String { value.map { String(format: "%+.1f %%", $0 * 100) } ?? "–" }
        func rate(_ value: Double) -> String { String(format: "%.2f %%", value * 100) }
        var lines = [
            "\(phones) phones, \(days) \(days == 1 ? "day" : "days"), seed \(seed), windows of \(windowHours) h: "
                + "\(Int(seconds)) s",
            "  messages \(messages): shown by the phone \(shownByPhone), pushed \(shownByPush), cancelled \(cancelled)",
            "  wake-ups \(wakes), of which \(wakesLost) were lost; at most \(wakesPerHourMax) an hour and phone",
            "  shown twice \(shownTwice), after a cancellation \(shownAfterCancel), not attempted \(unattempted)",
        ]
        for (name, share) in platforms.sorted(by: { $0.key < $1.key }) where platforms.count > 1 {
            lines.append(
                "  \(name): \(share.phones) phones, \(share.messages) messages, shown by the phone "
                    + "\(share.shownByPhone), pushed \(share.shownByPush), wake-ups \(share.wakes), lost "
                    + "\(share.wakesLost)")
        }
        if let experiment {
            lines.append("  arm            users  messages  opens   rate")
            for (name, arm) in experiment.arms.sorted(by: { $0.key < $1.key }) {
                let share = arm.messages > 0 ? Double(arm.opens) / Double(arm.messages) : 0
                lines.append(
                    "  " + name.padding(toLength: 13, withPad: " ", startingAt: 0)
                        + String(format: "%7d %9d %6d   ", arm.users, arm.messages, arm.opens) + rate(share))
            }
            let range =
                experiment.low == nil ? "" : ", between \(percent(experiment.low)) and \(percent(experiment.high))"
            lines.append("  reported lift \(percent(experiment.lift))\(range): \(experiment.verdict)")
        }
        lines.append(
            "  true lift of the chosen moments \(percent(trueLift)): \(rate(immediateRate)) at once, "
                + "\(rate(chosenRate)) as shown")
        return lines.joined(separator: "\n")
    }
}
