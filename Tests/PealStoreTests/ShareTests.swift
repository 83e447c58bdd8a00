import Logging
import PealCore
import PealExperiments
import PealMomentTraining
@testable import PealStore
import PealTesting
import Testing

@Suite("The share of an experiment")
struct ShareTests {
    private static let users = (1...80).map { "u\($0)" }

    /// The arms of a message's users, as they are assigned.
    private static func arms(
        _ fixture: Fixture, campaign: String = "daily", hours: Int64 = 1
    ) async throws -> [String: Arm] {
        var draft = fixture.draft(.users("u1"))
        draft.audience.users = users
        draft.audience.platforms = [.ios]
        draft.campaignID = campaign
        draft.window = DeliveryWindow(
            until: fixture.now + .seconds(hours * 3600), method: .experiment, holdSeconds: 10, name: nil)
        let made = draft
        return try await fixture.store.write(.intake) { store in
            try store.insertMessage(made)
            let moments = try store.moments(app: made.app, message: made.id)
            return Dictionary(uniqueKeysWithValues: moments.map { ($0.userID, $0.plannedArm) })
        }
    }

    private static func set(_ fixture: Fixture, _ change: @escaping @Sendable (inout AppSettings) -> Void) async throws
    {
        try await fixture.store.write(.control) { [app = fixture.app] store in
            var changed = try #require(try store.app(key: app))
            change(&changed.settings)
            try store.updateApp(changed)
        }
    }

    private static func run(_ fixture: Fixture, _ campaign: String = "daily") async throws -> ExperimentRun {
        let found = try await fixture.store.read { [app = fixture.app] in
            try $0.experimentRun(of: campaign, app: app)
        }
        return try #require(found)
    }

    /// Changes the share as the API does.
    private static func change(_ fixture: Fixture, to share: Double) async throws {
        let report = try await FigureStoreTests.experiment(fixture)
        try await change(fixture, to: share, after: report.facts.run, report.result)
    }

    private static func change(
        _ fixture: Fixture, to share: Double, after run: ExperimentRun,
        _ result: ShareChange.Result = .init(verdict: "undecided", arms: [:], lift: nil, liftInterval: nil)
    ) async throws {
        _ = try await ExperimentVerbs(store: fixture.store).changeShare(
            of: "daily", to: share, after: run, result, app: fixture.app, VerbCall(actor: "test", now: fixture.now)
        ) { _ in Reply(status: 200, body: []) }
    }

    @Test("is the one that the app had when the experiment began", arguments: StoreUnderTest.allCases)
    func kept(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.install(1, user: "u1")
        _ = try await Self.arms(fixture)
        try await Self.set(fixture) { $0[.experimentShare] = 0 }
        #expect(try await Self.run(fixture).share == 0.5)
        // Users who come later are assigned like the first.
        try await fixture.test.engine.write(.control) {
            _ = try $0.execute("DELETE FROM experiment_arm WHERE app = \(fixture.app)")
        }
        #expect(try await Self.arms(fixture).values.count { $0 == .contextAware } > 20)
        #expect(Set(try await Self.arms(fixture, campaign: "other").values) == [.traditional])
        #expect(try await FigureStoreTests.experiment(fixture).facts.run.share == 0.5)
    }

    @Test("of an experiment of an earlier version is the app's", arguments: StoreUnderTest.allCases)
    func former(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.install(1, user: "u1")
        _ = try await Self.arms(fixture)
        try await fixture.test.engine.write(.control) {
            try $0.execute("UPDATE experiment SET share = NULL WHERE app = \(fixture.app)")
            try $0.execute("DELETE FROM experiment_arm WHERE app = \(fixture.app)")
        }
        try await Self.set(fixture) { $0[.experimentShare] = 0.25 }
        #expect(try await Self.run(fixture).share == 0.25)
        _ = try await Self.arms(fixture)
        try await Self.set(fixture) { $0[.experimentShare] = 0.75 }
        #expect(try await Self.run(fixture).share == 0.25, "its next assignment fixes it")
    }

