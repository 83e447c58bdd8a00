internal import PealCore

extension StoreSession {
    func enqueue(_ event: OutboxEvent, for kinds: [Webhook.Kind]) throws -> Int {
        guard (event.payload?.count ?? 0) <= Limits.webhookPayloadBytesMax else {
            throw PealError(.internal, "an event of type \(event.type) is larger than webhooks may be sent")
        }
        return try kinds.reduce(into: 0) { count, kind in
            count += try connection.execute(
                WebhookSQL.enqueue,
                [
                    .int(event.app), .text(kind.rawValue), .time(event.createdAt), .id(event.id),
                    .time(event.dueAt + (context.composers[kind]?.form.gathering ?? .zero)), .text(event.type),
                    .bytes(event.message?.bytes),
                    .bytes(event.payload),
                ])
        }
    }

    /// Reports the end of a message that has no slices left: only then do its counts add up.
    func reportEnd(_ message: Message, state: Message.State, at: Timestamp) throws {
        _ = try enqueue(
            OutboxEvent(endOf: message.id, app: message.app, state: state, at: at),
            for: context.composers.kinds(reportingEndsOf: message.dialect))
    }

    func dueWebhooks(now: Timestamp) throws -> [WebhookPlace] {
        let queues = try webhookQueues().filter { try isQueueDue($0, now: now) }
        let pending = try places(WebhookSQL.nextPending).filter { try isDeliveryDue(for: $0, now: now) }
        return Set(queues + pending).sorted()
    }

    func isDeliveryDue(for place: WebhookPlace, now: Timestamp) throws -> Bool {
        try connection.int(WebhookSQL.pendingDue, Self.values(place) + [.time(now)]) != nil
    }

    /// Webhooks that have events waiting.
    func webhookQueues() throws -> [WebhookPlace] { try places(WebhookSQL.nextQueue) }

    private func places(_ next: String) throws -> [WebhookPlace] {
        var places: [WebhookPlace] = []
        var after: [SQLValue] = [.int(0), .int(0)]
        while let place = try connection.first(next, after, { WebhookPlace(app: $0.int(0), webhook: $0.int(1)) }) {
            places.append(place)
            after = Self.values(place)
        }
        return places
    }

    private func isQueueDue(_ place: WebhookPlace, now: Timestamp) throws -> Bool {
        guard let dueAt = try connection.int(WebhookSQL.oldestDue, Self.values(place)) else { return false }
        if dueAt <= now.milliseconds { return true }
        let enough = Limits.webhookItemsPerRequestMax
        return try connection.int(WebhookSQL.queueLength, Self.values(place) + [.int(enough)]) == Int64(enough)
    }

    func outboxEvents(for place: WebhookPlace, limit: Int) throws -> [OutboxEvent] {
        try connection.all(WebhookSQL.events, Self.values(place) + [.int(limit)]) { row in
            OutboxEvent(
                id: try row.id(1), app: place.app, type: row.text(3), payload: row.bytesIfPresent(5),
                message: row.isNull(4) ? nil : try row.id(4), createdAt: row.time(0), dueAt: row.time(2))
        }
    }

    func facts(app: AppKey, message id: MessageID) throws -> MessageFacts? {
        guard let report = try report(app: app, id: id), let app = try self.app(key: app) else { return nil }
        let source = try connection.first(
            "SELECT source FROM message_content WHERE app = $1 AND message = $2", [.int(app.key), .id(id)]
        ) { $0.bytesIfPresent(0) }
        return MessageFacts(app: app, report: report, source: source ?? nil)
    }

    func cut(
        _ events: [OutboxEvent], into delivery: WebhookDelivery, body: [UInt8]?, owner: String, until: Timestamp
    ) throws -> LeasedDelivery? {
        let place = delivery.place
        let counts = try connection.execute(
            WebhookSQL.takeEvent,
            rows: events.map { Self.values(place) + [.time($0.createdAt), .id($0.id)] })
        guard counts.allSatisfy({ $0 == 1 }) else { return nil }
        let isLeased = delivery.state == .pending
        try connection.execute(
            """
            INSERT INTO webhook_delivery (app, id, webhook, type, state, item_count, attempts, last_error, created_at,
                started_at, next_at, ended_at, body, owner, term, lease_until)
            VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8, $9, $10, $11, $12, $13, 1, $14)
            """,
            [
                .int(place.app), .id(delivery.id), .int(place.webhook), .text(delivery.type),
                .int(delivery.state.rawValue), .int(delivery.itemCount), .text(delivery.lastError),
                .time(delivery.createdAt), .time(delivery.startedAt), .time(delivery.nextAttemptAt),
                .time(delivery.endedAt), .bytes(body), .text(owner), .int(isLeased ? until.milliseconds : 0),
            ])
        return LeasedDelivery(delivery: delivery, body: body ?? [], owner: owner, term: 1)
    }
}

