import Foundation
import Synchronization

/// What time it is for the simulator: the system's time, or one given by a test, shifted by a skew.
package struct SimulatorClock: Sendable {
    private let read: @Sendable () -> Int64

    /// A clock that shows what `milliseconds` gives (since 1970, UTC).
    package init(milliseconds: @escaping @Sendable () -> Int64) {
        read = milliseconds
    }

    /// The system's clock, `skewSeconds` ahead (or behind, when negative).
    package static func system(skewSeconds: Int64 = 0) -> SimulatorClock {
        SimulatorClock {
            Int64(Date().timeIntervalSince1970 * 1_000) &+ (skewSeconds &* 1_000)
        }
    }

    /// The same clock, wrong by `skew` whenever it is read.
    func skewed(by skew: ClockSkew) -> SimulatorClock {
        SimulatorClock { read() &+ skew.milliseconds }
    }

    /// Milliseconds since 1970, UTC.
    package var milliseconds: Int64 { read() }

    /// Seconds since 1970, UTC.
    package var seconds: Int64 { read() / 1_000 }
}

/// By how much the simulator's clock is wrong, on top of what it was started with.
package final class ClockSkew: Sendable {
    private let amount = Atomic<Int64>(0)

    /// A clock that is right.
    package init() {}

    /// Puts the clock `seconds` ahead; negative: behind.
    package func set(seconds: Int64) {
        amount.store(seconds &* 1_000, ordering: .relaxed)
    }

    /// Milliseconds by which the clock is ahead.
    var milliseconds: Int64 { amount.load(ordering: .relaxed) }
}