    @Test(
        "moves no more users than it must, and the figures begin again", arguments: StoreUnderTest.allCases)
    func changed(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        for number in 1...20 { try await fixture.install(number, user: "u\(number)") }
        // Open until after the end, so that it does not mature.
        let before = try await Self.arms(fixture, hours: 240)
        _ = try await FigureStoreTests.send(fixture)
        fixture.time.advance(by: .seconds(2 * 86_400))
        try await fixture.pruneAll()
        // One message is in the sums, one has matured since, and one is still open.
        _ = try await FigureStoreTests.send(fixture)
        fixture.time.advance(by: .seconds(86_400 + 3600))
        _ = try await FigureStoreTests.send(fixture, hours: 6, endsEarly: true)
        let first = try await FigureStoreTests.experiment(fixture)
        #expect(!first.facts.past.isEmpty && Arm.allCases.reduce(0) { $0 + first.totals($1).messages } == 40)

        try await Self.change(fixture, to: 0.95)
        let empty = try await FigureStoreTests.experiment(fixture)
        #expect(empty.facts.run.share == 0.95 && empty.facts.run.salt == first.facts.run.salt)
        #expect(Arm.allCases.allSatisfy { empty.totals($0).users == 0 })
        #expect(empty.facts.guards.values.allSatisfy { $0.removed.users == 0 && $0.messages == .init() })
        #expect(empty.facts.deliveries.isEmpty && empty.facts.delays.isEmpty && empty.facts.devices.total == 0)
        let change = try #require(empty.facts.changes.first)
        #expect(change.formerShare == 0.5 && change.share == 0.95 && change.actor == "test")
        #expect(change.result.arms == first.result.arms && change.result.verdict == first.result.verdict)
        #expect(abs((change.result.lift ?? 9) - (first.result.lift ?? 0)) < 1e-6 && empty.facts.changes.count == 1)

        fixture.time.advance(by: .seconds(60))
        let after = try await Self.arms(fixture)
        #expect(before.allSatisfy { $1 == .traditional || after[$0] == .contextAware }, "nobody goes back")
        #expect((0...20).contains(after.values.count { $0 == .traditional }), "the holdout")
        // The open message matures: it counts in neither run.
        fixture.time.advance(by: .seconds(2 * 86_400))
        try await fixture.pruneAll()
        let late = try await FigureStoreTests.experiment(fixture)
        let counted = Arm.allCases.reduce(0) { $0 + late.totals($1).messages }
        #expect(counted == 20, "those of the 80 users who have a device")
        #expect(late.facts.changes == empty.facts.changes)
    }

