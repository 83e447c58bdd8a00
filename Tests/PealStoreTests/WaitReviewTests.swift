import PealCore
@testable import PealStore
import PealTesting
import Testing

/// What a change of an app's rules or of a credential makes due.
@Suite("Reviews of what waits")
struct WaitReviewTests {
    private static let route = Route.apnsProduction

    /// A message to one device, which waits for six hours: longer waits for an attempt count as ahead of time.
    /// - Parameter ruledAt: when rules made it wait; nil for another attempt.
    private static func hold(_ number: Int, ruledAt: Timestamp?, _ fixture: Fixture) async throws {
        try await fixture.register(number)
        let (_, plan) = try await fixture.send(.devices(number), owner: "me")
        let slice = try #require(plan.leasedSlices.first)
        let worker = Worker(fixture: fixture)
        let page = try await worker.page(of: slice)
        var settlement = worker.settlement(slice, page)
        settlement.deferrals = [
            .init(
                part: 1, keys: page.keys, attempt: ruledAt == nil ? 1 : 0, readyAt: fixture.now + .seconds(6 * 3600),
                ruledAt: ruledAt)
        ]
        settlement.counts.accepted -= 1
        #expect(try await worker.settle([settlement]).map(\.isApplied) == [true])
    }

    /// How many slices are ready after the reviews that are due, which are done in small pieces.
    private static func released(_ fixture: Fixture) async throws -> Int {
        try await fixture.pruneAll(limit: 2)
        return try await fixture.store.write(.control) { [now = fixture.now] in
            try $0.releaseDueSlices(now: now, limit: 100)
        }
    }

    private static func changeRules(_ fixture: Fixture) async throws {
        try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in
            try $0.reviewWaits(app: app, now: now)
        }
    }

    private static func changeCredential(_ fixture: Fixture) async throws -> CredentialSlot {
        let slot = try #require(CredentialSlot(of: ActiveRoute(app: fixture.app, route: route)))
        try await fixture.store.write(.control) { [now = fixture.now] in try $0.reviewRetries(at: slot, now: now) }
        return slot
    }

    @Test(
        "devices to which the new rules were applied already, and those that wait for an attempt, are not reviewed",
        arguments: StoreUnderTest.allCases)
    func rules(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let start = fixture.now
        for number in 1...3 { try await Self.hold(number, ruledAt: start + .seconds(-10), fixture) }
        try await Self.hold(4, ruledAt: start + .seconds(WaitReview.rulesDelaySeconds - 1), fixture)
        try await Self.hold(5, ruledAt: start + .seconds(WaitReview.rulesDelaySeconds), fixture)
        try await Self.hold(6, ruledAt: nil, fixture)
        try await Self.changeRules(fixture)
        fixture.time.advance(by: .seconds(WaitReview.rulesDelaySeconds - 1))
        #expect(try await Self.released(fixture) == 0, "servers may not have read the new rules")
        fixture.time.advance(by: .seconds(1))
        #expect(try await Self.released(fixture) == 4)
        // A page that was in progress is settled.
        try await Self.hold(7, ruledAt: start, fixture)
        #expect(try await Self.released(fixture) == 0)
        fixture.time.advance(by: .seconds(WaitReview.watchSeconds))
        #expect(try await Self.released(fixture) == 1)
        #expect(try await PruningTests.count("remainder", app: fixture.app, fixture.test) == 1, "it is remembered")
        fixture.time.advance(by: .seconds(WaitReview.memorySeconds))
        #expect(try await Self.released(fixture) == 0)
        #expect(try await PruningTests.count("remainder", app: fixture.app, fixture.test) == 0)
    }

    @Test("many changes that follow each other are reviewed at growing intervals", arguments: StoreUnderTest.allCases)
    func growing(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let prompt = Array(repeating: WaitReview.rulesDelaySeconds, count: Int(WaitReview.promptReviewsMax))
        for (number, seconds) in (prompt + [60, 120, 240, 480, 960, 1920, 3600, 3600]).enumerated() {
            try await Self.hold(number + 1, ruledAt: fixture.now, fixture)
            try await Self.changeRules(fixture)
            fixture.time.advance(by: .seconds(seconds - 1))
            #expect(try await Self.released(fixture) == 0)
            fixture.time.advance(by: .seconds(1))
            #expect(try await Self.released(fixture) == 1)
        }
        fixture.time.advance(by: .seconds(WaitReview.memorySeconds))
        try await fixture.pruneAll()
        try await Self.hold(20, ruledAt: fixture.now, fixture)
        try await Self.changeRules(fixture)
        fixture.time.advance(by: .seconds(WaitReview.rulesDelaySeconds))
        #expect(try await Self.released(fixture) == 1)
    }

    @Test("rules that were applied before the clock was set back are reviewed", arguments: StoreUnderTest.allCases)
    func setBack(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await Self.hold(1, ruledAt: fixture.now + .seconds(3600), fixture)
        try await Self.changeRules(fixture)
        fixture.time.advance(by: .seconds(WaitReview.rulesDelaySeconds))
        #expect(try await Self.released(fixture) == 1)
    }

    @Test("however often a change is repeated, there is one review, after the last", arguments: StoreUnderTest.allCases)
    func repeated(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await Self.hold(1, ruledAt: fixture.now, fixture)
        try await Self.hold(2, ruledAt: nil, fixture)
        var slot: CredentialSlot?
        for _ in 1...10 {
            try await Self.changeRules(fixture)
            slot = try await Self.changeCredential(fixture)
            fixture.time.advance(by: .seconds(1))
            #expect(try await Self.released(fixture) == 0)
        }
        let reviews = 1 + (try #require(slot).routes.count)
        #expect(try await PruningTests.count("remainder", app: fixture.app, fixture.test) == reviews)
        fixture.time.advance(by: .seconds(WaitReview.credentialDelaySeconds - 1))
        #expect(try await Self.released(fixture) == 1)
        fixture.time.advance(by: .seconds(WaitReview.rulesDelaySeconds - WaitReview.credentialDelaySeconds))
        #expect(try await Self.released(fixture) == 1)
        // What is left of it is its second part, which a change begins again too.
        #expect(try await PruningTests.count("remainder", app: fixture.app, fixture.test) == 1)
        try await Self.changeRules(fixture)
        #expect(try await PruningTests.count("remainder", app: fixture.app, fixture.test) == 1)
    }
}
