internal import PealCore

/// `experiment` and `experiment_arm`: the experiments of campaigns, and what happened to their users' messages.
enum ExperimentTable {
    /// Users' matured messages by arm and day, with what is in the sums of the same user. Only users who had a device
    /// with the SDK when a message was scheduled take part, and only messages whose arm the server chose.
    static func matured(_ campaign: String, since start: Timestamp?, app: AppKey, by end: Timestamp) -> SQL {
        """
        SELECT u.user_id, u.arm, u.day, u.messages, u.opens, \(sum)
        FROM (
            SELECT m.user_id AS user_id, m.arm AS arm, m.deadline / \(dayMilliseconds) AS day,
                COUNT(*) AS messages, SUM(\(isOpened)) AS opens
            FROM \(messages(.campaign(campaign, since: start), app)) AND m.deadline <= \(end - maturity) AND \(counts)
            GROUP BY 1, 2, 3) AS u
            LEFT JOIN experiment_arm e
                ON e.app = \(app) AND e.campaign_id = \(campaign) AND e.user_id = u.user_id
        ORDER BY 1, 2, 3
        """
    }

    /// Each user's part in a matured message, with what is in the sums of the same user.
    static func outcomes(of message: MessageID, app: AppKey, by end: Timestamp) -> SQL {
        """
        SELECT m.user_id, m.arm, m.deadline / \(dayMilliseconds), \(isOpened), \(sum),
            \(isFailed), \(isDelivered), \(isDismissed), \(isObserved(by: end)), \(isWithoutSession(by: end)),
            \(pastCases)
        FROM message g JOIN moment m ON m.app = g.app AND m.message = g.message
            LEFT JOIN experiment_arm e ON e.app = g.app AND e.campaign_id = g.campaign_id AND e.user_id = m.user_id
        WHERE \(belongs(.message(message), app)) AND \(counts)
        """
    }

    /// What is in the sums of a user `e`.
    private static let sum: SQL = "COALESCE(e.messages, 0), COALESCE(e.opens, 0), COALESCE(e.prior, 0)"

    static func sum(_ row: inout RowReader) throws -> ExperimentSums.User {
        ExperimentSums.User(messages: try row.next(), opens: try row.next(), prior: try row.next())
    }

    /// What became of each user's messages that are not in the sums, with what is in the sums of the same user.
    static func cases(_ campaign: String, since start: Timestamp?, app: AppKey, by end: Timestamp) -> SQL {
        """
        SELECT u.arm, u.failed, u.delivered, u.dismissed, u.observed, u.without_session, \(pastCases)
        FROM (
            SELECT m.user_id AS user_id, m.arm AS arm, SUM(\(isFailed)) AS failed, SUM(\(isDelivered)) AS delivered,
                SUM(\(isDismissed)) AS dismissed, SUM(\(isObserved(by: end))) AS observed,
                SUM(\(isWithoutSession(by: end))) AS without_session
            FROM \(messages(.campaign(campaign, since: start), app)) AND \(counts)
            GROUP BY 1, 2) AS u
            LEFT JOIN experiment_arm e
                ON e.app = \(app) AND e.campaign_id = \(campaign) AND e.user_id = u.user_id
        """
    }

    /// What is in the sums of a user `e`, for guardrails.
    private static let pastCases: SQL = """
        COALESCE(e.failed, 0), COALESCE(e.delivered, 0), COALESCE(e.dismissed, 0), COALESCE(e.observed, 0),
            COALESCE(e.without_session, 0)
        """

    static func cases(_ row: inout RowReader) throws -> MessageCases.User {
        MessageCases.User(
            failed: try row.next(), delivered: try row.next(), dismissed: try row.next(), observed: try row.next(),
            withoutSession: try row.next())
    }

    /// Adds a message to the totals of its user.
    static func count(
        opens: Int64, _ cases: MessageCases.User, of user: String, _ campaign: String, app: AppKey
    ) -> SQL {
        """
        UPDATE experiment_arm SET messages = messages + 1, opens = opens + \(opens),
            failed = failed + \(cases.failed), delivered = delivered + \(cases.delivered),
            dismissed = dismissed + \(cases.dismissed), observed = observed + \(cases.observed),
            without_session = without_session + \(cases.withoutSession)
        WHERE app = \(app) AND campaign_id = \(campaign) AND user_id = \(user)
        """
    }

    /// Messages whose outcomes are final, and that are not in the sums yet.
    static func final(by now: Timestamp, limit: Int, after skipped: PruneCursor?) -> SQL {
        let later: SQL = skipped?.isBefore("window_until") ?? ""
        return """
            SELECT app, message, window_until, campaign_id FROM message
            WHERE window_until <= \(now - finality) AND \(isUnsummed) AND ended_at IS NOT NULL
                AND slices_open = 0\(later)
            ORDER BY window_until, app, message LIMIT \(limit)
            """
    }