    @Test("is changed once by those who saw the same result", arguments: StoreUnderTest.allCases)
    func conflicts(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.install(1, user: "u1")
        await #expect(throws: PealError.notFound("experiment")) {
            try await Self.change(
                fixture, to: 1, after: ExperimentRun(salt: "s", share: 0, startedAt: fixture.now))
        }
        _ = try await Self.arms(fixture)
        let seen = try await Self.run(fixture)
        try await Self.change(fixture, to: 0.95)
        await #expect { try await Self.change(fixture, to: 0, after: seen) } throws: {
            ($0 as? PealError)?.code == .conflict
        }
        await #expect { try await Self.change(fixture, to: 0.95) } throws: { ($0 as? PealError)?.code == .conflict }
        await #expect { try await Self.change(fixture, to: 0.950_000_1) } throws: {
            ($0 as? PealError)?.code == .conflict
        }
        #expect(try await Self.run(fixture).share == 0.95)
    }

    @Test("outlives the campaign's messages", arguments: StoreUnderTest.allCases)
    func outlives(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        for number in 1...20 { try await fixture.install(number, user: "u\(number)") }
        _ = try await FigureStoreTests.send(fixture)
        try await Self.change(fixture, to: 0.95)
        fixture.time.advance(by: .seconds(60))
        _ = try await FigureStoreTests.send(fixture)
        fixture.time.advance(by: .seconds(StoreRetention().messageSeconds + 86_400))
        try await fixture.pruneAll()
        let over = try await FigureStoreTests.experiment(fixture)
        #expect(over.facts.isOver && over.facts.run.share == 0.95 && over.facts.changes.count == 1)
        #expect(Arm.allCases.reduce(0) { $0 + over.totals($1).messages } == 20)
        _ = try await Self.arms(fixture)
        #expect(try await Self.run(fixture).share == 0.95)
    }

    @Test("counts users once after an experiment that is over", arguments: StoreUnderTest.allCases)
    func again(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        for number in 1...20 { try await fixture.install(number, user: "u\(number)") }
        try await Self.set(fixture) { $0[.experimentPerUser] = true }
        for _ in 0..<2 {
            _ = try await FigureStoreTests.send(fixture)
            fixture.time.advance(by: .seconds(StoreRetention().messageSeconds + 86_400))
            try await fixture.pruneAll()
            let report = try await FigureStoreTests.experiment(fixture)
            #expect(report.facts.isOver && Arm.allCases.reduce(0) { $0 + report.totals($1).users } == 20)
        }
    }

    @Test("divides users equally in all campaigns if the app's settings say so", arguments: StoreUnderTest.allCases)
    func perUser(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.install(1, user: "u1")
        let own = try await Self.arms(fixture, campaign: "own")
        try await Self.set(fixture) { $0[.experimentPerUser] = true }
        let (daily, weekly) = (try await Self.arms(fixture), try await Self.arms(fixture, campaign: "weekly"))
        #expect(daily == weekly && daily != own)
        #expect(try await Self.arms(fixture, campaign: "own") == own, "one that runs stays as it is")
        let run = try await Self.run(fixture)
        let other = try await Self.run(fixture, "weekly")
        #expect(run.isPerUser && run.salt == other.salt)
        let app = try await fixture.store.read { [app = fixture.app] in try $0.app(key: app) }
        let name = try #require(app.map { $0.bundleID ?? $0.id.description })
        let vector = ExperimentAssignment(app: name, salt: run.salt, campaign: "")
        #expect(daily.allSatisfy { (vector.arm(of: $0, share: 0.5) == .contextAware) == ($1 == .contextAware) })
    }

    @Test(
        "changes automatically after a week with a verdict, if the app allows that",
        arguments: [(true, 8, 0.95), (true, 6, 0.5), (false, 8, 0.5)])
    func decided(isWanted: Bool, days: Int64, share: Double) async throws {
        let fixture = try await Fixture(.sqlite)
        for number in 1...20 { try await fixture.install(number, user: "u\(number)") }
        try await Self.set(fixture) { $0[.appliesDecisions] = isWanted }
        _ = try await Self.arms(fixture)
        let row = try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] store in
            let session = try #require(store as? StoreSession)
            let row = try #require(try session.experimentRow("daily", app: app))
            let key = ExperimentSumTable.Key(app: app, campaign: "daily", salt: row.salt)
            for (arm, opens) in [(Arm.contextAware, 3), (.traditional, 1)] {
                var sums = ExperimentSums()
                for user in 0..<1000 { sums.add(.init(messages: 10, opens: Int64(opens + user % 2))) }
                let past = ExperimentFacts.Past(day: now.milliseconds / 86_400_000, arm: arm, sums: sums)
                try session.connection.execute(ExperimentSumTable.put(past, key, row, now: now))
            }
            return row
        }
        fixture.time.advance(by: .seconds(days * 86_400))
        let decider = ExperimentDecider(
            store: fixture.store, reports: ExperimentReports(store: fixture.store, time: fixture.time),
            time: fixture.time, logger: Logger(label: "test"))
        try await decider.decide()
        try await decider.decide()
        let run = try await Self.run(fixture)
        #expect(run.share == share && run.salt == row.salt)
        let facts = try await FigureStoreTests.experiment(fixture).facts
        #expect(facts.changes.map(\.result.verdict) == (share == 0.5 ? [] : ["promote"]))
        let audited = try await fixture.test.engine.read {
            try $0.count("SELECT COUNT(*) FROM audit WHERE action = \("experiment.share")")
        }
        #expect(audited == (share == 0.5 ? 0 : 1))
    }

    @Test("an experiment ends when its only message moves to another campaign", arguments: StoreUnderTest.allCases)
    func moved(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        var draft = fixture.draft(.users("u1"))
        draft.campaignID = "daily"
        draft.window = DeliveryWindow(until: fixture.now + .seconds(3600), method: .experiment, holdSeconds: 10)
        let (first, now, app) = (draft, fixture.now, fixture.app)
        draft.campaignID = "weekly"
        let second = draft
        try await fixture.store.write(.intake) { try $0.insertMessage(first) }
        let names = { @Sendable in
            try await fixture.store.read { try $0.experimentCampaigns(app: app, after: nil, limit: 10) }
        }
        #expect(try await names() == ["daily"])
        #expect(try await fixture.store.write(.control) { try $0.replaceDraft(first, now: now) })
        #expect(try await names() == ["daily"], "it stays in its campaign")
        #expect(try await fixture.store.write(.control) { try $0.replaceDraft(second, now: now) })
        #expect(try await names() == ["weekly"])
        try await fixture.pruneAll(limit: 100)
        let arms = try await fixture.test.engine.read {
            try $0.count("SELECT COUNT(*) FROM experiment_arm WHERE campaign_id = \("daily")")
        }
        #expect(arms == 0)
    }

    @Test(
        "a cancelled message counts in neither arm, although one was sent already", arguments: StoreUnderTest.allCases)
    func cancelled(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        for number in 1...80 { try await fixture.install(number, user: "u\(number)") }
        let counted = try await Self.arms(fixture)
        #expect(Set(counted.values) == [.contextAware, .traditional])
        var draft = fixture.draft(.users("u1"))
        draft.audience.users = Self.users
        draft.audience.platforms = [.ios]
        draft.campaignID = "daily"
        draft.window = DeliveryWindow(until: fixture.now + .seconds(3600), method: .experiment, holdSeconds: 10)
        let (cancelled, app) = (draft, fixture.app)
        try await fixture.store.write(.intake) { try $0.insertMessage(cancelled) }
        fixture.time.advance(by: .seconds(60))
        let count = try await fixture.store.write(.control) { [now = fixture.now] store in
            _ = try store.fireDueMoments(now: now, limit: 1000)
            return try store.cancelMoments(app: app, message: cancelled.id, now: now)
        }
        #expect(count == counted.values.count { $0 == .contextAware })
        fixture.time.advance(by: .seconds(2 * 86_400))
        let report = try await FigureStoreTests.experiment(fixture)
        for arm in Arm.allCases {
            let users = Int64(counted.values.count { $0 == arm })
            #expect(report.totals(arm).users == users && report.totals(arm).messages == users)
        }
    }
}
