/// Where everything durable is. A read sees one consistent state; a write is one transaction: whatever `body` throws
/// undoes all of it, and what it returns is durable when the call returns. Bodies are synchronous and may run on any
/// thread; concurrent writes share commits, and a write goes on when the calling task is cancelled.
package protocol Store: Sendable {
    func read<R: Sendable>(_ body: @escaping @Sendable (any StoreReading) throws -> R) async throws -> R

    /// - Throws: what `body` throws; `rate_limited` when too many writes wait; `unavailable` when the store failed.
    func write<R: Sendable>(
        _ lane: WriteLane, _ body: @escaping @Sendable (any StoreWriting) throws -> R
    ) async throws -> R
}

/// Which writes go first when several wait.
package enum WriteLane: Int, CaseIterable, Sendable {
    case intake, control, settle, rest
}

/// Numbers for metrics.
package struct StoreCensus: Sendable, Hashable {
    package var messagesUnfinished = 0
    package var slicesReady = 0
    package var slicesWaiting = 0
    package var slicesLeased = 0
    package var appsStopped = 0

    package init() {}
}
