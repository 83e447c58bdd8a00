import Foundation
import PealMomentTraining
import PealSDK
import PealWorlds
import Synchronization

/// The settings of a run.
struct PhonesPlan: Sendable {
    var count = 100
    var seed = 1
    var daily = DailyCampaign.Plan()
    /// The chance that a wake-up reaches its phone.
    var arrival = 0.8
    /// The share of people with an Android phone.
    var android = 0.0
    /// How long the server gets at least to notice what became due.
    var settle: Duration = .milliseconds(1150)
    var campaign = "phones"
    /// Phones that do something at the same time.
    var width = 24
    /// Reports every display as it happens.
    var printsStory = false

    func platform(_ person: Int) -> PhonePlatform {
        var random = WorldRandom(seed: seed, stream: 7_000_000 + person)
        return random.hits(android) ? .android : .ios
    }
}

/// What a phone got from the push networks.
struct ReceivedPushes: Sendable {
    /// When its wake-ups were delivered, in milliseconds since 1970, lost ones included.
    var wakes: [Int64] = []
    var wakesLost = 0
    /// Messages whose alert arrived.
    var alerts: Set<String> = []

    /// The most wake-ups within an hour.
    var wakesPerHourMax: Int {
        let sorted = wakes.sorted()
        return sorted.indices.map { first in
            sorted[first...].prefix { $0 - sorted[first] < 3_600_000 }.count
        }.max() ?? 0
    }
}

/// What an author did with one message.
struct PlannedMessage: Sendable {
    let person: Int
    let start: Int
    let cancelSlot: Int?
    var id: String?
    /// Whether the server confirmed the cancellation, and how often the message had alerted by then.
    var isCancelled = false
    /// Whether the experiment leaves the moment to the phone; nil before that is known.
    var isPlannedForPhone: Bool?
    var alertsAtCancellation = 0

    init(_ message: DailyCampaign.Message) {
        (person, start, cancelSlot) = (message.person, message.start, message.cancelSlot)
    }
}

/// Observes the progress of a run.
struct PhonesWatch: Sendable {
    /// A simulated day is over: what has happened so far.
    var dayEnded: @Sendable (PhonesReport) throws -> Void = { _ in }
    /// The clock moved: which share of the run is done.
    var moved: @Sendable (Double) throws -> Void = { _ in }
}

