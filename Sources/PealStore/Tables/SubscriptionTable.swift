internal import PealCore

/// The members of topics. `device_topic` is authoritative, even for retired devices; `topic_member` contains the active
/// ones in the order in which sending reads them.
enum SubscriptionTable {
    /// The condition that the topic `$2` of the app `$1` has not been deleted: the rows of its members remain for a
    /// while.
    private static let isKept = "EXISTS (SELECT 1 FROM topic WHERE topic.app = $1 AND topic.topic = $2)"

    /// The members of a topic on a route that joined it in time.
    static let stream = Statement<
        (app: AppKey, topic: Int64, route: Route, range: ClosedRange<DeviceKey>, cutoff: Cutoff)
    >(
        """
        SELECT seq FROM topic_member WHERE app = $1 AND topic = $2 AND route = $3 AND seq BETWEEN $4 AND $5
            AND (since <= $6 OR since > $7) AND \(isKept)
        """
    ) {
        [
            .int($0.app), .int($0.topic), .route($0.route), .int($0.range.lowerBound), .int($0.range.upperBound),
            .time($0.cutoff.at), .time($0.cutoff.future),
        ]
    }

    /// All members of a topic on a route, whenever they joined.
    static let members = Statement<(app: AppKey, topic: Int64, route: Route, range: ClosedRange<DeviceKey>)>(
        """
        SELECT seq FROM topic_member WHERE app = $1 AND topic = $2 AND route = $3 AND seq BETWEEN $4 AND $5
            AND \(isKept)
        """
    ) { [.int($0.app), .int($0.topic), .route($0.route), .int($0.range.lowerBound), .int($0.range.upperBound)] }

    static func leaveStreams(app: AppKey, device: DeviceKey, route: Route) -> SQL {
        """
        DELETE FROM topic_member WHERE app = \(app) AND seq = \(device) AND route = \(route)
            AND topic IN (SELECT topic FROM device_topic WHERE app = \(app) AND seq = \(device))
        """
    }

    /// Subscriptions to deleted topics that a device kept while it was retired.
    static func forgetDeleted(app: AppKey, device: DeviceKey) -> SQL {
        """
        DELETE FROM device_topic WHERE app = \(app) AND seq = \(device)
            AND NOT EXISTS (SELECT 1 FROM topic WHERE topic.app = device_topic.app AND topic.topic = device_topic.topic)
        """
    }

    static func join(_ topic: Int64, route: Route, device: DeviceKey, app: AppKey, now: Timestamp) -> SQL {
        """
        INSERT INTO topic_member (app, topic, route, seq, since)
        VALUES (\(app), \(topic), \(route), \(device), \(now))
        ON CONFLICT (app, topic, route, seq) DO NOTHING
        """
    }

    static func count(app: AppKey, topic: Int64, route: Route) -> SQL {
        "SELECT COUNT(*) FROM topic_member WHERE app = \(app) AND topic = \(topic) AND route = \(route)"
    }

    static func page(app: AppKey, _ topic: Int64, _ route: Route, limit: Int, offset: Int) -> SQL {
        """
        SELECT seq FROM topic_member WHERE app = \(app) AND topic = \(topic) AND route = \(route)
        ORDER BY seq LIMIT \(limit) OFFSET \(offset)
        """
    }

    static func keys(app: AppKey, _ topic: Int64, _ route: Route, after cursor: DeviceKey, limit: Int) -> SQL {
        """
        SELECT seq FROM topic_member WHERE app = \(app) AND topic = \(topic) AND route = \(route) AND seq > \(cursor)
        ORDER BY seq LIMIT \(limit)
        """
    }

    static func firstMember(app: AppKey, topic: Int64) -> SQL {
        "SELECT seq FROM topic_member WHERE app = \(app) AND topic = \(topic) LIMIT 1"
    }

    static func joined(app: AppKey, device: DeviceKey) -> SQL {
        """
        SELECT t.name, d.since FROM device_topic d JOIN topic t ON t.app = d.app AND t.topic = d.topic
        WHERE d.app = \(app) AND d.seq = \(device)
        """
    }
}

extension StoreSession {
    /// A topic that a device subscribed to.
    typealias Subscription = (number: Int64, name: String, expiresAt: Timestamp?)

