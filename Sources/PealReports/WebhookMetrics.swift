internal import Synchronization

/// Counts what became of attempts at deliveries since the start.
package final class WebhookMetrics: Sendable {
    private let state = Mutex(Snapshot())

    package init() {}

    /// One instant's counts, all growing.
    package struct Snapshot: Sendable, Hashable {
        package internal(set) var delivered = 0
        /// Attempts after which another follows.
        package internal(set) var retried = 0
        package internal(set) var failed = 0
    }

    package var snapshot: Snapshot { state.withLock { $0 } }

    func change(_ body: (inout Snapshot) -> Void) { state.withLock { body(&$0) } }
}
