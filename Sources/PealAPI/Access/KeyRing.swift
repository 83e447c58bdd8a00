internal import PealCore
internal import Synchronization

/// Finds keys by what a caller presents. A key that was found is cached for a second, so that a burst of requests reads
/// the store once; a key that is revoked through this server leaves the cache immediately.
final class KeyRing: Sendable {
    private struct Name: Hashable {
        let dialect: DialectName
        let publicHalf: String
    }

    private struct Entry {
        let key: StoredKey
        let until: Duration
    }

    private static let lasts = Duration.seconds(1)
    private static let entriesMax = 10_000

    private let store: any Store
    private let hasher: any KeyHasher
    private let time: any TimeSource
    private let memory = Mutex(Memory())

    private struct Memory {
        var entries: [Name: Entry] = [:]
        var admins: [String: (admin: Admin, secretHash: [UInt8], until: Duration)] = [:]
        /// Counts how often the cache was cleared, so that nothing read before a clearing is cached after it.
        var age = 0
    }

    init(store: any Store, hasher: any KeyHasher, time: any TimeSource) {
        self.store = store
        self.hasher = hasher
        self.time = time
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
        let uptime = time.uptime
        let (known, age) = memory.withLock { ($0.admins[publicHalf], $0.age) }
        var found = known.flatMap { $0.until > uptime ? (admin: $0.admin, secretHash: $0.secretHash) : nil }
        if found == nil {
            found = try await store.read { try $0.storedAdmin(publicHalf: publicHalf) }
            if let found {
                memory.withLock { memory in
                    guard memory.age == age else { return }
                    if memory.admins.count >= Self.entriesMax { memory.admins.removeAll() }
                    memory.admins[publicHalf] = (found.admin, found.secretHash, uptime + Self.lasts)
                }
            }
        }
        guard let found, ConstantTime.areEqual(found.secretHash, hash) else { return nil }
        return found.admin
    }

    func forget() {
        memory.withLock {
            $0.entries.removeAll()
            $0.admins.removeAll()
            $0.age += 1
        }
    }

    private func key(
        _ dialect: DialectName, publicHalf: String, hash: [UInt8], now: Timestamp
    ) async throws -> StoredKey? {
        let name = Name(dialect: dialect, publicHalf: publicHalf)
        let uptime = time.uptime
        let (known, age) = memory.withLock { ($0.entries[name], $0.age) }
        var found = known.flatMap { $0.until > uptime ? $0.key : nil }
        if found == nil {
            found = try await store.read { try $0.storedKey(dialect, publicHalf: publicHalf) }
            if let found { remember(Entry(key: found, until: uptime + Self.lasts), as: name, age: age) }
        }
        guard let found, ConstantTime.areEqual(found.secretHash, hash) else { return nil }
        if let end = found.key.expiresAt, end <= now { return nil }
        return found
    }

    private func remember(_ entry: Entry, as name: Name, age: Int) {
        memory.withLock { memory in
            guard memory.age == age else { return }
            if memory.entries.count >= Self.entriesMax { memory.entries.removeAll() }
            memory.entries[name] = entry
        }
    }
}

/// Compares in constant time.
enum ConstantTime {
    static func areEqual(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
