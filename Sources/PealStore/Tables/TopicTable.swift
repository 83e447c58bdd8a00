internal import PealCore

/// `topic`: labels that devices subscribe to, numbered per app. An expired topic counts as deleted.
enum TopicTable {
    static let columns: Columns = "topic, name, expires_at"

    static func entry(_ row: inout RowReader) throws -> TopicEntry {
        TopicEntry(number: try row.next(), name: try row.next(), expiresAt: try row.next())
    }

    static let byName = Statement<(app: AppKey, name: String)>(
        "SELECT topic, expires_at FROM topic WHERE app = $1 AND name = $2"
    ) { [.int($0.app), .text($0.name)] }

    static func isLiving(_ now: Timestamp) -> SQL { "(expires_at IS NULL OR expires_at > \(now))" }

    /// Topics that have not expired, with or without an expiry as the search specifies.
    private static func matching(_ search: TopicSearch, app: AppKey, now: Timestamp) -> SQL {
        """
        FROM topic WHERE app = \(app) AND ((expires_at IS NULL AND \(search.hasExpiry != true) = 1)
            OR (expires_at > \(now) AND \(search.hasExpiry != false) = 1))
        """
    }

    static func count(_ search: TopicSearch, app: AppKey, now: Timestamp) -> SQL {
        "SELECT COUNT(*) \(matching(search, app: app, now: now))"
    }

    static func page(_ search: TopicSearch, app: AppKey, now: Timestamp, limit: Int, offset: Int) -> SQL {
        """
        SELECT \(columns) \(matching(search, app: app, now: now)) ORDER BY name LIMIT \(limit) OFFSET \(offset)
        """
    }

    static func find(number: Int64, app: AppKey, now: Timestamp) -> SQL {
        "SELECT \(columns) FROM topic WHERE app = \(app) AND topic = \(number) AND \(isLiving(now))"
    }

    /// The topics of that name in every app.
    static func named(_ name: String, now: Timestamp) -> SQL {
        "SELECT app, topic FROM topic WHERE name = \(name) AND \(isLiving(now)) ORDER BY app"
    }
}

extension StoreSession {
    func topics(app: AppKey, after cursor: String?, limit: Int, now: Timestamp) throws -> [Topic] {
        try connection.all(
            """
            SELECT \(TopicTable.columns) FROM topic
            WHERE app = \(app) AND name > \(cursor ?? "") AND \(TopicTable.isLiving(now)) ORDER BY name LIMIT \(limit)
            """
        ) { row in try topic(TopicTable.entry(&row), app: app) }
    }

    func topic(app: AppKey, name: String, now: Timestamp) throws -> Topic? {
        try connection.first(
            """
            SELECT \(TopicTable.columns) FROM topic
            WHERE app = \(app) AND name = \(name) AND \(TopicTable.isLiving(now))
            """
        ) { row in try topic(TopicTable.entry(&row), app: app) }
    }

    func growth(app: AppKey, topic: String, days: Int, now: Timestamp) throws -> TopicGrowth? {
        guard let found = try self.topic(app: app, name: topic, now: now) else { return nil }
        let day = SQL(text: String(TopicGrowth.dayMilliseconds), values: [])
        // Sorts only the subscribers of the requested days, because there may be many others.
        let first = (now.milliseconds / TopicGrowth.dayMilliseconds - Int64(days)) * TopicGrowth.dayMilliseconds
        var joined: [Int64: Int] = [:]
        try connection.query(
            """
            SELECT since / \(day), COUNT(*) FROM topic_member
            WHERE app = \(app) AND topic = \(found.number) AND since >= \(first) GROUP BY since / \(day)
            """
        ) { row in joined[try row.next()] = try row.next() }
        let total = try memberCount(app: app, topic: found.number)
        return TopicGrowth(joined: joined, total: total, days: days, now: now)
    }

    private func topic(_ entry: TopicEntry, app: AppKey) throws -> Topic {
        Topic(
            name: entry.name, number: entry.number, expiresAt: entry.expiresAt,
            deviceCount: try memberCount(app: app, topic: entry.number))
    }

    func topicEntry(app: AppKey, number: Int64, now: Timestamp) throws -> TopicEntry? {
        try connection.first(TopicTable.find(number: number, app: app, now: now), TopicTable.entry)
    }

