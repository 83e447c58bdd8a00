internal import Crypto
internal import PealCore

/// `experiment` and `experiment_arm`: how experiments assign users; `share_change`: how their runs ended.
extension ExperimentTable {
    /// A row of `experiment`.
    struct RunRow {
        let salt: String
        /// In millionths; nil for the share in the app's settings.
        let share: Int64?
        let isPerUser: Bool
        let beganAt: Timestamp
        /// nil in the first run.
        let changedAt: Timestamp?

        var startedAt: Timestamp { changedAt ?? beganAt }

        static let columns: Columns = "salt, share, per_user, started_at, changed_at"

        init(_ row: inout RowReader) throws {
            salt = try row.next()
            share = try row.next()
            isPerUser = try row.next()
            beganAt = try row.next()
            changedAt = try row.next()
        }
    }

    static func run(of campaign: String, app: AppKey) -> SQL {
        "SELECT \(RunRow.columns) FROM experiment WHERE app = \(app) AND campaign_id = \(campaign)"
    }

    /// Begins an experiment, or adds the share that one of an earlier program does not have.
    static func begin(_ run: ExperimentRun, _ campaign: String, app: AppKey) -> SQL {
        """
        INSERT INTO experiment \(row: [
            "app": app, "campaign_id": campaign, "salt": run.salt, "started_at": run.startedAt,
            "share": run.share.millionths, "per_user": run.isPerUser,
        ])
        ON CONFLICT (app, campaign_id) DO UPDATE SET share = COALESCE(experiment.share, excluded.share)
        """
    }

    /// The arm that a user was assigned in the current run. Without an experiment there is none, although arms of an
    /// earlier one may not be deleted yet.
    static func arm(of user: String, _ campaign: String, app: AppKey) -> SQL {
        """
        SELECT a.arm FROM experiment_arm a
        WHERE a.app = \(app) AND a.campaign_id = \(campaign) AND a.user_id = \(user) AND a.assigned_at >= (
            SELECT COALESCE(e.changed_at, 0) FROM experiment e WHERE e.app = \(app) AND e.campaign_id = \(campaign))
        """
    }

    /// How many messages of other experiments a user got and opened, once their outcomes were final. Experiments with
    /// the same salt assign the user to the same arm, so that what happened there depends on it.
    static func former(_ user: String, except salt: String, app: AppKey) -> SQL {
        """
        SELECT CAST(COALESCE(SUM(a.messages), 0) AS BIGINT), CAST(COALESCE(SUM(a.opens), 0) AS BIGINT)
        FROM experiment_arm a JOIN experiment e ON e.app = a.app AND e.campaign_id = a.campaign_id
        WHERE a.app = \(app) AND a.user_id = \(user) AND e.salt <> \(salt)
        """
    }

    /// The counts of an earlier run are dropped.
    static func assign(
        _ user: String, to arm: Arm, prior: Int64, _ campaign: String, app: AppKey, now: Timestamp
    ) -> SQL {
        let changing: [ColumnValue] = [
            ("arm", arm), ("assigned_at", now), ("messages", 0), ("opens", 0), ("prior", prior), ("failed", 0),
            ("delivered", 0), ("dismissed", 0), ("observed", 0), ("without_session", 0),
        ]
        return """
            INSERT INTO experiment_arm \(row: ["app": app, "campaign_id": campaign, "user_id": user], changing)
            ON CONFLICT (app, campaign_id, user_id) DO UPDATE SET \(set: changing)
            """
    }

    /// - Parameter run: the run that must still be current.
    static func beginRun(_ change: ShareChange, after run: ExperimentRun, _ campaign: String, app: AppKey) -> SQL {
        """
        UPDATE experiment SET share = \(change.share.millionths), changed_at = \(change.at + .milliseconds(1))
        WHERE app = \(app) AND campaign_id = \(campaign) AND COALESCE(changed_at, started_at) = \(run.startedAt)
        """
    }

    static func record(_ change: ShareChange, _ campaign: String, app: AppKey) -> SQL {
        let (aware, plain) = (change.result.arms[.contextAware], change.result.arms[.traditional])
        return """
            INSERT INTO share_change \(row: [
                "app": app, "campaign_id": campaign, "at": change.at, "actor": change.actor,
                "former_share": change.formerShare.millionths, "share": change.share.millionths,
                "verdict": change.result.verdict, "aware_messages": aware?.messages ?? 0,
                "aware_opens": aware?.opens ?? 0, "plain_messages": plain?.messages ?? 0,
                "plain_opens": plain?.opens ?? 0, "lift": change.result.lift?.millionths,
                "lift_low": change.result.liftInterval?.lowerBound.millionths,
                "lift_high": change.result.liftInterval?.upperBound.millionths,
            ])
            """
    }

    static func changes(of campaign: String, app: AppKey) -> SQL {
        """
        SELECT at, actor, former_share, share, verdict, aware_messages, aware_opens, plain_messages, plain_opens, lift,
            lift_low, lift_high
        FROM share_change WHERE app = \(app) AND campaign_id = \(campaign) ORDER BY at
        """
    }
}

