internal import PealCore
internal import Synchronization

/// Finds keys and admins by what a caller presents.
final class KeyRing: Sendable {
    private struct Name: Hashable {
        let dialect: DialectName
        let publicHalf: String
    }

    private let hasher: any KeyHasher
    private let keys: RecentReads<Name, StoredKey>
    private let admins: RecentReads<String, (admin: Admin, secretHash: [UInt8])>

    init(store: any Store, hasher: any KeyHasher, time: any TimeSource) {
        self.hasher = hasher
        keys = RecentReads(store: store, time: time)
        admins = RecentReads(store: store, time: time)
    }

    /// The key of one of `dialects` whose only secret is `secret`; expired keys do not count.
    func key(_ dialects: [DialectName], secret: String, now: Timestamp) async throws -> StoredKey? {
        let hash = hasher.hash(secret)
        let publicHalf = KeyVerbs.publicHalf(ofHash: hash)
        for dialect in dialects {
            if let key = try await key(dialect, publicHalf: publicHalf, hash: hash, now: now) { return key }
        }
        return nil
    }

    /// The key of `app` with that secret, which another app had first.
    func sharedKey(
        _ dialect: DialectName, secret: String, of app: AppKey, now: Timestamp
    ) async throws -> StoredKey? {
        let hash = hasher.hash(secret)
        let publicHalf = KeyVerbs.publicHalf(ofHash: hash, in: app)
        return try await key(dialect, publicHalf: publicHalf, hash: hash, now: now)
    }

    /// The key of one of `dialects` with that public half, if `secret` is its own; expired keys do not count.
    func key(
        _ dialects: [DialectName], publicHalf: String, secret: String, now: Timestamp
    ) async throws -> StoredKey? {
        let hash = hasher.hash(secret)
        for dialect in dialects {
            if let key = try await key(dialect, publicHalf: publicHalf, hash: hash, now: now) { return key }
        }
        return nil
    }

    /// The named admin with that token.
    func admin(secret: String) async throws -> Admin? {
        guard secret.hasPrefix(AdminVerbs.tokenPrefix) else { return nil }
        let hash = hasher.hash(secret)
        let publicHalf = KeyVerbs.publicHalf(ofHash: hash)
        let found = try await admins.value(publicHalf) { try $0.storedAdmin(publicHalf: publicHalf) }
        guard let found, ConstantTime.areEqual(found.secretHash, hash) else { return nil }
        return found.admin
    }

    private func key(
        _ dialect: DialectName, publicHalf: String, hash: [UInt8], now: Timestamp
    ) async throws -> StoredKey? {
        let name = Name(dialect: dialect, publicHalf: publicHalf)
        let found = try await keys.value(name) { try $0.storedKey(dialect, publicHalf: publicHalf) }
        guard let found, ConstantTime.areEqual(found.secretHash, hash) else { return nil }
        if let end = found.key.expiresAt, end <= now { return nil }
        return found
    }
}

/// Values that were read from the store less than a second ago, so that a burst of requests reads them once. None is
/// older than the last change by this process; a change by another one is noticed within the second.
final class RecentReads<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Entry {
        let value: Value
        let until: Duration
        let version: Int
    }

    private let store: any Store
    private let time: any TimeSource
    private let entries = Mutex<[Key: Entry]>([:])

    init(store: any Store, time: any TimeSource) {
        self.store = store
        self.time = time
    }

    /// The value of `key`, from the store if it is not known. Absent values are read every time.
    func value(
        _ key: Key, read: @escaping @Sendable (any StoreReading) throws -> Value?
    ) async throws -> Value? {
        let (uptime, version) = (time.uptime, store.setupVersion)
        if let entry = entries.withLock({ $0[key] }), entry.version == version, entry.until > uptime {
            return entry.value
        }
        guard let value = try await store.read(.brief, read) else { return nil }
        entries.withLock { entries in
            if entries.count >= Limits.recentReadsMax { entries.removeAll() }
            entries[key] = Entry(value: value, until: uptime + .seconds(1), version: version)
        }
        return value
    }
}