    func topics(
        app: AppKey, _ search: TopicSearch, _ page: PageNumber, now: Timestamp
    ) throws -> ResultPage<TopicEntry> {
        guard let part = search.containing.map(PartOfText.init) else {
            let items = try connection.all(
                TopicTable.page(search, app: app, now: now, limit: page.size, offset: page.offset), TopicTable.entry)
            let total = try connection.count(TopicTable.count(search, app: app, now: now))
            return ResultPage(items: items, total: total)
        }
        var result = ResultPage<TopicEntry>()
        try connection.query(
            TopicTable.page(search, app: app, now: now, limit: Limits.searchedRowsMax, offset: 0)
        ) { row in
            let entry = try TopicTable.entry(&row)
            guard part.isIn(entry.name) else { return }
            let index = result.total - page.offset
            if (0..<page.size).contains(index) { result.items.append(entry) }
            result.total += 1
        }
        return result
    }

    func apps(withTopic name: String, now: Timestamp) throws -> [App] {
        let topics = try connection.all(TopicTable.named(name, now: now)) { row -> (app: AppKey, number: Int64) in
            (try row.next(), try row.next())
        }
        return try topics.compactMap { topic in
            let member = try connection.value(
                SubscriptionTable.firstMember(app: topic.app, topic: topic.number), DeviceKey.self)
            return member == nil ? nil : try app(key: topic.app)
        }
    }

    func putTopic(app: AppKey, name: String, expiresAt: Timestamp?, now: Timestamp) throws -> Topic {
        let number = try topicNumber(app: app, name: name, now: now)
        try setExpiry(of: number, expiresAt, app: app)
        return try topic(TopicEntry(number: number, name: name, expiresAt: expiresAt), app: app)
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
        try setExpiry(of: number, expiresAt, app: app)
        return (TopicEntry(number: number, name: name, expiresAt: expiresAt), true)
    }

    private func setExpiry(of number: Int64, _ expiresAt: Timestamp?, app: AppKey) throws {
        try connection.post("UPDATE topic SET expires_at = \(expiresAt) WHERE app = \(app) AND topic = \(number)")
    }

    /// Without its row, a topic has no members, and its number is never reused. The Pruner deletes the members' rows
    /// through `topic_member`, because subscriptions are stored in the order of devices. Subscriptions of retired
    /// devices are deleted when the devices are deleted or register again.
    func deleteTopic(app: AppKey, name: String, now: Timestamp) throws -> Bool {
        guard let number = try knownTopicNumber(app: app, name: name) else { return false }
        memo.topics[memoKey(app, name)] = nil
        guard try connection.execute("DELETE FROM topic WHERE app = \(app) AND topic = \(number)") == 1 else {
            return false
        }
        try leave(.topic, app: app, object: number, now: now)
        return true
    }
}

/// Translates names into numbers.
extension StoreSession {
    /// The number of the topic, which is created when it does not exist. An expired topic is deleted with its members:
    /// a subscription to its name means a new topic.
    func topicNumber(app: AppKey, name: String, now: Timestamp) throws -> Int64 {
        if let known = memo.topics[memoKey(app, name)] { return known }
        let expiresAt: Timestamp? = try connection.value(
            "SELECT expires_at FROM topic WHERE app = \(app) AND name = \(name) AND expires_at IS NOT NULL")
        if let expiresAt, expiresAt <= now { _ = try deleteTopic(app: app, name: name, now: now) }
        var number = try knownTopicNumber(app: app, name: name)
        if number == nil {
            try connection.post(
                """
                INSERT INTO topic (app, topic, name) VALUES (\(app), \(try nextTopicNumber(app: app)), \(name))
                ON CONFLICT DO NOTHING
                """)
            number = try knownTopicNumber(app: app, name: name)
        }
        guard let number else { throw PealError.damaged("a topic") }
        memo.topics[memoKey(app, name)] = number
        return number
    }

    func knownTopicNumber(app: AppKey, name: String) throws -> Int64? {
        try connection.value("SELECT topic FROM topic WHERE app = \(app) AND name = \(name)")
    }

    /// The number of a topic that has not expired.
    func livingTopicNumber(app: AppKey, name: String, now: Timestamp) throws -> Int64? {
        try connection.value(
            "SELECT topic FROM topic WHERE app = \(app) AND name = \(name) AND \(TopicTable.isLiving(now))")
    }

    private func memoKey(_ app: AppKey, _ name: String) -> ExactText { ExactText("\(app) \(name)") }
}
