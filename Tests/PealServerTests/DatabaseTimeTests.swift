import Logging
import PealCore
import PealTesting
import Synchronization
import Testing

@testable import PealServer

@Suite("The database's time")
struct DatabaseTimeTests {
    /// A machine whose wall clock can be set without its uptime.
    private final class Machine: TimeSource {
        private let state = Mutex((wall: Timestamp(milliseconds: 1_000_000), uptime: Duration.zero))

        var now: Timestamp { state.withLock { $0.wall } }
        var uptime: Duration { state.withLock { $0.uptime } }
        func sleep(for duration: Duration) async throws { pass(duration) }

        func pass(_ duration: Duration) {
            state.withLock {
                $0.wall = $0.wall + duration
                $0.uptime += duration
            }
        }

        func setWall(_ time: Timestamp) { state.withLock { $0.wall = time } }
    }

    @Test("goes on evenly when this machine's clock is set", arguments: [-46_000, 46_000])
    func steps(milliseconds: Int64) async {
        let machine = Machine()
        let time = DatabaseTime(system: machine, logger: Logger(label: "test")) { Timestamp(milliseconds: 5_000_000) }
        #expect(time.now == Timestamp(milliseconds: 1_000_000))
        await time.measure()
        #expect(time.now == Timestamp(milliseconds: 5_000_000))
        machine.setWall(machine.now + .milliseconds(milliseconds))
        machine.pass(.seconds(2))
        #expect(time.now == Timestamp(milliseconds: 5_002_000))
    }

    @Test("counts half of what the answer took")
    func roundTrip() async {
        let machine = Machine()
        let time = DatabaseTime(system: machine, logger: Logger(label: "test")) {
            machine.pass(.seconds(1))
            return Timestamp(milliseconds: 5_000_000)
        }
        await time.measure()
        #expect(time.now == Timestamp(milliseconds: 5_000_500))
    }

    @Test("does not count an answer that waited, unless it is the first")
    func slow() async {
        let machine = Machine()
        let wait = Mutex(Duration.seconds(30))
        let time = DatabaseTime(system: machine, logger: Logger(label: "test")) {
            machine.pass(wait.withLock { $0 })
            return Timestamp(milliseconds: 5_000_000)
        }
        await time.measure()
        #expect(time.now == Timestamp(milliseconds: 5_015_000))
        await time.measure()
        #expect(time.now == Timestamp(milliseconds: 5_045_000), "as if nothing had been measured")
        wait.withLock { $0 = .seconds(2) }
        await time.measure()
        #expect(time.now == Timestamp(milliseconds: 5_001_000))
    }
}