extension StoreSession {
    /// Reads `WebhookSQL.deliveryColumns`.
    private static func delivery(_ row: any SQLRow) throws -> WebhookDelivery {
        guard let state = WebhookDelivery.State(rawValue: row.int(4)) else { throw PealError.damaged("a delivery") }
        return WebhookDelivery(
            id: try row.id(0), place: WebhookPlace(app: row.int(1), webhook: row.int(2)), type: row.text(3),
            state: state, itemCount: Int(row.int(5)), attempts: Int(row.int(6)),
            lastStatus: row.intIfPresent(7).map { Int($0) }, lastError: row.textIfPresent(8), createdAt: row.time(9),
            startedAt: row.time(10), nextAttemptAt: row.time(11), endedAt: row.timeIfPresent(12))
    }

    func deliveries(
        of place: WebhookPlace, before cursor: WebhookDeliveryID?, limit: Int
    ) throws -> [WebhookDelivery] {
        // Seventeen bytes come after every id.
        let end = cursor?.bytes ?? [UInt8](repeating: 0xFF, count: 17)
        return try connection.all(
            WebhookSQL.newestDeliveries, Self.values(place) + [.bytes(end), .int(limit)], Self.delivery)
    }

    func delivery(of place: WebhookPlace, id: WebhookDeliveryID) throws -> WebhookDelivery? {
        try connection.first(
            "SELECT \(WebhookSQL.deliveryColumns) FROM webhook_delivery WHERE app = $1 AND webhook = $2 AND id = $3",
            Self.values(place) + [.id(id)], Self.delivery)
    }

    func retryDelivery(of place: WebhookPlace, id: WebhookDeliveryID, now: Timestamp) throws -> WebhookDelivery? {
        let count = try connection.execute(
            """
            UPDATE webhook_delivery SET state = 0, next_at = $4, ended_at = NULL,
                started_at = CASE WHEN state = 2 THEN $4 ELSE started_at END
            WHERE app = $1 AND webhook = $2 AND id = $3 AND state IN (0, 2) AND body IS NOT NULL
            """, Self.values(place) + [.id(id), .time(now)])
        return count == 1 ? try delivery(of: place, id: id) : nil
    }

    func leaseDeliveries(
        of place: WebhookPlace, limit: Int, owner: String, until: Timestamp, now: Timestamp
    ) throws -> [LeasedDelivery] {
        try connection.all(
            context.dialect.text(of: WebhookSQL.leaseDeliveries),
            Self.values(place) + [.time(now), .int(limit), .text(owner), .time(until)]
        ) { row in
            LeasedDelivery(delivery: try Self.delivery(row), body: row.bytes(13), owner: owner, term: row.int(14))
        }.sorted { ($0.delivery.nextAttemptAt, $0.delivery.id) < ($1.delivery.nextAttemptAt, $1.delivery.id) }
    }

    func settle(_ leased: LeasedDelivery) throws -> Bool {
        let delivery = leased.delivery
        return try connection.execute(
            WebhookSQL.settle,
            [
                .int(delivery.place.app), .id(delivery.id), .text(leased.owner), .int(leased.term),
                .int(delivery.state.rawValue), .int(delivery.attempts),
                .int(delivery.lastStatus.map { Int64($0) }), .text(delivery.lastError),
                .time(delivery.nextAttemptAt), .time(delivery.endedAt),
            ]) == 1
    }

    func takeBackDeliveries() throws {
        try connection.execute(
            "UPDATE webhook_delivery SET lease_until = 0 WHERE state = 0 AND lease_until > 0", [])
    }
}

