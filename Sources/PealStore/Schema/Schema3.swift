/// Devices by their identifiers elsewhere. `device_detail` keeps what is shown; by this audiences are looked up.
enum Schema3 {
    static let identifiers = [
        """
        CREATE TABLE device_identifier (
            app BIGINT NOT NULL, kind {text} NOT NULL, value {text} NOT NULL, seq BIGINT NOT NULL,
            PRIMARY KEY (app, kind, value, seq)) {clustered}
        """,
        "CREATE INDEX device_identifier_device ON device_identifier (app, seq)",
    ]
}
