/// The first schema. Times are milliseconds, ids 16 bytes, flags 0 or 1; hot tables name an app by its small number.
enum Schema1 {
    static let apps = [
        """
        CREATE TABLE app (
            app BIGINT PRIMARY KEY, id {bytes} NOT NULL UNIQUE, name {text} NOT NULL, bundle_id {text},
            richie_app_id {text}, devtodev_app_id {text}, settings {bytes} NOT NULL, created_at BIGINT NOT NULL,
            device_seq BIGINT NOT NULL, topic_seq BIGINT NOT NULL)
        """,
        "CREATE TABLE counter (name {text} PRIMARY KEY, value BIGINT NOT NULL)",
        "CREATE TABLE setting (name {text} PRIMARY KEY, value {bytes} NOT NULL)",
        """
        CREATE TABLE api_key (
            id {bytes} PRIMARY KEY, app BIGINT NOT NULL, dialect {text} NOT NULL, public_half {text} NOT NULL,
            scopes {text} NOT NULL, platform {text}, environment {text}, created_at BIGINT NOT NULL,
            expires_at BIGINT, secret_hash {bytes} NOT NULL, shared_secret {bytes}, UNIQUE (dialect, public_half))
        """,
        "CREATE INDEX api_key_app ON api_key (app, created_at)",
        """
        CREATE TABLE credential (
            app BIGINT NOT NULL, provider {text} NOT NULL, environment {text} NOT NULL, sealed {bytes} NOT NULL,
            kind {text} NOT NULL, fingerprint {text} NOT NULL, facts {bytes} NOT NULL, created_at BIGINT NOT NULL,
            expires_at BIGINT, health BIGINT NOT NULL, health_at BIGINT NOT NULL, health_reason {text},
            PRIMARY KEY (app, provider, environment))
        """,
        """
        CREATE TABLE idempotency (
            scope {bytes} NOT NULL, request_key {text} NOT NULL, digest {bytes} NOT NULL, status BIGINT NOT NULL,
            body {bytes} NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (scope, request_key))
        """,
        "CREATE INDEX idempotency_at ON idempotency (at)",
        """
        CREATE TABLE audit (
            number BIGINT PRIMARY KEY, at BIGINT NOT NULL, app BIGINT, actor {text} NOT NULL, action {text} NOT NULL,
            object {text} NOT NULL)
        """,
        "CREATE INDEX audit_app ON audit (app, number)",
    ]
}
