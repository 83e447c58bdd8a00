internal import PealCore

/// `webhook_delivery`: the requests that were made from events, kept for a while; their bodies are kept only while they
/// may be sent again.
enum WebhookDeliveryTable {
    typealias State = WebhookDelivery.State

    static let columns: Columns = """
        id, app, webhook, type, state, item_count, attempts, last_status, last_error, created_at, started_at, next_at, \
        ended_at
        """

    static func delivery(_ row: inout RowReader) throws -> WebhookDelivery {
        WebhookDelivery(
            id: try row.next(), webhook: WebhookReference(app: try row.next(), key: try row.next()),
            type: try row.next(), state: try row.next(), itemCount: try row.next(), attempts: try row.next(),
            lastStatus: try row.next(), lastError: try row.next(), createdAt: try row.next(),
            startedAt: try row.next(), nextAttemptAt: try row.next(), endedAt: try row.next())
    }

    static func insert(_ leased: LeasedDelivery, body: [UInt8]?, until: Timestamp) -> SQL {
        let delivery = leased.delivery
        return """
            INSERT INTO webhook_delivery \(row: [
                "app": delivery.webhook.app, "id": delivery.id, "webhook": delivery.webhook.key,
                "type": delivery.type, "state": delivery.state, "item_count": delivery.itemCount, "attempts": 0,
                "last_error": delivery.lastError, "created_at": delivery.createdAt,
                "started_at": delivery.startedAt, "next_at": delivery.nextAttemptAt, "ended_at": delivery.endedAt,
                "body": body, "owner": leased.owner, "term": leased.term,
                "lease_until": delivery.state == .pending ? until : Timestamp(milliseconds: 0),
            ])
            """
    }

    static let queue = WebhookQueue(
        table: "webhook_delivery", rows: "state = \(code: State.pending)", order: "next_at, lease_until")

    /// Webhooks with deliveries that are due and not leased.
    static func due(_ now: Timestamp) -> SQL {
        queue.webhooks(
            where: "\(WebhookQueue.isKnown) AND \(queue.has("next_at <= \(now) AND \(isNotLeased(now))"))")
    }

    /// A lease that ends too far ahead was taken before the clock was set back. If its holder still sends, the receiver
    /// may get the delivery twice, with the same id.
    private static func isNotLeased(_ now: Timestamp) -> SQL { "lease_until NOT \(leaseTimes(now))" }

    private static func leaseTimes(_ now: Timestamp) -> SQL {
        "BETWEEN \(now + .milliseconds(1)) AND \(AheadOfTime.horizon(now, Limits.webhookLeaseSeconds))"
    }

    /// Pending, due and not leased.
    private static func free(_ reference: WebhookReference, _ now: Timestamp) -> SQL {
        """
        state = \(code: State.pending) AND \(WebhookTable.matching(reference)) AND next_at <= \(now)
            AND \(isNotLeased(now))
        """
    }

    static func pendingDue(_ reference: WebhookReference, _ now: Timestamp) -> SQL {
        "SELECT next_at FROM webhook_delivery WHERE \(free(reference, now)) ORDER BY next_at LIMIT 1"
    }

    /// One that is being sent, even by a server whose clock is a little ahead.
    static func leased(_ reference: WebhookReference, _ now: Timestamp) -> SQL {
        """
        SELECT next_at FROM webhook_delivery
        WHERE state = \(code: State.pending) AND \(WebhookTable.matching(reference))
            AND next_at <= \(AheadOfTime.horizon(now)) AND lease_until \(leaseTimes(now))
        LIMIT 1
        """
    }

    static func lease(
        _ reference: WebhookReference, limit: Int, owner: String, until: Timestamp, now: Timestamp,
        _ dialect: SQLDialect
    ) -> SQL {
        """
        WITH pick AS MATERIALIZED (
            SELECT id FROM webhook_delivery WHERE \(free(reference, now))
            ORDER BY next_at LIMIT \(limit) \(name: dialect.lock))
        UPDATE webhook_delivery SET owner = \(owner), term = term + 1, lease_until = \(until)
        WHERE app = \(reference.app) AND id IN (SELECT id FROM pick)
        RETURNING \(columns), body, term
        """
    }

    static func settle(_ leased: LeasedDelivery) -> SQL {
        let delivery = leased.delivery
        return """
            UPDATE webhook_delivery SET \(set: [
                "state": delivery.state, "attempts": delivery.attempts, "last_status": delivery.lastStatus,
                "last_error": delivery.lastError, "started_at": delivery.startedAt, "next_at": delivery.nextAttemptAt,
                "ended_at": delivery.endedAt, "lease_until": 0,
            ]),
                body = CASE WHEN \(delivery.state) = \(code: State.delivered) THEN NULL ELSE body END
            WHERE app = \(delivery.webhook.app) AND id = \(delivery.id) AND state = \(code: State.pending)
                AND owner = \(leased.owner) AND term = \(leased.term)
            """
    }

