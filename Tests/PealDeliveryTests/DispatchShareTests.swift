import PealCore
import Testing

@testable import PealDelivery

@Suite("Shares of free workers")
struct DispatchShareTests {
    private func route(_ app: AppKey) -> ActiveRoute { ActiveRoute(app: app, route: .apnsProduction) }

    private func slice(_ app: AppKey, _ number: Int64) -> Slice.ID {
        Slice.ID(app: app, message: MessageID(high: 1, low: 1), route: .apnsProduction, rangeStart: number, part: 0)
    }

    private func load(_ slices: [Slice.ID] = []) -> DispatchLoad {
        let load = DispatchLoad()
        for slice in slices { load.begin(slice) }
        return load
    }

    private func counts(_ apps: ClosedRange<AppKey>, _ load: DispatchLoad) -> [AppKey: Int] {
        let shares = Dispatcher.shares(of: apps.map(route), load)
        return Dictionary(uniqueKeysWithValues: shares.map { ($0.route.app, $0.count) })
    }

    @Test("one route gets at most three quarters of all workers")
    func one() {
        #expect(counts(1...1, load()) == [1: 12])
        #expect(counts(1...1, load((0..<10).map { slice(1, $0) })) == [1: 2])
        #expect(counts(1...1, load((0..<12).map { slice(1, $0) })).isEmpty)
    }

    @Test("routes share equally, and what one cannot take goes to those after it")
    func several() {
        #expect(counts(1...3, load()) == [1: 5, 2: 5, 3: 6])
        #expect(counts(1...2, load((0..<11).map { slice(1, $0) })) == [1: 1, 2: 4])
    }

    @Test("no more slices are leased than there are free workers, one for each of the first routes")
    func many() {
        let shares = Dispatcher.shares(of: (1...100).map(route), load([slice(200, 1)]))
        #expect(shares == (1...15).map { Dispatcher.Share(route: route($0), count: 1) })
        #expect(counts(1...2, load((0..<16).map { slice(200 + $0, 1) })).isEmpty)
    }

    @Test("extra workers take small messages and probes, and up to half of them other messages that are not sent yet")
    func express() {
        func isExpress(_ lane: Slice.Lane, _ app: AppKey, isProbe: Bool = false, _ load: DispatchLoad) -> Bool {
            let message = MessageID(high: 1, low: UInt64(app))
            let id = Slice.ID(app: app, message: message, route: .apnsProduction, rangeStart: 99, part: 0)
            var slice = Slice(id: id, keyFrom: 1, keyTo: 1, cursor: 0, estimate: 1, lane: lane)
            slice.isProbe = isProbe
            return Dispatcher.isExpress(slice, load)
        }
        // The message of these slices has number 1.
        let (busy, full) = (load((0..<16).map { slice(1, $0) }), load((0..<20).map { slice(1, $0) }))
        for load in [busy, full] {
            #expect(isExpress(.direct, 1, load))
            #expect(!isExpress(.bulk, 1, load), "it is being sent already")
            #expect(isExpress(.bulk, 1, isProbe: true, load), "its route would stay closed")
        }
        #expect(isExpress(.bulk, 2, busy))
        #expect(!isExpress(.bulk, 2, full))
    }

    @Test("a route with a stalled page gets none, and its stalled workers are replaced for other routes")
    func stalled() {
        let load = load([slice(1, 1), slice(1, 2)])
        load.stall(slice(1, 1))
        #expect(counts(1...2, load) == [2: 12])
        load.resume(slice(1, 1))
        #expect(counts(1...2, load) == [1: 7, 2: 7])
    }
}
