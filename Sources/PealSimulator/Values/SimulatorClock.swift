import Foundation
import Synchronization

/// The simulator's clock: the system's time or that of a test, shifted by a skew.
package struct SimulatorClock: Sendable {
    private let read: @Sendable () -> Int64

    /// A clock that reads `milliseconds` (since 1970, UTC).
    package init(milliseconds: @escaping @Sendable () -> Int64) {
        read = milliseconds
    }

    /// The system's clock, `skewSeconds` ahead, or behind if negative.
    package static func system(skewSeconds: Int64 = 0) -> SimulatorClock {
        SimulatorClock {
            Int64(Date().timeIntervalSince1970 * 1_000) &+ (skewSeconds &* 1_000)
        }
    }

    /// The same clock, shifted by the present `skew`.
    func skewed(by skew: ClockSkew) -> SimulatorClock {
        SimulatorClock { read() &+ skew.milliseconds }
    }

    /// Milliseconds since 1970, UTC.
    package var milliseconds: Int64 { read() }

    /// Seconds since 1970, UTC.
    package var seconds: Int64 { read() / 1_000 }
}

/// A shift of the simulator's clock, besides the one it was started with.
package final class ClockSkew: Sendable {
    private let amount = Atomic<Int64>(0)

    /// No shift.
    package init() {}

    /// Sets the clock `seconds` ahead, or behind if negative.
    package func set(seconds: Int64) {
        amount.store(seconds &* 1_000, ordering: .relaxed)
    }

    /// Milliseconds by which the clock is ahead.
    var milliseconds: Int64 { amount.load(ordering: .relaxed) }
}
