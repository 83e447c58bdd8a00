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

extension Schema1 {
    /// `since` of a device or a topic's member is when it joined that stream of its route: a message reaches only those
    /// who joined before its cutoff. `device_topic` is authoritative for subscriptions, including those of retired
    /// devices; `topic_member` has the active ones in the order in which sending reads them. The indexes of streams
    /// contain every column that their statements name, including those of their own condition: otherwise they would
    /// not be covering indexes.
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

extension Schema1 {
    /// `message` is narrow because it changes often; what the author wrote is stored in another table.
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

extension Schema1 {
    /// `window_no` is the first key of the slice's key range, so that the range of a key is the last one that does not
    /// begin after it. `delivery_page` is not clustered: its rows are large and would spill into overflow pages.
    static let delivery = [
        """
        CREATE TABLE slice (
            app BIGINT NOT NULL, message {bytes} NOT NULL, route BIGINT NOT NULL, window_no BIGINT NOT NULL,
            part BIGINT NOT NULL, state BIGINT NOT NULL, lane BIGINT NOT NULL, rank BIGINT NOT NULL,
            ready_at BIGINT NOT NULL, attempt BIGINT NOT NULL, key_from BIGINT NOT NULL, key_to BIGINT NOT NULL,
            keys {bytes}, cursor BIGINT NOT NULL, pages BIGINT NOT NULL, estimate BIGINT NOT NULL,
            counts {bytes} NOT NULL, owner {text}, term BIGINT NOT NULL, lease_until BIGINT NOT NULL,
            PRIMARY KEY (app, message, route, window_no, part)) {clustered} {updated}
        """,
        "CREATE INDEX slice_ready ON slice (app, route, lane, rank) WHERE state = 1",
        "CREATE INDEX slice_waiting ON slice (ready_at) WHERE state = 0",
        "CREATE INDEX slice_leased ON slice (owner) WHERE state = 2",
        """
        CREATE TABLE delivery_page (
            app BIGINT NOT NULL, message {bytes} NOT NULL, route BIGINT NOT NULL, window_no BIGINT NOT NULL,
            part BIGINT NOT NULL, page BIGINT NOT NULL, first_key BIGINT NOT NULL, last_key BIGINT NOT NULL,
            n BIGINT NOT NULL, sent_at BIGINT NOT NULL, took BIGINT NOT NULL, data {bytes} NOT NULL,
            PRIMARY KEY (app, message, route, window_no, part, page))
        """,
    ]
}

/// The second schema: webhooks, the events that wait for them, and the requests that are made from these.
enum Schema2 {
    /// `outbox` is read per webhook in order of time and emptied as it is read. `webhook_delivery` keeps requests for a
    /// while, and their bodies only while they may be sent again.
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

/// Devices by their identifiers in other systems. `device_detail` has these for display, this table for audiences.
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

/// The fourth schema: geofences, and what devices report about messages.
enum Schema4 {
    /// `geofence_series` issues each app's numbers and instants of change. A tombstone stays until no device can still
    /// have the deleted geofence: `told_until` is the latest end that any version of it had.
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

