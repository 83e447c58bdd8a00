internal import PealCore

extension StoreSession {
    private static let columns = "topic, name, expires_at"

    private func topic(_ row: any SQLRow, app: AppKey) throws -> Topic {
        let number = row.int(0)
        return Topic(
            name: row.text(1), number: number, expiresAt: row.timeIfPresent(2),
            deviceCount: try memberCount(app: app, topic: number))
    }

    private func memberCount(app: AppKey, topic: Int64) throws -> Int {
        Int(
            try connection.int(
                "SELECT COUNT(*) FROM topic_member WHERE app = $1 AND topic = $2", [.int(app), .int(topic)]) ?? 0)
    }

    func topics(app: AppKey, after cursor: String?, limit: Int, now: Timestamp) throws -> [Topic] {
        try connection.all(
            """
            SELECT \(Self.columns) FROM topic WHERE app = $1 AND name > $2 AND (expires_at IS NULL OR expires_at > $3)
            ORDER BY name LIMIT $4
            """, [.int(app), .text(cursor ?? ""), .time(now), .int(limit)]
        ) { try topic($0, app: app) }
    }

    func topic(app: AppKey, name: String, now: Timestamp) throws -> Topic? {
        try connection.first(
            """
            SELECT \(Self.columns) FROM topic WHERE app = $1 AND name = $2 AND (expires_at IS NULL OR expires_at > $3)
            """, [.int(app), .text(name), .time(now)]
        ) { try topic($0, app: app) }
    }

    func putTopic(app: AppKey, name: String, expiresAt: Timestamp?, now: Timestamp) throws -> Topic {
        let number = try topicNumber(app: app, name: name, now: now)
        try connection.execute(
            "UPDATE topic SET expires_at = $3 WHERE app = $1 AND topic = $2",
            [.int(app), .int(number), .time(expiresAt)])
        return Topic(
            name: name, number: number, expiresAt: expiresAt, deviceCount: try memberCount(app: app, topic: number))
    }

    func deleteTopic(app: AppKey, name: String) throws -> Bool {
        guard let number = try knownTopicNumber(app: app, name: name) else { return false }
        // By way of the members: subscriptions lie in the order of devices. Those of retired devices stay behind under
        // a number that is never given again.
        try connection.execute(
            """
            DELETE FROM device_topic WHERE app = $1 AND topic = $2
                AND seq IN (SELECT seq FROM topic_member WHERE app = $1 AND topic = $2)
            """, [.int(app), .int(number)])
        try connection.execute(
            "DELETE FROM topic_member WHERE app = $1 AND topic = $2", [.int(app), .int(number)])
        memo.topics[memoKey(app, name)] = nil
        return try connection.execute(
            "DELETE FROM topic WHERE app = $1 AND topic = $2", [.int(app), .int(number)]) == 1
    }

    /// The number of the topic, which is made now when there is none. One that expired is forgotten with everybody in
    /// it: who subscribes to its name means a new one.
    func topicNumber(app: AppKey, name: String, now: Timestamp) throws -> Int64 {
        if let known = memo.topics[memoKey(app, name)] { return known }
        let expiry = try connection.int(
            "SELECT expires_at FROM topic WHERE app = $1 AND name = $2 AND expires_at IS NOT NULL",
            [.int(app), .text(name)])
        if let expiry, expiry <= now.milliseconds { _ = try deleteTopic(app: app, name: name) }
        var number = try knownTopicNumber(app: app, name: name)
        if number == nil {
            let fresh = try connection.int(
                "UPDATE app SET topic_seq = topic_seq + 1 WHERE app = $1 RETURNING topic_seq", [.int(app)])
            guard let fresh else { throw PealError.notFound("app") }
            try connection.execute(
                "INSERT INTO topic (app, topic, name, expires_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
                [.int(app), .int(fresh), .text(name), .null(.int)])
            number = try knownTopicNumber(app: app, name: name)
        }
        guard let number else { throw PealError.damaged("a topic") }
        memo.topics[memoKey(app, name)] = number
        return number
    }

    func knownTopicNumber(app: AppKey, name: String) throws -> Int64? {
        try connection.int("SELECT topic FROM topic WHERE app = $1 AND name = $2", [.int(app), .text(name)])
    }

    private func memoKey(_ app: AppKey, _ name: String) -> ExactText { ExactText("\(app) \(name)") }
}

extension StoreSession {
    func topics(
        app: AppKey, _ search: TopicSearch, _ page: PageNumber, now: Timestamp
    ) throws -> ResultPage<TopicEntry> {
        let place: [SQLValue] = [
            .int(app), .time(now), .flag(search.hasExpiry != true), .flag(search.hasExpiry != false),
        ]
        guard let part = search.containing.map(PartOfText.init) else {
            let items = try connection.all(
                SearchSQL.topics, place + [.int(page.size), .int(page.offset)], Self.topicEntry)
            return ResultPage(items: items, total: Int(try connection.int(SearchSQL.topicsInAll, place) ?? 0))
        }
        var result = ResultPage<TopicEntry>()
        try connection.query(SearchSQL.topics, place + [.int(Limits.searchedRowsMax), .int(0)]) { row in
            guard part.isIn(row.text(1)) else { return }
            let number = result.total - page.offset
            if (0..<page.size).contains(number) { result.items.append(Self.topicEntry(row)) }
            result.total += 1
        }
        return result
    }

    func topicEntry(app: AppKey, number: Int64, now: Timestamp) throws -> TopicEntry? {
        try connection.first(
            SearchSQL.topicByNumber, [.int(app), .int(number), .time(now)], Self.topicEntry)
    }

    private static func topicEntry(_ row: any SQLRow) -> TopicEntry {
        TopicEntry(number: row.int(0), name: row.text(1), expiresAt: row.timeIfPresent(2))
    }

    func makeTopic(
        app: AppKey, name: String, expiresAt: Timestamp?, now: Timestamp
    ) throws -> (topic: TopicEntry, isNew: Bool) {
        if let number = try livingTopicNumber(app: app, name: name, now: now),
            let known = try topicEntry(app: app, number: number, now: now)
        {
            return (known, false)
        }
        let number = try topicNumber(app: app, name: name, now: now)
        try connection.execute(
            "UPDATE topic SET expires_at = $3 WHERE app = $1 AND topic = $2",
            [.int(app), .int(number), .time(expiresAt)])
        return (TopicEntry(number: number, name: name, expiresAt: expiresAt), true)
    }

    /// The number of a topic that has not expired.
    func livingTopicNumber(app: AppKey, name: String, now: Timestamp) throws -> Int64? {
        try connection.int(
            """
            SELECT topic FROM topic WHERE app = $1 AND name = $2 AND (expires_at IS NULL OR expires_at > $3)
            """, [.int(app), .text(name), .time(now)])
    }
}
