internal import PealCore

/// How a process delivers. The defaults are those of one process on its own database.
package struct DeliveryOptions: Sendable {
    /// Whether no other process can hold a lease, so that a start takes back all of them at once.
    package var isOnlyProcess = true
    /// Pages in flight at once: memory, and what may be sent twice after a crash.
    package var pagesInFlightMax = Limits.pagesInFlightMax
    /// How often work is looked for that nobody told of. At least a second.
    package var pollInterval: Duration = .seconds(1)
    /// How long a stop waits for answers to requests on the wire.
    package var drain: Duration = .seconds(Limits.drainSeconds)

    package init() {}
}
