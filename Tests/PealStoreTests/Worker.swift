import PealCore
import PealStore

/// A minimal worker from the store's point of view: reads pages, marks every device as accepted, settles.
struct Worker {
    let fixture: Fixture
    var owner = "me"
    var pageLimit = 1024

    /// More leases or pages than any test has.
    private static let roundsMax = 100_000
    private struct Endless: Error {}

    /// Processes every ready slice of a route. Returns the keys in the order in which they were sent to.
    func run(_ route: Route = .apnsProduction) async throws -> [DeviceKey] {
        var sent: [DeviceKey] = []
        for _ in 0..<Self.roundsMax {
            let slices = try await fixture.lease(route, owner: owner)
            if slices.isEmpty { return sent }
            for slice in slices { sent += try await run(slice) }
        }
        throw Endless()
    }

    /// Processes one leased slice.
    func run(_ slice: Slice, outcome: Outcome = .accepted) async throws -> [DeviceKey] {
        var slice = slice
        var sent: [DeviceKey] = []
        for _ in 0..<Self.roundsMax {
            let page = try await page(of: slice)
            sent += page.keys
            let settlement = settlement(slice, page, outcome: outcome)
            let result = try await settle([settlement])[0]
            guard result.isApplied, !page.isLast else { return sent }
            slice.cursor = page.through
            slice.counts = settlement.counts
        }
        throw Endless()
    }

    func page(of slice: Slice) async throws -> DevicePage {
        try await fixture.store.read { [now = fixture.now, pageLimit] session in
            let candidates = try session.candidates(of: slice, now: now)
            return try session.page(
                of: slice, candidates: candidates, after: slice.cursor, limit: pageLimit, now: now)
        }
    }

    func settlement(_ slice: Slice, _ page: DevicePage, outcome: Outcome = .accepted) -> Settlement {
        var counts = slice.counts
        counts.count(outcome, page.count)
        let row = Settlement.LogRow(
            firstKey: page.keys.first ?? 0, lastKey: page.keys.last ?? 0, deviceCount: page.count,
            sentAt: fixture.now, tookMilliseconds: 5, data: [1, 2, 3])
        var settlement = Settlement(
            of: slice, by: owner, to: page.through, counts: counts, logRow: page.count == 0 ? nil : row,
            next: page.isLast ? .done : .keep(leaseUntil: fixture.now + .seconds(30)))
        settlement.isOfOnlySlice = slice.isOnly
        return settlement
    }

    func settle(_ settlements: [Settlement]) async throws -> [Settlement.Result] {
        try await fixture.store.write(.settle) { [now = fixture.now] in try $0.settle(settlements, now: now) }
    }
}
