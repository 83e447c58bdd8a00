extension Schema1 {
    /// `since` of a device and of a topic's member is when it joined that stream of its route: a message reaches only
    /// who joined before its cutoff. `device_topic` is the truth of subscriptions, of retired devices too;
    /// `topic_member` has the active ones in the order that sending reads. The indexes of streams hold every column
    /// that their statements name, those of their own condition too: only then are they read alone.
    static let devices = [
        """
        CREATE TABLE device (
            app BIGINT NOT NULL, seq BIGINT NOT NULL, id {bytes} NOT NULL, route BIGINT NOT NULL,
            state BIGINT NOT NULL, address {bytes} NOT NULL, address_key {bytes} NOT NULL,
            address_rev BIGINT NOT NULL, user_id {text}, locale BIGINT NOT NULL, zone BIGINT NOT NULL,
            interactive BIGINT NOT NULL, registered_at BIGINT NOT NULL, since BIGINT NOT NULL, retired_at BIGINT,
            retired_reason {text}, PRIMARY KEY (app, seq)) {clustered} {updated}
        """,
        "CREATE UNIQUE INDEX device_id ON device (app, id)",
        "CREATE UNIQUE INDEX device_address ON device (app, address_key)",
        "CREATE INDEX device_user ON device (app, user_id, seq, route, state) WHERE user_id IS NOT NULL",
        "CREATE INDEX device_active ON device (app, route, seq, since, state) WHERE state = 1",
        "CREATE INDEX device_plain ON device (app, route, seq, state, interactive) WHERE interactive = 0",
        """
        CREATE TABLE device_detail (
            app BIGINT NOT NULL, seq BIGINT NOT NULL, detail {bytes} NOT NULL, PRIMARY KEY (app, seq)) {clustered}
        """,
        """
        CREATE TABLE topic (
            app BIGINT NOT NULL, topic BIGINT NOT NULL, name {text} NOT NULL, expires_at BIGINT,
            PRIMARY KEY (app, topic))
        """,
        "CREATE UNIQUE INDEX topic_name ON topic (app, name)",
        """
        CREATE TABLE device_topic (
            app BIGINT NOT NULL, seq BIGINT NOT NULL, topic BIGINT NOT NULL, since BIGINT NOT NULL,
            PRIMARY KEY (app, seq, topic)) {clustered}
        """,
        """
        CREATE TABLE topic_member (
            app BIGINT NOT NULL, topic BIGINT NOT NULL, route BIGINT NOT NULL, seq BIGINT NOT NULL,
            since BIGINT NOT NULL, PRIMARY KEY (app, topic, route, seq)) {clustered}
        """,
        """
        CREATE TABLE word (
            number BIGINT PRIMARY KEY, kind BIGINT NOT NULL, name {text} NOT NULL, UNIQUE (kind, name))
        """,
    ]
}
