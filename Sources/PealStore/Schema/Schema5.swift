/// Windows of delivery: one row for each user of a message with a window, and who is in which arm of a campaign's
/// experiment.
enum Schema5 {
    /// `due_at` is when the clock acts: the fallback of an open moment, the end of a claim. Indexes name every column
    /// of their own condition.
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
