import Foundation
import PealCore
import Synchronization

/// A clock that moves only when a test moves it.
final class ManualTime: TimeSource {
    private let state: Mutex<(now: Timestamp, uptime: Duration)>

    init(now: Timestamp = Timestamp(seconds: 1_800_000_000)) {
        state = Mutex((now, .seconds(1000)))
    }

    var now: Timestamp { state.withLock { $0.now } }
    var uptime: Duration { state.withLock { $0.uptime } }

    func advance(_ duration: Duration) {
        state.withLock {
            $0.now = $0.now + duration
            $0.uptime += duration
        }
    }

    /// Sets the wall clock forward, or back by a negative duration, as an administrator or NTP does.
    func jump(_ duration: Duration) { state.withLock { $0.now = $0.now + duration } }

    func sleep(for duration: Duration) async throws { advance(duration) }
}

/// Real clocks, for tests with real connections; the test sets the start of the wall clock.
struct RealTime: TimeSource {
    private let start = ContinuousClock.now
    private let startedAt: Timestamp

    init(now: Timestamp = Timestamp(seconds: 1_800_000_000)) { startedAt = now }

    /// The time that a peer would report.
    static var ofSystem: RealTime {
        RealTime(now: Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)))
    }

    var now: Timestamp { startedAt + uptime }
    var uptime: Duration { ContinuousClock.now - start }
    func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}

/// The same numbers in every run.
final class SeededRandomness: Randomness {
    private let state: Mutex<UInt64>

    init(_ seed: UInt64 = 1) { state = Mutex(seed) }

    func next() -> UInt64 {
        state.withLock {
            $0 = $0 &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return $0 ^ $0 >> 29
        }
    }
}
