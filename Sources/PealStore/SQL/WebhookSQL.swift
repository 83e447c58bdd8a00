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
