internal import PealCore
internal import Synchronization

/// Credentials read lately: unsealing one costs more than a direct message. Entries live for seconds, because another
/// process may replace them, and are dropped at once when this one does.
final class AccessCache: Sendable {
    struct Key: Sendable, Hashable {
        let app: AppKey
        let provider: ProviderName
        let environment: Environment
    }

    private struct Entry {
        /// nil = the app has none.
        var access: Access?
        let readAt: Duration
        var isHealthy: Bool
    }

    private static let life: Duration = .seconds(5)
    private static let countMax = 1024
    private let entries = Mutex<[Key: Entry]>([:])

    /// What is known; nil when it must be read.
    func find(_ key: Key, now: Duration) -> Found? {
        entries.withLock { entries in
            guard let entry = entries[key], now - entry.readAt < Self.life else { return nil }
            return Found(access: entry.access)
        }
    }

    /// What was read; without access when the app has no credential there.
    struct Found: Sendable {
        let access: Access?
    }

    func keep(_ access: Access?, for key: Key, now: Duration) {
        entries.withLock { entries in
            if entries.count >= Self.countMax { entries.removeAll() }
            let isHealthy = if case .ok = access?.health { true } else { false }
            entries[key] = Entry(access: access, readAt: now, isHealthy: isHealthy)
        }
    }

    /// Says that the credential worked. Returns whether that is news worth storing.
    func markHealthy(_ key: Key) -> Bool {
        entries.withLock { entries in
            guard let entry = entries[key], !entry.isHealthy else { return false }
            entries[key]?.isHealthy = true
            return true
        }
    }

    func markStopped(_ key: Key) { entries.withLock { $0[key]?.isHealthy = false } }

    /// Returns the fingerprint that was held, so that its connections can go.
    func forget(_ key: Key) -> String? {
        entries.withLock { $0.removeValue(forKey: key)?.access?.fingerprint }
    }
}
