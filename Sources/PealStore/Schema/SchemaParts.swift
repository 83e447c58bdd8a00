/// Actors: the chained audit log, named admins, and the names and last use of keys.
enum SchemaTrust {
    /// Entries from before the chain wait until they are added to it.
    static let audit = [
        """
        CREATE TABLE audit_pending (
            number BIGINT PRIMARY KEY, at BIGINT NOT NULL, app_id {bytes}, actor {text} NOT NULL, actor_name {text},
            address {text}, request_id {text}, action {text} NOT NULL, object {text} NOT NULL,
            outcome {text} NOT NULL)
        """,
        """
        INSERT INTO audit_pending (number, at, app_id, actor, action, object, outcome)
        SELECT number, at, (SELECT id FROM app WHERE app.app = audit.app), actor, action, object, 'ok' FROM audit
        """,
        "DROP TABLE audit",
        """
        CREATE TABLE audit (
            number BIGINT PRIMARY KEY, hash {bytes} NOT NULL, at BIGINT NOT NULL, app_id {bytes},
            actor {text} NOT NULL, actor_name {text}, address {text}, request_id {text}, action {text} NOT NULL,
            object {text} NOT NULL, outcome {text} NOT NULL)
        """,
        "CREATE INDEX audit_of_app ON audit (app_id, number) WHERE app_id IS NOT NULL",
        """
        CREATE TABLE audit_mark (
            name {text} PRIMARY KEY, number BIGINT NOT NULL, hash {text} NOT NULL, proof {bytes} NOT NULL)
        """,
    ]

    static let admins = [
        """
        CREATE TABLE admin (
            id {bytes} PRIMARY KEY, name {text} NOT NULL, created_by {text} NOT NULL, created_at BIGINT NOT NULL,
            last_used_at BIGINT, public_half {text} NOT NULL UNIQUE, secret_hash {bytes} NOT NULL)
        """,
        "ALTER TABLE api_key ADD COLUMN name {text}",
        "ALTER TABLE api_key ADD COLUMN created_by {text}",
        "ALTER TABLE api_key ADD COLUMN last_used_at BIGINT",
    ]
}

/// Named conditions for audiences.
enum SchemaSegments {
    static let statements = [
        """
        CREATE TABLE segment (
            app BIGINT NOT NULL, name {text} NOT NULL, condition {bytes} NOT NULL, created_at BIGINT NOT NULL,
            changed_at BIGINT NOT NULL, PRIMARY KEY (app, name))
        """
    ]
}

/// What the servers that share a database know about each other.
enum SchemaServers {
    /// `sealed` is a token for a push network under the master key.
    static let statements = [
        """
        CREATE TABLE live_server (name {text} NOT NULL, seen_at BIGINT NOT NULL, PRIMARY KEY (name)) {updated}
        """,
        """
        CREATE TABLE provider_token (
            name {text} NOT NULL, issued_at BIGINT NOT NULL, sealed {bytes} NOT NULL, PRIMARY KEY (name)) {updated}
        """,
    ]
}

/// What devices got recently, for frequency caps, and how much of each rate limit is used.
enum SchemaRules {
    static let statements = [
        """
        CREATE TABLE frequency (
            app BIGINT NOT NULL, seq BIGINT NOT NULL, message {bytes} NOT NULL, at BIGINT NOT NULL,
            PRIMARY KEY (app, seq, at, message)) {clustered}
        """,
        "CREATE INDEX frequency_at ON frequency (at)",
        """
        CREATE TABLE rate_bucket (
            app BIGINT NOT NULL, message {bytes} NOT NULL, busy_until BIGINT NOT NULL, PRIMARY KEY (app, message))
            {clustered} {updated}
        """,
    ]
}

/// Keys that serve several apps, repetitions of a moment's request, alerts to all devices of a user, and identifiers
/// whose letter case is insignificant.
enum SchemaDialects {
    /// `waiting` contains the devices whose alerts have not ended.
    static let statements = [
        """
        CREATE TABLE key_grant (
            app BIGINT NOT NULL, id {bytes} NOT NULL, PRIMARY KEY (app, id)) {clustered}
        """,
        "CREATE INDEX key_grant_key ON key_grant (id)",
        "ALTER TABLE moment ADD COLUMN request_digest {bytes}",
        "ALTER TABLE moment ADD COLUMN requested_at BIGINT",
        "ALTER TABLE moment ADD COLUMN waiting {bytes}",
        """
        UPDATE device_identifier SET value = LOWER(value)
        WHERE kind IN ('idfa', 'idfv', 'advertising_id', 'android_id')
        """,
    ]
}

