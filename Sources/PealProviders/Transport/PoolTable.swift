import PealCore

/// Sends the pages of one credential.
protocol CredentialPool: AnyObject, Sendable {
    /// Ends at once, and returns when nothing is left.
    func close() async
}

/// A pool with the data that its provider keeps for it.
protocol PoolEntry: Sendable {
    associatedtype Pool: CredentialPool
    var pool: Pool { get }
}

extension ConnectionPool: CredentialPool {}
extension RequestPool: CredentialPool, PoolEntry {
    var pool: RequestPool { self }
}

/// The pools of a provider: those of its credentials, and those of removed credentials until they have ended. Its owner
/// guards it with a lock.
struct PoolTable<Key: Hashable, Entry: PoolEntry> {
    private(set) var entries: [Key: Entry] = [:]
    private(set) var isClosed = false
    private var drained: [Drained] = []

    /// Weak, so that a pool and its private key are released with the last connection.
    private struct Drained {
        weak var pool: Entry.Pool?
    }

    /// Keeps an entry unless the table is closed.
    /// - Returns: the one in force: an earlier one, if another thread was faster; nil if the table is closed.
    mutating func keep(_ made: Entry, for key: Key) -> Entry? {
        if let entry = entries[key] { return entry }
        guard !isClosed else { return nil }
        entries[key] = made
        return made
    }

    /// Removes the entries of a credential. The caller drains their pools, outside the lock.
    mutating func remove(where isRemoved: (Key) -> Bool) -> [Entry] {
        let removed = entries.keys.filter(isRemoved).compactMap { entries.removeValue(forKey: $0) }
        drained.removeAll { $0.pool == nil }
        drained += removed.map { Drained(pool: $0.pool) }
        return removed
    }

    /// Accepts no further entries. The caller closes the pools that are returned, outside the lock.
    mutating func close() -> [Entry.Pool] {
        let pools = entries.values.map(\.pool) + drained.compactMap(\.pool)
        (entries, drained, isClosed) = ([:], [], true)
        return pools
    }
}

extension PageOrder {
    /// Whether every device has a notification. Without one, an order must not get to a pool.
    var hasEveryVariant: Bool { variants.allSatisfy { Int($0) < notifications.count } }
}

extension Array where Element: CredentialPool {
    /// Closes all pools and returns when they are gone.
    func close() async {
        await withTaskGroup { group in
            for pool in self { group.addTask { await pool.close() } }
        }
    }
}
