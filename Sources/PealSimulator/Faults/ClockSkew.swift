import Synchronization

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
