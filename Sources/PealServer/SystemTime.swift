internal import Foundation
internal import Logging
package import PealCore
internal import ServiceLifecycle
internal import Synchronization

/// The system's clocks. `uptime` is `ContinuousClock`, which continues while the machine sleeps.
package struct SystemTime: TimeSource {
    private static let start = ContinuousClock.now
    private static let meter = LagMeter()
    private static let alarms = Alarms()

    package init() {}

    package var now: Timestamp { Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down))) }
    package var uptime: Duration { ContinuousClock.now - Self.start }
    package var lag: Duration { Self.meter.lag(at: uptime) }
    package func sleep(for duration: Duration) async throws { try await Self.alarms.sleep(for: duration) }
}

extension SystemTime {
    /// Measures the process's lag until it is cancelled, and reports when someone sets the wall clock.
    func watch(_ logger: Logger) async {
        var clock = ClockOffset(self)
        while !Task.isCancelled {
            Self.meter.tick(at: uptime)
            let step = clock.step(self)
            if abs(step / .seconds(1)) > 1 {
                let words = "the clock of this machine was changed; scheduled times stay as they are"
                logger.warning("\(words)", metadata: ["seconds": .stringConvertible(step / .seconds(1))])
            }
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

/// Runs `SystemTime.watch` until the server stops.
struct ClockWatch: Service {
    let logger: Logger

    func run() async {
        await cancelWhenGracefulShutdown { await SystemTime().watch(logger) }
    }
}

/// The wall clock of a database, which all servers on it share, because they compare leases by it. Between two
/// measurements it advances with this machine's uptime, so that setting the machine's clock does not move it.
final class DatabaseTime: TimeSource, Service {
    /// The time between two measurements.
    private static let interval: Duration = .seconds(60)
    /// Larger differences are reported.
    static let toleranceMilliseconds: Int64 = 500

    private let system: any TimeSource
    private let serverTime: @Sendable () async throws -> Timestamp
    private let logger: Logger
    private struct State {
        /// What the database's clock showed at an uptime; nil before the first measurement.
        var anchor: (time: Timestamp, uptime: Duration)?
        /// When a measurement last showed that the database's clock was set, on `uptime`.
        var steppedAt: Duration?

        func now(at uptime: Duration) -> Timestamp? { anchor.map { $0.time + (uptime - $0.uptime) } }
    }

    /// A measurement that differs by more from what was expected shows that the clock was set.
    private static let stepMin: Duration = .seconds(5)
    /// The other servers notice it at their next measurement, and until then write leases by the former clock.
    private static let unsteadyFor = interval + .seconds(Limits.leaseSeconds)
    private let state = Mutex(State())

    /// - Parameter serverTime: reads the database's clock.
    init(
        system: any TimeSource = SystemTime(), logger: Logger,
        serverTime: @escaping @Sendable () async throws -> Timestamp
    ) {
        self.system = system
        self.logger = logger
        self.serverTime = serverTime
    }

    var now: Timestamp {
        state.withLock { $0.now(at: system.uptime) } ?? system.now
    }
    var uptime: Duration { system.uptime }
    var lag: Duration { system.lag }
    func sleep(for duration: Duration) async throws { try await system.sleep(for: duration) }

    /// A slower answer has probably waited for others before the clock was read.
    private static let roundTripMax: Duration = .seconds(2)

    /// Reads the database's clock, and assumes that it was read halfway between request and answer. A slow answer is
    /// used only if there is no other: a clock that is ahead ends the leases of other servers.
    /// - Returns: Whether there was a usable answer.
    @discardableResult
    func measure() async -> Bool {
        let start = system.uptime
        guard let answer = try? await serverTime() else { return false }
        let uptime = system.uptime
        guard uptime - start <= Self.roundTripMax || state.withLock({ $0.anchor == nil }) else { return false }
        let time = answer + (uptime - start) / 2
        note(time, at: uptime)
        let offset = time.milliseconds - system.now.milliseconds
        guard abs(offset) > Self.toleranceMilliseconds else { return true }
        logger.warning(
            "the clock of this machine differs from the database's",
            metadata: ["offset_ms": .stringConvertible(offset), "followed": "the database's"])
        return true
    }

    private func note(_ time: Timestamp, at uptime: Duration) {
        let step = state.withLock { state -> Duration in
            let step = state.now(at: uptime).map { time - $0 } ?? .zero
            if abs(step / .seconds(1)) > Self.stepMin / .seconds(1) { state.steppedAt = uptime }
            state.anchor = (time, uptime)
            return step
        }
        guard abs(step / .seconds(1)) > Self.stepMin / .seconds(1) else { return }
        logger.warning(
            "the clock of the database was changed; this server takes back no leases for a while",
            metadata: ["seconds": .stringConvertible(step / .seconds(1))])
    }

    /// Measures first, so that a step is noticed before any decision that depends on the clock.
    func isSteady() async -> Bool {
        guard await measure() else { return false }
        let uptime = system.uptime
        return state.withLock { $0.steppedAt.map { uptime - $0 >= Self.unsteadyFor } ?? true }
    }

    /// Measures every minute until the server stops.
    func run() async {
        await cancelWhenGracefulShutdown {
            while (try? await self.system.sleep(for: Self.interval)) != nil { await self.measure() }
        }
    }
}

/// The system's cryptographically secure generator, read in blocks: a call for every number costs more than using it.
package final class SystemRandomness: Randomness {
    private let unused = Mutex<[UInt64]>([])

    package init() {}

    package func next() -> UInt64 {
        unused.withLock { numbers in
            if numbers.isEmpty { numbers = Self.block() }
            return numbers.removeLast()
        }
    }

    private static func block() -> [UInt64] {
        [UInt64](unsafeUninitializedCapacity: 64) { numbers, count in
            guard let first = numbers.baseAddress else { return }
            arc4random_buf(first, numbers.count * MemoryLayout<UInt64>.stride)
            count = numbers.count
        }
    }
}