/// Apps that register their own devices, and what they report.
enum SchemaDevices {
    /// `wake_at` is null while no message needs the device. Ids of events are remembered so that a repeated report
    /// changes nothing; `context_sample` has what people agreed to share, without their ids. `open_hour` counts a
    /// user's opens by hour of the day (UTC); the user without a name has the sum over all users.
    static let statements = [
        "ALTER TABLE moment ADD COLUMN score BIGINT",
        """
        CREATE TABLE installation (
            app BIGINT NOT NULL, seq BIGINT NOT NULL, token_hash {bytes} NOT NULL, api_key {bytes} NOT NULL,
            capabilities BIGINT NOT NULL, sdk_version {text}, seen_at BIGINT NOT NULL, wake_no BIGINT NOT NULL,
            woken_at BIGINT, woken_before BIGINT, wake_asked BIGINT NOT NULL, counted_to BIGINT NOT NULL,
            wake_at BIGINT, hits BIGINT NOT NULL, misses BIGINT NOT NULL, reach_at BIGINT, class {text} NOT NULL,
            PRIMARY KEY (app, seq)) {clustered} {updated}
        """,
        "CREATE UNIQUE INDEX installation_token ON installation (token_hash)",
        "CREATE INDEX installation_wake ON installation (wake_at) WHERE wake_at IS NOT NULL",
        """
        CREATE TABLE device_event (
            app BIGINT NOT NULL, seq BIGINT NOT NULL, id {bytes} NOT NULL, kind BIGINT NOT NULL, message {bytes},
            at BIGINT NOT NULL, stored_at BIGINT NOT NULL, detail {bytes}, PRIMARY KEY (app, seq, id)) {clustered}
        """,
        "CREATE INDEX device_event_stored ON device_event (stored_at)",
        """
        CREATE TABLE context_sample (
            app BIGINT NOT NULL, seq BIGINT NOT NULL, id {bytes} NOT NULL, message {bytes}, at BIGINT NOT NULL,
            snapshot {bytes}, trace {bytes}, hour BIGINT, PRIMARY KEY (app, seq, id)) {clustered}
        """,
        "CREATE INDEX context_sample_at ON context_sample (at)",
        """
        CREATE TABLE open_hour (
            app BIGINT NOT NULL, user_id {text} NOT NULL, hour BIGINT NOT NULL, n BIGINT NOT NULL,
            PRIMARY KEY (app, user_id, hour)) {clustered}
        """,
    ]
}

/// What people keep in the console: drafts, templates and starred devices; and settings that expire.
enum SchemaConsole {
    static let statements = [
        "ALTER TABLE setting ADD COLUMN expires_at BIGINT",
        "CREATE INDEX setting_expiry ON setting (expires_at) WHERE expires_at IS NOT NULL",
        "DELETE FROM setting WHERE name LIKE 'console.stars.%'",
        """
        CREATE TABLE saved_message (
            app BIGINT NOT NULL, kind {text} NOT NULL, name {text} NOT NULL, request {bytes} NOT NULL,
            created_at BIGINT NOT NULL, changed_at BIGINT NOT NULL, PRIMARY KEY (app, kind, name))
        """,
        """
        CREATE TABLE starred_device (
            app BIGINT NOT NULL, seq BIGINT NOT NULL, starred_at BIGINT NOT NULL, PRIMARY KEY (app, seq)) {clustered}
        """,
    ]
}

/// The models that choose moments, what they are signed with, and what is known of each campaign's learning.
enum SchemaModels {
    /// An empty `campaign_id` is the model of all campaigns. `begun_at` is when a server last took the turn to look at
    /// the app's labels; only the row of all campaigns has it.
    static let statements = [
        "ALTER TABLE moment ADD COLUMN explore BIGINT NOT NULL DEFAULT 0",
        "CREATE INDEX context_sample_newest ON context_sample (app, at, seq, id)",
        """
        CREATE TABLE model_key (
            app BIGINT NOT NULL, kid {text} NOT NULL, public_key {bytes} NOT NULL, sealed {bytes} NOT NULL,
            created_at BIGINT NOT NULL, PRIMARY KEY (app, kid))
        """,
        """
        CREATE TABLE moment_model (
            app BIGINT NOT NULL, campaign_id {text} NOT NULL, version BIGINT NOT NULL, trained_at BIGINT NOT NULL,
            expires_at BIGINT NOT NULL, parent {text}, labels BIGINT NOT NULL, payload {bytes} NOT NULL,
            kid {text} NOT NULL, signature {bytes} NOT NULL, PRIMARY KEY (app, campaign_id, version))
        """,
        "CREATE INDEX moment_model_expiry ON moment_model (expires_at)",
        """
        CREATE TABLE learning (
            app BIGINT NOT NULL, campaign_id {text} NOT NULL, displays BIGINT NOT NULL, opens BIGINT NOT NULL,
            trained_at BIGINT, labels BIGINT NOT NULL, failures BIGINT NOT NULL, own_model BIGINT NOT NULL,
            drifted BIGINT NOT NULL, held_until BIGINT, objections {text} NOT NULL, begun_at BIGINT,
            PRIMARY KEY (app, campaign_id))
        """,
    ]
}

