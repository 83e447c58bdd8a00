internal import PealCore

/// `live_server` and `provider_token`: what the servers that share a database know about each other.
enum ServerTable {
    /// Servers that were not seen for this long are forgotten.
    static let memorySeconds: Int64 = 3600
    /// Tokens of keys that are no longer used are deleted.
    static let tokenMemorySeconds: Int64 = 24 * 3600

    static func note(_ name: String, _ now: Timestamp) -> SQL {
        """
        INSERT INTO live_server (name, seen_at) VALUES (\(name), \(now))
        ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at
        """
    }

    /// Forgets servers that were not seen for long, and those from before the clock was set back. A server that still
    /// runs is recorded again at once.
    static func forget(_ now: Timestamp) -> SQL {
        """
        DELETE FROM live_server
        WHERE seen_at < \(now - .seconds(memorySeconds)) OR seen_at > \(AheadOfTime.horizon(now))
        """
    }

    /// Servers that run at `now`, for commands that must not run beside them. Rows from before the clock was set back
    /// are of servers that have ended.
    static func running(_ now: Timestamp) -> SQL {
        "seen_at BETWEEN \(now - .seconds(Limits.serverPresenceSeconds)) AND \(AheadOfTime.horizon(now))"
    }

    /// How many servers that send were seen at `start` or later.
    static func sending(since start: Timestamp) -> SQL {
        """
        SELECT COUNT(*) FROM live_server
        WHERE seen_at >= \(start) AND name NOT LIKE \(ServerName.pausedPrefix + "%")
        """
    }

    /// A token that is further ahead was issued before the clock was set back. Push networks refuse it.
    static let tokenAheadSeconds: Int64 = 60

    static func putToken(_ name: String, _ issuedAt: Timestamp, _ sealed: [UInt8]) -> SQL {
        """
        INSERT INTO provider_token (name, issued_at, sealed) VALUES (\(name), \(issuedAt), \(sealed))
        ON CONFLICT (name) DO UPDATE SET issued_at = excluded.issued_at, sealed = excluded.sealed
        """
    }

    /// What a sealed token is bound to.
    static func sealLabel(_ name: String) -> String { "provider token \(name)" }
}

extension StoreSession {
    func recordServer(_ name: String, now: Timestamp, seenSince start: Timestamp) throws -> Int {
        try connection.execute(ServerTable.note(name, now))
        try connection.execute(ServerTable.forget(now))
        return try connection.count(ServerTable.sending(since: start))
    }

    func servers(seenSince start: Timestamp) throws -> [(name: String, seenAt: Timestamp)] {
        try connection.all(
            "SELECT name, seen_at FROM live_server WHERE seen_at >= \(start) ORDER BY name"
        ) { row in (name: try row.next(String.self), seenAt: try row.next(Timestamp.self)) }
    }

    func removeServer(_ name: String) throws {
        try connection.execute("DELETE FROM live_server WHERE name = \(name)")
    }

    func agreeOnToken(_ offer: SharedToken, name: String, oldest: Timestamp, now: Timestamp) throws -> SharedToken {
        let stored = try connection.first(
            """
            SELECT issued_at, sealed FROM provider_token WHERE name = \(name) AND issued_at >= \(oldest)
                AND issued_at <= \(now + .seconds(ServerTable.tokenAheadSeconds))
            """
        ) { row in (issuedAt: try row.next(Timestamp.self), sealed: try row.next([UInt8].self)) }
        if let stored, let value = try? context.masterKey.unseal(stored.sealed, label: ServerTable.sealLabel(name)) {
            return SharedToken(value, issuedAt: stored.issuedAt)
        }
        let sealed = try context.masterKey.seal(offer.value, label: ServerTable.sealLabel(name))
        try connection.execute(ServerTable.putToken(name, offer.issuedAt, sealed))
        let over = now - .seconds(ServerTable.tokenMemorySeconds)
        try connection.execute("DELETE FROM provider_token WHERE issued_at < \(over)")
        return offer
    }
}
