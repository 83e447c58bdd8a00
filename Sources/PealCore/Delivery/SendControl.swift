internal import Synchronization

/// Tells every connection that works for a slice to begin nothing more. One way: a resumed message gets a new one.
package final class SendControl: Sendable {
    private let stopped = Atomic(false)

    package init() {}

    package var isStopped: Bool { stopped.load(ordering: .relaxed) }
    package func stop() { stopped.store(true, ordering: .relaxed) }
}
