internal import PealCore

/// `setting` holds server-wide values, `counter` the last number of each series.
extension StoreSession {
    func setting(_ name: String) throws -> [UInt8]? {
        try connection.value("SELECT value FROM setting WHERE name = \(name)")
    }

    func setSetting(_ name: String, _ value: [UInt8], until end: Timestamp?) throws {
        try connection.post(
            """
            INSERT INTO setting (name, value, expires_at) VALUES (\(name), \(value), \(end))
            ON CONFLICT (name) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at
            """)
    }

    func takeSetting(_ name: String, now: Timestamp) throws -> [UInt8]? {
        let end: Timestamp? = try connection.value("SELECT expires_at FROM setting WHERE name = \(name)")
        let value = try setting(name)
        guard try connection.execute("DELETE FROM setting WHERE name = \(name)") == 1 else { return nil }
        return end.map { $0 <= now } == true ? nil : value
    }

    func size() throws -> Int? { try connection.value(SQL(text: context.dialect.size, values: [])) }

    /// The next number of a series, counted from 1. Numbers may be skipped but are never reused.
    func nextNumber(_ series: String) throws -> Int64 { try nextNumber(in: Self.counter(series)) }

    func nextNumber(in series: NumberSeries) throws -> Int64 {
        guard let number = try connection.number(in: series) else { throw PealError.damaged("a counter") }
        return number
    }

    static func counter(_ series: String, blockSize: Int64 = 1) -> NumberSeries {
        NumberSeries(name: series, blockSize: blockSize) { count in
            """
            INSERT INTO counter (name, value) VALUES (\(series), \(count))
            ON CONFLICT (name) DO UPDATE SET value = counter.value + excluded.value RETURNING value
            """
        }
    }
}

/// `idempotency`: the answers to requests that had an idempotency key.
extension StoreSession {
    func keptAnswer(_ request: IdempotentRequest, now: Timestamp) throws -> KeptAnswer? {
        let earliest = now - .seconds(min(request.lifeSeconds, Limits.idempotencyLifeSeconds))
        return try connection.first(
            """
            SELECT digest, status, body FROM idempotency
            WHERE scope = \(request.scope) AND request_key = \(request.key) AND at > \(earliest)
            """
        ) { row in KeptAnswer(digest: try row.next(), status: try row.next(), body: try row.next()) }
    }

    func keepAnswer(_ answer: KeptAnswer, to request: IdempotentRequest, now: Timestamp) throws {
        try connection.post(
            """
            INSERT INTO idempotency \(row: [
                "scope": request.scope, "request_key": request.key, "digest": answer.digest, "status": answer.status,
                "body": answer.body, "at": now,
            ])
            ON CONFLICT (scope, request_key) DO UPDATE SET digest = excluded.digest, status = excluded.status,
                body = excluded.body, at = excluded.at
            """)
    }
}
