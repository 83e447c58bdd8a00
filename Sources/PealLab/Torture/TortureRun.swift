import Foundation
import PealCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// One run: sends the messages of a schedule, causes its faults, waits for the end and judges.
package struct TortureRun: Sendable {
    package struct Result: Sendable {
        package var verdict = TortureLedger.Verdict()
        /// The longest time during which devices waited and none received anything.
        package var longestStall = 0.0
        package var seconds = 0.0
        /// Faults that this machine does not permit, with the reason.
        package var skipped: [String] = []
        /// The number of resent devices according to the servers, if they count it.
        package var resent: Int?
        /// The folder with the logs, if the run failed.
        package var folder: String?
    }

    private let schedule: TortureSchedule
    private let setting: TortureSetting
    private let say: @Sendable (String) -> Void

    package init(
        _ schedule: TortureSchedule, _ setting: TortureSetting, say: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.schedule = schedule
        self.setting = setting
        self.say = say
    }

    /// - Throws: `TortureFailure` when the run could not be carried out.
    package func run() async throws -> Result {
        let world = try await TortureWorld(setting, schedule.plan)
        do {
            let result = try await run(in: world)
            await world.end(keepingFolder: result.folder != nil)
            return result
        } catch {
            await world.end(keepingFolder: true)
            throw TortureFailure("\(error); logs in \(world.folder)")
        }
    }

    private func run(in world: TortureWorld) async throws -> Result {
        let clock = ContinuousClock()
        let begun = clock.now
        let app = try await TorturePhones(schedule, world).prepare()
        say("\(schedule.plan.devices) devices are registered")
        let record = TortureRecord(schedule)
        let watch = TortureWatch(record, world)
        let faults = TortureFaults(schedule, world, record, say: say)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await watch.run() }
            try await send(app, faults, world, record)
            group.cancelAll()
        }
        await watch.readRest()
        try await record.note(await world.control("GET", "/inbox/summary"))
        var result = Result(skipped: await faults.skipped())
        result.verdict = await record.verdict(pagesInFlight: setting.pagesInFlight)
        result.longestStall = await record.longestStall
        result.resent = await record.resent
        result.seconds = (clock.now - begun) / .seconds(1)
        result.folder = result.verdict.violations.isEmpty ? nil : world.folder
        return result
    }

    /// Sends everything while the faults occur, and waits until every message has ended or the time has run out.
    private func send(
        _ app: String, _ faults: TortureFaults, _ world: TortureWorld, _ record: TortureRecord
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await faults.run() }
            group.addTask { try await TortureAuthor(schedule, world, app, record).run() }
            try await group.waitForAll()
        }
        try await faults.heal()
        say("all messages are accepted and every fault is over")
        let clock = ContinuousClock()
        let end = clock.now + .seconds(setting.drainSeconds)
        var open = schedule.messages
        while !open.isEmpty, clock.now < end {
            _ = try await world.revive()
            open = await reportEnds(of: open, app, world, record)
            if !open.isEmpty { try await Task.sleep(for: .milliseconds(200)) }
        }
    }

    /// Reads the counts of messages. Returns those that have not ended.
    private func reportEnds(
        of messages: [TortureSchedule.Message], _ app: String, _ world: TortureWorld, _ record: TortureRecord
    ) async -> [TortureSchedule.Message] {
        var open: [TortureSchedule.Message] = []
        for message in messages {
            guard let id = await record.ids[message.number],
                let answer = try? await world.http.call("GET", "\(await world.address())\(app)/messages/\(id)"),
                answer.status == 200
            else {
                open.append(message)
                continue
            }
            if await !record.reported(message.number, answer.json) { open.append(message) }
        }
        return open
    }
}

