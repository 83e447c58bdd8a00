internal import PealCore

/// `learning`: what is known of each campaign's learning; and the labels in `context_sample`, without the users that
/// they came from.
enum LearningTable {
    private static let columns: Columns = """
        campaign_id, displays, opens, trained_at, labels, failures, own_model, drifted, held_until, objections,
        off_policy_gain, off_policy_error, off_policy_messages, off_policy_effective
        """

    static func learning(_ row: inout RowReader) throws -> CampaignLearning {
        var learning = CampaignLearning(campaign: try row.next())
        learning.displays = try row.next()
        learning.opens = try row.next()
        learning.trainedAt = try row.next()
        learning.labels = try row.next()
        learning.failures = try row.next()
        learning.hasOwnModel = try row.next()
        learning.hasDrifted = try row.next()
        learning.heldUntil = try row.next()
        learning.objections = try row.next(String.self).split(separator: " ").map(String.init)
        let (gain, error): (Int64?, Int64?) = (try row.next(), try row.next())
        let (messages, effective): (Int64?, Int64?) = (try row.next(), try row.next())
        if let gain, let error, let messages, let effective {
            learning.offPolicy = OffPolicyGain(
                gain: gain, error: error, messages: messages, effectiveMessages: effective)
        }
        return learning
    }

    static func find(_ campaign: String, app: AppKey) -> SQL {
        "SELECT \(columns) FROM learning WHERE \(ModelTable.matching(campaign, app))"
    }

    static func put(_ learning: CampaignLearning, app: AppKey) -> SQL {
        let changing: KeyValuePairs<String, any SQLStorable> = [
            "displays": learning.displays, "opens": learning.opens, "trained_at": learning.trainedAt,
            "labels": learning.labels, "failures": learning.failures, "own_model": learning.hasOwnModel,
            "drifted": learning.hasDrifted, "held_until": learning.heldUntil,
            "objections": learning.objections.joined(separator: " "), "off_policy_gain": learning.offPolicy?.gain,
            "off_policy_error": learning.offPolicy?.error, "off_policy_messages": learning.offPolicy?.messages,
            "off_policy_effective": learning.offPolicy?.effectiveMessages,
        ]
        return """
            INSERT INTO learning \(row: ["app": app, "campaign_id": learning.campaign], changing)
            ON CONFLICT (app, campaign_id) DO UPDATE SET \(set: Array(changing))
            """
    }

    /// The further condition that a sample comes after the cursor, in lists that begin with the newest.
    private static func follows(_ cursor: ContextCursor?) -> SQL {
        cursor.map { " AND (s.at, s.seq, s.id) < (\($0.at), \($0.device), \($0.id))" } ?? ""
    }

    /// Whether the message of a sample was opened in time: 1 or 0.
    private static var isOpened: SQL {
        """
        CASE WHEN EXISTS (
            SELECT 1 FROM receipt r WHERE r.app = s.app AND r.message = s.message AND r.seq = s.seq
                AND r.kind = \(code: Receipt.Kind.opened) AND r.at <= s.at + \(maturity.milliseconds)
        ) THEN 1 ELSE 0 END
        """
    }

    /// The user of the device only leads to the moment; it is not part of the result.
    static func labels(_ app: AppKey, after cursor: ContextCursor?, limit: Int, now: Timestamp) -> SQL {
        """
        SELECT s.at, s.seq, s.id, g.campaign_id, m.explore, s.snapshot, \(isOpened)
        FROM context_sample s JOIN message g ON g.app = s.app AND g.message = s.message
        JOIN device d ON d.app = s.app AND d.seq = s.seq
        JOIN moment m ON m.app = s.app AND m.message = s.message AND m.user_id = d.user_id
        WHERE s.app = \(app) AND s.at <= \(now - maturity)\(follows(cursor)) AND s.snapshot IS NOT NULL
            AND m.device = s.seq AND m.claim_id IS NOT NULL
        ORDER BY s.at DESC, s.seq DESC, s.id DESC LIMIT \(limit)
        """
    }

