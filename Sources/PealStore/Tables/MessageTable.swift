internal import PealCore

extension StoreSession {
    private static let columns = """
        app, message, state, dialect, campaign_id, created_at, start_at, expires_at, cutoff_at, first_sent_at, \
        ended_at, failure, window_until
        """

    private static func message(_ row: any SQLRow) throws -> Message {
        guard let state = Message.State(rawValue: row.int(2)) else { throw PealError.damaged("a message") }
        return Message(
            id: try row.id(1), app: row.int(0), state: state, dialect: DialectName(rawValue: row.text(3)),
            campaignID: row.textIfPresent(4), createdAt: row.time(5), startAt: row.timeIfPresent(6),
            expiresAt: row.time(7),
            cutoffAt: row.timeIfPresent(8), firstSentAt: row.timeIfPresent(9), endedAt: row.timeIfPresent(10),
            failure: row.textIfPresent(11), windowUntil: row.timeIfPresent(12))
    }

    func message(app: AppKey, id: MessageID) throws -> Message? {
        try connection.first(
            "SELECT \(Self.columns) FROM message WHERE app = $1 AND message = $2", [.int(app), .id(id)], Self.message)
    }

    func messages(app: AppKey, _ filter: MessageFilter, before cursor: MessageID?, limit: Int) throws -> [Message] {
        var conditions = "app = $1"
        var values: [SQLValue] = [.int(app), .int(limit)]
        func add(_ condition: String, _ value: SQLValue?) {
            guard let value else { return }
            values.append(value)
            conditions += " AND \(condition) $\(values.count)"
        }
        add("message <", cursor.map { .id($0) })
        add("state =", filter.state.map { .int($0.rawValue) })
        add("campaign_id =", filter.campaignID.map { .text($0) })
        add("dialect =", filter.dialect.map { .text($0.rawValue) })
        return try connection.all(
            "SELECT \(Self.columns) FROM message WHERE \(conditions) ORDER BY message DESC LIMIT $2", values,
            Self.message)
    }

    func insertMessage(_ draft: MessageDraft) throws {
        let state = Message(draft).state
        let count = try connection.execute(
            """
            INSERT INTO message (app, message, state, dialect, campaign_id, created_at, start_at, expires_at,
                slices_open, window_until, window_method, window_hold)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, $10, $11) ON CONFLICT DO NOTHING
            """,
            [
                .int(draft.app), .id(draft.id), .int(state.rawValue), .text(draft.dialect.rawValue),
                .text(draft.campaignID), .time(draft.createdAt), .time(draft.startAt), .time(draft.expiresAt),
            ] + Self.written(draft.window))
        guard count == 1 else { throw PealError(.conflict, "a message with that id exists", field: "id") }
        try connection.execute(
            """
            INSERT INTO message_content (app, message, audience, content, options, source)
            VALUES ($1, $2, $3, $4, $5, $6)
            """, [.int(draft.app), .id(draft.id)] + Self.written(draft))
        if let window = draft.window { try insertMoments(of: draft, window) }
    }

    /// `window_until`, `window_method`, `window_hold`.
    private static func written(_ window: DeliveryWindow?) -> [SQLValue] {
        [.time(window?.until), .text(window?.method.rawValue), .int(window?.holdSeconds)]
    }

    private static func written(_ draft: MessageDraft) -> [SQLValue] {
        [
            .bytes(AudienceCoding.encode(draft.audience)), .bytes(ContentCoding.encode(draft.content)),
            .bytes(OptionsCoding.encode(draft.options)), .bytes(draft.source),
        ]
    }

    func replaceDraft(_ draft: MessageDraft, now: Timestamp) throws -> Bool {
        let count = try connection.execute(
            """
            UPDATE message SET campaign_id = $3, start_at = $4, expires_at = $5, window_until = $6, window_method = $7,
                window_hold = $8
            WHERE app = $1 AND message = $2 AND state = 1
            """,
            [
                .int(draft.app), .id(draft.id), .text(draft.campaignID),
                .time(draft.window == nil ? draft.startAt ?? draft.createdAt : nil), .time(draft.expiresAt),
            ] + Self.written(draft.window))
        guard count == 1 else { return false }
        try connection.execute(
            """
            UPDATE message_content SET audience = $3, content = $4, options = $5, source = $6
            WHERE app = $1 AND message = $2
            """, [.int(draft.app), .id(draft.id)] + Self.written(draft))
        if let window = draft.window { try supersede(draft, window, now: now) }
        return true
    }

    func draft(app: AppKey, id: MessageID) throws -> MessageDraft? {
        try message(app: app, id: id).flatMap { try draft(of: $0) }
    }

