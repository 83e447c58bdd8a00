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

    @Test("advances evenly when this machine's clock is set", arguments: [-46_000, 46_000])
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

    @Test(
        "is not steady after the database's clock was set, until all servers know",
        arguments: [(3_600_000, true), (-3_600_000, true), (4000, false)])
    func databaseSteps(milliseconds: Int64, isStep: Bool) async {
        let machine = Machine()
        let offset = Mutex(Int64(4_000_000))
        let time = DatabaseTime(system: machine, logger: Logger(label: "test")) {
            Timestamp(milliseconds: machine.now.milliseconds + offset.withLock { $0 })
        }
        #expect(await time.isSteady(), "the first measurement is no step")
        machine.pass(.seconds(10))
        #expect(await time.isSteady())
        offset.withLock { $0 += milliseconds }
        machine.pass(.seconds(10))
        #expect(await time.isSteady() == !isStep)
        machine.pass(.seconds(60 + Limits.leaseSeconds - 1))
        #expect(await time.isSteady() == !isStep)
        machine.pass(.seconds(1))
        #expect(await time.isSteady())
    }

    @Test("is not steady while the database does not answer")
    func unanswered() async {
        struct Refusal: Error {}
        let time = DatabaseTime(system: Machine(), logger: Logger(label: "test")) { throw Refusal() }
        #expect(await !time.isSteady())
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
