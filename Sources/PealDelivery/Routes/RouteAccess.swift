internal import PealCore
internal import Synchronization

/// The credential for a route of an app, and the name by which connection pools know it.
struct RouteAccess: Sendable {
    let credential: Credential
    let fingerprint: String
    let providerAppID: String
    let health: CredentialRecord.Health

    init(_ credential: Credential, _ record: CredentialRecord) {
        self.credential = credential
        fingerprint = record.fingerprint
        health = record.health
        providerAppID = credential.providerAppID
    }
}

/// Recently read credentials, because unsealing one costs more than a direct message. Entries live for seconds, because
/// another process may replace a credential, and are dropped at once when this process replaces it.
final class AccessCache: Sendable {
    struct Key: Sendable, Hashable {
        let app: AppKey
        let provider: ProviderName
        let environment: Environment
    }

    private struct Entry {
        /// nil = the app has none.
        var access: RouteAccess?
        let readAt: Duration
        var isHealthy: Bool
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        /// The number of the last change of each credential that was changed.
        var changes: [Key: Int] = [:]
        var changeCount = 0
        /// The number for credentials that are not in `changes`.
        var changesBefore = 0
    }

    private static let life: Duration = .seconds(5)
    private static let countMax = 1024
    private let state = Mutex(State())

    /// Differs before and after a change of the credential. What was read or sent under another version is outdated.
    func version(of key: Key) -> Int { state.withLock { $0.changes[key] ?? $0.changesBefore } }

    /// The kept entry; nil when the credential must be read.
    func find(_ key: Key, now: Duration) -> Found? {
        state.withLock { state in
            guard let entry = state.entries[key], now - entry.readAt < Self.life else { return nil }
            return Found(access: entry.access)
        }
    }

    /// What was read; without access when the app has no credential there.
    struct Found: Sendable {
        let access: RouteAccess?
    }

    /// Keeps what was read under the given version, unless the credential has changed since.
    func keep(_ access: RouteAccess?, for key: Key, version: Int, now: Duration) {
        state.withLock { state in
            guard state.changes[key] ?? state.changesBefore == version else { return }
            if state.entries.count >= Self.countMax { state.entries.removeAll() }
            let isHealthy = if case .ok = access?.health { true } else { false }
            state.entries[key] = Entry(access: access, readAt: now, isHealthy: isHealthy)
        }
    }

    /// Notes that the credential worked. Returns whether that is new and must be stored.
    func markHealthy(_ key: Key) -> Bool {
        state.withLock { state in
            guard let entry = state.entries[key], !entry.isHealthy else { return false }
            state.entries[key]?.isHealthy = true
            return true
        }
    }

    func markStopped(_ key: Key) { state.withLock { $0.entries[key]?.isHealthy = false } }

    /// Drops every credential: any of them may have changed.
    func forgetAll() {
        state.withLock { state in
            state.changeCount += 1
            (state.changes, state.changesBefore) = ([:], state.changeCount)
            state.entries = [:]
        }
    }

    /// Drops a credential that changed. Returns the fingerprint that was kept, so that its connections can be closed.
    func forget(_ key: Key) -> String? {
        state.withLock { state in
            state.changeCount += 1
            if state.changes.count >= Self.countMax {
                state.changes = [:]
                state.changesBefore = state.changeCount
            }
            state.changes[key] = state.changeCount
            return state.entries.removeValue(forKey: key)?.access?.fingerprint
        }
    }
}