    /// Marks a message as one that is in the sums; changes nothing if it is already.
    static func mark(_ message: MessageID, app: AppKey) -> SQL {
        "UPDATE message SET ending = 2 WHERE \(MessageTable.matching(app, message)) AND ending < 2"
    }

    /// Constants, so that partial indexes are used.
    private static let isUnsummed = SQL(
        text: "window_method = 'ab_test' AND campaign_id IS NOT NULL AND ending < 2", values: [])

    /// 1 for a moment `m` that was opened in time, otherwise 0.
    private static let isOpened: SQL = """
        CASE WHEN EXISTS (
            SELECT 1 FROM receipt r WHERE r.app = m.app AND r.message = m.message AND r.seq = m.device
                AND r.kind = \(code: Receipt.Kind.opened) AND r.at <= m.deadline + \(maturityMilliseconds)
        ) THEN 1 ELSE 0 END
        """

    /// Whether a moment `m` that has matured is part of the comparison. Leaves out a moment whose cancellation came too
    /// late as well: the arms differ in when they send, so leaving out only those cancelled in time would leave out
    /// more of one arm.
    private static let counts: SQL = """
        m.state <> \(code: Moment.State.cancelled) AND m.cancel_requested = 0 AND m.had_device = 1
        """

    /// All messages by what became of them.
    static func deliveries(_ scope: Scope, app: AppKey) -> SQL {
        """
        SELECT m.arm, m.state, CASE WHEN m.claim_id IS NULL THEN 0 ELSE 1 END, m.had_device, COUNT(*)
        FROM \(messages(scope, app)) GROUP BY 1, 2, 3, 4
        """
    }

    /// Opens by arm and class of delay.
    static func delays(_ scope: Scope, app: AppKey) -> SQL {
        let classes = ExperimentFacts.delayLimits.enumerated().map {
            "WHEN r.at - g.created_at < \($1 * 60_000) THEN \($0)"
        }
        let number = SQL(
            text: "CASE \(classes.joined(separator: " ")) ELSE \(classes.count) END", values: [])
        return """
            SELECT m.arm, \(number), COUNT(*)
            FROM message g CROSS JOIN moment m CROSS JOIN receipt r
            WHERE m.app = g.app AND m.message = g.message AND r.app = m.app AND r.message = m.message
                AND r.seq = m.device AND r.kind = \(code: Receipt.Kind.opened) AND \(belongs(scope, app)) AND \(counts)
            GROUP BY 1, 2
            """
    }

    private static let isFailed: SQL = "CASE WHEN m.state = \(code: Moment.State.failed) THEN 1 ELSE 0 END"
    private static let isDismissed: SQL = "CASE WHEN m.state = \(code: Moment.State.dismissed) THEN 1 ELSE 0 END"
    private static let isDelivered: SQL = """
        CASE WHEN m.state IN (\(code: Moment.State.sent), \(code: Moment.State.shown), \(code: Moment.State.opened),
            \(code: Moment.State.dismissed)) THEN 1 ELSE 0 END
        """

    /// 1 for a moment `m` that has matured, on a device that reports when the app is opened; otherwise 0.
    private static func isObserved(by end: Timestamp) -> SQL {
        "CASE WHEN m.deadline <= \(end - maturity) AND EXISTS (\(appOpened)) THEN 1 ELSE 0 END"
    }

    /// 1 for an observed moment `m` after which the app was not opened for a day. Devices report only the hour, so the
    /// one in which the message was sent counts.
    private static func isWithoutSession(by end: Timestamp) -> SQL {
        let start: SQL = "COALESCE(g.start_at, g.created_at)"
        return """
            CASE WHEN m.deadline <= \(end - maturity) AND EXISTS (\(appOpened)) AND NOT EXISTS (
                \(appOpened) AND v.at >= \(start) - \(start) % \(hourMilliseconds)
                    AND v.at < \(start) + \(maturityMilliseconds)
            ) THEN 1 ELSE 0 END
            """
    }

    private static let appOpened: SQL = """
        SELECT 1 FROM device_event v WHERE v.app = m.app AND v.seq = m.device
            AND v.kind = \(code: DeviceEvent.Kind.appOpened)
        """

    static func users(_ campaign: String, since start: Timestamp?, app: AppKey) -> SQL {
        """
        SELECT e.arm, COUNT(*) FROM experiment_arm e
        WHERE e.app = \(app) AND e.campaign_id = \(campaign)\(assigned(since: start)) GROUP BY e.arm
        """
    }

