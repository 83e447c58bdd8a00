internal import Synchronization

/// Says since when the process is stopping. One way.
final class StopSwitch: Sendable {
    private let stoppedAt = Mutex<Duration?>(nil)
    private let drain: Duration

    init(drain: Duration) { self.drain = drain }

    var isOn: Bool { stoppedAt.withLock { $0 != nil } }

    func turnOn(at now: Duration) {
        stoppedAt.withLock { $0 = $0 ?? now }
    }

    /// Whether answers are no longer waited for.
    func isDrained(at now: Duration) -> Bool {
        stoppedAt.withLock { $0.map { now >= $0 + drain } ?? false }
    }
}
