internal import PealCore

/// `message`: the changing part of a message, kept narrow; `message_content`: what its author wrote, which changes only
/// with a new draft.
enum MessageTable {
    static let columns: Columns = """
        message, app, state, dialect, campaign_id, created_at, start_at, expires_at, cutoff_at, first_sent_at, \
        ended_at, failure, window_until
        """

    static func message(_ row: inout RowReader) throws -> Message {
        Message(
            id: try row.next(), app: try row.next(), state: try row.next(), dialect: try row.next(),
            campaignID: try row.next(), createdAt: try row.next(), startAt: try row.next(),
            expiresAt: try row.next(), cutoffAt: try row.next(), firstSentAt: try row.next(),
            endedAt: try row.next(), failure: try row.next(), windowUntil: try row.next())
    }

    static func matching(_ app: AppKey, _ id: MessageID) -> SQL { "app = \(app) AND message = \(id)" }

    static let nextDue: SQL = """
        SELECT start_at FROM message WHERE state = \(code: Message.State.scheduled) AND start_at IS NOT NULL
        ORDER BY start_at LIMIT 1
        """

    static func due(_ now: Timestamp, limit: Int) -> SQL {
        """
        SELECT app, message FROM message WHERE state = \(code: Message.State.scheduled) AND start_at <= \(now)
        ORDER BY start_at LIMIT \(limit)
        """
    }

    static func planning(limit: Int) -> SQL {
        """
        SELECT app, message FROM message WHERE state = \(code: Message.State.planning)
        ORDER BY app, message LIMIT \(limit)
        """
    }

    /// Messages in `state`, which is `sending` or `paused`, that have expired and whose slices do not end yet.
    static func expired(_ state: Message.State, _ now: Timestamp, limit: Int) -> SQL {
        """
        SELECT app, message, first_sent_at FROM message
        WHERE state = \(code: state) AND ending = 0 AND expires_at <= \(now) ORDER BY expires_at LIMIT \(limit)
        """
    }

    static func expiringNext(_ state: Message.State) -> SQL {
        "SELECT expires_at FROM message WHERE state = \(code: state) AND ending = 0 ORDER BY expires_at LIMIT 1"
    }

    static func isEnding(_ app: AppKey, _ id: MessageID) -> SQL {
        "SELECT ending FROM message WHERE \(matching(app, id))"
    }

    static func setEnding(_ app: AppKey, _ id: MessageID) -> SQL {
        "UPDATE message SET ending = 1 WHERE \(matching(app, id)) AND ending = 0"
    }

    /// Metrics stop counting at `Limits.censusMax`. A message that was paused before it had slices still starts later.
    /// Only paused messages, which are never `ending`, are read as rows; an index alone answers for the others.
    static func census(scheduled: Bool) -> SQL {
        let (sign, paused): (String, SQL) =
            scheduled
            ? ("=", "start_at IS NOT NULL AND cutoff_at IS NULL") : (">", "(start_at IS NULL OR cutoff_at IS NOT NULL)")
        return """
            SELECT COUNT(*) FROM (SELECT 1 FROM message WHERE state < \(code: Message.State.sent)
                AND state \(name: sign) \(code: Message.State.scheduled) AND state <> \(code: Message.State.paused)
                UNION ALL SELECT 1 FROM message
                WHERE state = \(code: Message.State.paused) AND ending = 0 AND \(paused)
                LIMIT \(Limits.censusMax)) AS counted
            """
    }

    /// How many slices of each state are examined to find the oldest message that is being sent.
    private static let slicesExamined = 1000

