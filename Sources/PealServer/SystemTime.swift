internal import Foundation
internal import Logging
package import PealCore
internal import PealPostgres
internal import ServiceLifecycle
internal import Synchronization

/// The system's clocks. `uptime` is `ContinuousClock`, which continues while the machine sleeps.
package struct SystemTime: TimeSource {
    private static let start = ContinuousClock.now
    private static let meter = LagMeter()

    package init() {}

    package var now: Timestamp { Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down))) }
    package var uptime: Duration { ContinuousClock.now - Self.start }
    package var lag: Duration { Self.meter.lag(at: uptime) }
    package func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}

extension SystemTime {
    /// Measures the process's lag until it is cancelled.
    func watchLag() async {
        while !Task.isCancelled {
            Self.meter.tick(at: uptime)
            try? await sleep(for: LagMeter.interval)
        }
    }
}

/// Measures how long the process could not run: receives ticks at a fixed interval, and adds up their delays.
final class LagMeter: Sendable {
    private struct State {
        var tickedAt: Duration?
        var lag = Duration.zero

        /// How late the next tick is at the moment.
        func delay(at uptime: Duration) -> Duration {
            guard let tickedAt else { return .zero }
            let delay = uptime - tickedAt - LagMeter.interval
            return delay > LagMeter.tolerance ? delay : .zero
        }
    }

    static let interval: Duration = .milliseconds(50)
    /// A timer may be late by this on a machine that is not overloaded.
    private static let tolerance: Duration = .milliseconds(100)

    private let state = Mutex(State())

    func tick(at uptime: Duration) {
        state.withLock { state in
            state.lag += state.delay(at: uptime)
            state.tickedAt = uptime
        }
    }

    /// The sum of all delays, including the current one, so that the first caller after a stop already sees it.
    func lag(at uptime: Duration) -> Duration { state.withLock { $0.lag + $0.delay(at: uptime) } }
}

/// Runs `SystemTime.watchLag` until the server stops.
struct LagService: Service {
    func run() async {
        await cancelWhenGracefulShutdown { await SystemTime().watchLag() }
    }
}

/// The system's clocks, with the wall clock corrected to that of the database, because all servers that share it
/// compare leases.
final class DatabaseTime: TimeSource, Service {
    /// The time between two measurements.
    private static let interval: Duration = .seconds(60)
    /// Larger differences are reported.
    private static let toleranceMilliseconds: Int64 = 500

    private let system = SystemTime()
    private let database: PostgresEngine
    private let logger: Logger
    private let offsetMilliseconds = Atomic<Int64>(0)

    init(_ database: PostgresEngine, logger: Logger) {
        self.database = database
        self.logger = logger
    }

    var now: Timestamp { system.now + .milliseconds(offsetMilliseconds.load(ordering: .relaxed)) }
    var uptime: Duration { system.uptime }
    var lag: Duration { system.lag }
    func sleep(for duration: Duration) async throws { try await system.sleep(for: duration) }

    /// Measures the offset, assuming that half of the round trip was spent on the answer.
    func measure() async {
        let (asked, start) = (system.now, system.uptime)
        guard let answer = try? await database.serverTime() else { return }
        let half = Int64((system.uptime - start) / .milliseconds(2))
        let offset = answer.milliseconds - asked.milliseconds - half
        offsetMilliseconds.store(offset, ordering: .relaxed)
        guard abs(offset) > Self.toleranceMilliseconds else { return }
        logger.warning(
            "the clock differs from the database's", metadata: ["offset_ms": "\(offset)", "followed": "the database's"])
    }

    /// Measures every minute until the server stops.
    func run() async {
        await cancelWhenGracefulShutdown {
            while (try? await self.system.sleep(for: Self.interval)) != nil { await self.measure() }
        }
    }
}

/// The system's cryptographically secure generator.
struct SystemRandomness: Randomness {
    func next() -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }
}
