import Foundation
import PealCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Causes the faults of a schedule in order.
struct TortureFaults: Sendable {
    private static let burst = 400

    private let schedule: TortureSchedule
    private let world: TortureWorld
    private let record: TortureRecord
    private let say: @Sendable (String) -> Void

    init(
        _ schedule: TortureSchedule, _ world: TortureWorld, _ record: TortureRecord,
        say: @escaping @Sendable (String) -> Void
    ) {
        self.schedule = schedule
        self.world = world
        self.record = record
        self.say = say
    }

    /// The faults that this machine does not permit, with the reason.
    func skipped() async -> [String] {
        var reasons: [String] = []
        if schedule.plan.faults.contains(.disk), world.disk == nil {
            reasons.append("disk: the store is not a file here, or neither mounting a tmpfs nor prlimit is permitted")
        }
        if schedule.plan.faults.contains(.clock), world.clock == nil {
            reasons.append("clock: needs Linux, a C compiler and Tests/Clients/moved_clock.c")
        }
        return reasons
    }

    func run() async throws {
        let clock = ContinuousClock()
        let begun = clock.now
        for event in schedule.events {
            try await clock.sleep(until: begun + .seconds(event.at))
            say("\(event)")
            try await cause(event)
            if try await world.revive() > 0 {
                await record.crashed()
                say("a server ended by itself and was started again")
            }
        }
    }

    /// Ends the faults that are still active.
    func heal() async throws {
        await world.freeDisk()
        await world.sendToSimulator(SIGCONT)
        for node in 0..<schedule.plan.nodes { await world.send(SIGCONT, toServer: node) }
        _ = try await world.control("POST", "/script", "rules: []")
    }

    private func cause(_ event: TortureSchedule.Event) async throws {
        switch event.fault {
        case .kill:
            await record.crashed()
            let ahead = world.clock == nil ? nil : event.form % (TortureSchedule.clockSecondsMax + 1)
            try await world.restart(event.node, clockSeconds: ahead)
        case .pause:
            await record.paused()
            await world.send(SIGSTOP, toServer: event.node)
            try await Task.sleep(for: .seconds(event.seconds))
            await world.send(SIGCONT, toServer: event.node)
        case .silence:
            await record.paused()
            await world.sendToSimulator(SIGSTOP)
            try await Task.sleep(for: .seconds(event.seconds))
            await world.sendToSimulator(SIGCONT)
        case .connections, .answers:
            let forms = event.fault == .answers ? Self.answers : Self.connections
            try await script(forms[event.form % forms.count], seconds: event.seconds)
        case .queues: await fillQueues(event)
        case .disk:
            guard world.disk != nil else { return }
            await world.fillDisk()
            try await Task.sleep(for: .seconds(event.seconds))
            await world.freeDisk()
        case .clock:
            guard world.clock != nil else { return }
            await world.advanceClock(by: 1 + event.form % 20, of: event.node)
        }
    }

    private func script(_ rules: String, seconds: Double) async throws {
        _ = try await world.control("POST", "/script", "seed: \(schedule.plan.seed)\nrules:\n\(rules)\n")
        try await Task.sleep(for: .seconds(seconds))
        _ = try await world.control("POST", "/script", "rules: []")
    }

    /// Rules of the simulator. A rate is derived from device and attempt, so that a retry has another chance.
    static let answers = [
        "- {match: {rate: 0.1}, status: 503, reason: ServiceUnavailable}",
        "- {match: {rate: 0.05}, status: 500, reason: InternalServerError}",
        "- {match: {rate: 0.1}, status: 429, reason: TooManyRequests}",
        "- {match: {rate: 0.6}, status: 503, reason: ServiceUnavailable}",
        "- {match: {rate: 0.3}, delay_ms: 3000}",
        "- {match: {rate: 0.02}, action: silence}",
        "- {match: {rate: 0.05}, action: reset, processed: true}",
        "- {match: {rate: 0.1}, action: refuse}",
        "- {match: {every: 500}, action: stream_limit, streams: 4}",
    ]

    static let connections = [
        "- {match: {every: 700}, action: close}",
        "- {match: {every: 500}, action: goaway}",
        "- {match: {every: 900}, action: goaway, reason: Shutdown, processed: true}",
    ]

    /// Requests a message's preview from many callers at once: each is a write that waits or is refused.
    private func fillQueues(_ event: TortureSchedule.Event) async {
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<Self.burst {
                group.addTask {
                    let url = "\(await world.address())/peal/v1/apps"
                    let body: JSON = ["name": .string("burst \(event.form) \(number)")]
                    _ = try? await world.http.call("POST", url, body.bytes, key: "burst-\(event.form)-\(number)")
                }
            }
        }
    }
}