    /// The topics of a device, retired or not, ordered by name. Expired topics are included.
    func subscriptions(app: AppKey, device: DeviceKey) throws -> [Subscription] {
        try connection.all(
            """
            SELECT topic.topic, topic.name, topic.expires_at FROM device_topic
            JOIN topic ON topic.app = device_topic.app AND topic.topic = device_topic.topic
            WHERE device_topic.app = \(app) AND device_topic.seq = \(device)
            """
        ) { row -> Subscription in (number: try row.next(), name: try row.next(), expiresAt: try row.next()) }
        .sorted { $0.name < $1.name }
    }

    func topicsJoined(app: AppKey, device: DeviceKey) throws -> [ExactText: Timestamp] {
        var topics: [ExactText: Timestamp] = [:]
        try connection.query(SubscriptionTable.joined(app: app, device: device)) { row in
            let name = ExactText(try row.next())
            topics[name] = try row.next(Timestamp.self)
        }
        return topics
    }

    /// Subscribes a device to a topic. A device that is already a member keeps its position. Retired devices join no
    /// stream.
    func subscribe(_ row: DeviceRow, _ topic: Int64, app: AppKey, now: Timestamp) throws {
        try connection.post(
            """
            INSERT INTO device_topic (app, seq, topic, since) VALUES (\(app), \(row.key), \(topic), \(now))
            ON CONFLICT (app, seq, topic) DO NOTHING
            """)
        guard row.retirement == nil else { return }
        try connection.post(
            SubscriptionTable.join(topic, route: row.route, device: row.key, app: app, now: now))
    }

    func unsubscribe(_ row: DeviceRow, _ topic: Int64, app: AppKey) throws {
        try connection.post(
            "DELETE FROM device_topic WHERE app = \(app) AND seq = \(row.key) AND topic = \(topic)")
        try connection.post(
            """
            DELETE FROM topic_member
            WHERE app = \(app) AND topic = \(topic) AND route = \(row.route) AND seq = \(row.key)
            """)
    }

    /// Applies a list of topics as a difference.
    func change(
        _ row: DeviceRow, from before: [Subscription], to topics: Set<ExactText>, app: AppKey,
        now: Timestamp
    ) throws {
        let names = Set(before.map { ExactText($0.name) })
        for topic in before where !topics.contains(ExactText(topic.name)) {
            try unsubscribe(row, topic.number, app: app)
        }
        for name in topics where !names.contains(name) {
            try subscribe(row, try topicNumber(app: app, name: name.text, now: now), app: app, now: now)
        }
    }

    func changeTopics(app: AppKey, device: DeviceKey, add: [String], remove: [String], now: Timestamp) throws {
        guard let row = try deviceRow(app: app, key: device) else { throw PealError.notFound("device") }
        for name in Set(remove.map(ExactText.init)).subtracting(add.map(ExactText.init)) {
            guard let topic = try knownTopicNumber(app: app, name: name.text) else { continue }
            try unsubscribe(row, topic, app: app)
        }
        for name in Set(add.map(ExactText.init)) {
            try subscribe(row, try topicNumber(app: app, name: name.text, now: now), app: app, now: now)
        }
    }

    /// Moves a device into the streams of another route, or back into its own after a retirement. It joins them `now`
    /// in either case, so that no running message meets it twice.
    func move(_ old: DeviceRow, to row: DeviceRow, _ topics: [Int64], app: AppKey, now: Timestamp) throws {
        if old.retirement == nil {
            try leaveStreams(app: app, device: old.key, route: old.route)
        } else {
            try connection.post(SubscriptionTable.forgetDeleted(app: app, device: old.key))
        }
        try connection.post(
            topics.sorted().map {
                SubscriptionTable.join($0, route: row.route, device: row.key, app: app, now: now)
            })
    }

    /// Ends a device's memberships; its subscriptions stay known.
    func leaveStreams(app: AppKey, device: DeviceKey, route: Route) throws {
        try connection.post(SubscriptionTable.leaveStreams(app: app, device: device, route: route))
    }

    /// Members of a topic on all routes, in order of key. They are stored by route.
    func members(app: AppKey, topic: Int64, after cursor: DeviceKey, limit: Int) throws -> [DeviceKey] {
        let keys = try Route.allCases.flatMap { route in
            try connection.values(
                SubscriptionTable.keys(app: app, topic, route, after: cursor, limit: limit), DeviceKey.self)
        }
        return Array(keys.sorted().prefix(limit))
    }

    func memberCount(app: AppKey, topic: Int64) throws -> Int {
        try connection.count("SELECT COUNT(*) FROM topic_member WHERE app = \(app) AND topic = \(topic)")
    }
}