    /// When the oldest message that is being sent started. One that only waits because of rules is not late.
    /// Waiting slices that were never tried are not examined, because there may be any number of them.
    static func oldestPending() -> SQL {
        let states: [Slice.State] = [.ready, .leased, .quarantined, .ending]
        let working = states.map { state -> SQL in
            """
            SELECT app, message FROM
                (SELECT app, message FROM slice WHERE state = \(code: state) LIMIT \(slicesExamined)) AS sample
            """
        }
        let retries: SQL = """
            SELECT app, message FROM
                (SELECT app, message, ruled_at FROM slice WHERE state = \(code: Slice.State.waiting) AND attempt > 0
                ORDER BY ready_at LIMIT \(slicesExamined)) AS sample
            WHERE ruled_at IS NULL
            """
        let slices = working.reduce(retries) { (all: SQL, more: SQL) -> SQL in "\(more) UNION ALL \(all)" }
        // The join in this order: SQLite would read all messages first.
        return """
            SELECT MIN(COALESCE(message.start_at, message.created_at)) FROM (\(slices)) AS pick CROSS JOIN message
            WHERE message.app = pick.app AND message.message = pick.message
                AND message.state = \(code: Message.State.sending)
            """
    }

    /// Newest first. Each filter has an index in that order.
    static func list(
        _ filter: MessageFilter, app: AppKey, before cursor: MessageID?, limit: Int, _ dialect: SQLDialect
    ) -> SQL {
        let before: SQL = cursor.map { " AND message < \($0)" } ?? ""
        // Ids begin with the time, so a list of a short time reads few rows.
        let from: SQL = filter.from.map { " AND created_at >= \($0) AND message >= \(firstID(at: $0))" } ?? ""
        let to: SQL = filter.to.map { " AND created_at < \($0) AND message < \(firstID(at: $0))" } ?? ""
        let state: SQL = filter.state.map { " AND state = \($0)" } ?? ""
        let campaign: SQL = filter.campaignID.map { " AND campaign_id = \($0)" } ?? ""
        let origin: SQL = filter.dialect.map { " AND dialect = \($0)" } ?? ""
        let found: SQL = """
            SELECT \(columns) FROM \(dialect.table("message", indexedBy: index(of: filter)))
            WHERE app = \(app)\(before)\(from)\(to)\(state)\(campaign)\(origin)
            ORDER BY message DESC LIMIT \(filter.text == nil ? limit : Limits.searchedRowsMax)
            """
        guard let text = filter.text else { return found }
        return """
            SELECT \(columns) FROM (\(found)) AS found WHERE EXISTS (
                SELECT 1 FROM message_content AS texts WHERE texts.app = found.app AND texts.message = found.message
                    AND texts.search LIKE \(pattern(text)) ESCAPE '!')
            ORDER BY message DESC LIMIT \(limit)
            """
    }

    /// The index of the filter that probably leaves the fewest messages: most are `sent`, and few are in another state.
    private static func index(of filter: MessageFilter) -> String? {
        if let state = filter.state, state != .sent { return "message_state" }
        if filter.campaignID != nil { return "message_campaign" }
        if filter.dialect != nil { return "message_dialect" }
        return filter.state == nil ? nil : "message_state"
    }

    /// The first id that a message accepted at `instant` can have.
    private static func firstID(at instant: Timestamp) -> MessageID {
        MessageID(high: UInt64(max(0, instant.milliseconds)) << 16, low: 0)
    }

    /// `search` is in lower case.
    private static func pattern(_ text: String) -> String {
        "%" + text.lowercased().replacing("!", with: "!!").replacing("%", with: "!%").replacing("_", with: "!_") + "%"
    }

    static func nextCampaign(after name: String, app: AppKey) -> SQL {
        """
        SELECT campaign_id FROM message WHERE app = \(app) AND campaign_id > \(name) ORDER BY campaign_id LIMIT 1
        """
    }

    static func first(of campaign: String, app: AppKey) -> SQL {
        "SELECT message FROM message WHERE app = \(app) AND campaign_id = \(campaign) LIMIT 1"
    }

    /// The state of a `slice` row's message, for a statement on slices: 1 if it is paused, 2 if it has ended, otherwise
    /// 0.
    static let fateOfSlice: SQL = """
        (SELECT CASE WHEN message.state >= \(code: Message.State.sent) OR message.ending = 1 THEN 2 \
        WHEN message.state = \(code: Message.State.paused) THEN 1 ELSE 0 END FROM message \
        WHERE message.app = slice.app AND message.message = slice.message)
        """
}

