internal import Synchronization

/// Stores everything durable. A read sees one consistent state. A write is one transaction: if `body` throws, nothing
/// is written; when the call returns, the result is durable. Bodies are synchronous and may run on any thread.
/// Concurrent writes share commits. Cancelling the calling task does not stop a write.
package protocol Store: Sendable {
    func read<R: Sendable>(
        _ lane: ReadLane, _ body: @escaping @Sendable (any StoreReading) throws -> R
    ) async throws -> R

    /// Reads a list without the rows that cannot be read, which are logged.
    /// - Parameter body: receives how many items more than it needs it must read, because so many are skipped. Called
    ///   again when there are more of them.
    /// - Returns: the result of `body`, and whether it skipped nothing.
    func checkedList<R: Sendable>(
        _ lane: ReadLane, _ body: @escaping @Sendable (any StoreReading, _ more: Int) throws -> R
    ) async throws -> (items: R, isComplete: Bool)

    /// - Throws: what `body` throws; `rate_limited` when too many writes wait; `unavailable` when the store failed.
    func write<R: Sendable>(
        _ lane: WriteLane, _ body: @escaping @Sendable (any StoreWriting) throws -> R
    ) async throws -> R

    /// Assigns numbers and hashes to entries of the audit log that are not chained yet. If several processes share a
    /// store, transactions only add entries, so that none waits for another.
    func chainAudit() async throws

    /// Counts the commits of this process that changed an app, a credential, a key or an admin. What was read when it
    /// had the same value is still what this process wrote last.
    var setupVersion: Int { get }
}

extension Store {
    /// The id of an app, for logs. While the store cannot be read: its number.
    package func shownID(of app: AppKey) async -> String {
        let found = try? await read { try $0.app(key: app)?.id }
        return (found ?? nil)?.description ?? "\(app)"
    }
}

extension Store {
    /// Reads for a request.
    package func read<R: Sendable>(_ body: @escaping @Sendable (any StoreReading) throws -> R) async throws -> R {
        try await read(.request, body)
    }

    /// Reads a list for a request.
    package func checkedList<R: Sendable>(
        _ body: @escaping @Sendable (any StoreReading, _ more: Int) throws -> R
    ) async throws -> (items: R, isComplete: Bool) { try await checkedList(.request, body) }
}

extension Store {
    /// Reads pages of what an app's users shared until there are `count` items, no more pages, or the task is
    /// cancelled.
    package func newest<Item>(
        _ count: Int, _ page: @escaping @Sendable (any StoreReading, ContextCursor?) throws -> ContextPage<Item>
    ) async throws -> [Item] {
        var (items, cursor): ([Item], ContextCursor?) = ([], nil)
        repeat {
            let next = try await read(.heavy) { [cursor] in try page($0, cursor) }
            items += next.items
            cursor = next.next
        } while cursor != nil && items.count < count && !Task.isCancelled
        return items
    }
}

/// Decides which failures the services of a process log: each of them fails at every attempt while the store does.
package final class OutageLog: Sendable {
    private static let interval = Duration.seconds(60)
    private static let reasonsMax = 64

    private let time: any TimeSource
    private let loggedAt = Mutex<[String: Duration]>([:])

    package init(time: any TimeSource) { self.time = time }

    /// Whether to log a failure: always if it is the caller's own, and once a minute for each reason why the store as a
    /// whole fails. The store itself reports when that begins and ends.
    package func isDue(_ error: any Error) -> Bool {
        guard PealError.isOutage(error) else { return true }
        let (now, reason) = (time.uptime, PealError.message(of: error))
        return loggedAt.withLock { loggedAt in
            if let last = loggedAt[reason], now - last < Self.interval { return false }
            if loggedAt.count >= Self.reasonsMax { loggedAt.removeAll() }
            loggedAt[reason] = now
            return true
        }
    }
}

/// The purpose of a read. Each lane has connections that no other lane can use.
package enum ReadLane: CaseIterable, Sendable {
    /// A few rows by their keys, which must not wait for longer reads.
    case brief
    /// Sending.
    case delivery
    /// Requests that read a bounded number of rows.
    case request
    /// Lists, and requests that may read a whole audience. Few of them run at once.
    case heavy
}

/// The priority of waiting writes, highest first.
package enum WriteLane: Int, CaseIterable, Sendable {
    case intake, control, settle
    /// Registrations and subscriptions of many devices at once.
    case batch
    case rest
}

/// Numbers for metrics.
package struct StoreCensus: Sendable, Hashable {
    /// Messages that have started.
    package var messagesUnfinished = 0
    package var messagesScheduled = 0
    /// When the oldest message that is being sent started.
    package var oldestPendingAt: Timestamp?
    package var slicesReady = 0
    package var slicesWaiting = 0
    package var slicesLeased = 0
    /// Ready slices that wait for their route to open.
    package var slicesParked = 0
    /// Slices whose message ended before them.
    package var slicesEnding = 0
    package var slicesQuarantined = 0
    package var appsStopped = 0

    package init() {}
}
