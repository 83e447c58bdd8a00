extension Schema1 {
    /// `message` is narrow because it changes; what an author wrote lies beside it and never does.
    static let messages = [
        """
        CREATE TABLE message (
            app BIGINT NOT NULL, message {bytes} NOT NULL, state BIGINT NOT NULL, dialect {text} NOT NULL,
            campaign_id {text}, created_at BIGINT NOT NULL, start_at BIGINT, expires_at BIGINT NOT NULL,
            cutoff_at BIGINT, first_sent_at BIGINT, ended_at BIGINT, failure {text}, slices_open BIGINT NOT NULL,
            counts {bytes}, PRIMARY KEY (app, message)) {clustered} {updated}
        """,
        "CREATE INDEX message_due ON message (start_at) WHERE state = 1",
        "CREATE INDEX message_planning ON message (app, message) WHERE state = 2",
        "CREATE INDEX message_unfinished ON message (app, state) WHERE state < 5",
        "CREATE INDEX message_ended ON message (ended_at) WHERE ended_at IS NOT NULL",
        "CREATE INDEX message_campaign ON message (app, campaign_id, message) WHERE campaign_id IS NOT NULL",
        """
        CREATE TABLE message_content (
            app BIGINT NOT NULL, message {bytes} NOT NULL, audience {bytes} NOT NULL, content {bytes} NOT NULL,
            options {bytes} NOT NULL, source {bytes}, PRIMARY KEY (app, message))
        """,
        """
        CREATE TABLE message_predicate (
            app BIGINT NOT NULL, message {bytes} NOT NULL, predicate {bytes} NOT NULL, PRIMARY KEY (app, message))
        """,
        """
        CREATE TABLE message_keys (
            app BIGINT NOT NULL, message {bytes} NOT NULL, route BIGINT NOT NULL, keys {bytes} NOT NULL,
            PRIMARY KEY (app, message, route))
        """,
        """
        CREATE TABLE message_address (
            app BIGINT NOT NULL, message {bytes} NOT NULL, route BIGINT NOT NULL, n BIGINT NOT NULL,
            address {bytes} NOT NULL, address_key {bytes} NOT NULL,
            PRIMARY KEY (app, message, route, n)) {clustered}
        """,
    ]
}
