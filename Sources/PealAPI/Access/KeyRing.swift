internal import PealCore
internal import Synchronization

/// Finds keys by what a caller shows. A key that was found is remembered for a second, so that a burst of requests asks
/// the store once; a key that is revoked here is forgotten at once.
final class KeyRing: Sendable {
    private struct Name: Hashable {
        let dialect: APIKey.Dialect
        let publicHalf: String
    }

    private struct Entry {
        let key: StoredKey
        let until: Duration
    }

    private static let memory = Duration.seconds(1)
    private static let entriesMax = 10_000

    private let store: any Store
    private let hasher: any KeyHasher
    private let time: any TimeSource
    private let entries = Mutex<[Name: Entry]>([:])

    init(store: any Store, hasher: any KeyHasher, time: any TimeSource) {
        self.store = store
        self.hasher = hasher
        self.time = time
    }

    /// The key of one of `dialects` whose lone secret is `secret`; expired ones do not count.
    func key(_ dialects: [APIKey.Dialect], secret: String, now: Timestamp) async throws -> StoredKey? {
        let hash = hasher.hash(secret)
        let publicHalf = KeyVerbs.publicHalf(ofHash: hash)
        for dialect in dialects {
            if let key = try await key(dialect, publicHalf: publicHalf, hash: hash, now: now) { return key }
        }
        return nil
    }

    /// The key of one of `dialects` with that public half, if `secret` is its own; expired ones do not count.
    func key(
        _ dialects: [APIKey.Dialect], publicHalf: String, secret: String, now: Timestamp
    ) async throws -> StoredKey? {
        let hash = hasher.hash(secret)
        for dialect in dialects {
            if let key = try await key(dialect, publicHalf: publicHalf, hash: hash, now: now) { return key }
        }
        return nil
    }

    func forget() { entries.withLock { $0.removeAll() } }

    private func key(
        _ dialect: APIKey.Dialect, publicHalf: String, hash: [UInt8], now: Timestamp
    ) async throws -> StoredKey? {
        let name = Name(dialect: dialect, publicHalf: publicHalf)
        let uptime = time.uptime
        var found = entries.withLock { $0[name] }.flatMap { $0.until > uptime ? $0.key : nil }
        if found == nil {
            found = try await store.read { try $0.storedKey(dialect, publicHalf: publicHalf) }
            if let found { remember(found, as: name, until: uptime + Self.memory) }
        }
        guard let found, ConstantTime.areEqual(found.secretHash, hash) else { return nil }
        if let end = found.key.expiresAt, end <= now { return nil }
        return found
    }

    private func remember(_ key: StoredKey, as name: Name, until: Duration) {
        entries.withLock { entries in
            if entries.count >= Self.entriesMax { entries.removeAll() }
            entries[name] = Entry(key: key, until: until)
        }
    }
}