/// The statements that run for every event or while webhooks are served. A test reads the plan of each, as of `HotSQL`.
enum WebhookSQL {
    static let deliveryColumns = """
        id, app, webhook, type, state, item_count, attempts, last_status, last_error, created_at, started_at, next_at, \
        ended_at
        """

    /// Runs for every message that ends: an app without webhooks costs one look-up.
    static let enqueue = """
        INSERT INTO outbox (app, webhook, created_at, id, due_at, type, message, payload)
        SELECT app, webhook, $3, $4, $5, $6, $7, $8 FROM webhook
        WHERE app = $1 AND kind = $2 AND disabled_at IS NULL
        ON CONFLICT DO NOTHING
        """

    /// From one webhook to the next through the key, however many rows lie between.
    static let nextQueue = """
        SELECT app, webhook FROM outbox WHERE (app, webhook) > ($1, $2) ORDER BY app, webhook LIMIT 1
        """

    static let oldestDue = "SELECT due_at FROM outbox WHERE app = $1 AND webhook = $2 ORDER BY created_at, id LIMIT 1"

    static let queueLength = """
        SELECT COUNT(*) FROM (SELECT id FROM outbox WHERE app = $1 AND webhook = $2 LIMIT $3) sample
        """

    static let events = """
        SELECT created_at, id, due_at, type, message, payload FROM outbox
        WHERE app = $1 AND webhook = $2 ORDER BY created_at, id LIMIT $3
        """

    static let takeEvent = "DELETE FROM outbox WHERE app = $1 AND webhook = $2 AND created_at = $3 AND id = $4"

    static let nextPending = """
        SELECT app, webhook FROM webhook_delivery WHERE state = 0 AND (app, webhook) > ($1, $2)
        ORDER BY app, webhook LIMIT 1
        """

    static let pendingDue = """
        SELECT next_at FROM webhook_delivery
        WHERE state = 0 AND app = $1 AND webhook = $2 AND next_at <= $3 AND lease_until <= $3
        ORDER BY next_at LIMIT 1
        """

    static let leaseDeliveries = """
        WITH pick AS MATERIALIZED (
            SELECT id FROM webhook_delivery
            WHERE state = 0 AND app = $1 AND webhook = $2 AND next_at <= $3 AND lease_until <= $3
            ORDER BY next_at LIMIT $4 {lock})
        UPDATE webhook_delivery SET owner = $5, term = term + 1, lease_until = $6
        WHERE app = $1 AND id IN (SELECT id FROM pick)
        RETURNING \(deliveryColumns), body, term
        """

    static let settle = """
        UPDATE webhook_delivery SET state = $5, attempts = $6, last_status = $7, last_error = $8, next_at = $9,
            ended_at = $10, body = CASE WHEN $5 = 1 THEN NULL ELSE body END, lease_until = 0
        WHERE app = $1 AND id = $2 AND state = 0 AND owner = $3 AND term = $4
        """

    static let newestDeliveries = """
        SELECT \(deliveryColumns) FROM webhook_delivery WHERE app = $1 AND webhook = $2 AND id < $3
        ORDER BY id DESC LIMIT $4
        """

    static let pruneDeliveries = """
        DELETE FROM webhook_delivery WHERE (app, id) IN (
            SELECT app, id FROM webhook_delivery
            WHERE state = $1 AND ended_at <= $2 AND ended_at IS NOT NULL ORDER BY ended_at LIMIT $3)
        """

    static let pruneEvents = """
        DELETE FROM outbox WHERE (app, webhook, created_at, id) IN (
            SELECT app, webhook, created_at, id FROM outbox
            WHERE app = $1 AND webhook = $2 AND created_at <= $3 LIMIT $4)
        """

    /// Every statement by name.
    static let all: KeyValuePairs<String, String> = [
        "webhook.enqueue": enqueue, "webhook.nextQueue": nextQueue, "webhook.oldestDue": oldestDue,
        "webhook.queueLength": queueLength, "webhook.events": events, "webhook.takeEvent": takeEvent,
        "webhook.nextPending": nextPending, "webhook.pendingDue": pendingDue,
        "webhook.leaseDeliveries": leaseDeliveries, "webhook.settle": settle,
        "webhook.newestDeliveries": newestDeliveries, "webhook.pruneDeliveries": pruneDeliveries,
        "webhook.pruneEvents": pruneEvents,
    ]
}
