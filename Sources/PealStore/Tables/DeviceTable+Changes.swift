internal import PealCore

extension StoreSession {
    func nextDeviceKey(app: AppKey) throws -> DeviceKey {
        let key = try connection.int(
            "UPDATE app SET device_seq = device_seq + 1 WHERE app = $1 RETURNING device_seq", [.int(app)])
        guard let key else { throw PealError.notFound("app") }
        return key
    }

    func insertRow(_ row: DeviceRow, app: AppKey) throws {
        try connection.execute(
            """
            INSERT INTO device (\(DeviceRow.columns), app)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
            """, row.values + [.int(app)])
    }

    func updateRow(_ row: DeviceRow, app: AppKey) throws {
        try connection.execute(
            """
            UPDATE device SET id = $2, route = $3, state = $4, address = $5, address_key = $6, address_rev = $7,
                user_id = $8, locale = $9, zone = $10, interactive = $11, registered_at = $12, since = $13,
                retired_at = $14, retired_reason = $15
            WHERE app = $16 AND seq = $1
            """, row.values + [.int(app)])
    }

    /// No bytes = no row.
    func putDetail(_ detail: [UInt8], app: AppKey, device: DeviceKey) throws {
        guard !detail.isEmpty else {
            try connection.execute(
                "DELETE FROM device_detail WHERE app = $1 AND seq = $2", [.int(app), .int(device)])
            return
        }
        try connection.execute(
            """
            INSERT INTO device_detail (app, seq, detail) VALUES ($1, $2, $3)
            ON CONFLICT (app, seq) DO UPDATE SET detail = excluded.detail
            """, [.int(app), .int(device), .bytes(detail)])
    }

    /// Puts an active device into a topic; who is in it already keeps its place.
    func subscribe(_ row: DeviceRow, _ topic: Int64, app: AppKey, now: Timestamp) throws {
        try connection.execute(
            """
            INSERT INTO device_topic (app, seq, topic, since) VALUES ($1, $2, $3, $4)
            ON CONFLICT (app, seq, topic) DO NOTHING
            """, [.int(app), .int(row.key), .int(topic), .time(now)])
        guard row.retirement == nil else { return }
        try connection.execute(
            """
            INSERT INTO topic_member (app, topic, route, seq, since) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (app, topic, route, seq) DO NOTHING
            """, [.int(app), .int(topic), .route(row.route), .int(row.key), .time(now)])
    }

    func unsubscribe(_ row: DeviceRow, _ topic: Int64, app: AppKey) throws {
        try connection.execute(
            "DELETE FROM device_topic WHERE app = $1 AND seq = $2 AND topic = $3",
            [.int(app), .int(row.key), .int(topic)])
        try connection.execute(
            "DELETE FROM topic_member WHERE app = $1 AND topic = $2 AND route = $3 AND seq = $4",
            [.int(app), .int(topic), .route(row.route), .int(row.key)])
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

    /// Into the streams of another route, or back into those of its own after a retirement: in either case from now on,
    /// so that no running message meets a device twice.
    func move(_ old: DeviceRow, to row: DeviceRow, _ topics: [Int64], app: AppKey, now: Timestamp) throws {
        if old.retirement == nil { try leaveStreams(app: app, device: old.key, route: old.route) }
        try connection.execute(
            """
            INSERT INTO topic_member (app, topic, route, seq, since) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (app, topic, route, seq) DO NOTHING
            """,
            rows: topics.sorted().map { [.int(app), .int($0), .route(row.route), .int(row.key), .time(now)] })
    }

    /// Ends a device's memberships; its subscriptions stay known.
    func leaveStreams(app: AppKey, device: DeviceKey, route: Route) throws {
        try connection.execute(
            HotSQL.leaveStreams, [.int(app), .int(device), .route(route)])
    }
}

extension StoreSession {
    func deleteDevice(app: AppKey, id: DeviceID) throws -> Bool {
        guard let row = try deviceRow(app: app, id: id) else { return false }
        try erase(app: app, device: row.key, route: row.route)
        return true
    }

    /// The delivery log names devices only by numbers that are never given again, so nothing in it tells of the person
    /// once the devices are gone.
    func deleteUser(app: AppKey, userID: String) throws -> Int {
        let devices = try connection.all(
            "SELECT seq, route FROM device WHERE app = $1 AND user_id = $2", [.int(app), .text(userID)]
        ) { (key: $0.int(0), route: try $0.route(1)) }
        for device in devices { try erase(app: app, device: device.key, route: device.route) }
        return devices.count
    }

    private func erase(app: AppKey, device: DeviceKey, route: Route) throws {
        try leaveStreams(app: app, device: device, route: route)
        for table in ["receipt", "geofence_trigger", "device_topic", "device_identifier", "device_detail", "device"] {
            try connection.execute(
                "DELETE FROM \(table) WHERE app = $1 AND seq = $2", [.int(app), .int(device)])
        }
    }

    func changeTopics(app: AppKey, device: DeviceKey, add: [String], remove: [String], now: Timestamp) throws {
        let row = try connection.first(
            "SELECT \(DeviceRow.columns) FROM device WHERE app = $1 AND seq = $2", [.int(app), .int(device)],
            DeviceRow.init)
        guard let row else { throw PealError.notFound("device") }
        for name in Set(remove.map(ExactText.init)).subtracting(add.map(ExactText.init)) {
            guard let topic = try knownTopicNumber(app: app, name: name.text) else { continue }
            try unsubscribe(row, topic, app: app)
        }
        for name in Set(add.map(ExactText.init)) {
            try subscribe(row, try topicNumber(app: app, name: name.text, now: now), app: app, now: now)
        }
    }
}

extension StoreSession {
    /// Makes a device known by its identifiers, and by no others.
    func putIdentifiers(_ identifiers: [String: String], app: AppKey, device: DeviceKey, isNew: Bool) throws {
        if !isNew {
            try connection.execute(
                "DELETE FROM device_identifier WHERE app = $1 AND seq = $2", [.int(app), .int(device)])
        }
        try connection.execute(
            "INSERT INTO device_identifier (app, kind, value, seq) VALUES ($1, $2, $3, $4)",
            rows: identifiers.sorted { $0.key < $1.key }.map { kind, value in
                [.int(app), .text(kind), .text(value), .int(device)]
            })
    }
}
