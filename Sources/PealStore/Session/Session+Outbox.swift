internal import PealCore

extension StoreSession {
    func enqueue(_ event: OutboxEvent, for kinds: [Webhook.Kind]) throws -> Int {
        guard (event.payload?.count ?? 0) <= Limits.webhookPayloadBytesMax else {
            throw PealError(.internal, "an event of type \(event.type) is larger than webhooks are told")
        }
        return try kinds.reduce(into: 0) { count, kind in
            count += try connection.execute(
                WebhookSQL.enqueue,
                [
                    .int(event.app), .text(kind.rawValue), .time(event.createdAt), .id(event.id),
                    .time(event.dueAt + kind.gathering), .text(event.type), .bytes(event.message?.bytes),
                    .bytes(event.payload),
                ])
        }
    }

    /// Tells of the end of a message that has no slices any more: only then do its counts add up.
    func reportEnd(_ message: Message, state: Message.State, at: Timestamp) throws {
        let kinds: [Webhook.Kind] = message.dialect == .richie ? [.events, .richieReport] : [.events]
        _ = try enqueue(OutboxEvent(endOf: message.id, app: message.app, state: state, at: at), for: kinds)
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
