import PealWorlds

/// A kind of fault that `peal-lab torture` causes.
package enum TortureFault: String, CaseIterable, Sendable, Hashable {
    /// SIGKILL to a server, which is started again.
    case kill
    /// SIGSTOP to a server, and SIGCONT later.
    case pause
    /// SIGSTOP to the push network.
    case silence
    /// The push network closes connections, with and without GOAWAY.
    case connections
    /// The push network refuses, delays or loses a share of the requests.
    case answers
    /// Many messages to one device each, at once.
    case queues
    /// The file system of the database is full.
    case disk
    /// The clock of a server jumps ahead, and back when it is started again.
    case clock
}

/// Messages and faults with their times. It depends only on its plan: the same seed gives the same schedule.
package struct TortureSchedule: Sendable, Hashable {
    package struct Plan: Sendable, Hashable {
        package var seed: UInt64 = 1
        /// How long messages are sent and faults are caused.
        package var seconds = 30.0
        package var messages = 60
        package var devices = 2000
        package var kills = 3
        package var nodes = 1
        /// Faults besides `kill`, whose number is `kills`.
        package var faults = Set(TortureFault.allCases)

        package init() {}
    }

    package struct Event: Sendable, Hashable {
        package let at: Double
        package let fault: TortureFault
        /// How long it lasts.
        package let seconds: Double
        /// The affected server.
        package let node: Int
        /// Selects a variant of the fault.
        package let form: Int
    }

    package struct Message: Sendable, Hashable {
        package let number: Int
        package let at: Double
        package let audience: Audience
        /// How long after its acceptance it is cancelled.
        package let cancelledAfter: Double?
        package let lifeSeconds: Int?
    }

    package enum Audience: Sendable, Hashable {
        case all
        case topic(Int)
        case devices([Int])
    }

    /// Every device is in one of these topics.
    package static let topics = 4
    /// One device in this many has an address that the push network reports as dead.
    private static let deadShare = 101
    /// How far the clock may be ahead: the push network accepts tokens from a minute ahead.
    package static let clockSecondsMax = 45

    package let plan: Plan
    package let events: [Event]
    package let messages: [Message]

    package init(_ plan: Plan) {
        self.plan = plan
        var random = WorldRandom(seed: Int(truncatingIfNeeded: plan.seed), stream: 1)
        events = Self.events(plan, &random)
        var chance = WorldRandom(seed: Int(truncatingIfNeeded: plan.seed), stream: 2)
        messages = (0..<plan.messages).map { number in Self.message(number, plan, &chance) }
    }

    /// The kills, and as many faults of other kinds as the time has room for.
    private static func events(_ plan: Plan, _ random: inout WorldRandom) -> [Event] {
        var events = (0..<plan.kills).map { _ in event(.kill, plan, &random) }
        let others = TortureFault.allCases.filter { $0 != .kill && plan.faults.contains($0) }
        let rounds = max(1, Int(plan.seconds / Double(max(1, others.count)) / 4))
        for _ in 0..<rounds { events += others.map { event($0, plan, &random) } }
        return events.sorted { $0.at < $1.at }
    }

    private static func event(_ fault: TortureFault, _ plan: Plan, _ random: inout WorldRandom) -> Event {
        let longest: Double =
            switch fault {
            case .kill, .queues, .clock: 0
            // Shorter than the time-out of a request.
            case .pause, .silence, .disk, .connections, .answers: 12
            }
        return Event(
            at: random.unit() * plan.seconds, fault: fault,
            seconds: min(longest * (0.2 + 0.8 * random.unit()), plan.seconds / 3), node: random.below(plan.nodes),
            form: random.below(1 << 16))
    }

    private static func message(_ number: Int, _ plan: Plan, _ random: inout WorldRandom) -> Message {
        let at = plan.seconds * Double(number) / Double(max(1, plan.messages))
        let kind = random.unit()
        let audience: Audience =
            if kind < 0.5 {
                .devices(random.sample(1 + random.below(32), below: plan.devices).sorted())
            } else if kind < 0.85 {
                .topic(random.below(topics))
            } else {
                .all
            }
        return Message(
            number: number, at: at, audience: audience, cancelledAfter: random.hits(0.08) ? random.unit() : nil,
            lifeSeconds: random.hits(0.06) ? 1 + random.below(20) : nil)
    }

    /// The numbers of the devices in a message's audience.
    package func devices(of audience: Audience) -> [Int] {
        switch audience {
        case .all: Array(0..<plan.devices)
        case .topic(let topic): Array(stride(from: topic, to: plan.devices, by: Self.topics))
        case .devices(let numbers): numbers
        }
    }

    package func isDead(_ device: Int) -> Bool { device % Self.deadShare == Self.deadShare - 1 }
}

extension TortureSchedule.Event: CustomStringConvertible {
    package var description: String {
        "\(Self.tenths(at)) s: \(fault.rawValue)" + (seconds > 0 ? " for \(Self.tenths(seconds)) s" : "")
            + (fault == .kill || fault == .pause ? " of server \(node)" : "")
    }

    private static func tenths(_ seconds: Double) -> Double { (seconds * 10).rounded() / 10 }
}
