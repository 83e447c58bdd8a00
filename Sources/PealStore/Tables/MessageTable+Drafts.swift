internal import PealCore

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
