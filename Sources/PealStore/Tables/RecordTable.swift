internal import PealCore

/// `idempotency`: the answers to requests that named themselves.
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

/// `audit`: who did what to which object.
extension StoreSession {
    func audit(_ entry: AuditEntry) throws {
        try connection.post(
            """
            INSERT INTO audit \(row: [
                "number": try nextNumber("audit"), "at": entry.at, "app": entry.app, "actor": entry.actor,
                "action": entry.action, "object": entry.object,
            ])
            """)
    }

    func auditEntries(app: AppKey?, before cursor: Int64?, limit: Int) throws -> [(number: Int64, entry: AuditEntry)] {
        let mine: SQL = app.map { "app = \($0) AND " } ?? ""
        return try connection.all(
            """
            SELECT number, at, app, actor, action, object FROM audit
            WHERE \(mine)number < \(cursor ?? .max) ORDER BY number DESC LIMIT \(limit)
            """
        ) { row in
            let number: Int64 = try row.next()
            let entry = AuditEntry(
                at: try row.next(), app: try row.next(), actor: try row.next(), action: try row.next(),
                object: try row.next())
            return (number, entry)
        }
    }
}
