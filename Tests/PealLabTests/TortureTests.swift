import Foundation
import PealCore
import PealLab
import PealTesting
import Testing

@Suite("The schedule of a torture run")
struct TortureScheduleTests {
    private static func schedule(_ seed: UInt64, _ change: (inout TortureSchedule.Plan) -> Void = { _ in })
        -> TortureSchedule
    {
        var plan = TortureSchedule.Plan()
        plan.seed = seed
        change(&plan)
        return TortureSchedule(plan)
    }

    @Test("is the same for the same seed, and another for another")
    func repeatable() {
        #expect(Self.schedule(7) == Self.schedule(7))
        #expect(Self.schedule(7).events != Self.schedule(8).events)
        #expect(Self.schedule(7).messages != Self.schedule(8).messages)
    }

    @Test("has every chosen fault and as many kills as asked for, in order of time", arguments: [0, 3, 9])
    func faults(_ kills: Int) {
        let schedule = Self.schedule(1) { $0.kills = kills }
        #expect(schedule.events.count { $0.fault == .kill } == kills)
        #expect(Set(schedule.events.map(\.fault)).union([.kill]) == Set(TortureFault.allCases))
        #expect(schedule.events.map(\.at) == schedule.events.map(\.at).sorted())
        #expect(schedule.events.allSatisfy { (0...schedule.plan.seconds).contains($0.at) })
        #expect(Self.schedule(1) { ($0.kills, $0.faults) = (0, []) }.events == [])
    }

    @Test("kills any of several servers")
    func nodes() {
        let schedule = Self.schedule(1) { ($0.kills, $0.nodes) = (50, 3) }
        #expect(Set(schedule.events.filter { $0.fault == .kill }.map(\.node)) == [0, 1, 2])
    }
}

@Suite("The ledger of a torture run")
struct TortureLedgerTests {
    private let schedule: TortureSchedule = {
        var plan = TortureSchedule.Plan()
        (plan.messages, plan.devices) = (1, 200)
        return TortureSchedule(plan)
    }()

    private var audience: [Int] { schedule.devices(of: schedule.messages[0].audience) }
    private var living: [Int] { audience.filter { !schedule.isDead($0) } }

    /// A ledger in which all devices except `missing` have the message, and the server reports `accepted` for all.
    private func ledger(
        missing: Int = 0, _ change: (inout TortureLedger.Counts) -> Void = { _ in }
    ) -> TortureLedger {
        var ledger = TortureLedger(schedule)
        for device in living.dropFirst(missing) { ledger.received(0, device: device, id: "\(device)") }
        var counts = TortureLedger.Counts()
        counts.isFinal = true
        counts.retired = audience.count - living.count
        counts.accepted = living.count - missing
        change(&counts)
        if counts.devices == 0 { counts.devices = counts.sum }
        ledger.reported(0, counts)
        return ledger
    }

    @Test("passes a run in which every device has the message or another outcome")
    func good() {
        #expect(ledger().verdict(pagesInFlight: 1).violations == [])
        let other = ledger(missing: 1) { $0.suppressed = 1 }.verdict(pagesInFlight: 1)
        #expect(other.violations == [] && other.lost == 0 && other.suppressed == 1)
    }

    @Test("finds a notification that is lost although the counts add up")
    func lost() {
        let verdict = ledger(missing: 1) { $0.state = "sent" }.verdict(pagesInFlight: 1)
        #expect(verdict.lost == 1)
        #expect(
            verdict.violations == [
                "message 0 was lost for 1 of \(living.count) devices: sent, \(living.count - 1) devices, "
                    + "\(living.count - 1) accepted, 0 retired",
                "1 notifications were lost",
            ])
    }

    @Test(
        "counts every device when a message expired or was cancelled before its audience was determined",
        arguments: [TortureLedger.UnplannedEnd.expired, .cancelled])
    func unplanned(end: TortureLedger.UnplannedEnd) {
        let verdict = ledger(missing: living.count) {
            $0 = .init()
            $0.isFinal = true
            $0.endUnplanned = end
        }.verdict(pagesInFlight: 1)
        #expect(verdict.violations == [] && verdict.lost == 0)
        #expect((end == .expired ? verdict.expired : verdict.suppressed) == living.count)
    }

    @Test("finds a message that did not end, counts that do not add up, and acceptances without a notification")
    func counts() {
        #expect(ledger { $0.isFinal = false }.verdict(pagesInFlight: 1).violations == ["message 0 did not end"])
        let sums = ledger { $0.devices = 1000 }.verdict(pagesInFlight: 1).violations
        #expect(sums.count == 1 && sums[0].contains("for 1000 devices"))
        let unseen = ledger(missing: 1) { $0.accepted += 1 }.verdict(pagesInFlight: 1).violations
        #expect(unseen.contains { $0.contains("as accepted") })
        #expect(TortureLedger(schedule).verdict(pagesInFlight: 1).violations == ["message 0 was never accepted"])
    }

    @Test("allows as many duplicates as crashes explain, under the same id")
    func duplicates() {
        var ledger = ledger()
        ledger.received(0, device: living[0], id: "\(living[0])")
        #expect(ledger.verdict(pagesInFlight: 1).violations == ["1 duplicates, at most 0 are allowed"])
        ledger.crashes = 1
        #expect(ledger.verdict(pagesInFlight: 1).duplicatesMax == Limits.pageDevicesPerSlot + Limits.pageDevicesMax)
        #expect(ledger.verdict(pagesInFlight: 1).violations == [])
        ledger.received(0, device: living[0], id: "another")
        let violations = ledger.verdict(pagesInFlight: 1).violations
        #expect(violations == ["message 0 reached 1 devices under more than one apns-id"])
    }

    @Test("finds a device that has a message which was not for it")
    func strangers() throws {
        var ledger = ledger()
        ledger.received(0, device: 100_000, id: "x")
        #expect(ledger.verdict(pagesInFlight: 1).violations == ["message 0 reached 1 devices outside its audience"])
    }
}

/// A few seconds with real programs; `make torture` runs for minutes.
@Suite("Torture with real programs")
struct TortureRunTests {
    @Test(
        "loses nothing and duplicates no more than its bound", .timeLimit(.minutes(5)),
        arguments: [(nil, 1), (TortureSetting.ownPostgres, 3)])
    func short(_ store: String?, _ nodes: Int) async throws {
        var plan = TortureSchedule.Plan()
        (plan.seconds, plan.messages, plan.devices, plan.kills) = (6, 20, 300, 2)
        plan.faults = [.pause, .connections, .answers]
        plan.nodes = nodes
        var setting = TortureSetting(binaries: BuiltPrograms.folder)
        setting.pagesInFlight = 1
        setting.store = store
        let result = try await TortureRun(TortureSchedule(plan), setting).run()
        #expect(result.verdict.violations == [], "logs in \(result.folder ?? "none")")
        #expect(result.verdict.delivered > 1000)
    }
}
