/// The second schema: webhooks, what waits to be told to them, and the requests made of it.
enum Schema2 {
    /// `outbox` is read by webhook in order of time and emptied as it is read; `webhook_delivery` keeps what was sent
    /// for a while, its body only as long as it may be sent again.
    static let webhooks = [
        """
        CREATE TABLE webhook (
            app BIGINT NOT NULL, webhook BIGINT NOT NULL, name {text} NOT NULL, url {text} NOT NULL,
            kind {text} NOT NULL, sealed {bytes} NOT NULL, created_at BIGINT NOT NULL, changed_at BIGINT NOT NULL,
            disabled_at BIGINT, PRIMARY KEY (app, webhook))
        """,
        "CREATE UNIQUE INDEX webhook_name ON webhook (app, name)",
        """
        CREATE TABLE outbox (
            app BIGINT NOT NULL, webhook BIGINT NOT NULL, created_at BIGINT NOT NULL, id {bytes} NOT NULL,
            due_at BIGINT NOT NULL, type {text} NOT NULL, message {bytes}, payload {bytes},
            PRIMARY KEY (app, webhook, created_at, id))
        """,
        """
        CREATE TABLE webhook_delivery (
            app BIGINT NOT NULL, id {bytes} NOT NULL, webhook BIGINT NOT NULL, type {text} NOT NULL,
            state BIGINT NOT NULL, item_count BIGINT NOT NULL, attempts BIGINT NOT NULL, last_status BIGINT,
            last_error {text}, created_at BIGINT NOT NULL, started_at BIGINT NOT NULL, next_at BIGINT NOT NULL,
            ended_at BIGINT, body {bytes}, owner {text}, term BIGINT NOT NULL, lease_until BIGINT NOT NULL,
            PRIMARY KEY (app, id)) {updated}
        """,
        "CREATE INDEX webhook_delivery_due ON webhook_delivery (app, webhook, next_at, lease_until) WHERE state = 0",
        "CREATE INDEX webhook_delivery_newest ON webhook_delivery (app, webhook, id)",
        "CREATE INDEX webhook_delivery_ended ON webhook_delivery (state, ended_at) WHERE ended_at IS NOT NULL",
    ]
}
