internal import Foundation
internal import Logging
package import PealCore
internal import PealPostgres
internal import ServiceLifecycle
internal import Synchronization

/// The system's clocks. `uptime` is `ContinuousClock`, which goes on while the machine sleeps.
package struct SystemTime: TimeSource {
    private static let start = ContinuousClock.now

    package init() {}

    package var now: Timestamp { Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down))) }
    package var uptime: Duration { ContinuousClock.now - Self.start }
    package func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}

/// The system's clocks, with the wall clock corrected to that of a database: leases are compared by all servers on it.
final class DatabaseTime: TimeSource, Service {
    /// Between two measurements.
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
    func sleep(for duration: Duration) async throws { try await system.sleep(for: duration) }

    /// Measures the offset. What the answer took is halved.
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