    /// Each user's active devices: all, those with the SDK and how many of these do not allow notifications, and those
    /// that are available and unavailable. `CROSS JOIN` makes SQLite begin with the experiment's users instead of all
    /// devices of the app.
    static func devices(_ campaign: String, since start: Timestamp?, app: AppKey) -> SQL {
        """
        SELECT e.arm, COUNT(*), COUNT(i.class),
            SUM(CASE WHEN (i.capabilities & \(Installation.Capabilities.alerts.rawValue)) = 0 THEN 1 ELSE 0 END),
            SUM(CASE WHEN i.class = \(DeviceClassification.available.rawValue) THEN 1 ELSE 0 END),
            SUM(CASE WHEN i.class = \(DeviceClassification.unavailable.rawValue) THEN 1 ELSE 0 END)
        FROM experiment_arm e CROSS JOIN device d LEFT JOIN installation i ON i.app = d.app AND i.seq = d.seq
        WHERE e.app = \(app) AND e.campaign_id = \(campaign) AND d.app = e.app AND d.user_id = e.user_id
            AND d.state = \(code: DeviceTable.State.active)\(assigned(since: start))
        GROUP BY e.user_id, e.arm
        """
    }

    /// Devices that push networks reported as gone during a run, of each user who has some.
    static func removedDevices(_ campaign: String, app: AppKey, _ run: RunRow) -> SQL {
        """
        SELECT e.arm, COUNT(*)
        FROM experiment_arm e CROSS JOIN device u CROSS JOIN device d
        WHERE e.app = \(app) AND e.campaign_id = \(campaign) AND u.app = e.app AND u.user_id = e.user_id
            AND u.state = \(code: DeviceTable.State.retired) AND d.app = u.app AND d.seq = u.seq
            AND d.retired_at >= \(run.startedAt) AND d.retired_reason <> \(DeviceTable.addressMoved)
            \(assigned(since: run.changedAt))
        GROUP BY e.user_id, e.arm
        """
    }

    /// Leaves out users `e` who were assigned in an earlier run.
    private static func assigned(since start: Timestamp?) -> SQL {
        start.map { " AND e.assigned_at >= \($0)" } ?? ""
    }

    /// The messages of a campaign's run that are not in the sums, or one message.
    enum Scope {
        /// - Parameter since: nil for the first run.
        case campaign(String, since: Timestamp?)
        case message(MessageID)
    }

    /// `CROSS JOIN` makes SQLite begin with the messages instead of all moments of the app.
    private static func messages(_ scope: Scope, _ app: AppKey) -> SQL {
        """
        message g CROSS JOIN moment m
            WHERE m.app = g.app AND m.message = g.message AND \(belongs(scope, app))
        """
    }

    private static func belongs(_ scope: Scope, _ app: AppKey) -> SQL {
        let choice: SQL =
            switch scope {
            case .campaign(let name, nil): "g.campaign_id = \(name) AND g.ending < 2"
            case .campaign(let name, let start?):
                "g.campaign_id = \(name) AND g.ending < 2 AND g.created_at >= \(start)"
            case .message(let id): "g.message = \(id)"
            }
        // A constant, so that a partial index is used.
        return "g.app = \(app) AND \(choice) AND g.window_method = 'ab_test'"
    }

    private static let dayMilliseconds: SQL = "86400000"
    private static let hourMilliseconds: SQL = "3600000"
    private static let maturityMilliseconds = SQL(text: String(maturity.milliseconds), values: [])

    /// How long after its window an open counts.
    static let maturity = Duration.seconds(24 * 3600)

    /// How long after its window a message is added to the sums: phones that were offline report opens later.
    static let finality = maturity + .seconds(6 * 3600)
}

extension StoreSession {
    func experiment(app: AppKey, campaign: String, now: Timestamp) throws -> ExperimentFacts? {
        guard let row = try experimentRow(campaign, app: app) else {
            return try pastExperiment(of: campaign, app: app)
        }
        let scope = ExperimentTable.Scope.campaign(campaign, since: row.changedAt)
        var facts = ExperimentFacts(
            try run(row, app: app), users: try maturedUsers(campaign, since: row.changedAt, app: app, now: now))
        facts.deliveries = try deliveries(scope, app: app)
        facts.delays = try delays(scope, app: app)
        try addPast(ExperimentKey(app: app, campaign: campaign, salt: row.salt), to: &facts)
        let cases = ExperimentTable.cases(campaign, since: row.changedAt, app: app, by: now)
        try connection.query(cases) { row in
            let (arm, messages): (Arm, MessageCases.User) = (try row.next(), try ExperimentTable.cases(&row))
            facts.guards[arm, default: .init()].messages.add(messages, to: try ExperimentTable.cases(&row))
        }
        try addPeople(campaign, row, app: app, to: &facts)
        return facts
    }

