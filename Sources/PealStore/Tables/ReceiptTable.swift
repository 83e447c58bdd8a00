internal import PealCore

extension StoreSession {
    func receiptCounts(app: AppKey, message: MessageID) throws -> [Receipt.Kind: Int] {
        var counts: [Receipt.Kind: Int] = [:]
        try connection.query(
            "SELECT kind, n FROM receipt_count WHERE app = $1 AND message = $2", [.int(app), .id(message)]
        ) { row in
            if let kind = Receipt.Kind(rawValue: row.int(0)) { counts[kind] = Int(row.int(1)) }
        }
        return counts
    }

    func receipts(app: AppKey, message: MessageID, device: DeviceKey) throws -> [Receipt] {
        try connection.all(GeofenceSQL.receiptsOfDevice, [.int(app), .id(message), .int(device)]) { row in
            guard let kind = Receipt.Kind(rawValue: row.int(0)) else { throw PealError.damaged("a receipt") }
            return Receipt(message: message, device: device, kind: kind, at: row.time(1))
        }.sorted { ($0.at, $0.kind.rawValue) < ($1.at, $1.kind.rawValue) }
    }

    func apps(withTopic name: String, now: Timestamp) throws -> [App] {
        let topics = try connection.all(GeofenceSQL.topicsNamed, [.text(name), .time(now)]) { ($0.int(0), $0.int(1)) }
        return try topics.compactMap { key, topic in
            let member = try connection.int(GeofenceSQL.firstMember, [.int(key), .int(topic)])
            return member == nil ? nil : try app(key: key)
        }
    }

    func record(_ receipts: [Receipt], app: AppKey) throws -> Int {
        // In the order of the key, so that two processes never wait for each other.
        let rows = receipts.sorted {
            ($0.message, $0.device, $0.kind.rawValue) < ($1.message, $1.device, $1.kind.rawValue)
        }
        let counts = try connection.execute(
            GeofenceSQL.insertReceipt,
            rows: rows.map {
                [.int(app), .id($0.message), .int($0.device), .int($0.kind.rawValue), .time($0.at)]
            })
        var new: [(message: MessageID, kind: Receipt.Kind, count: Int)] = []
        for (receipt, count) in zip(rows, counts) where count > 0 {
            if let index = new.lastIndex(where: { $0.message == receipt.message && $0.kind == receipt.kind }) {
                new[index].count += count
            } else {
                new.append((receipt.message, receipt.kind, count))
            }
        }
        try connection.execute(
            GeofenceSQL.addReceipts,
            rows: new.map { [.int(app), .id($0.message), .int($0.kind.rawValue), .int($0.count)] })
        return new.reduce(0) { $0 + $1.count }
    }

    func record(_ triggers: [GeofenceTrigger], app: AppKey) throws -> Int {
        try connection.execute(
            """
            INSERT INTO geofence_trigger (app, geofence, location, seq, at) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (app, geofence, location, seq, at) DO NOTHING
            """,
            rows: triggers.map {
                [.int(app), .int($0.geofence), .int($0.location), .int($0.device), .time($0.at)]
            }
        ).reduce(0, +)
    }

    func triggerCount(app: AppKey, geofence: Int64) throws -> Int {
        Int(
            try connection.int(
                "SELECT COUNT(*) FROM geofence_trigger WHERE app = $1 AND geofence = $2",
                [.int(app), .int(geofence)]) ?? 0)
    }
}
