internal import PealCore

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