    /// Adds the experiment's users and their devices.
    private func addPeople(
        _ campaign: String, _ run: ExperimentTable.RunRow, app: AppKey, to facts: inout ExperimentFacts
    ) throws {
        try connection.query(ExperimentTable.users(campaign, since: run.changedAt, app: app)) { row in
            let (arm, count): (Arm, Int64) = (try row.next(), try row.next())
            facts.guards[arm, default: .init()].removed = CaseSums(users: count)
        }
        try connection.query(ExperimentTable.removedDevices(campaign, app: app, run)) { row in
            let (arm, count): (Arm, Int64) = (try row.next(), try row.next())
            facts.guards[arm, default: .init()].removed.remove(cases: 0, of: 1)
            facts.guards[arm, default: .init()].removed.add(cases: count, of: 1)
        }
        try connection.query(ExperimentTable.devices(campaign, since: run.changedAt, app: app)) { row in
            let (arm, count, reporting): (Arm, Int, Int64) = (try row.next(), try row.next(), try row.next())
            facts.guards[arm, default: .init()].muted.add(cases: try row.next(), of: reporting)
            let (available, unavailable): (Int, Int) = (try row.next(), try row.next())
            facts.devices.withoutSDK += count - Int(reporting)
            facts.devices.available += available
            facts.devices.unavailable += unavailable
            facts.devices.unknown += Int(reporting) - available - unavailable
        }
    }

    private func maturedUsers(
        _ campaign: String, since start: Timestamp?, app: AppKey, now: Timestamp
    ) throws -> [ExperimentFacts.User] {
        var users: [ExperimentFacts.User] = []
        var last: (user: String, arm: Arm, past: ExperimentSums.User)?
        var days: [ExperimentFacts.Day] = []
        func finish() {
            if let last { users.append(ExperimentFacts.User(arm: last.arm, days: days, past: last.past)) }
            days = []
        }
        try connection.query(ExperimentTable.matured(campaign, since: start, app: app, by: now)) { row in
            let (user, arm): (String, Arm) = (try row.next(), try row.next())
            let day = ExperimentFacts.Day(number: try row.next(), messages: try row.next(), opens: try row.next())
            if last.map({ $0.arm != arm || !$0.user.utf8.elementsEqual(user.utf8) }) ?? true {
                finish()
                last = (user, arm, try ExperimentTable.sum(&row))
            }
            days.append(day)
        }
        finish()
        return users
    }

    /// The last experiment of a campaign whose messages were all pruned.
    private func pastExperiment(of campaign: String, app: AppKey) throws -> ExperimentFacts? {
        guard let row = try connection.first(ExperimentSumTable.last(campaign, app: app), ExperimentTable.RunRow.init)
        else { return nil }
        var facts = ExperimentFacts(try run(row, app: app), users: [])
        facts.isOver = true
        try addPast(ExperimentKey(app: app, campaign: campaign, salt: row.salt), to: &facts)
        return facts
    }

    private func addPast(_ key: ExperimentKey, to facts: inout ExperimentFacts) throws {
        facts.past = try pastSums(key)
        for past in facts.past { facts.guards[past.arm, default: .init()].messages = past.cases }
        try addPastCounts(key, to: &facts)
        facts.changes = try shareChanges(of: key.campaign, app: key.app)
    }

    func delays(_ scope: ExperimentTable.Scope, app: AppKey) throws -> [ExperimentFacts.Delay] {
        try connection.all(ExperimentTable.delays(scope, app: app)) { row in
            ExperimentFacts.Delay(arm: try row.next(), index: try row.next(), opens: try row.next())
        }
    }

    /// How messages got to people.
    func deliveries(_ scope: ExperimentTable.Scope, app: AppKey) throws -> [ExperimentFacts.Delivery] {
        let found = try connection.all(ExperimentTable.deliveries(scope, app: app)) {
            row -> (arm: Arm, way: ExperimentFacts.Way, count: Int) in
            let (arm, state): (Arm, Moment.State) = (try row.next(), try row.next())
            let (isClaimed, hadSDK): (Bool, Bool) = (try row.next(), try row.next())
            let way = ExperimentFacts.Way(state, isClaimed: isClaimed, hadSDK: hadSDK)
            return (arm, way, try row.next())
        }
        return Arm.allCases.flatMap { arm in
            ExperimentFacts.Way.allCases.compactMap { way -> ExperimentFacts.Delivery? in
                let count = found.filter { $0.arm == arm && $0.way == way }.reduce(0) { $0 + $1.count }
                return count == 0 ? nil : ExperimentFacts.Delivery(arm: arm, way: way, messages: count)
            }
        }
    }
}
