import PealCore
import PealStore
import PealTesting
import Testing

@Suite("Statistics in the store")
struct StatisticsStoreTests {
    private static func sum(_ fixture: Fixture) async throws -> (rows: Int, total: Statistics) {
        let rows = try await fixture.store.read { [app = fixture.app, now = fixture.now] in
            try $0.statistics(app: app, from: Timestamp(milliseconds: 0), to: now + .seconds(1))
        }
        return (rows.count, rows.reduce(into: Statistics(at: Timestamp(milliseconds: 0))) { $0.add($1) })
    }

    @Test(
        "a page counts once, in one row for its minute, however many pages a write has",
        arguments: StoreUnderTest.allCases)
    func pages(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.registerMany(1...20)
        let worker = Worker(fixture: fixture, pageLimit: 5)
        _ = try await fixture.send(.all)
        var slice = try #require(try await fixture.lease().first)
        var settlements: [Settlement] = []
        var page = try await worker.page(of: slice)
        for _ in 0..<20 {
            var settlement = worker.settlement(slice, page)
            var added = OutcomeCounts()
            added.count(.accepted, page.count)
            settlement.added = added
            settlements.append(settlement)
            (slice.cursor, slice.counts) = (page.through, settlement.counts)
            guard !page.isLast else { break }
            page = try await worker.page(of: slice)
        }
        #expect(settlements.count >= 4)
        _ = try await worker.settle(settlements)
        _ = try await worker.settle(settlements)
        let (rows, total) = try await Self.sum(fixture)
        #expect(rows == 1 && total.accepted == 20)
    }

    @Test(
        "old minutes become hours and old hours days, and nothing is lost or counted twice",
        arguments: StoreUnderTest.allCases)
    func folding(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.registerMany(1...3)
        let message = try await fixture.send(.all).id
        for (device, hour) in [(1, 0), (2, 1), (3, 30)] {
            try await fixture.store.write(.rest) { [app = fixture.app, now = fixture.now] store in
                for minute in [0, 1] {
                    _ = try store.record(
                        [
                            Receipt(
                                message: message, device: DeviceKey(device), kind: minute == 0 ? .received : .opened,
                                at: now + .seconds(3600 * hour + 60 * minute))
                        ], app: app)
                }
            }
        }
        fixture.time.advance(by: .seconds(40 * 3600))
        var (rows, total) = try await Self.sum(fixture)
        #expect(rows == 6 && total.received == 3 && total.opened == 3)
        for (seconds, rowsMax) in [
            (Limits.statisticsMinutesLifeSeconds, 5), (Limits.statisticsHoursLifeSeconds, 2), (0, 2),
        ] {
            fixture.time.advance(by: .seconds(seconds))
            try await fixture.pruneAll(limit: 2)
            (rows, total) = try await Self.sum(fixture)
            #expect(rows <= rowsMax && total.received == 3 && total.opened == 3, "\(rows) rows")
        }
        fixture.time.advance(by: .seconds(Limits.statisticsDaysLifeSeconds + 86_400))
        try await fixture.pruneAll()
        #expect(try await Self.sum(fixture).rows == 0)
    }
}