    /// Without the extension, a phone does not report messages for which it waited in vain, and its other messages
    /// alone would be a biased selection.
    static func journeys(_ app: AppKey, after cursor: ContextCursor?, limit: Int, now: Timestamp) -> SQL {
        """
        SELECT s.at, s.seq, s.id, g.campaign_id, s.trace, (m.fallback_at - COALESCE(g.start_at, g.created_at)) / 60000,
        CASE WHEN m.claim_id IS NOT NULL THEN 1 ELSE 0 END, \(isOpened)
        FROM context_sample s JOIN message g ON g.app = s.app AND g.message = s.message
        JOIN device d ON d.app = s.app AND d.seq = s.seq
        JOIN installation i ON i.app = s.app AND i.seq = s.seq
        JOIN moment m ON m.app = s.app AND m.message = s.message AND m.user_id = d.user_id
        WHERE s.app = \(app) AND s.at <= \(now - maturity)\(follows(cursor)) AND s.trace IS NOT NULL
            AND m.explore = \(Exploration.soft.rawValue) AND (m.claim_id IS NULL OR m.device = s.seq)
            AND i.capabilities & \(Installation.Capabilities.ledger.rawValue) <> 0
        ORDER BY s.at DESC, s.seq DESC, s.id DESC LIMIT \(limit)
        """
    }

    /// `CROSS JOIN` makes SQLite begin with the campaign's messages instead of all moments of the app.
    static func displays(_ campaign: String, app: AppKey, limit: Int, now: Timestamp) -> SQL {
        """
        SELECT COUNT(*), SUM(opened) FROM (
            SELECT CASE WHEN m.state = \(code: Moment.State.opened) THEN 1 ELSE 0 END AS opened
            FROM message g CROSS JOIN moment m
            WHERE g.app = \(app) AND g.campaign_id = \(campaign) AND m.app = g.app AND m.message = g.message
                AND m.claim_id IS NOT NULL AND m.claim_until <= \(now - maturity)
                AND m.state IN (\(code: Moment.State.shown), \(code: Moment.State.opened),
                    \(code: Moment.State.dismissed))
            LIMIT \(limit)) AS displayed
        """
    }

    static func counters(_ app: AppKey, limit: Int) -> SQL {
        """
        SELECT seq, hour, COUNT(*) FROM context_sample WHERE app = \(app) AND hour IS NOT NULL
        GROUP BY seq, hour ORDER BY seq LIMIT \(24 * limit)
        """
    }

    static func nextSharing(after app: AppKey) -> SQL {
        "SELECT app FROM context_sample WHERE app > \(app) ORDER BY app LIMIT 1"
    }

    private static let maturity = Duration.seconds(Limits.labelMaturitySeconds)
}

extension StoreSession {
    func learning(app: AppKey, campaign: String) throws -> CampaignLearning? {
        try connection.first(LearningTable.find(campaign, app: app), LearningTable.learning)
    }

    func putLearning(_ learning: CampaignLearning, app: AppKey) throws {
        try connection.execute(LearningTable.put(learning, app: app))
    }

    func beginLearning(app: AppKey, now: Timestamp) throws -> Bool {
        if try learning(app: app, campaign: "") == nil { try putLearning(CampaignLearning(campaign: ""), app: app) }
        let latest = now - .seconds(Limits.learningIntervalSeconds)
        // A turn far ahead was taken before the clock was set back.
        return try connection.execute(
            """
            UPDATE learning SET begun_at = \(now)
            WHERE \(ModelTable.matching("", app))
                AND (begun_at IS NULL OR begun_at <= \(latest) OR begun_at > \(AheadOfTime.horizon(now)))
            """) == 1
    }

    func sharingApp(after app: AppKey) throws -> AppKey? { try connection.value(LearningTable.nextSharing(after: app)) }