/// Figures of campaigns that outlive their messages.
enum SchemaFigures {
    /// `experiment_arm` counts each user's pruned messages. `experiment_sum` has the sums over these users as they were
    /// at the end of a day, by experiment and arm; `experiment_count` how many pruned messages took each way, and their
    /// opens by delay.
    static let statements = [
        """
        CREATE TABLE campaign_total (
            app BIGINT NOT NULL, campaign_id {text} NOT NULL, messages BIGINT NOT NULL, counts {bytes} NOT NULL,
            receipts {bytes} NOT NULL, pruned_at BIGINT NOT NULL, PRIMARY KEY (app, campaign_id)) {updated}
        """,
        "CREATE INDEX campaign_total_age ON campaign_total (pruned_at)",
        "ALTER TABLE experiment_arm ADD COLUMN messages BIGINT NOT NULL DEFAULT 0",
        "ALTER TABLE experiment_arm ADD COLUMN opens BIGINT NOT NULL DEFAULT 0",
        """
        CREATE TABLE experiment_sum (
            app BIGINT NOT NULL, campaign_id {text} NOT NULL, salt {text} NOT NULL, arm BIGINT NOT NULL,
            day BIGINT NOT NULL, started_at BIGINT NOT NULL, users BIGINT NOT NULL, messages BIGINT NOT NULL,
            opens BIGINT NOT NULL, squared_messages BIGINT NOT NULL, products BIGINT NOT NULL,
            squared_opens BIGINT NOT NULL, pruned_at BIGINT NOT NULL,
            PRIMARY KEY (app, campaign_id, salt, arm, day)) {updated}
        """,
        "CREATE INDEX experiment_sum_age ON experiment_sum (pruned_at)",
        """
        CREATE TABLE experiment_count (
            app BIGINT NOT NULL, campaign_id {text} NOT NULL, salt {text} NOT NULL, arm BIGINT NOT NULL,
            name {text} NOT NULL, n BIGINT NOT NULL, pruned_at BIGINT NOT NULL,
            PRIMARY KEY (app, campaign_id, salt, arm, name)) {updated}
        """,
        "CREATE INDEX experiment_count_age ON experiment_count (pruned_at)",
    ]
}

/// The off-policy estimate of a campaign's last model.
enum SchemaOffPolicy {
    /// Gain and error in millionths of opens per message.
    static let statements = ["gain", "error", "messages", "effective"].map {
        "ALTER TABLE learning ADD COLUMN foreseen_\($0) BIGINT"
    }
}

/// Messages whose outcomes are added to their experiment long before they are pruned.
enum SchemaOutcomes {
    /// The `ending` of a message of an experiment is 2 once `experiment_sum` contains it. It is no column of its own,
    /// because with a larger row SQLite would no longer use the indexes of lists.
    static let statements = [
        """
        CREATE INDEX message_unsummed ON message (app, campaign_id, message)
            WHERE window_method = 'ab_test' AND campaign_id IS NOT NULL AND ending < 2
        """,
        """
        CREATE INDEX message_final ON message (window_until)
            WHERE window_method = 'ab_test' AND campaign_id IS NOT NULL AND ending < 2
        """,
    ]
}

/// The wake-ups that ended installations got last.
enum SchemaSpentWakes {
    static let statements = [
        """
        CREATE TABLE spent_wake (
            app BIGINT NOT NULL, address_key {bytes} NOT NULL, woken_at BIGINT NOT NULL, woken_before BIGINT,
            PRIMARY KEY (app, address_key)) {clustered} {updated}
        """,
        "CREATE INDEX spent_wake_at ON spent_wake (woken_at)",
    ]
}

