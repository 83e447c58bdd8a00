import PealCore
import PealExperiments
import PealMomentTraining
@testable import PealStore
import PealTesting
import Testing

@Suite("Figures of campaigns")
struct FigureStoreTests {
    /// A message of an experiment to users `u1` to `u20`, or more, of whom every third opens it.
    static func send(
        _ fixture: Fixture, campaign: String = "daily", openEvery: Int = 3, method: DeliveryWindow.Method = .experiment,
        hours: Int64 = 1, users: Int = 20, endsEarly: Bool = false, opensApp: Bool = false
    ) async throws -> MessageID {
        var draft = fixture.draft(.users("u1"), lifeSeconds: hours * 3600 + 86_400)
        draft.audience.users = (1...users).map { "u\($0)" }
        draft.audience.platforms = [.ios]
        draft.campaignID = campaign
        draft.window = DeliveryWindow(
            until: fixture.now + .seconds(hours * 3600), method: method, holdSeconds: 10, name: nil)
        let (app, now, made) = (fixture.app, fixture.now, draft)
        try await fixture.store.write(.intake) { store in
            try store.insertMessage(made)
            for moment in try store.moments(app: app, message: made.id) {
                let device = try #require(
                    try store.devices(app: app, DeviceFilter(userID: moment.userID), after: 0, limit: 1).first)
                let number = UInt64(device.key)
                if moment.plannedArm == .contextAware {
                    let claim = MomentClaim(
                        id: ClaimID(high: number, low: made.id.low),
                        target: .init(device: device.key, route: .apnsProduction), rev: 1, hasLedger: true, score: nil)
                    _ = try store.apply(.claim(claim), to: moment, now: now)
                }
            }
        }
        fixture.time.advance(by: .seconds(endsEarly ? 60 : hours * 3600))
        _ = try await fixture.store.write(.control) { [now = fixture.now] in
            try $0.fireDueMoments(now: now, limit: 1000)
        }
        let worker = Worker(fixture: fixture)
        for slice in try await fixture.lease() {
            let page = try await worker.page(of: slice)
            var settlement = worker.settlement(slice, page, outcome: .accepted)
            let entries = page.keys.map { DeliveryLogEntry(key: $0, outcome: .accepted, reason: "", attempt: 1) }
            settlement.logRow?.data = DeliveryLog.encode(entries)
            settlement.alerts = entries
            _ = try await worker.settle([settlement])
        }
        let later = fixture.now
        try await fixture.store.write(.intake) { store in
            for moment in try store.moments(app: app, message: made.id) {
                guard let key = moment.device, let device = try store.device(app: app, key: key) else { continue }
                if opensApp, key.isMultiple(of: 2) {
                    let visit = DeviceEvent(
                        id: .init(high: UInt64(key), low: made.id.low &+ 1), kind: .appOpened, at: later)
                    _ = try MomentReader(store: store, device: device, app: app).record([visit], in: store, now: later)
                }
                let isOpened = Int(moment.userID.dropFirst()).map { $0 % openEvery == 0 } ?? false
                let event = DeviceEvent(
                    id: .init(high: UInt64(key), low: made.id.low), kind: isOpened ? .opened : .shown,
                    message: made.id, at: later)
                _ = try MomentReader(store: store, device: device, app: app).record([event], in: store, now: later)
            }
        }
        return made.id
    }

    private static func totals(_ fixture: Fixture, _ campaign: String = "daily") async throws -> CampaignReport {
        try await CampaignVerbs(store: fixture.store).report(campaign, app: fixture.app)
    }

    static func experiment(_ fixture: Fixture) async throws -> ExperimentReport {
        let (app, now) = (fixture.app, fixture.now)
        let found = try await fixture.store.read { try $0.experiment(app: app, campaign: "daily", now: now) }
        return ExperimentReport(try #require(found))
    }

    /// What people read of an experiment, as text, so that a failure shows the difference.
    private static func summary(_ report: ExperimentReport) -> String {
        let arms = Arm.allCases.map { arm in
            "\(arm) \(report.totals(arm)) \(ExperimentFacts.Way.allCases.map { report.messages(arm, $0) }) "
                + "\(report.delays(arm)) \(report.facts.guards[arm]?.messages ?? .init())"
        }
        let looks = report.looks.map { "\($0.at) \(rounded($0.difference)) \(rounded($0.interval.upperBound))" }
        return """
            \(report.facts.run) \(arms) \(looks) \(report.decision) \
            \(report.comparison.map { [rounded($0.difference), rounded($0.variance)] } ?? []) \(report.alarm)
            """
    }

    private static func rounded(_ value: Double) -> Double { (value * 1e9).rounded() / 1e9 }

    /// Prunes piece by piece, and after each piece as a server that dies: without the commit.
    private static func prune(_ fixture: Fixture, limit: Int, check: () async throws -> Void) async throws {
        struct Killed: Error {}
        let now = fixture.now
        var count = 0
        repeat {
            await #expect(throws: Killed.self) {
                try await fixture.store.write(.rest) { store -> Void in
                    _ = try store.prune(now: now, limit: limit)
                    throw Killed()
                }
            }
            count = try await fixture.store.write(.rest) { try $0.prune(now: now, limit: limit) }
            try await check()
        } while count > 0
    }

    private static func messageCount(_ fixture: Fixture) async throws -> Int {
        try await PruningTests.count("message", app: fixture.app, fixture.test)
    }

    @Test(
        "are the same before, between and after the pieces in which messages are pruned",
        arguments: StoreUnderTest.allCases)
    func outlive(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        for number in 1...20 { try await fixture.install(number, user: "u\(number)") }
        _ = try await Self.send(fixture, opensApp: true)
        fixture.time.advance(by: .seconds(2 * 86_400))
        _ = try await Self.send(fixture, openEvery: 2)
        fixture.time.advance(by: .seconds(2 * 86_400))
        let (totals, experiment) = (try await Self.totals(fixture), try await Self.experiment(fixture))
        #expect(totals.messages == 2 && totals.total.accepted == 40 && totals.receipts[.opened] == 6 + 10)
        let arms = Arm.allCases.map { experiment.totals($0) }
        let sessions = experiment.facts.guards.values.reduce(CaseSums()) { $0 + $1.messages.withoutSession }
        #expect(sessions.occasions == 20 && sessions.users == 10, "both messages to the ten phones that report")
        #expect(sessions.squaredOccasions == 10 * 2 * 2)
        #expect(sessions.cases == 10 && sessions.squaredCases == 10 && sessions.products == 20, "the second message")
        #expect(arms.reduce(0) { $0 + $1.users } == 20 && arms.reduce(0) { $0 + $1.opens } == 16)
        #expect(arms.allSatisfy { $0.users > 1 } && experiment.looks.count == 2)
        #expect(Arm.allCases.flatMap { experiment.delays($0) }.reduce(0, +) == 16)
        let summary = Self.summary(experiment)

        func check() async throws {
            let (totalsNow, experimentNow) = (try await Self.totals(fixture), try await Self.experiment(fixture))
            #expect(totalsNow == totals)
            #expect(Self.summary(experimentNow) == summary)
        }
        // The first message is past its retention, the second is not.
        fixture.time.advance(by: .seconds(StoreRetention().messageSeconds - 3 * 86_400))
        try await Self.prune(fixture, limit: 3, check: check)
        #expect(try await Self.messageCount(fixture) == 1)

        fixture.time.advance(by: .seconds(4 * 86_400))
        try await Self.prune(fixture, limit: 7, check: check)
        #expect(try await Self.messageCount(fixture) == 0)
        #expect(try await Self.experiment(fixture).facts.isOver)
        for table in ["moment", "experiment", "experiment_arm"] {
            #expect(try await PruningTests.count(table, app: fixture.app, fixture.test) == 0, "\(table)")
        }
        let names = try await fixture.store.read { [app = fixture.app] in
            try $0.campaignIDs(app: app, after: nil, limit: 9)
        }
        #expect(names == ["daily"])
    }

    @Test(
        "of an experiment are read from its own messages, without those of the app's others",
        arguments: [
            ExperimentTable.matured("", since: nil, app: 1, by: Timestamp(milliseconds: 1)),
            ExperimentTable.deliveries(.campaign("", since: Timestamp(milliseconds: 1)), app: 1),
            ExperimentTable.delays(.campaign("", since: nil), app: 1),
            ExperimentTable.cases("", since: nil, app: 1, by: Timestamp(milliseconds: 1)),
        ])
    func plan(_ statement: SQL) async throws {
        let steps = try await QueryPlanTests.steps(of: statement)
        #expect(steps.contains { $0.contains("g USING INDEX message_unsummed (app=? AND campaign_id=?)") }, "\(steps)")
        #expect(steps.contains { $0.contains("m USING PRIMARY KEY (app=? AND message=?)") }, "\(steps)")
    }

    @Test("are added up although those of an earlier message cannot be read", arguments: StoreUnderTest.allCases)
    func unreadable(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        for number in 1...20 { try await fixture.install(number, user: "u\(number)") }
        let damaged = try await Self.send(fixture)
        fixture.time.advance(by: .seconds(86_400))
        let sound = try await Self.send(fixture)
        fixture.time.advance(by: ExperimentTable.finality + .seconds(3600))
        try await fixture.test.engine.write(.control) {
            _ = try $0.execute("UPDATE moment SET arm = 99 WHERE message = \(damaged)")
        }
        let now = fixture.now
        let refusal = await #expect(throws: PealError.self) {
            try await fixture.store.write(.rest) { try $0.prune([.outcomes], now: now, limit: 1, after: [:]) }
        }
        #expect(refusal?.message.contains("message \(damaged)") == true)
        let first = try #require(
            try await fixture.store.read { try $0.nextToPrune(.outcomes, after: nil, now: now) })
        #expect(first.message == damaged.bytes)
        let count = try await fixture.store.write(.rest) {
            try $0.prune([.outcomes], now: now, limit: 100, after: [.outcomes: first])
        }
        #expect(count > 0)
        let summed = try await fixture.test.engine.read {
            try $0.values("SELECT message FROM message WHERE ending = 2", MessageID.self)
        }
        #expect(summed == [sound])
        #expect(try await fixture.store.read { try $0.nextToPrune(.outcomes, after: first, now: now) } == nil)
    }

    @Test("are added up when they are final, long before messages are pruned", arguments: StoreUnderTest.allCases)
    func summed(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        for number in 1...20 { try await fixture.install(number, user: "u\(number)") }
        _ = try await Self.send(fixture)
        fixture.time.advance(by: .seconds(86_400))
        let early = try await Self.experiment(fixture)
        try await fixture.pruneAll()
        #expect(try await Self.experiment(fixture).facts.past.isEmpty, "opens may still be reported")
        #expect(Arm.allCases.reduce(0) { $0 + early.totals($1).messages } == 20)

        fixture.time.advance(by: .seconds(6 * 3600))
        _ = try await Self.send(fixture, openEvery: 2)
        let before = Self.summary(try await Self.experiment(fixture))
        try await Self.prune(fixture, limit: 5) {
            let present = Self.summary(try await Self.experiment(fixture))
            #expect(present == before)
        }
        let after = try await Self.experiment(fixture)
        #expect(after.facts.past.map(\.sums.messages).reduce(0, +) == 20 && after.facts.past.count == 2)
        #expect(try await Self.messageCount(fixture) == 2)

        // The users of a later message that is not in the sums are the same people.
        fixture.time.advance(by: .seconds(86_400))
        let both = try await Self.experiment(fixture)
        #expect(Arm.allCases.reduce(0) { $0 + both.totals($1).users } == 20)
        #expect(Arm.allCases.reduce(0) { $0 + both.totals($1).messages } == 40)
        #expect(Arm.allCases.reduce(0) { $0 + both.totals($1).opens } == 16)
    }

    @Test("know what got worse for people", arguments: StoreUnderTest.allCases)
    func guardrails(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        for number in 1...20 { try await fixture.install(number, user: "u\(number)") }
        _ = try await Self.send(fixture)
        let (app, now) = (fixture.app, fixture.now)
        try await fixture.test.engine.write(.control) { connection in
            try connection.execute(
                """
                UPDATE device SET state = 0, retired_at = \(now), retired_reason = \("Unregistered")
                WHERE app = \(app) AND seq <= \(3)
                """)
            try connection.execute(
                """
                UPDATE device SET state = 0, retired_at = \(now), retired_reason = \(DeviceTable.addressMoved)
                WHERE app = \(app) AND seq = \(4)
                """)
            try connection.execute("UPDATE moment SET state = \(code: Moment.State.dismissed) WHERE device > \(14)")
            try connection.execute("UPDATE moment SET cancel_requested = 1 WHERE device = \(20)")
        }
        func guards() async throws -> [Int64] {
            let found = try await Self.experiment(fixture).facts.guards.values
            let sum = { (value: (ExperimentFacts.Guards) -> Int64) in found.reduce(0) { $0 + value($1) } }
            return [sum(\.removed.users), sum(\.removed.cases), sum(\.messages.dismissed.cases)]
        }
        #expect(try await guards() == [20, 3, 5], "without the one that was cancelled too late")
        fixture.time.advance(by: .seconds(2 * 86_400))
        try await fixture.pruneAll()
        #expect(try await guards() == [20, 3, 5], "dismissals are among the sums")
    }

    @Test("wait until opens no longer count", arguments: StoreUnderTest.allCases)
    func maturity(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        for number in 1...20 { try await fixture.install(number, user: "u\(number)") }
        let days = StoreRetention().messageSeconds / 86_400 + 5
        _ = try await Self.send(fixture, hours: days * 24, endsEarly: true)
        fixture.time.advance(by: .seconds(days * 86_400))
        try await fixture.pruneAll()
        #expect(try await Self.messageCount(fixture) == 1)
        fixture.time.advance(by: .seconds(86_400))
        try await fixture.pruneAll()
        #expect(try await Self.messageCount(fixture) == 0)
        let experiment = try await Self.experiment(fixture)
        #expect(Arm.allCases.reduce(0) { $0 + experiment.totals($1).messages } == 20)
    }

    @Test("of a new experiment do not mix with those of the last one", arguments: StoreUnderTest.allCases)
    func again(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        for number in 1...20 { try await fixture.install(number, user: "u\(number)") }
        _ = try await Self.send(fixture)
        fixture.time.advance(by: .seconds(StoreRetention().messageSeconds + 86_400))
        try await fixture.pruneAll()
        let first = try await Self.experiment(fixture)
        _ = try await Self.send(fixture, openEvery: 1)
        fixture.time.advance(by: .seconds(2 * 86_400))
        let second = try await Self.experiment(fixture)
        #expect(first.facts.isOver && !second.facts.isOver && second.facts.run.salt != first.facts.run.salt)
        #expect(Arm.allCases.reduce(0) { $0 + second.totals($1).opens } == 20)
        #expect(try await Self.totals(fixture).messages == 2, "the campaign goes on")
    }

    @Test("do not name users, and stay when a user is erased", arguments: StoreUnderTest.allCases)
    func erased(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        for number in 1...20 { try await fixture.install(number, user: "u\(number)") }
        _ = try await Self.send(fixture)
        _ = try await Self.send(fixture, campaign: "plain", method: .contextAware)
        fixture.time.advance(by: .seconds(StoreRetention().messageSeconds + 86_400))
        try await fixture.pruneAll()
        let (totals, summary) = (try await Self.totals(fixture), Self.summary(try await Self.experiment(fixture)))
        let (app, now) = (fixture.app, fixture.now)
        _ = try await fixture.store.write(.control) { try $0.deleteUser(app: app, userID: "u3", now: now) }
        try await fixture.pruneAll()
        #expect(try await Self.totals(fixture) == totals)
        #expect(try await Self.summary(Self.experiment(fixture)) == summary)
        #expect(try await Self.totals(fixture, "plain").total.accepted == 20)
        fixture.time.advance(by: .seconds(Limits.statisticsDaysLifeSeconds))
        try await fixture.pruneAll()
        await #expect(throws: PealError.self) { try await Self.totals(fixture) }
    }
}