    static func pending(_ reference: WebhookReference, createdBefore end: Timestamp, limit: Int) -> SQL {
        """
        SELECT id FROM webhook_delivery
        WHERE state = \(code: State.pending) AND \(WebhookTable.matching(reference)) AND created_at <= \(end)
        LIMIT \(limit)
        """
    }

    /// Pending ones with what every row has, even one that cannot be read.
    static func examined(_ reference: WebhookReference, limit: Int) -> SQL {
        """
        SELECT id, \(columns) FROM webhook_delivery
        WHERE state = \(code: State.pending) AND \(WebhookTable.matching(reference)) ORDER BY next_at LIMIT \(limit)
        """
    }

    static func fail(
        _ damaged: [UInt8], as id: WebhookDeliveryID, _ reference: WebhookReference, now: Timestamp
    ) -> SQL {
        """
        UPDATE webhook_delivery SET id = \(id), state = \(State.failed),
            last_error = \(WebhookDelivery.Refusal.noReport.rawValue), ended_at = \(now), lease_until = 0
        WHERE app = \(reference.app) AND id = \(damaged) AND state = \(code: State.pending)
        """
    }

    static func disable(_ id: [UInt8], _ reference: WebhookReference, now: Timestamp) -> SQL {
        """
        UPDATE webhook_delivery SET state = \(State.failed),
            last_error = \(WebhookDelivery.Refusal.disabled.rawValue), ended_at = \(now), lease_until = 0
        WHERE app = \(reference.app) AND id = \(id) AND state = \(code: State.pending)
        """
    }

    static func newest(_ reference: WebhookReference, before id: [UInt8], limit: Int) -> SQL {
        """
        SELECT \(columns) FROM webhook_delivery WHERE \(WebhookTable.matching(reference)) AND id < \(id)
        ORDER BY id DESC LIMIT \(limit)
        """
    }
}

extension StoreSession {
    func deliveries(
        of reference: WebhookReference, before cursor: WebhookDeliveryID?, limit: Int
    ) throws -> [WebhookDelivery] {
        // Seventeen bytes come after every id.
        let end = cursor?.bytes ?? [UInt8](repeating: 0xFF, count: 17)
        return try connection.all(
            WebhookDeliveryTable.newest(reference, before: end, limit: limit), WebhookDeliveryTable.delivery)
    }

    func delivery(of reference: WebhookReference, id: WebhookDeliveryID) throws -> WebhookDelivery? {
        try connection.first(
            """
            SELECT \(WebhookDeliveryTable.columns) FROM webhook_delivery
            WHERE \(WebhookTable.matching(reference)) AND id = \(id)
            """, WebhookDeliveryTable.delivery)
    }

    func isDeliveryDue(for reference: WebhookReference, now: Timestamp) throws -> Bool {
        try connection.exists(WebhookDeliveryTable.pendingDue(reference, now))
    }

    func isDeliveryLeased(for reference: WebhookReference, now: Timestamp) throws -> Bool {
        try connection.exists(WebhookDeliveryTable.leased(reference, now))
    }

    func retryDelivery(of reference: WebhookReference, id: WebhookDeliveryID, now: Timestamp) throws -> WebhookDelivery?
    {
        typealias State = WebhookDelivery.State
        let count = try connection.execute(
            """
            UPDATE webhook_delivery SET state = \(State.pending), next_at = \(now), ended_at = NULL,
                started_at = CASE WHEN state = \(code: State.failed) THEN \(now) ELSE started_at END
            WHERE \(WebhookTable.matching(reference)) AND id = \(id)
                AND state IN (\(code: State.pending), \(code: State.failed)) AND body IS NOT NULL
            """)
        return count == 1 ? try delivery(of: reference, id: id) : nil
    }

    func leaseDeliveries(
        of reference: WebhookReference, limit: Int, owner: String, until: Timestamp, now: Timestamp
    ) throws -> [LeasedDelivery] {
        try connection.all(
            WebhookDeliveryTable.lease(
                reference, limit: limit, owner: owner, until: until, now: now, context.dialect)
        ) { row in
            LeasedDelivery(
                delivery: try WebhookDeliveryTable.delivery(&row), body: try row.next(), owner: owner,
                term: try row.next())
        }.sorted { ($0.delivery.nextAttemptAt, $0.delivery.id) < ($1.delivery.nextAttemptAt, $1.delivery.id) }
    }

    func settle(_ leased: LeasedDelivery) throws -> Bool {
        try connection.execute(WebhookDeliveryTable.settle(leased)) == 1
    }

    func takeBackDeliveries() throws {
        guard !context.dialect.isShared else { return }
        try connection.post(
            """
            UPDATE webhook_delivery SET lease_until = 0
            WHERE state = \(code: WebhookDelivery.State.pending) AND lease_until > 0
            """)
    }
}