/// What a run knows so far, shared by the tasks that send, cause faults and observe.
actor TortureRecord {
    private let schedule: TortureSchedule
    private let clock = ContinuousClock()
    private(set) var ledger: TortureLedger
    private(set) var ids: [Int: String] = [:]
    private(set) var longestStall = 0.0
    private(set) var resent: Int?
    private var open: Set<Int> = []
    private var lastProgress: ContinuousClock.Instant?

    init(_ schedule: TortureSchedule) {
        self.schedule = schedule
        ledger = TortureLedger(schedule)
    }

    func crashed() { ledger.crashes += 1 }
    func paused() { ledger.pauses += 1 }

    func accepted(_ message: Int, id: String) {
        ids[message] = id
        if open.isEmpty { lastProgress = clock.now }
        open.insert(message)
    }

    /// Items of the simulator's inbox, oldest first. A stall is the time between two items while a device waits.
    func received(_ items: [JSON]) {
        for item in items {
            guard let number = item["payload"]?["n"]?.stringValue.flatMap({ Int($0) }),
                let device = item["device"]?.stringValue.flatMap({ Int($0, radix: 16) }),
                let id = item["apns_id"]?.stringValue
            else { continue }
            ledger.received(number, device: device, id: id)
            if schedule.messages.indices.contains(number), ledger.isComplete(schedule.messages[number]) {
                open.remove(number)
            }
        }
        let now = clock.now
        if !open.isEmpty, let lastProgress { longestStall = max(longestStall, (now - lastProgress) / .seconds(1)) }
        if !items.isEmpty { lastProgress = now }
    }

    /// Returns whether the message has ended.
    func reported(_ message: Int, _ json: JSON) -> Bool {
        var counts = TortureLedger.Counts()
        func count(_ name: String) -> Int { json["counts"]?[name]?.wholeNumber ?? 0 }
        counts.devices = json["audience"]?["devices"]?.wholeNumber ?? 0
        counts.accepted = count("accepted")
        counts.rejected = count("rejected")
        counts.retired = count("retired")
        counts.expired = count("expired")
        counts.suppressed = count("suppressed")
        counts.pending = count("pending")
        if let again = json["counts"]?["resent"]?.wholeNumber { resent = (resent ?? 0) + again }
        let state = json["state"]?.stringValue ?? ""
        counts.state = state
        if counts.devices == 0 { counts.endUnplanned = .init(rawValue: state) }
        counts.isFinal = ["sent", "expired", "cancelled", "failed"].contains(state) && counts.pending == 0
        ledger.reported(message, counts)
        if counts.isFinal { open.remove(message) }
        return counts.isFinal
    }

    /// The simulator's counters of requests that it left without an answer.
    func note(_ summary: JSON) {
        let disturbed = summary["disturbed"]
        ledger.closedConnections = (disturbed?["closed"]?.wholeNumber ?? 0) + (disturbed?["goaway"]?.wholeNumber ?? 0)
        ledger.lostAnswers = (disturbed?["reset"]?.wholeNumber ?? 0) + (disturbed?["silence"]?.wholeNumber ?? 0)
    }

    func verdict(pagesInFlight: Int) -> TortureLedger.Verdict { ledger.verdict(pagesInFlight: pagesInFlight) }
}

/// Reads the simulator's inbox while the run lasts: it keeps a limited number of items.
struct TortureWatch: Sendable {
    private static let itemsPerRead = 5000

    private let record: TortureRecord
    private let world: TortureWorld
    private let cursor = TortureCursor()

    init(_ record: TortureRecord, _ world: TortureWorld) {
        self.record = record
        self.world = world
    }

    /// Reads until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            let count = await read()
            if count < Self.itemsPerRead { try? await Task.sleep(for: .milliseconds(200)) }
        }
    }

    /// Reads the rest.
    func readRest() async { while await read() > 0 {} }

    private func read() async -> Int {
        let after = await cursor.last
        let path = "/inbox?after=\(after)&limit=\(Self.itemsPerRead)&environment=production"
        let items = (try? await world.control("GET", path))?["items"]?.arrayValue ?? []
        if let last = items.last?["seq"]?.wholeNumber { await cursor.move(to: last) }
        await record.received(items)
        return items.count
    }
}

/// The number of the last item that was read.
actor TortureCursor {
    private(set) var last = 0

    func move(to number: Int) { last = number }
}

extension JSON {
    fileprivate var wholeNumber: Int? { integerValue.map(Int.init) }
}
