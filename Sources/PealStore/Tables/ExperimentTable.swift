internal import Crypto
internal import PealCore

/// `experiment` and `experiment_arm`: the experiments of campaigns, and what happened to their users' messages.
enum ExperimentTable {
    /// Users' matured messages by arm. Only users who had a device when a message was scheduled take part, and only
    /// messages whose arm the server chose.
    static func matured(_ campaign: String, app: AppKey, by end: Timestamp) -> SQL {
        """
        SELECT m.user_id, m.arm, COUNT(*), SUM(CASE WHEN EXISTS (
            SELECT 1 FROM receipt r WHERE r.app = m.app AND r.message = m.message AND r.seq = m.device
                AND r.kind = \(code: Receipt.Kind.opened) AND r.at <= m.deadline + \(maturity.milliseconds)
        ) THEN 1 ELSE 0 END)
        FROM message g JOIN moment m ON m.app = g.app AND m.message = g.message
        WHERE g.app = \(app) AND g.campaign_id = \(campaign) AND g.window_method = \(DeliveryWindow.Method.experiment)
            AND m.deadline <= \(end - maturity) AND m.state <> \(code: Moment.State.cancelled) AND m.had_device = 1
        GROUP BY m.user_id, m.arm
        """
    }

    /// How long after the window an open counts.
    private static let maturity = Duration.seconds(24 * 3600)
}

extension StoreSession {
    func experiment(app: AppKey, campaign: String, now: Timestamp) throws -> ExperimentFacts? {
        let found = try connection.first(
            "SELECT salt, started_at FROM experiment WHERE app = \(app) AND campaign_id = \(campaign)"
        ) { row -> (String, Timestamp) in (try row.next(), try row.next()) }
        guard let (salt, startedAt) = found else { return nil }
        let users = try connection.all(ExperimentTable.matured(campaign, app: app, by: now)) {
            row -> ExperimentFacts.User in
            _ = try row.next(String.self)
            return ExperimentFacts.User(arm: try row.next(), messages: try row.next(), opens: try row.next())
        }
        return ExperimentFacts(salt: salt, startedAt: startedAt, users: users)
    }
}

/// Which users are in which arm of a campaign's experiment.
extension StoreSession {
    /// The arm of a user's message: the author's choice, or the arm that the user was assigned to, now or before.
    func arm(of user: String, in draft: MessageDraft, _ window: DeliveryWindow, now: Timestamp) throws -> Arm {
        if let arm = window.method.arm { return arm }
        let campaign = draft.campaignID ?? ""
        let known: Arm? = try connection.value(
            """
            SELECT arm FROM experiment_arm
            WHERE app = \(draft.app) AND campaign_id = \(campaign) AND user_id = \(user)
            """)
        if let known { return known }
        guard let app = try app(key: draft.app) else { throw PealError.notFound("app") }
        let salt = try salt(of: campaign, in: draft, now: now)
        let input = ArmAssignment.input(
            app: app.bundleID ?? app.id.description, salt: salt, campaign: campaign, userID: user)
        let arm = ArmAssignment.arm(ofDigest: SHA256.hash(data: input), share: app.settings[.experimentShare])
        try connection.post(
            """
            INSERT INTO experiment_arm (app, campaign_id, user_id, arm, assigned_at)
            VALUES (\(draft.app), \(campaign), \(user), \(arm), \(now))
            """)
        return arm
    }

    /// The salt of a campaign's experiment: the random part of its first message's id.
    private func salt(of campaign: String, in draft: MessageDraft, now: Timestamp) throws -> String {
        try connection.post(
            """
            INSERT INTO experiment (app, campaign_id, salt, started_at)
            VALUES (\(draft.app), \(campaign), \(Hex.encode(draft.id.bytes.suffix(8))), \(now))
            ON CONFLICT (app, campaign_id) DO NOTHING
            """)
        return try connection.value(
            "SELECT salt FROM experiment WHERE app = \(draft.app) AND campaign_id = \(campaign)") ?? ""
    }
}
