internal import PealCore

extension StoreSession {
    func keptAnswer(_ request: IdempotentRequest, now: Timestamp) throws -> KeptAnswer? {
        let earliest = now - .seconds(min(request.lifeSeconds, Limits.idempotencyLifeSeconds))
        return try connection.first(
            "SELECT digest, status, body FROM idempotency WHERE scope = $1 AND request_key = $2 AND at > $3",
            [.bytes(request.scope), .text(request.key), .time(earliest)]
        ) { KeptAnswer(digest: $0.bytes(0), status: Int($0.int(1)), body: $0.bytes(2)) }
    }

    func keepAnswer(_ answer: KeptAnswer, to request: IdempotentRequest, now: Timestamp) throws {
        try connection.execute(
            """
            INSERT INTO idempotency (scope, request_key, digest, status, body, at) VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (scope, request_key) DO UPDATE SET digest = excluded.digest, status = excluded.status,
                body = excluded.body, at = excluded.at
            """,
            [
                .bytes(request.scope), .text(request.key), .bytes(answer.digest), .int(answer.status),
                .bytes(answer.body), .time(now),
            ])
    }

    func audit(_ entry: AuditEntry) throws {
        try connection.execute(
            "INSERT INTO audit (number, at, app, actor, action, object) VALUES ($1, $2, $3, $4, $5, $6)",
            [
                .int(try nextNumber("audit")), .time(entry.at), .int(entry.app), .text(entry.actor),
                .text(entry.action), .text(entry.object),
            ])
    }

    func auditEntries(app: AppKey?, before cursor: Int64?, limit: Int) throws -> [(number: Int64, entry: AuditEntry)] {
        let mine = app == nil ? "" : "app = $3 AND "
        return try connection.all(
            """
            SELECT number, at, app, actor, action, object FROM audit WHERE \(mine)number < $1
            ORDER BY number DESC LIMIT $2
            """, [.int(cursor ?? .max), .int(limit)] + (app.map { [.int($0)] } ?? [])
        ) { row in
            let entry = AuditEntry(
                at: row.time(1), app: row.intIfPresent(2), actor: row.text(3), action: row.text(4),
                object: row.text(5))
            return (row.int(0), entry)
        }
    }
}