    func draft(of message: Message) throws -> MessageDraft? {
        try connection.first(
            "SELECT audience, content, options, source FROM message_content WHERE app = $1 AND message = $2",
            [.int(message.app), .id(message.id)]
        ) { row in
            MessageDraft(
                id: message.id, app: message.app, dialect: message.dialect, campaignID: message.campaignID,
                audience: try AudienceCoding.decode(row.bytes(0)), content: try ContentCoding.decode(row.bytes(1)),
                options: try OptionsCoding.decode(row.bytes(2)), startAt: message.startAt,
                createdAt: message.createdAt, expiresAt: message.expiresAt, source: row.bytesIfPresent(3),
                window: try window(of: message))
        }
    }

    private func window(of message: Message) throws -> DeliveryWindow? {
        guard let until = message.windowUntil else { return nil }
        return try connection.first(
            "SELECT window_method, window_hold FROM message WHERE app = $1 AND message = $2",
            [.int(message.app), .id(message.id)]
        ) { row in
            DeliveryWindow(
                until: until, method: DeliveryWindow.Method(rawValue: row.text(0)) ?? .experiment,
                holdSeconds: row.int(1))
        }
    }
}

extension StoreSession {
    /// A resumed message lands where it was paused: one that has no slices yet is planned, or waits for its start.
    func moveMessage(
        app: AppKey, id: MessageID, from: Set<Message.State>, to state: Message.State, now: Timestamp
    ) throws -> Message.State? {
        guard let message = try message(app: app, id: id), from.contains(message.state) else { return nil }
        let target = message.state == .paused ? Self.resumed(message, state, now) : state
        let ended: Timestamp? = target.isFinal ? now : nil
        let count = try connection.execute(
            "UPDATE message SET state = $3, ended_at = $5 WHERE app = $1 AND message = $2 AND state = $4",
            [.int(app), .id(id), .int(target.rawValue), .int(message.state.rawValue), .time(ended)])
        guard count == 1 else { return nil }
        try moveSlices(app: app, id: id, to: target, now: now)
        if target.isFinal, try hasNoSlices(app: app, id: id) { try reportEnd(message, state: target, at: now) }
        return message.state
    }

    /// One that has some ends for its reports when the last of them is settled.
    private func hasNoSlices(app: AppKey, id: MessageID) throws -> Bool {
        try connection.int(
            "SELECT slices_open FROM message WHERE app = $1 AND message = $2", [.int(app), .id(id)]) == 0
    }

    private static func resumed(_ message: Message, _ state: Message.State, _ now: Timestamp) -> Message.State {
        guard !state.isFinal, state != .paused else { return state }
        if message.cutoffAt != nil { return .sending }
        if let start = message.startAt, start > now { return .scheduled }
        return .planning
    }

    /// Leased slices are left to their workers, who give them back when they see the new state.
    private func moveSlices(app: AppKey, id: MessageID, to state: Message.State, now: Timestamp) throws {
        let place: [SQLValue] = [.int(app), .id(id)]
        switch state {
        case .paused:
            try connection.execute(
                "UPDATE slice SET state = 3 WHERE app = $1 AND message = $2 AND state IN (0, 1)", place)
        case .sending:
            try connection.execute(
                """
                UPDATE slice SET state = CASE WHEN ready_at > $3 THEN 0 ELSE 1 END
                WHERE app = $1 AND message = $2 AND state = 3
                """, place + [.time(now)])
        case .cancelled, .expired, .failed:
            // Nothing waits any longer: the workers settle what is left without sending.
            try connection.execute(
                "UPDATE slice SET state = 1 WHERE app = $1 AND message = $2 AND state IN (0, 3)", place)
        default: break
        }
    }

    func endPausedMessages(now: Timestamp, limit: Int) throws -> Int {
        let over = try connection.all(HotSQL.overPausedMessages, [.time(now), .int(limit)]) { row in
            (app: row.int(0), id: try row.id(1) as MessageID, wasTried: !row.isNull(2))
        }
        for (app, id, wasTried) in over {
            _ = try moveMessage(app: app, id: id, from: [.paused], to: wasTried ? .sending : .expired, now: now)
        }
        return over.count
    }

    func dueMessages(now: Timestamp, limit: Int) throws -> [(app: AppKey, id: MessageID)] {
        let due = try connection.all(HotSQL.dueMessages, [.time(now), .int(limit)]) { row -> [SQLValue] in
            [.int(row.int(0)), .bytes(row.bytes(1))]
        }
        try connection.execute("UPDATE message SET state = 2 WHERE app = $1 AND message = $2 AND state = 1", rows: due)
        return try connection.all(HotSQL.planningMessages, [.int(limit)]) { (app: $0.int(0), id: try $0.id(1)) }
    }
}
