import PealCore
@testable import PealDelivery
import Testing

@Suite("The board of routes")
struct RouteBoardTests {
    private static func route(_ app: Int64) -> ActiveRoute { ActiveRoute(app: AppKey(app), route: .apnsProduction) }

    @Test("forgets routes of deleted apps, and none that is closed or not written yet")
    func bounded() {
        let board = RouteBoard(breakersMax: 100)
        board.change(Self.route(1)) { $0.backOff(reason: "NoConnection", isProbe: false, now: .zero) }
        board.change(Self.route(2)) { $0.backOff(reason: "NoConnection", isProbe: false, now: .zero) }
        _ = board.takeUnsaved(Self.route(1))
        for app in 3..<5000 as Range<Int64> {
            board.change(Self.route(app)) { _ = $0.enter(nil, now: .zero) }
            #expect(board.breakerCount <= 100)
        }
        #expect(board.takeUnsaved().map(\.route) == [Self.route(2)])
        for app in [1, 2] as [Int64] {
            #expect(board.change(Self.route(app)) { $0.closedUntil } != nil)
        }
    }

    @Test("remembers more routes than that if all of them are closed")
    func closed() {
        let board = RouteBoard(breakersMax: 10)
        for app in 0..<50 as Range<Int64> {
            board.change(Self.route(app)) { $0.backOff(reason: "NoConnection", isProbe: false, now: .zero) }
        }
        #expect(board.breakerCount == 50)
        #expect(board.takeUnsaved().count == 50)
    }

    @Test("begins with the oldest change although changes are adopted that were read before")
    func reread() {
        let board = RouteBoard()
        func adopt(_ change: Int64, after last: Int64) {
            let gate = RouteGate(Self.route(change), .open, change: change)
            board.adopt([gate], after: last, isComplete: true, now: Timestamp(milliseconds: 0), uptime: .zero)
        }
        adopt(7, after: 0)
        #expect(board.lastChange == 7)
        board.rereadAll()
        adopt(8, after: 7)
        #expect(board.lastChange == 0)
        adopt(3, after: 0)
        #expect(board.lastChange == 3)
    }

    @Test("ends pauses and probes from before the clock was set back, and writes them again")
    func ahead() {
        let (board, now) = (RouteBoard(), Timestamp(milliseconds: 1_000_000))
        let longest = Limits.providerWaitSecondsMax
        let ends: [(closed: Int64, probe: Int64)] = [(longest, 0), (longest + 301, 0), (60, 30), (60, 331)]
        let gates = ends.enumerated().map { index, end in
            RouteGate(
                Self.route(Int64(index)), .stopped, closedUntil: now + .seconds(end.closed),
                probeUntil: now + .seconds(end.probe), change: Int64(index + 1))
        }
        board.adopt(gates, after: 0, isComplete: true, now: now, uptime: .seconds(5))
        let until = gates.map { gate in board.change(gate.route) { $0.closedUntil } }
        #expect(until == [.seconds(5 + longest), .seconds(5), .seconds(65), .seconds(5)])
        #expect(Set(board.takeUnsaved().map(\.route)) == [Self.route(1), Self.route(3)])
    }

    @Test("writes closed routes again whose gates are not found when all are read again")
    func lost() {
        let board = RouteBoard()
        for app in 1...3 as ClosedRange<Int64> {
            board.change(Self.route(app)) { $0.backOff(reason: "NoConnection", isProbe: false, now: .zero) }
        }
        #expect(board.takeUnsaved().count == 3)
        func adopt(_ app: Int64, after last: Int64, isComplete: Bool) {
            let gate = RouteGate(Self.route(app), .open, change: app)
            board.adopt(
                [gate], after: last, isComplete: isComplete, now: Timestamp(milliseconds: 0), uptime: .zero)
        }
        adopt(1, after: 0, isComplete: true)
        #expect(board.takeUnsaved().isEmpty, "the second and the third have not changed")
        board.rereadAll()
        adopt(1, after: 1, isComplete: true)
        adopt(1, after: 0, isComplete: false)
        #expect(board.takeUnsaved().isEmpty, "the rest is not read yet")
        adopt(2, after: 1, isComplete: true)
        #expect(board.takeUnsaved().map(\.route) == [Self.route(3)])
    }
}