    /// `receipt_count` sums up `receipt`, which may have a row for each device of a message.
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

/// The fifth schema: delivery windows, with one row for each user of a message, and the arms of experiments.
enum Schema5 {
    /// `due_at` is when a moment's next timed transition is due: the fallback of an open one, or the end of a claim.
    /// Indexes name every column of their own condition.
    static let moments = [
        "ALTER TABLE message ADD COLUMN window_until BIGINT",
        "ALTER TABLE message ADD COLUMN window_method {text}",
        "ALTER TABLE message ADD COLUMN window_hold BIGINT",
        """
        CREATE TABLE moment (
            app BIGINT NOT NULL, message {bytes} NOT NULL, user_id {text} NOT NULL, state BIGINT NOT NULL,
            rev BIGINT NOT NULL, arm BIGINT NOT NULL, claimable BIGINT NOT NULL, fallback_at BIGINT NOT NULL,
            deadline BIGINT NOT NULL, due_at BIGINT NOT NULL, awaits_device BIGINT NOT NULL, route BIGINT NOT NULL,
            had_device BIGINT NOT NULL, device BIGINT, tried {bytes} NOT NULL, claim_id {bytes}, claim_until BIGINT,
            has_ledger BIGINT NOT NULL, cancel_requested BIGINT NOT NULL, outcome BIGINT, reason {text} NOT NULL,
            request_key {text}, name_key {bytes}, PRIMARY KEY (app, message, user_id)) {clustered} {updated}
        """,
        "CREATE INDEX moment_open ON moment (due_at) WHERE state = 1",
        "CREATE INDEX moment_claimed ON moment (due_at) WHERE state = 2",
        "CREATE INDEX moment_user ON moment (app, user_id, deadline) WHERE state = 1",
        "CREATE UNIQUE INDEX moment_name ON moment (app, name_key) WHERE name_key IS NOT NULL",
        """
        CREATE TABLE experiment (
            app BIGINT NOT NULL, campaign_id {text} NOT NULL, salt {text} NOT NULL, started_at BIGINT NOT NULL,
            PRIMARY KEY (app, campaign_id))
        """,
        """
        CREATE TABLE experiment_arm (
            app BIGINT NOT NULL, campaign_id {text} NOT NULL, user_id {text} NOT NULL, arm BIGINT NOT NULL,
            assigned_at BIGINT NOT NULL, PRIMARY KEY (app, campaign_id, user_id)) {clustered}
        """,
        "CREATE INDEX experiment_arm_user ON experiment_arm (app, user_id)",
    ]
}

/// The sixth schema: the gates of routes, the expiry of waiting messages, and indexes for the filters of lists.
enum Schema6 {
    /// `gate` is 0 for a route that is open again. `change_no` counts the changes of all gates.
    static let routes = [
        """
        CREATE TABLE route_gate (
            app BIGINT NOT NULL, route BIGINT NOT NULL, gate BIGINT NOT NULL, closed_until BIGINT NOT NULL,
            probe_until BIGINT NOT NULL, level BIGINT NOT NULL, back_offs BIGINT NOT NULL, reason {text} NOT NULL,
            fingerprint {text}, suspect {bytes}, probed {bytes}, change_no BIGINT NOT NULL,
            PRIMARY KEY (app, route)) {clustered} {updated}
        """,
        "CREATE INDEX route_gate_closed ON route_gate (change_no) WHERE gate > 0",
        "CREATE INDEX route_gate_change ON route_gate (change_no)",
        "CREATE INDEX slice_ending ON slice (app, route, lane, rank) WHERE state = 6",
    ]

    /// `ending` is 1 once the waiting slices of an expired message end.
    static let expiries = [
        "ALTER TABLE message ADD COLUMN ending BIGINT NOT NULL DEFAULT 0",
        "CREATE INDEX message_expiring ON message (expires_at) WHERE state = 3 AND ending = 0",
        "CREATE INDEX message_paused ON message (expires_at) WHERE state = 4 AND ending = 0",
    ]

    static let lists = [
        "CREATE INDEX message_state ON message (app, state, message)",
        "CREATE INDEX message_dialect ON message (app, dialect, message)",
    ]
}

/// Changes that are completed in pieces, and the indexes that find rows whose retention has ended.
enum SchemaPruning {
    static let statements = [
        """
        CREATE TABLE remainder (
            kind BIGINT NOT NULL, number BIGINT NOT NULL, app BIGINT NOT NULL, object BIGINT NOT NULL,
            name {text} NOT NULL, began_at BIGINT NOT NULL, due_at BIGINT NOT NULL, PRIMARY KEY (kind, number))
        """,
        "CREATE INDEX device_retired ON device (retired_at) WHERE retired_at IS NOT NULL",
        "CREATE INDEX topic_expiry ON topic (expires_at) WHERE expires_at IS NOT NULL",
        "CREATE INDEX moment_over ON moment (app, user_id, state) WHERE state >= 5",
    ]
}

/// Devices that may have been sent to already, and slices whose results cannot be stored.
enum SchemaQuarantine {
    /// `doubt` counts the devices after the cursor that may have got the message already. `fault` says why a slice is
    /// quarantined.
    static let statements = [
        "ALTER TABLE slice ADD COLUMN doubt BIGINT NOT NULL DEFAULT 0",
        "ALTER TABLE slice ADD COLUMN fault {text}",
        "CREATE INDEX slice_quarantined ON slice (app, message) WHERE state = 5",
    ]
}

/// Time series that outlive messages; test messages; and what lists show of a message.
enum SchemaStatistics {
    /// `span` is the length in seconds of the period that a row sums up: a minute, an hour or a day. `search` contains
    /// the texts of a message in lower case.
    static let statements = [
        """
        CREATE TABLE statistics (
            app BIGINT NOT NULL, span BIGINT NOT NULL, at BIGINT NOT NULL, accepted BIGINT NOT NULL,
            rejected BIGINT NOT NULL, retired BIGINT NOT NULL, expired BIGINT NOT NULL, suppressed BIGINT NOT NULL,
            received BIGINT NOT NULL, opened BIGINT NOT NULL, PRIMARY KEY (app, span, at)) {clustered} {updated}
        """,
        "CREATE INDEX statistics_at ON statistics (span, at)",
        "ALTER TABLE message_content ADD COLUMN test BIGINT NOT NULL DEFAULT 0",
        "ALTER TABLE message_content ADD COLUMN title {text}",
        "ALTER TABLE message_content ADD COLUMN audience_line {text}",
        "ALTER TABLE message_content ADD COLUMN search {text}",
    ]
}
