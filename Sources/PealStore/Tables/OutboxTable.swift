internal import PealCore

/// `outbox`: the events that wait for a webhook, read in order of time and deleted as they are read.
enum OutboxTable {
    /// Runs for every message that ends; for an app without webhooks it costs one look-up.
    /// - Parameter gathering: how long the webhook waits for more events.
    static func enqueue(_ event: OutboxEvent, for kind: Webhook.Kind, gathering: Duration) -> SQL {
        """
        INSERT INTO outbox (app, webhook, created_at, id, due_at, type, message, payload)
        SELECT app, webhook, \(event.createdAt), \(event.id), \(event.dueAt + gathering), \(event.type),
            \(event.message), \(event.payload)
        FROM webhook WHERE app = \(event.app) AND kind = \(kind) AND disabled_at IS NULL
        ON CONFLICT DO NOTHING
        """
    }

    static let queue = WebhookQueue(table: "outbox", order: "created_at, id")

    /// Webhooks whose first event has waited long enough, or that have enough events for a request.
    static func due(_ now: Timestamp) -> SQL {
        queue.webhooks(
            where: """
                \(WebhookQueue.isKnown)
                    AND (\(queue.first("due_at")) <= \(now) OR \(queue.has(count: Limits.webhookItemsPerRequestMax)))
                """)
    }

    /// Webhooks whose first event is from `earliest` or before.
    static func over(_ earliest: Timestamp) -> SQL {
        queue.webhooks(where: "\(queue.first("created_at")) <= \(earliest)")
    }

    private static let columns: Columns = "id, type, payload, message, created_at, due_at"

    static func event(_ row: inout RowReader, for reference: WebhookReference) throws -> OutboxEvent {
        OutboxEvent(
            id: try row.next(), app: reference.app, type: try row.next(), payload: try row.next(),
            message: try row.next(), createdAt: try row.next(), dueAt: try row.next())
    }

    static func events(_ reference: WebhookReference, limit: Int) -> SQL {
        "SELECT \(columns) \(oldest(reference, limit))"
    }

    /// With what every row has, even one that cannot be read.
    static func examined(_ reference: WebhookReference, limit: Int) -> SQL {
        "SELECT created_at, id, type, \(columns) \(oldest(reference, limit))"
    }

    private static func oldest(_ reference: WebhookReference, _ limit: Int) -> SQL {
        "FROM outbox WHERE \(WebhookTable.matching(reference)) ORDER BY created_at, id LIMIT \(limit)"
    }

    static func take(_ event: OutboxEvent, _ reference: WebhookReference) -> SQL {
        """
        DELETE FROM outbox
        WHERE \(WebhookTable.matching(reference)) AND created_at = \(event.createdAt) AND id = \(event.id)
        """
    }
}

extension StoreSession {
    func enqueue(_ event: OutboxEvent, for kinds: [Webhook.Kind]) throws -> Int {
        guard (event.payload?.count ?? 0) <= Limits.webhookPayloadBytesMax else {
            throw PealError(.internal, "an event of type \(event.type) exceeds the size limit for webhooks")
        }
        return try kinds.reduce(into: 0) { count, kind in
            let statement = enqueueing(event, for: kind)
            count += try connection.execute(statement)
        }
    }

    private func enqueueing(_ event: OutboxEvent, for kind: Webhook.Kind) -> SQL {
        OutboxTable.enqueue(event, for: kind, gathering: context.composers[kind]?.form.gathering ?? .zero)
    }

    func enqueue(_ event: OutboxEvent, to reference: WebhookReference) throws {
        try connection.post(
            """
            INSERT INTO outbox \(row: [
                "app": reference.app, "webhook": reference.key, "created_at": event.createdAt, "id": event.id,
                "due_at": event.dueAt, "type": event.type, "message": event.message, "payload": event.payload,
            ])
            ON CONFLICT DO NOTHING
            """)
    }