extension StoreSession {
    /// The arm of a user's message: the author's choice, or the arm that the user was assigned to, now or before.
    func arm(of user: String, in draft: MessageDraft, _ window: DeliveryWindow, now: Timestamp) throws -> Arm {
        if let arm = window.method.arm { return arm }
        let campaign = draft.campaignID ?? ""
        let known: Arm? = try connection.value(ExperimentTable.arm(of: user, campaign, app: draft.app))
        if let known { return known }
        guard let app = try app(key: draft.app) else { throw PealError.notFound("app") }
        let run = try beginExperiment(campaign, of: app, with: draft.id, now: now)
        let input = ArmAssignment.input(
            app: app.bundleID ?? app.id.description, salt: run.salt, campaign: run.isPerUser ? "" : campaign,
            userID: user)
        // Messages without a campaign are in no report, which a changed share could mislead.
        let share = campaign.isEmpty ? app.settings[.experimentShare] : run.share
        let arm = ArmAssignment.arm(ofDigest: SHA256.hash(data: input), share: share)
        let prior = campaign.isEmpty ? 0 : try prior(of: user, run, app: draft.app)
        try connection.post(ExperimentTable.assign(user, to: arm, prior: prior, campaign, app: draft.app, now: now))
        return arm
    }

    /// A user's prior, fixed when the user enters an experiment, because later messages may depend on the arm.
    private func prior(of user: String, _ run: ExperimentRun, app: AppKey) throws -> Int64 {
        try connection.first(ExperimentTable.former(user, except: run.salt, app: app)) { row in
            ExperimentSums.prior(messages: try row.next(), opens: try row.next())
        } ?? 0
    }

    /// The current run of a campaign's experiment, which its first message begins. The salt is the random part of that
    /// message's id; experiments that share their assignment share the salt of messages without a campaign.
    private func beginExperiment(
        _ campaign: String, of app: App, with message: MessageID, now: Timestamp
    ) throws -> ExperimentRun {
        let known = try experimentRow(campaign, app: app.key)
        if let known, known.share != nil { return try run(known, app: app.key) }
        let isPerUser = app.settings[.experimentPerUser] && !campaign.isEmpty
        let salt =
            isPerUser
            ? try beginExperiment("", of: app, with: message, now: now).salt : Hex.encode(message.bytes.suffix(8))
        // A decision outlives the campaign's messages.
        let decided = try shareChanges(of: campaign, app: app.key).last?.share
        // An ended experiment may have had the shared salt too; its users are no longer known.
        if known == nil { try deleteSums(ExperimentKey(app: app.key, campaign: campaign, salt: salt)) }
        let run = ExperimentRun(
            salt: salt, share: decided ?? app.settings[.experimentShare], isPerUser: isPerUser, startedAt: now)
        try connection.post(ExperimentTable.begin(run, campaign, app: app.key))
        return try experimentRun(of: campaign, app: app.key) ?? run
    }

    func experimentRun(of campaign: String, app: AppKey) throws -> ExperimentRun? {
        try experimentRow(campaign, app: app).map { try run($0, app: app) }
    }

    func experimentRow(_ campaign: String, app: AppKey) throws -> ExperimentTable.RunRow? {
        try connection.first(ExperimentTable.run(of: campaign, app: app), ExperimentTable.RunRow.init)
    }

    func run(_ row: ExperimentTable.RunRow, app: AppKey) throws -> ExperimentRun {
        let share = try row.share.map(Double.init(millionths:)) ?? self.app(key: app)?.settings[.experimentShare]
        return ExperimentRun(
            salt: row.salt, share: share ?? Setting.experimentShare.standard, isPerUser: row.isPerUser,
            startedAt: row.startedAt)
    }

    func experimentCampaigns(app: AppKey, after name: String?, limit: Int) throws -> [String] {
        try connection.all(
            """
            SELECT campaign_id FROM experiment WHERE app = \(app) AND campaign_id > \(name ?? "")
            ORDER BY campaign_id LIMIT \(limit)
            """
        ) { row in try row.next() }
    }

    func changeShare(_ change: ShareChange, after run: ExperimentRun, of campaign: String, app: AppKey) throws -> Bool {
        guard try connection.execute(ExperimentTable.beginRun(change, after: run, campaign, app: app)) == 1 else {
            return false
        }
        try connection.execute(ExperimentTable.record(change, campaign, app: app))
        let key = ExperimentKey(app: app, campaign: campaign, salt: run.salt)
        try deleteSums(key)
        return true
    }

    private func deleteSums(_ key: ExperimentKey) throws {
        try connection.execute(ExperimentSumTable.deleteSums(key))
        try connection.execute(ExperimentSumTable.deleteCounts(key))
    }

    /// How the campaign's runs ended, oldest first.
    func shareChanges(of campaign: String, app: AppKey) throws -> [ShareChange] {
        try connection.all(ExperimentTable.changes(of: campaign, app: app)) { row in
            let (at, actor): (Timestamp, String) = (try row.next(), try row.next())
            let (former, share): (Int64, Int64) = (try row.next(), try row.next())
            let verdict: String = try row.next()
            let aware = ShareChange.Count(messages: try row.next(), opens: try row.next())
            let plain = ShareChange.Count(messages: try row.next(), opens: try row.next())
            let (lift, low, high): (Int64?, Int64?, Int64?) = (try row.next(), try row.next(), try row.next())
            var interval: ClosedRange<Double>?
            if let low, let high, low <= high { interval = Double(millionths: low)...Double(millionths: high) }
            return ShareChange(
                at: at, actor: actor, formerShare: Double(millionths: former), share: Double(millionths: share),
                result: ShareChange.Result(
                    verdict: verdict, arms: [.contextAware: aware, .traditional: plain],
                    lift: lift.map(Double.init(millionths:)), liftInterval: interval))
        }
    }
}

extension Double {
    fileprivate init(millionths: Int64) { self = Double(millionths) / 1e6 }

    /// Rounded; 0 for what no column can hold.
    fileprivate var millionths: Int64 { Int64(exactly: (self * 1e6).rounded()) ?? 0 }
}