/// Days in the lives of simulated phones, in front of a real server.
actor PhonesRun {
    private static let firstDay = DailyCampaign.firstDay
    /// Registrations in a simulated minute; the server allows 60 from one address.
    private static let registrationsPerMinute = 50
    /// Simulated minutes for the registrations that a killed server did not answer.
    private static let registrationSlack = 110

    private let plan: PhonesPlan
    private let author: AuthorAPI
    private let clock: WorldClock
    private let world: PhonesWorld
    private let phones: [SimulatedPhone]
    private let inbox: SimulatedInbox
    private(set) var messages: [PlannedMessage]
    /// Milliseconds since 1970 of slot 0 of the first day: a Monday.
    private let monday: Int64
    private let persons: [String: Int]
    private var received: [ReceivedPushes]
    private var story: PhonesStory?
    private let say: @Sendable (String) -> Void
    private let watch: PhonesWatch

    init(
        _ plan: PhonesPlan, author: AuthorAPI, clock: WorldClock, inbox: SimulatedInbox,
        settings: @Sendable (PhonesPlan) -> PhoneSettings, say: @escaping @Sendable (String) -> Void,
        watch: PhonesWatch = PhonesWatch()
    ) {
        (self.plan, self.author, self.clock, self.inbox, self.say) = (plan, author, clock, inbox, say)
        self.watch = watch
        let world = PhonesWorld(seed: plan.seed, people: plan.count)
        let made = settings(plan)
        let phones = (0..<plan.count).map { SimulatedPhone($0, plan.platform($0), in: world, made) }
        (self.phones, self.world) = (phones, world)
        persons = Dictionary(uniqueKeysWithValues: phones.map { ($0.address, $0.person) })
        received = [ReceivedPushes](repeating: ReceivedPushes(), count: plan.count)
        messages = world.campaign.messages(plan.daily).map(PlannedMessage.init)
        let week: Int64 = 7 * 86_400_000
        // 5 January 1970 was a Monday. What registration takes remains until then.
        let minutes = Int64(plan.count / Self.registrationsPerMinute + Self.registrationSlack + 10)
        let monday1970: Int64 = 4 * 86_400_000
        let earliest = clock.wall + minutes * 60_000 - monday1970
        monday = monday1970 + (earliest + week - 1) / week * week
        story = plan.printsStory ? PhonesStory(world: world) : nil
    }

    // MARK: The course of a run

    /// Lives all days and reports.
    func run() async throws -> PhonesReport {
        let began = ContinuousClock.now
        try await learnHabits()
        try await register()
        for day in Self.firstDay..<Self.firstDay + plan.daily.days {
            try await live(day)
            var report = report(before: (day + 1) * PocketDay.slotsPerDay)
            report.seconds = (ContinuousClock.now - began) / .seconds(1)
            say("day \(day - Self.firstDay + 1): \(report.invariants)")
            try watch.dayEnded(report)
        }
        try await finish()
        let experiment = try await author.insist("GET", "/campaigns/\(plan.campaign)")["experiment"]
        var report = report(before: .max)
        report.seconds = (ContinuousClock.now - began) / .seconds(1)
        try await assignArms(experiment)
        report.compare(messages, experiment, world, phones)
        return report
    }

    /// What has happened to the messages that started before a slot. A day ends long before the phones of its last
    /// messages are reached again, so an attempt is expected only of those whose windows ended before the day began.
    private func report(before slot: Int) -> PhonesReport {
        var report = PhonesReport(plan)
        for phone in phones { report.count(received[phone.person], on: phone.platform) }
        for message in messages where message.start < slot {
            let phone = phones[message.person]
            let appearance = message.id.flatMap { phone.screen.appearances[$0] }
            let wasPushed = message.id.map(received[message.person].alerts.contains) ?? false
            let end = message.start + plan.daily.windowHours * 6
            report.count(
                message, appearance, wasPushed: wasPushed, isOver: end + PocketDay.slotsPerDay <= slot,
                on: phone.platform)
        }
        return report
    }

    /// People use the app for a week before its first message, which teaches their phones their habits.
    private func learnHabits() async throws {
        for slot in stride(from: 0, to: Self.firstDay * PocketDay.slotsPerDay, by: 6) {
            clock.pretend(instant(slot))
            await openApps(slot)
        }
        clock.pretend(nil)
    }

    /// Phones register until the server knows all of them: while it was being killed, they postponed it.
    private func register() async throws {
        var instant = registrationStart
        var waiting = phones[...]
        while !waiting.isEmpty {
            guard instant < monday else { throw PhonesFailure("\(waiting.count) phones could not register") }
            try move(to: instant)
            let group = Array(waiting.prefix(Self.registrationsPerMinute))
            waiting = waiting.dropFirst(Self.registrationsPerMinute)
            let author = author
            let unknown = Mutex<[SimulatedPhone]>([])
            try await each(group) { phone in
                try await phone.register()
                if try await !author.knows(user: phone.user) { unknown.withLock { $0.append(phone) } }
            }
            waiting += unknown.withLock { $0 }
            instant += 61_000
        }
        _ = try await inbox.settle(.milliseconds(300))
        say("\(plan.count) phones are registered")
    }

    private func live(_ day: Int) async throws {
        let first = day * PocketDay.slotsPerDay
        let evening = first + 22 * 6 + plan.daily.stride
        for slot in stride(from: first, to: first + PocketDay.slotsPerDay, by: plan.daily.stride) {
            try move(to: instant(slot) + 15_000)
            world.now.slot = slot
            // At night nothing waits; people still open the app.
            guard slot >= first + 48, slot <= evening else {
                await openApps(slot)
                continue
            }
            try await author(in: slot)
            await openApps(slot)
            try await deliver(try await inbox.settle(plan.settle))
        }
    }

    /// Every phone comes online once more, and the last messages mature.
    private func finish() async throws {
        let end = instant((Self.firstDay + plan.daily.days) * PocketDay.slotsPerDay)
        for hour in [1, 2, 26, 27] as [Int64] {
            try move(to: end + hour * 3_600_000)
            try await deliver(try await inbox.settle(max(plan.settle, PhonesPlan().settle)))
            guard hour == 2 else { continue }
            try await each(phones) { await $0.openApp() }
        }
    }

    private func move(to instant: Int64) throws {
        try clock.move(to: instant)
        let end = self.instant((Self.firstDay + plan.daily.days) * PocketDay.slotsPerDay) + 27 * 3_600_000
        try watch.moved(Double(instant - registrationStart) / Double(end - registrationStart))
    }

    private var registrationStart: Int64 {
        monday - Int64(plan.count / Self.registrationsPerMinute + Self.registrationSlack) * 60_000
    }

    private func instant(_ slot: Int) -> Int64 {
        monday + Int64(slot - Self.firstDay * PocketDay.slotsPerDay) * 600_000
    }

    // MARK: What happens in a slot

    /// The author sends and cancels.
    private func author(in slot: Int) async throws {
        let starting = messages.indices.filter { messages[$0].start == slot }
        let until = instant(slot + plan.daily.windowHours * 6)
        let (author, plan, pending) = (author, plan, starting.map { (index: $0, person: messages[$0].person) })
        let ids = Mutex<[Int: String]>([:])
        try await each(pending) { message in
            let sent = try await author.insist(
                "POST", "/messages",
                [
                    "audience": ["users": ["p\(message.person)"]], "campaign_id": plan.campaign,
                    "content": [
                        "title": "Now?", "body": "A lesson of five minutes",
                        // Otherwise Android itself would show it, even if the phone has shown it already.
                        "android": ["data_only": true],
                    ],
                    "schedule": ["window": ["until": Self.text(until)]],
                ])
            ids.withLock { $0[message.index] = sent["id"].text }
        }
        for (index, id) in ids.withLock({ $0 }) { messages[index].id = id }
        for index in messages.indices where messages[index].cancelSlot == slot {
            guard let id = messages[index].id else { continue }
            let (status, answer) = try await author.call("POST", "/messages/\(id)/cancel")
            messages[index].isCancelled = status == 200 && answer["state"].text == "cancelled"
            messages[index].alertsAtCancellation =
                phones[messages[index].person].screen.appearances[id]?.alerts ?? 0
        }
    }

    private func openApps(_ slot: Int) async {
        let (day, hour) = (slot / PocketDay.slotsPerDay, slot % PocketDay.slotsPerDay / 6)
        let minute = slot % 6
        let world = world
        let isWhole = clock.isPretending || plan.daily.stride >= 6
        let openers = phones.filter {
            (isWhole ? minute == 0 : $0.person % 6 / plan.daily.stride == minute / plan.daily.stride)
                && world.appOpens($0.person, day: day, hour: hour) > 0
        }
        try? await each(openers) { phone in
            for _ in 0..<world.appOpens(phone.person, day: day, hour: hour) { await phone.openApp() }
        }
    }

    /// Pushes reach their phones, each phone's in order.
    private func deliver(_ items: [SimulatedInbox.Item]) async throws {
        var arrived: [Int: [SimulatedInbox.Item]] = [:]
        for item in items {
            guard let person = persons[item.device] else { continue }
            if item.isWake {
                received[person].wakes.append(item.at)
                var random = WorldRandom(
                    seed: plan.seed, stream: 6_000_000 + person * 4096 + received[person].wakes.count)
                guard random.hits(plan.arrival) else {
                    received[person].wakesLost += 1
                    continue
                }
            } else if let id = Push(item.payload.members).message {
                received[person].alerts.insert(id)
            }
            arrived[person, default: []].append(item)
        }
        let phones = phones
        try await each(arrived.sorted { $0.key < $1.key }) { person, items in
            for item in items {
                if item.isWake {
                    await phones[person].wake(item.payload)
                } else {
                    await phones[person].alert(item.payload, isShownBySystem: item.isShownBySystem)
                }
            }
        }
        story?.report(phones, messages, say)
    }

    /// By the published vector of assignments.
    private func assignArms(_ experiment: PhonesJSON) async throws {
        let app = try await author.insist("GET", "")
        let assignment = ExperimentAssignment(
            app: app["bundle_id"].text ?? author.app, salt: experiment["salt"].text ?? "", campaign: plan.campaign)
        let share = experiment["share"].number ?? 0.5
        for index in messages.indices {
            let arm = assignment.arm(of: "p\(messages[index].person)", share: share)
            messages[index].isPlannedForPhone = arm == .contextAware
        }
    }

    // MARK: Helpers

    private func each<Item: Sendable>(
        _ items: [Item], _ action: @escaping @Sendable (Item) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, item) in items.enumerated() {
                if index >= plan.width { try await group.next() }
                group.addTask { try await action(item) }
            }
            try await group.waitForAll()
        }
    }

    private static func text(_ instant: Int64) -> String {
        Date(timeIntervalSince1970: Double(instant) / 1000).formatted(.iso8601)
    }
}
