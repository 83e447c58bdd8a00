internal import PealCore

/// `receipt`: what devices reported about messages, the first report of each kind from each device; `receipt_count`
/// contains the sums.
enum ReceiptTable {
    static func insert(_ receipt: Receipt, app: AppKey) -> SQL {
        """
        INSERT INTO receipt (app, message, seq, kind, at)
        VALUES (\(app), \(receipt.message), \(receipt.device), \(receipt.kind), \(receipt.at))
        ON CONFLICT (app, message, seq, kind) DO NOTHING
        """
    }

    static func add(_ count: Int, _ kind: Receipt.Kind, of message: MessageID, app: AppKey) -> SQL {
        """
        INSERT INTO receipt_count (app, message, kind, n) VALUES (\(app), \(message), \(kind), \(count))
        ON CONFLICT (app, message, kind) DO UPDATE SET n = receipt_count.n + excluded.n
        """
    }

    static func of(_ device: DeviceKey, message: MessageID, app: AppKey) -> SQL {
        "SELECT kind, at FROM receipt WHERE \(MessageTable.matching(app, message)) AND seq = \(device)"
    }
}

extension StoreSession {
    func receiptCounts(app: AppKey, message: MessageID) throws -> [Receipt.Kind: Int] {
        let counts = try connection.all(
            "SELECT kind, n FROM receipt_count WHERE \(MessageTable.matching(app, message))"
        ) { row -> (Receipt.Kind, Int) in (try row.next(), try row.next()) }
        return Dictionary(counts) { $1 }
    }

    private func isTest(_ message: MessageID, app: AppKey) throws -> Bool {
        try connection.value(
            "SELECT test FROM message_content WHERE \(MessageTable.matching(app, message))", Int64.self)
            == 1
    }

    func receipts(app: AppKey, message: MessageID, device: DeviceKey) throws -> [Receipt] {
        try connection.all(ReceiptTable.of(device, message: message, app: app)) { row in
            Receipt(message: message, device: device, kind: try row.next(), at: try row.next())
        }.sorted { ($0.at, $0.kind.rank) < ($1.at, $1.kind.rank) }
    }

    func record(_ receipts: [Receipt], app: AppKey) throws -> Int {
        // In the order of the key, so that two processes never wait for each other.
        let rows = receipts.sorted {
            ($0.message, $0.device, $0.kind.rawValue) < ($1.message, $1.device, $1.kind.rawValue)
        }
        let counts = try connection.execute(rows.map { ReceiptTable.insert($0, app: app) })
        var new: [(message: MessageID, kind: Receipt.Kind, count: Int)] = []
        for (receipt, count) in zip(rows, counts) where count > 0 {
            if let index = new.lastIndex(where: { $0.message == receipt.message && $0.kind == receipt.kind }) {
                new[index].count += count
            } else {
                new.append((receipt.message, receipt.kind, count))
            }
        }
        try connection.post(new.map { ReceiptTable.add($0.count, $0.kind, of: $0.message, app: app) })
        let tests = try Set(Set(new.map(\.message)).filter { try isTest($0, app: app) })
        let counted = zip(rows, counts).filter { $1 > 0 && !tests.contains($0.message) }
        try addStatistics(counted.map { (app: app, item: Statistics($0.0)) })
        return new.reduce(0) { $0 + $1.count }
    }
}

/// `geofence_trigger`: the borders that devices crossed.
enum TriggerTable {
    static func insert(_ trigger: GeofenceTrigger, app: AppKey) -> SQL {
        """
        INSERT INTO geofence_trigger (app, geofence, location, seq, at)
        VALUES (\(app), \(trigger.geofence), \(trigger.location), \(trigger.device), \(trigger.at))
        ON CONFLICT (app, geofence, location, seq, at) DO NOTHING
        """
    }
}

extension StoreSession {
    func record(_ triggers: [GeofenceTrigger], app: AppKey) throws -> Int {
        try connection.execute(triggers.map { TriggerTable.insert($0, app: app) }).reduce(0, +)
    }

    func triggerCount(app: AppKey, geofence: Int64) throws -> Int {
        try connection.count("SELECT COUNT(*) FROM geofence_trigger WHERE app = \(app) AND geofence = \(geofence)")
    }
}
