internal import PealCore

extension StoreSession {
    func device(app: AppKey, id: DeviceID) throws -> Device? {
        try deviceRow(app: app, id: id).map { try device($0, app: app) }
    }

    func deviceRow(app: AppKey, id: DeviceID) throws -> DeviceRow? {
        try connection.first(HotSQL.deviceByID, [.int(app), .id(id)], DeviceRow.init)
    }

    func deviceRow(app: AppKey, addressKey: [UInt8]) throws -> DeviceRow? {
        try connection.first(HotSQL.deviceByAddress, [.int(app), .bytes(addressKey)], DeviceRow.init)
    }

    /// A row with what lies beside it.
    func device(_ row: DeviceRow, app: AppKey) throws -> Device {
        let topics = try subscriptions(app: app, device: row.key)
        let ends = topics.compactMap { topic in topic.expiresAt.map { (topic.name, $0) } }
        return Device(
            id: row.id, key: row.key, address: row.address, userID: row.userID, topics: topics.map(\.name),
            locale: try word(row.locale), timeZone: try word(row.zone),
            detail: try DetailCoding.decode(try detail(app: app, device: row.key)),
            isInteractive: row.isInteractive, registeredAt: row.registeredAt, retirement: row.retirement,
            topicEnds: Dictionary(ends) { $1 })
    }

    func detail(app: AppKey, device: DeviceKey) throws -> [UInt8] {
        try connection.first(
            "SELECT detail FROM device_detail WHERE app = $1 AND seq = $2", [.int(app), .int(device)]
        ) { $0.bytes(0) } ?? []
    }

    /// What a device subscribed to.
    typealias Subscription = (number: Int64, name: String, expiresAt: Timestamp?)

    /// Topics of a device by name, retired or not; expired ones too.
    func subscriptions(app: AppKey, device: DeviceKey) throws -> [Subscription] {
        try connection.all(
            """
            SELECT topic.topic, topic.name, topic.expires_at FROM device_topic
            JOIN topic ON topic.app = device_topic.app AND topic.topic = device_topic.topic
            WHERE device_topic.app = $1 AND device_topic.seq = $2
            """, [.int(app), .int(device)]
        ) { (number: $0.int(0), name: $0.text(1), expiresAt: $0.timeIfPresent(2)) }.sorted { $0.name < $1.name }
    }

    /// A listing by topic shows active devices only: retired ones are no members.
    func devices(app: AppKey, _ filter: DeviceFilter, after cursor: DeviceKey, limit: Int) throws -> [Device] {
        guard let topic = filter.topic else {
            return try deviceRows(app: app, filter, after: cursor, limit: limit).map { try device($0, app: app) }
        }
        guard let number = try knownTopicNumber(app: app, name: topic) else { return [] }
        var found: [Device] = []
        var cursor = cursor
        while found.count < limit {
            let members = try members(app: app, topic: number, after: cursor, limit: limit)
            guard let last = members.last else { break }
            cursor = last
            let rows = try deviceRows(app: app, keys: members).filter { Self.matches($0, filter) }
            found += try rows.prefix(limit - found.count).map { try device($0, app: app) }
        }
        return found
    }

    private func deviceRows(
        app: AppKey, _ filter: DeviceFilter, after cursor: DeviceKey, limit: Int
    ) throws -> [DeviceRow] {
        var conditions = "app = $1 AND seq > $2"
        var values: [SQLValue] = [.int(app), .int(cursor), .int(limit)]
        if let userID = filter.userID {
            values.append(.text(userID))
            conditions += " AND user_id = $\(values.count)"
        }
        if let address = filter.address {
            values.append(.bytes(DeviceRow.addressKey(of: address)))
            conditions += " AND address_key = $\(values.count)"
        }
        return try connection.all(
            "SELECT \(DeviceRow.columns) FROM device WHERE \(conditions) ORDER BY seq LIMIT $3", values,
            DeviceRow.init)
    }

    private static func matches(_ row: DeviceRow, _ filter: DeviceFilter) -> Bool {
        (filter.userID == nil || filter.userID == row.userID)
            && (filter.address.map { DeviceRow.addressKey(of: $0) == row.addressKey } ?? true)
    }

    /// Members lie by route; merged they are in order of key.
    private func members(app: AppKey, topic: Int64, after cursor: DeviceKey, limit: Int) throws -> [DeviceKey] {
        var keys: [DeviceKey] = []
        for route in Route.allCases {
            keys += try connection.all(
                """
                SELECT seq FROM topic_member WHERE app = $1 AND topic = $2 AND route = $3 AND seq > $4
                ORDER BY seq LIMIT $5
                """, [.int(app), .int(topic), .route(route), .int(cursor), .int(limit)]
            ) { $0.int(0) }
        }
        return Array(keys.sorted().prefix(limit))
    }

    private func deviceRows(app: AppKey, keys: [DeviceKey]) throws -> [DeviceRow] {
        var rows: [DeviceRow] = []
        try connection.query(
            "SELECT \(DeviceRow.columns) FROM device WHERE app = $1 AND seq = $2",
            each: keys.map { [.int(app), .int($0)] }
        ) { rows.append(try DeviceRow($0)) }
        return rows
    }

    func deviceCount(app: AppKey, route: Route?) throws -> Int {
        let mine = route == nil ? "" : " AND route = $2"
        return Int(
            try connection.int(
                "SELECT COUNT(*) FROM device WHERE app = $1\(mine) AND state = 1",
                [.int(app)] + (route.map { [.route($0)] } ?? [])) ?? 0)
    }
}
