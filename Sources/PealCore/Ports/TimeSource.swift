/// The only way to the time. Production has one that asks the system, tests have one that they move by hand.
package protocol TimeSource: Sendable {
    /// Wall clock: what is stored and shown.
    var now: Timestamp { get }
    /// Time since some fixed instant on a clock that never jumps and counts suspension: leases and deadlines.
    var uptime: Duration { get }
    /// Suspends for `duration`; throws `CancellationError` when the task is cancelled.
    func sleep(for duration: Duration) async throws
}