/// Names the columns of the off-policy estimate as the code does.
enum SchemaOffPolicyNames {
    static let statements = ["gain", "error", "messages", "effective"].map {
        "ALTER TABLE learning RENAME COLUMN foreseen_\($0) TO off_policy_\($0)"
    }
}

/// Statistics count opens of content, such as articles.
enum SchemaContentOpens {
    static let statements = ["ALTER TABLE statistics ADD COLUMN content_opened BIGINT NOT NULL DEFAULT 0"]
}

/// Experiments keep their share, and how their runs ended.
enum SchemaRuns {
    /// Shares and lifts in millionths. A missing `share` is the one of the app's settings; `changed_at` is missing in
    /// the first run.
    static let statements = [
        "ALTER TABLE experiment ADD COLUMN share BIGINT",
        "ALTER TABLE experiment ADD COLUMN per_user BIGINT NOT NULL DEFAULT 0",
        "ALTER TABLE experiment ADD COLUMN changed_at BIGINT",
        "ALTER TABLE experiment_sum ADD COLUMN share BIGINT",
        "ALTER TABLE experiment_sum ADD COLUMN per_user BIGINT NOT NULL DEFAULT 0",
        """
        CREATE TABLE share_change (
            app BIGINT NOT NULL, campaign_id {text} NOT NULL, at BIGINT NOT NULL, actor {text} NOT NULL,
            former_share BIGINT NOT NULL, share BIGINT NOT NULL, verdict {text} NOT NULL,
            aware_messages BIGINT NOT NULL, aware_opens BIGINT NOT NULL, plain_messages BIGINT NOT NULL,
            plain_opens BIGINT NOT NULL, lift BIGINT, lift_low BIGINT, lift_high BIGINT,
            PRIMARY KEY (app, campaign_id, at))
        """,
        "CREATE INDEX share_change_age ON share_change (at)",
    ]
}

/// How often users opened messages before an experiment, and the sums that correct its result for it.
enum SchemaPriors {
    /// Zeros are what is unknown of users that are in the sums already.
    static let statements =
        ["ALTER TABLE experiment_arm ADD COLUMN prior BIGINT NOT NULL DEFAULT 0"]
        + ["expected", "expected_messages", "expected_opens", "squared_expected"].map {
            "ALTER TABLE experiment_sum ADD COLUMN \($0) BIGINT NOT NULL DEFAULT 0"
        }
}

/// What became of users' messages, and the sums that compare the arms by it.
enum SchemaCases {
    /// For messages that are in the sums already, the new columns are unknown: they have zeros, and `cases` is null.
    static let statements =
        ["failed", "delivered", "dismissed", "observed", "without_session"].map {
            "ALTER TABLE experiment_arm ADD COLUMN \($0) BIGINT NOT NULL DEFAULT 0"
        } + [
            "ALTER TABLE experiment_sum ADD COLUMN cases {bytes}",
            "DELETE FROM experiment_count WHERE name IN ('dismissed', 'observed', 'without_session')",
        ]
}

/// Changes that requests began, found by when they are due and by what they concern; what a device shared about a
/// message; and slices that wait for a retry, without those that only wait for a time of their rules.
enum SchemaRemainders {
    static let statements = [
        "CREATE INDEX remainder_due ON remainder (kind, due_at, number)",
        "CREATE INDEX remainder_name ON remainder (app, kind, name)",
        "CREATE INDEX context_sample_message ON context_sample (app, seq, message) WHERE message IS NOT NULL",
        "CREATE INDEX slice_retry ON slice (ready_at) WHERE state = 0 AND attempt > 0",
    ]
}

/// Slices that wait because of rules, found by when these were applied; those that wait for anything else; and moments
/// that wait for the end of quiet hours.
enum SchemaWaits {
    /// `ruled_at` is when the rules were applied to the slice's devices: 0 if that is unknown, null if they wait for
    /// anything else.
    static let statements = [
        "ALTER TABLE slice ADD COLUMN ruled_at BIGINT",
        "UPDATE slice SET ruled_at = 0 WHERE state IN (0, 3) AND attempt = 0",
        "CREATE INDEX slice_ruled ON slice (app, ruled_at) WHERE state IN (0, 3) AND ruled_at IS NOT NULL",
        "CREATE INDEX slice_unruled ON slice (app, route, ready_at) WHERE state IN (0, 3) AND ruled_at IS NULL",
        "CREATE INDEX moment_quiet ON moment (app, due_at) WHERE state = 1 AND reason = 'QuietHours'",
    ]
}
