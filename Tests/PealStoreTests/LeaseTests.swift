import PealCore
import PealStore
import PealTesting
import Testing

@Suite("Leases")
struct LeaseTests {
    @Test(
        "the direct lane goes first, then slices by their rank, whatever the age of their message",
        arguments: StoreUnderTest.allCases)
    func order(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.registerMany(1...20_000)
        let (old, _) = try await fixture.send(.all)
        fixture.time.advance(by: .seconds(1))
        let (young, _) = try await fixture.send(.all)
        let (direct, plan) = try await fixture.send(.devices(7))
        #expect(plan.leasedSlices.isEmpty, "without an owner nothing is leased")
        let slices = try await fixture.lease(limit: 5)
        #expect(slices[0].id.message == direct)
        #expect(Set(slices[1...2].map(\.id.message)) == [old, young])
        #expect(Set(slices[1...2].map(\.keyFrom)) == [1])
        #expect(Set(slices[3...4].map(\.id.message)) == [old, young])
        #expect(Set(slices[3...4].map(\.keyFrom)).count == 1)
        #expect(slices.allSatisfy { $0.term == 1 })
    }

    @Test("routes with ready slices are found, each once", arguments: StoreUnderTest.allCases)
    func routes(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let other = Fixture(
            fixture.test, app: try await fixture.test.makeApp("Other", randomness: .init(seed: 2)).key)
        #expect(
            try await fixture.store.read {
                try $0.readyRoutes(after: nil, stepsMax: .max, now: .init(milliseconds: 0)).routes
            } == [])
        for each in [fixture, other] {
            try await each.registerMany(1...5000)
            try await each.register(5001, route: .baidu)
            _ = try await each.send(.all)
            _ = try await each.send(.all)
        }
        let all = [fixture.app, other.app].flatMap { app in
            [Route.apnsProduction, .baidu].map { ActiveRoute(app: app, route: $0) }
        }
        #expect(
            try await fixture.store.read {
                try $0.readyRoutes(after: nil, stepsMax: .max, now: .init(milliseconds: 0)).routes
            } == all)
        _ = try await fixture.lease(limit: 100)
        #expect(
            try await fixture.store.read {
                try $0.readyRoutes(after: nil, stepsMax: .max, now: .init(milliseconds: 0)).routes
            } == Array(all.dropFirst()))
    }

    @Test(
        "a lease is extended only for its holder, and taken back only when it has ended",
        arguments: StoreUnderTest.allCases)
    func extend(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1)
        _ = try await fixture.send(.all)
        let slice = try #require(try await fixture.lease().first)
        func extended(_ owner: String, _ term: Int64) async throws -> Int {
            try await fixture.store.write(.control) { [now = fixture.now] in
                let lease = Slice.Lease(id: slice.id, term: term)
                return try $0.extendLeases([lease], owner: owner, until: now + .seconds(60)).count
            }
        }
        func takeBack() async throws -> Int {
            try await fixture.store.write(.control) { [now = fixture.now] in try $0.takeBackLeases(endedBefore: now) }
        }
        #expect(try await extended("other", slice.term) == 0)
        #expect(try await extended("me", slice.term + 1) == 0)
        #expect(try await extended("me", slice.term) == 1)
        fixture.time.advance(by: .seconds(60))
        #expect(try await takeBack() == 0)
        fixture.time.advance(by: .milliseconds(1))
        #expect(try await takeBack() == 1)
        #expect(try await extended("me", slice.term) == 0)
        #expect(try await fixture.lease().map(\.term) == [2])
    }

    @Test("a lease from before the clock was set back is taken back", arguments: StoreUnderTest.allCases)
    func setBack(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1)
        _ = try await fixture.send(.all)
        let slice = try #require(try await fixture.lease().first)
        func takeBack(at seconds: Int64, keeping kept: Set<Slice.Lease> = []) async throws -> Int {
            try await fixture.store.write(.control) { [now = fixture.now] in
                try $0.takeBackLeases(endedBefore: now + .seconds(seconds), keeping: kept, by: nil)
            }
        }
        #expect(try await takeBack(at: -20) == 0, "the clocks of servers may differ a little")
        #expect(try await takeBack(at: -3600, keeping: [slice.lease]) == 0)
        #expect(try await takeBack(at: -3600) == 1)
        #expect(try await fixture.lease().map(\.term) == [2])
    }

    @Test(
        "an extension that was asked for earlier does not shorten a lease, unless the clock was set back",
        arguments: StoreUnderTest.allCases)
    func overtaken(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1)
        _ = try await fixture.send(.all)
        let slice = try #require(try await fixture.lease().first)
        func end(after seconds: Int64...) async throws -> Int64? {
            for seconds in seconds {
                _ = try await fixture.store.write(.control) { [now = fixture.now] in
                    try $0.extendLeases([slice.lease], owner: "me", until: now + .seconds(seconds))
                }
            }
            let until = try await fixture.test.engine.read {
                try $0.value("SELECT lease_until FROM slice", Timestamp.self)
            }
            return until.map { ($0 - fixture.now).components.seconds }
        }
        #expect(try await end(after: 60, 50) == 60)
        #expect(try await end(after: 3600, 60) == 60)
    }

    @Test(
        "a release whose answer was lost keeps its stragglers, although the slice was leased again",
        arguments: StoreUnderTest.allCases)
    func strandedStragglers(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        for number in 1...4 { try await fixture.register(number) }
        _ = try await fixture.send(.all)
        let slice = try #require(try await fixture.lease().first)
        let worker = Worker(fixture: fixture, pageLimit: 2)
        let page = try await worker.page(of: slice)
        var settlement = worker.settlement(slice, page)
        settlement.next = .release(readyAt: nil)
        settlement.deferrals = [
            Settlement.Deferral(
                part: 77, keys: [page.keys[1]], attempt: 0, readyAt: fixture.now,
                leasedUntil: fixture.now + .seconds(30))
        ]
        #expect(try await worker.settle([settlement]).map(\.leasedSlices.count) == [1])
        #expect(try await fixture.lease().map(\.term) == [2])
        let repeated = try await worker.settle([settlement])
        #expect(repeated.map(\.isApplied) == [true])
        #expect(repeated.flatMap(\.leasedSlices).map(\.keys) == [[page.keys[1]]])
        fixture.time.advance(by: .seconds(31))
        _ = try await fixture.store.write(.control) { [now = fixture.now] in try $0.takeBackLeases(endedBefore: now) }
        let late = try await worker.settle([settlement])
        #expect(late.map(\.isApplied) == [false] && late.allSatisfy(\.leasedSlices.isEmpty))
    }

    @Test("a slice of a paused message is held when its lease is taken back", arguments: StoreUnderTest.allCases)
    func pausedTakeBack(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1)
        let (id, _) = try await fixture.send(.all)
        _ = try await fixture.lease()
        try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] session in
            _ = try session.moveMessage(app: app, id: id, from: [.sending], to: .paused, now: now)
            _ = try session.takeBackLeases(endedBefore: nil)
        }
        #expect(try await fixture.lease().isEmpty)
    }

    @Test("a page that ends before its candidates do is continued where it ended", arguments: StoreUnderTest.allCases)
    func pageEnds(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.registerMany(1...10)
        _ = try await fixture.send(.all)
        let slice = try #require(try await fixture.lease().first)
        var worker = Worker(fixture: fixture)
        for (limit, through, isLast) in [(4, 4, false), (9, 9, false), (10, 10, true), (11, 10, true)] {
            worker.pageLimit = limit
            let page = try await worker.page(of: slice)
            #expect(page.keys == (1...Int64(through)).map { $0 })
            // The last page covers the rest of the range, in which numbers may be given out but not used.
            #expect(isLast ? page.through >= Int64(through) : page.through == Int64(through))
            #expect(page.isLast == isLast)
            #expect(page.addressRange(3) == 96..<128)
        }
    }
}
