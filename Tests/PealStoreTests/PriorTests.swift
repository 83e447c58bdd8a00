import PealCore
import PealExperiments
import PealMomentTraining
@testable import PealStore
import PealTesting
import Testing

@Suite("What users did before an experiment")
struct PriorTests {
    private static let day = Duration.seconds(86_400)

    private static func priors(_ fixture: Fixture, campaign: String = "daily") async throws -> [String: Int64] {
        let rows = try await fixture.test.engine.read { connection in
            try connection.all(
                """
                SELECT user_id, prior FROM experiment_arm WHERE app = \(fixture.app) AND campaign_id = \(campaign)
                """
            ) { row -> (String, Int64) in (try row.next(), try row.next()) }
        }
        return Dictionary(uniqueKeysWithValues: rows)
    }

    /// Until all outcomes are final, and in the sums.
    private static func finish(_ fixture: Fixture) async throws {
        fixture.time.advance(by: ExperimentTable.finality + .seconds(3600))
        try await fixture.pruneAll()
    }

    @Test("is fixed when they enter it", arguments: StoreUnderTest.allCases)
    func entered(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        for number in 1...20 { try await fixture.install(number, user: "u\(number)") }
        _ = try await FigureStoreTests.send(fixture, campaign: "first")
        #expect(Set(try await Self.priors(fixture, campaign: "first").values) == [0])
        // Outcomes that are not final do not count.
        _ = try await FigureStoreTests.send(fixture, campaign: "early")
        #expect(Set(try await Self.priors(fixture, campaign: "early").values) == [0])
        try await Self.finish(fixture)
        _ = try await FigureStoreTests.send(fixture)
        let priors = try await Self.priors(fixture)
        // Two messages each, which every third opened: 500 / 12 and 2500 / 12 thousandths, less the usual 50.
        #expect(priors["u1"] == -9 && priors["u3"] == 158 && priors.count == 20)
        try await Self.finish(fixture)
        _ = try await FigureStoreTests.send(fixture, openEvery: 1)
        #expect(try await Self.priors(fixture) == priors)
    }

    @Test("does not count where the same hash chose their arms", arguments: StoreUnderTest.allCases)
    func sameSalt(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        for number in 1...20 { try await fixture.install(number, user: "u\(number)") }
        try await fixture.store.write(.control) { [app = fixture.app] store in
            var changed = try #require(try store.app(key: app))
            changed.settings[.experimentPerUser] = true
            try store.updateApp(changed)
        }
        _ = try await FigureStoreTests.send(fixture, campaign: "first")
        try await Self.finish(fixture)
        _ = try await FigureStoreTests.send(fixture)
        let priors = try await Self.priors(fixture)
        #expect(priors.count == 20 && priors.values.allSatisfy { $0 == 0 })
    }

    @Test("narrows the interval, also once the outcomes are in the sums", arguments: StoreUnderTest.allCases)
    func narrower(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        for number in 1...140 { try await fixture.install(number, user: "u\(number)") }
        for _ in 1...3 { _ = try await FigureStoreTests.send(fixture, campaign: "first", users: 140) }
        try await Self.finish(fixture)
        _ = try await FigureStoreTests.send(fixture, openEvery: 6, users: 140)
        fixture.time.advance(by: Self.day)
        let early = try #require(try await FigureStoreTests.experiment(fixture).comparison)
        #expect(early.contextAware.users >= 50 && early.traditional.users >= 50)
        #expect(early.varianceRatio < 0.7, "who opens every sixth number has opened every third")
        // A second message, of which only the first one's outcomes are in the sums.
        fixture.time.advance(by: .seconds(6 * 3600))
        _ = try await FigureStoreTests.send(fixture, openEvery: 6, users: 140)
        fixture.time.advance(by: Self.day)
        let before = try await FigureStoreTests.experiment(fixture)
        #expect(before.facts.past.isEmpty)
        try await fixture.pruneAll()
        let after = try await FigureStoreTests.experiment(fixture)
        #expect(!after.facts.past.isEmpty && !after.facts.run.salt.isEmpty)
        #expect(before.comparison?.varianceRatio == after.comparison?.varianceRatio)
        #expect(before.comparison == after.comparison)
        try await Self.finish(fixture)
        #expect(try await FigureStoreTests.experiment(fixture).comparison == before.comparison)
    }

    @Test(
        "says little with few messages",
        arguments: [(0, 0, 0), (1, 0, -5), (1, 1, 86), (20, 1, 0), (20, 10, 300), (1000, 1000, 940)])
    func formula(messages: Int64, opens: Int64, prior: Int64) {
        #expect(ExperimentSums.prior(messages: messages, opens: opens) == prior)
    }
}
