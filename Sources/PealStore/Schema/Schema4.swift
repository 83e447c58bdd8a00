/// The fourth schema: geofences and what devices tell of messages.
enum Schema4 {
    /// `geofence_series` gives each app's numbers and instants of change. A tombstone stays until no device can hold
    /// what was deleted: `told_until` is the latest end that any version of the geofence had.
    static let geofences = [
        """
        CREATE TABLE geofence_series (
            app BIGINT PRIMARY KEY, geofence BIGINT NOT NULL, location BIGINT NOT NULL, location_group BIGINT NOT NULL,
            changed_at BIGINT NOT NULL)
        """,
        """
        CREATE TABLE geofence (
            app BIGINT NOT NULL, geofence BIGINT NOT NULL, tags {bytes} NOT NULL, trigger_type {text} NOT NULL,
            starts_at BIGINT NOT NULL, expires_at BIGINT NOT NULL, reach {text} NOT NULL, data {bytes} NOT NULL,
            created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, told_until BIGINT NOT NULL,
            PRIMARY KEY (app, geofence))
        """,
        """
        CREATE TABLE geofence_place (
            app BIGINT NOT NULL, geofence BIGINT NOT NULL, position BIGINT NOT NULL, location BIGINT NOT NULL,
            PRIMARY KEY (app, geofence, position)) {clustered}
        """,
        "CREATE INDEX geofence_place_location ON geofence_place (app, location, geofence)",
        """
        CREATE TABLE geofence_tombstone (
            app BIGINT NOT NULL, geofence BIGINT NOT NULL, deleted_at BIGINT NOT NULL, told_until BIGINT NOT NULL,
            PRIMARY KEY (app, geofence)) {clustered}
        """,
        "CREATE INDEX geofence_tombstone_over ON geofence_tombstone (told_until)",
        """
        CREATE TABLE location (
            app BIGINT NOT NULL, location BIGINT NOT NULL, name {text} NOT NULL, latitude {text} NOT NULL,
            longitude {text} NOT NULL, radius {text} NOT NULL, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL,
            PRIMARY KEY (app, location)) {clustered}
        """,
        """
        CREATE TABLE location_group (
            app BIGINT NOT NULL, location_group BIGINT NOT NULL, name {text} NOT NULL, description {text} NOT NULL,
            created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, PRIMARY KEY (app, location_group)) {clustered}
        """,
        """
        CREATE TABLE location_group_place (
            app BIGINT NOT NULL, location_group BIGINT NOT NULL, position BIGINT NOT NULL, location BIGINT NOT NULL,
            PRIMARY KEY (app, location_group, position)) {clustered}
        """,
        "CREATE INDEX location_group_place_location ON location_group_place (app, location)",
    ]

    /// `receipt_count` is the sum over `receipt`, which may have a row for each device of a message.
    static let receipts = [
        """
        CREATE TABLE receipt (
            app BIGINT NOT NULL, message {bytes} NOT NULL, seq BIGINT NOT NULL, kind BIGINT NOT NULL,
            at BIGINT NOT NULL, PRIMARY KEY (app, message, seq, kind)) {clustered}
        """,
        "CREATE INDEX receipt_device ON receipt (app, seq)",
        """
        CREATE TABLE receipt_count (
            app BIGINT NOT NULL, message {bytes} NOT NULL, kind BIGINT NOT NULL, n BIGINT NOT NULL,
            PRIMARY KEY (app, message, kind)) {clustered} {updated}
        """,
        """
        CREATE TABLE geofence_trigger (
            app BIGINT NOT NULL, geofence BIGINT NOT NULL, location BIGINT NOT NULL, seq BIGINT NOT NULL,
            at BIGINT NOT NULL, PRIMARY KEY (app, geofence, location, seq, at)) {clustered}
        """,
        "CREATE INDEX geofence_trigger_device ON geofence_trigger (app, seq)",
        "CREATE INDEX geofence_trigger_at ON geofence_trigger (at)",
        "CREATE INDEX topic_named ON topic (name, app)",
    ]
}