    /// Reports the end of a message that has no slices any more: only then do its counts add up.
    func reportEnd(_ message: Message, state: Message.State, at: Timestamp) throws {
        let event = OutboxEvent(endOf: message.id, app: message.app, state: state, at: at)
        for kind in context.composers.kinds(reportingEndsOf: message.dialect) {
            try connection.post(enqueueing(event, for: kind))
        }
    }

    func dueWebhooks(now: Timestamp) throws -> [WebhookReference] {
        try Set(webhooks(OutboxTable.due(now)) + webhooks(WebhookDeliveryTable.due(now))).sorted()
    }

    func webhooks(_ statement: SQL) throws -> [WebhookReference] {
        try connection.all(statement) { row in WebhookReference(app: try row.next(), key: try row.next()) }
    }

    func outboxEvents(for reference: WebhookReference, limit: Int) throws -> [OutboxEvent] {
        try connection.all(OutboxTable.events(reference, limit: limit)) { row in
            try OutboxTable.event(&row, for: reference)
        }
    }

    func failUnreadable(
        of reference: WebhookReference, limit: Int, now: Timestamp, newID: () -> WebhookDeliveryID
    ) throws -> [String] {
        try failEvents(of: reference, limit: limit, now: now, newID)
            + failDeliveries(of: reference, limit: limit, now: now, newID)
    }

    /// Replaces events that cannot be read with failed deliveries.
    private func failEvents(
        of reference: WebhookReference, limit: Int, now: Timestamp, _ newID: () -> WebhookDeliveryID
    ) throws -> [String] {
        var found: [(createdAt: Int64, id: [UInt8], type: String)] = []
        try connection.query(OutboxTable.examined(reference, limit: limit)) { row in
            let key = (createdAt: try row.next(Int64.self), id: try row.next([UInt8].self))
            let type: String = try row.next()
            do {
                _ = try OutboxTable.event(&row, for: reference)
            } catch {
                found.append((key.createdAt, key.id, type))
            }
        }
        for event in found {
            try connection.execute(
                TablePiece.outbox.deletion([
                    .int(reference.app), .int(reference.key), .int(event.createdAt), .bytes(event.id),
                ]))
            let delivery = WebhookDelivery(
                id: newID(), webhook: reference, type: event.type, state: .failed, itemCount: 1,
                lastError: WebhookDelivery.Refusal.noReport.rawValue, createdAt: now, endedAt: now)
            let leased = LeasedDelivery(delivery: delivery, body: [], owner: "", term: 0)
            try connection.post(WebhookDeliveryTable.insert(leased, body: nil, until: now))
        }
        return found.map { Hex.encode($0.id) }
    }

    /// Fails pending deliveries that cannot be read, under new ids.
    private func failDeliveries(
        of reference: WebhookReference, limit: Int, now: Timestamp, _ newID: () -> WebhookDeliveryID
    ) throws -> [String] {
        var found: [[UInt8]] = []
        try connection.query(WebhookDeliveryTable.examined(reference, limit: limit)) { row in
            let id: [UInt8] = try row.next()
            do {
                _ = try WebhookDeliveryTable.delivery(&row)
            } catch {
                found.append(id)
            }
        }
        try connection.execute(found.map { WebhookDeliveryTable.fail($0, as: newID(), reference, now: now) })
        return found.map { Hex.encode($0) }
    }

    func facts(app: AppKey, message id: MessageID) throws -> MessageFacts? {
        guard let report = try report(app: app, id: id), let app = try self.app(key: app) else { return nil }
        return MessageFacts(app: app, report: report, source: try source(app: app.key, message: id))
    }

    func cut(
        _ events: [OutboxEvent], into delivery: WebhookDelivery, body: [UInt8]?, owner: String, until: Timestamp
    ) throws -> LeasedDelivery? {
        let counts = try connection.execute(events.map { OutboxTable.take($0, delivery.webhook) })
        guard counts.allSatisfy({ $0 == 1 }) else { return nil }
        let leased = LeasedDelivery(delivery: delivery, body: body ?? [], owner: owner, term: 1)
        try connection.post(WebhookDeliveryTable.insert(leased, body: body, until: until))
        return leased
    }
}
