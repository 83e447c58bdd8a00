internal import PealCore

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
