internal import PealCore

/// `rate_bucket`: how much of the rate of an app (`message` is all zeros) or of a message is used. Rates are in the
/// store, so that all servers share them and they survive a restart.
enum RateTable {
    static let ofApp = MessageID(high: 0, low: 0)

    static func find(_ app: AppKey, _ message: MessageID) -> SQL {
        "SELECT busy_until FROM rate_bucket WHERE app = \(app) AND message = \(message)"
    }

    /// Changes nothing if another server has changed the row first.
    static func put(_ app: AppKey, _ message: MessageID, from before: Int64, to after: Int64) -> SQL {
        """
        INSERT INTO rate_bucket (app, message, busy_until) VALUES (\(app), \(message), \(after))
        ON CONFLICT (app, message) DO UPDATE SET busy_until = excluded.busy_until
            WHERE rate_bucket.busy_until = \(before)
        """
    }
}

extension StoreSession {
    func takeRate(
        app: AppKey, message: MessageID, ofApp: Int64?, wanted: Int, now: Timestamp
    ) throws -> RateGrant {
        let own = try rate(app: app, message: message)
        let limits = [(RateTable.ofApp, ofApp), (message, own)].compactMap { key, rate in rate.map { (key, $0) } }
        var buckets: [(key: MessageID, bucket: RateBucket)] = []
        for (key, rate) in limits {
            let used: Int64? = try connection.value(RateTable.find(app, key))
            buckets.append((key, RateBucket(perSecond: rate, busyUntil: used ?? 0)))
        }
        let grants = buckets.map { (key: $0.key, grant: $0.bucket.room(for: wanted, at: now)) }
        let count = grants.map(\.grant.count).min() ?? wanted
        if count == 0, let last = grants.max(by: { $0.grant.readyAt < $1.grant.readyAt }) {
            return RateGrant(
                count: 0, readyAt: last.grant.readyAt, takes: last.grant.takes, isOfApp: last.key == RateTable.ofApp)
        }
        for (key, bucket) in buckets {
            var bucket = bucket
            let before = bucket.busyUntil
            bucket.take(count, at: now)
            guard try connection.execute(RateTable.put(app, key, from: before, to: bucket.busyUntil)) == 1 else {
                return RateGrant(
                    count: 0, readyAt: now + .milliseconds(10), takes: .milliseconds(10),
                    isOfApp: key == RateTable.ofApp)
            }
        }
        return RateGrant(count: count, readyAt: now)
    }

    func rate(app: AppKey, message: MessageID) throws -> Int64? {
        try options(app: app, message: message)?.ratePerSecond
    }

    private func options(app: AppKey, message: MessageID) throws -> MessageOptions? {
        try connection.first(
            "SELECT options FROM message_content WHERE \(MessageTable.matching(app, message))"
        ) { row in try OptionsCoding.decode(row.next()) }
    }

    func setRate(_ perSecond: Int64?, app: AppKey, message: MessageID) throws {
        guard var options = try options(app: app, message: message) else { return }
        options.ratePerSecond = perSecond
        try connection.post(
            """
            UPDATE message_content SET options = \(OptionsCoding.encode(options))
            WHERE \(MessageTable.matching(app, message))
            """)
    }
}