    func labels(
        app: AppKey, after cursor: ContextCursor?, limit: Int, now: Timestamp
    ) throws -> ContextPage<MomentLabel> {
        let statement = LearningTable.labels(app, after: cursor, limit: limit, now: now)
        return try contextPage(statement, limit: limit) { row, cursor in
            let campaign: String? = try row.next()
            // A newer server may have stored another way to explore.
            guard let exploration = try? row.next(Exploration.self) else { return nil }
            return MomentLabel(
                campaign: campaign ?? "", snapshot: try row.next(), exploration: exploration, shownAt: cursor.at,
                isOpened: try row.next())
        }
    }

    func journeys(
        app: AppKey, after cursor: ContextCursor?, limit: Int, now: Timestamp
    ) throws -> ContextPage<MomentJourney> {
        let statement = LearningTable.journeys(app, after: cursor, limit: limit, now: now)
        return try contextPage(statement, limit: limit) { row, _ in
            let campaign: String? = try row.next()
            return MomentJourney(
                campaign: campaign ?? "", trace: try row.next(), windowMinutes: try row.next(),
                isShownByPhone: try row.next(), isOpened: try row.next())
        }
    }

    /// - Parameter read: reads a row behind its cursor, with which every row begins; returns nil to skip it.
    private func contextPage<Item>(
        _ statement: SQL, limit: Int, _ read: (inout RowReader, ContextCursor) throws -> Item?
    ) throws -> ContextPage<Item> {
        var last: ContextCursor?
        let items = try connection.all(statement) { row in
            let cursor = ContextCursor(at: try row.next(), device: try row.next(), id: try row.next())
            last = cursor
            return try read(&row, cursor)
        }
        return ContextPage(items: items.compactMap(\.self), next: items.count == limit ? last : nil)
    }

    func openCounters(app: AppKey, limit: Int) throws -> [[Int]] {
        var (people, last): ([[Int]], DeviceKey?) = ([], nil)
        try connection.query(LearningTable.counters(app, limit: limit)) { row in
            let (device, hour, count): (DeviceKey, Int, Int) = (try row.next(), try row.next(), try row.next())
            if device != last { people.append([Int](repeating: 0, count: 24)) }
            last = device
            if (0..<24).contains(hour) { people[people.count - 1][hour] = count }
        }
        return Array(people.prefix(limit))
    }

    func arrivalRate(app: AppKey) throws -> Double? {
        try arrivalRate(
            "SELECT CAST(SUM(hits) AS BIGINT), CAST(SUM(hits + misses) AS BIGINT) FROM installation WHERE app = \(app)")
    }

    func displays(app: AppKey, campaign: String, limit: Int, now: Timestamp) throws -> (shown: Int, opened: Int) {
        try connection.first(LearningTable.displays(campaign, app: app, limit: limit, now: now)) { row in
            (try row.next(), try row.next(Int?.self) ?? 0)
        } ?? (0, 0)
    }

    /// How a user's phone chooses the moment of a message. Nothing can be learned without a campaign, or in an app
    /// whose users do not share their context.
    func exploration(of user: String, in draft: MessageDraft, _ window: DeliveryWindow) throws -> Exploration {
        guard let campaign = draft.campaignID else { return .greedy }
        let length = window.until - (draft.startAt ?? draft.createdAt)
        let key = PhaseKey(app: draft.app, campaign: ExactText(campaign), window: length)
        guard let phase = try memo.phases[key] ?? phase(of: campaign, app: draft.app, window: length) else {
            return .greedy
        }
        memo.phases[key] = phase
        return Exploration(of: draft.id, userID: user, in: phase)
    }

    /// nil if no user shares a context.
    private func phase(of campaign: String, app: AppKey, window: Duration) throws -> CampaignPhase? {
        guard try connection.exists("SELECT 1 FROM context_sample WHERE app = \(app) LIMIT 1") else {
            return nil
        }
        let known = try learning(app: app, campaign: campaign) ?? CampaignLearning(campaign: campaign)
        let hasPrior = try modelRelease(app: app, campaign: "", version: nil) != nil
        return CampaignPhase(window: window, hasPrior: hasPrior, displays: known.displays, opens: known.opens)
    }
}