extension StoreSession {
    func message(app: AppKey, id: MessageID) throws -> Message? {
        try connection.first(
            "SELECT \(MessageTable.columns) FROM message WHERE \(MessageTable.matching(app, id))", MessageTable.message)
    }

    func messages(app: AppKey, _ filter: MessageFilter, before cursor: MessageID?, limit: Int) throws -> [Message] {
        try connection.all(
            MessageTable.list(filter, app: app, before: cursor, limit: limit, context.dialect), MessageTable.message)
    }

    /// One step of the indexes for each name: a campaign may have any number of messages.
    func campaignIDs(app: AppKey, after name: String?, limit: Int) throws -> [String] {
        var names: [String] = []
        while names.count < limit {
            let last = names.last ?? name ?? ""
            let next: [String?] = [
                try connection.value(MessageTable.nextCampaign(after: last, app: app)),
                try connection.value(CampaignTotalTable.nextTotal(after: last, app: app)),
            ]
            guard let first = next.compactMap({ $0.map(ExactText.init) }).min() else { break }
            names.append(first.text)
        }
        return names
    }
}

/// Transitions from one state to the next.
extension StoreSession {
    /// An expired message that is paused or resumed is found by its expiry again. A resumed message continues where it
    /// was paused, whatever `state` says.
    func moveMessage(
        app: AppKey, id: MessageID, from: Set<Message.State>, to state: Message.State, failure: String?, now: Timestamp
    ) throws -> Message.State? {
        guard let message = try message(app: app, id: id), from.contains(message.state) else { return nil }
        let isResumed = message.state == .paused && state != .paused && !state.isFinal
        let target = isResumed ? message.resumed(at: now) : state
        let endedAt: Timestamp? = target.isFinal ? now : nil
        let count = try connection.execute(
            """
            UPDATE message SET state = \(target), ended_at = \(endedAt), ending = 0, failure = \(failure)
            WHERE \(MessageTable.matching(app, id)) AND state = \(message.state)
            """)
        guard count == 1 else { return nil }
        try moveSlices(app: app, id: id, to: target, now: now)
        if target.isFinal, try hasNoSlices(app: app, id: id) { try reportEnd(message, state: target, at: now) }
        return message.state
    }

    /// For reports, a message with slices ends when the last of them is settled.
    private func hasNoSlices(app: AppKey, id: MessageID) throws -> Bool {
        try connection.value("SELECT slices_open FROM message WHERE \(MessageTable.matching(app, id))") == 0
    }

    func endExpiredMessages(now: Timestamp, limit: Int) throws -> Int {
        var count = 0
        for state in [Message.State.paused, .sending] {
            let over = try connection.all(MessageTable.expired(state, now, limit: limit)) { row in
                (
                    app: try row.next(AppKey.self), id: try row.next(MessageID.self),
                    wasTried: try row.next(Timestamp?.self) != nil
                )
            }
            for (app, id, wasTried) in over {
                if state == .paused {
                    _ = try moveMessage(app: app, id: id, from: [.paused], to: wasTried ? .sending : .expired, now: now)
                }
                try connection.execute(MessageTable.setEnding(app, id))
                // From now on nothing waits: the workers settle what is left without sending.
                try moveSlices(app: app, id: id, to: .expired, now: now)
            }
            count += over.count
        }
        return count
    }

    func dueMessages(now: Timestamp, limit: Int) throws -> [(app: AppKey, id: MessageID)] {
        let due = try messageKeys(MessageTable.due(now, limit: limit))
        try connection.post(
            due.map { app, id in
                """
                UPDATE message SET state = \(Message.State.planning)
                WHERE \(MessageTable.matching(app, id)) AND state = \(code: Message.State.scheduled)
                """
            } as [SQL])
        return try messageKeys(MessageTable.planning(limit: limit))
    }

    /// Reads `app, message`.
    func messageKeys(_ sql: SQL) throws -> [(app: AppKey, id: MessageID)] {
        try connection.all(sql) { row in (app: try row.next(), id: try row.next()) }
    }
}
