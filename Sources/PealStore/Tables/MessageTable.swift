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

    static func dueNext() -> SQL {
        """
        SELECT start_at FROM message WHERE state = \(code: Message.State.scheduled) AND start_at IS NOT NULL
        ORDER BY start_at LIMIT 1
        """
    }

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

    /// When the oldest message that is being sent started. One that only waits for a time of its rules is not late: its
    /// waiting slices, of which there may be any number, were not tried before and are not examined.
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
                (SELECT app, message FROM slice WHERE state = \(code: Slice.State.waiting) AND attempt > 0
                ORDER BY ready_at LIMIT \(slicesExamined)) AS sample
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
    static func list(_ filter: MessageFilter, app: AppKey, before cursor: MessageID?, limit: Int) -> SQL {
        let before: SQL = cursor.map { " AND message < \($0)" } ?? ""
        // Ids begin with the time, so a list of a short time reads few rows.
        let from: SQL = filter.from.map { " AND created_at >= \($0) AND message >= \(firstID(at: $0))" } ?? ""
        let to: SQL = filter.to.map { " AND created_at < \($0) AND message < \(firstID(at: $0))" } ?? ""
        let state: SQL = filter.state.map { " AND state = \($0)" } ?? ""
        let campaign: SQL = filter.campaignID.map { " AND campaign_id = \($0)" } ?? ""
        let dialect: SQL = filter.dialect.map { " AND dialect = \($0)" } ?? ""
        let found: SQL = """
            SELECT \(columns) FROM message WHERE app = \(app)\(before)\(from)\(to)\(state)\(campaign)\(dialect)
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

    /// Of the message of a `slice` row, for a statement on slices: 1 when it is paused, 2 when it has ended, else 0.
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
            MessageTable.list(filter, app: app, before: cursor, limit: limit), MessageTable.message)
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

/// What planning changes in a message.
struct MessageStart {
    let state: Message.State
    var cutoffAt: Timestamp?
    var endedAt: Timestamp?
    var slicesOpen = 0
    /// nil while the counts are those of slices.
    var counts: [Route: OutcomeCounts]?

    init(_ state: Message.State) { self.state = state }

    static let columns: [ColumnOf<MessageStart>] = [
        ("state", { $0.state }), ("cutoff_at", { $0.cutoffAt }), ("ended_at", { $0.endedAt }),
        ("slices_open", { $0.slicesOpen }), ("counts", { $0.counts.map(CountsCoding.encode) }),
    ]

    var columns: [ColumnValue] { Self.columns.map { ($0.key, $0.value(self)) } }
}

extension MessageTable {
    private typealias Accepted = (draft: MessageDraft, start: MessageStart)

    fileprivate static let insert = Statement<(draft: MessageDraft, start: MessageStart)>(
        insertInto: "message", written + started)

    private static let written: [ColumnOf<Accepted>] = [
        ("app", { $0.draft.app }), ("message", { $0.draft.id }), ("dialect", { $0.draft.dialect }),
        ("campaign_id", { $0.draft.isTest ? nil : $0.draft.campaignID }), ("created_at", { $0.draft.createdAt }),
        ("start_at", { $0.draft.startAt }), ("expires_at", { $0.draft.expiresAt }),
        ("window_until", { $0.draft.window?.until }), ("window_method", { $0.draft.window?.method }),
        ("window_hold", { $0.draft.window?.holdSeconds }),
    ]

    private static let started: [ColumnOf<Accepted>] = MessageStart.columns.map { column in
        (column.key, { column.value($0.start) })
    }

    fileprivate static let insertContent = Statement<(draft: MessageDraft, overview: MessageOverview)>(
        insertInto: "message_content",
        [
            ("app", { $0.draft.app }), ("message", { $0.draft.id }),
            ("audience", { AudienceCoding.encode($0.draft.audience) }),
            ("content", { ContentCoding.encode($0.draft.content) }),
            ("options", { OptionsCoding.encode($0.draft.options) }), ("source", { $0.draft.source }),
            ("title", { $0.overview.title }), ("audience_line", { $0.overview.audience }),
            ("search", { $0.draft.content.searchText }), ("test", { $0.draft.isTest ? 1 : 0 }),
        ])
}

/// Drafts: what an author asked to send.
extension StoreSession {
    func insertMessage(_ draft: MessageDraft) throws {
        var start = MessageStart(Message(draft).state)
        // Each of its users has a moment, which counts as a slice.
        if draft.window != nil { start.slicesOpen = draft.audience.users.distinctTexts.count }
        try insertMessage(draft, start)
    }

    func insertMessage(_ draft: MessageDraft, _ start: MessageStart) throws {
        guard try isLiving(draft.app) else { throw PealError.notFound("app") }
        try connection.post(MessageTable.insert.sql((draft, start)))
        try connection.post(MessageTable.insertContent.sql((draft, MessageOverview(draft))))
        if let window = draft.window { try insertMoments(of: draft, window) }
    }

    func replaceDraft(_ draft: MessageDraft, now: Timestamp) throws -> Bool {
        let former = try message(app: draft.app, id: draft.id)?.campaignID
        let count = try connection.execute(
            """
            UPDATE message SET \(set: [
                "campaign_id": draft.isTest ? nil : draft.campaignID,
                "start_at": draft.window == nil ? draft.startAt ?? draft.createdAt : nil,
                "expires_at": draft.expiresAt, "window_until": draft.window?.until,
                "window_method": draft.window?.method, "window_hold": draft.window?.holdSeconds,
            ])
            WHERE \(MessageTable.matching(draft.app, draft.id)) AND state = \(code: Message.State.scheduled)
            """)
        guard count == 1 else { return false }
        let overview = MessageOverview(draft)
        try connection.post(
            """
            UPDATE message_content SET \(set: [
                "audience": AudienceCoding.encode(draft.audience), "content": ContentCoding.encode(draft.content),
                "options": OptionsCoding.encode(draft.options), "source": draft.source, "title": overview.title,
                "audience_line": overview.audience, "search": draft.content.searchText,
            ])
            WHERE \(MessageTable.matching(draft.app, draft.id))
            """)
        if let window = draft.window { try supersede(draft, window, now: now) }
        if let former, former != draft.campaignID { try endCampaign(former, app: draft.app, now: now) }
        return true
    }

    func draft(app: AppKey, id: MessageID) throws -> MessageDraft? {
        try message(app: app, id: id).flatMap { try draft(of: $0) }
    }

    func draft(of message: Message) throws -> MessageDraft? {
        let window = try window(of: message)
        return try connection.first(
            """
            SELECT audience, content, options, source, test FROM message_content
            WHERE \(MessageTable.matching(message.app, message.id))
            """
        ) { row in
            var draft = MessageDraft(
                id: message.id, app: message.app, dialect: message.dialect, campaignID: message.campaignID,
                audience: try AudienceCoding.decode(row.next()), content: try ContentCoding.decode(row.next()),
                options: try OptionsCoding.decode(row.next()), startAt: message.startAt,
                createdAt: message.createdAt, expiresAt: message.expiresAt, source: try row.next(), window: window)
            draft.isTest = try row.next(Int64.self) == 1
            return draft
        }
    }

    /// Messages of earlier versions have no stored one.
    func overview(app: AppKey, id: MessageID) throws -> MessageOverview? {
        let stored = try connection.first(
            "SELECT title, audience_line, test FROM message_content WHERE \(MessageTable.matching(app, id))"
        ) { row in
            (title: try row.next(String?.self), audience: try row.next(String?.self), test: try row.next(Int64.self))
        }
        guard let stored else { return nil }
        guard let audience = stored.audience else { return try draft(app: app, id: id).map(MessageOverview.init) }
        return MessageOverview(title: stored.title, audience: audience, isTest: stored.test == 1)
    }

    func window(of message: Message) throws -> DeliveryWindow? {
        guard let until = message.windowUntil else { return nil }
        return try connection.first(
            "SELECT window_method, window_hold FROM message WHERE \(MessageTable.matching(message.app, message.id))"
        ) { row in DeliveryWindow(until: until, method: try row.next(), holdSeconds: try row.next()) }
    }

    /// What the author sent, as it was received.
    func source(app: AppKey, message: MessageID) throws -> [UInt8]? {
        try connection.value("SELECT source FROM message_content WHERE \(MessageTable.matching(app, message))")
    }

    func job(app: AppKey, id: MessageID) throws -> DeliveryJob? {
        guard let message = try message(app: app, id: id) else { return nil }
        return try connection.first(
            "SELECT content, options, test FROM message_content WHERE \(MessageTable.matching(app, id))"
        ) { row in
            DeliveryJob(
                message: message, content: try ContentCoding.decode(row.next()),
                options: try OptionsCoding.decode(row.next()), isTest: try row.next(Int64.self) == 1)
        }
    }
}

/// Transitions from one state to the next.
extension StoreSession {
    /// An expired message that is paused or resumed is found by its expiry again. A resumed message continues where it
    /// was paused: one that has no slices yet is planned, or waits for its start.
    func moveMessage(
        app: AppKey, id: MessageID, from: Set<Message.State>, to state: Message.State, failure: String?, now: Timestamp
    ) throws -> Message.State? {
        guard let message = try message(app: app, id: id), from.contains(message.state) else { return nil }
        let target = message.state == .paused ? Self.resumed(message, state, now) : state
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

    private static func resumed(_ message: Message, _ state: Message.State, _ now: Timestamp) -> Message.State {
        guard !state.isFinal, state != .paused else { return state }
        if message.cutoffAt != nil { return .sending }
        if let start = message.startAt, start > now { return .scheduled }
        return .planning
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
                try endSlices(app: app, id: id, now: now)
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
