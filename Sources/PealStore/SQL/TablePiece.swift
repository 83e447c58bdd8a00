internal import PealCore

/// A table whose rows are deleted or changed in pieces, with its primary key. The keys of a piece are read first, and
/// then its rows are deleted one by one: SQLite may evaluate `(a, b) IN (SELECT …)` column by column, through an index
/// that matches far more rows.
struct TablePiece: Sendable {
    let table: String
    /// The columns of the primary key.
    let key: [(name: String, kind: SQLValue.Kind)]
    private let matching: String
    private let deletion: String

    init(_ table: String, _ key: KeyValuePairs<String, SQLValue.Kind>) {
        self.table = table
        self.key = key.map { (name: $0.key, kind: $0.value) }
        matching = key.enumerated().map { "\($1.key) = $\($0 + 1)" }.joined(separator: " AND ")
        deletion = "DELETE FROM \(table) WHERE \(matching)"
    }

    /// The rows of an app in the order of the primary key, so that adjacent rows are deleted together and a piece
    /// touches few pages.
    func rows(of app: AppKey) -> SQL {
        let mine: SQL = "app = \(app)"
        return key.first?.name == "app" ? "\(mine) ORDER BY \(name: columns)" : mine
    }

    private var columns: String { key.map(\.name).joined(separator: ", ") }

    /// The keys of at most `limit` rows.
    /// - Parameter condition: an index should find its rows; may end with `ORDER BY`.
    func keys(where condition: SQL, limit: Int) -> SQL {
        "SELECT \(name: columns) FROM \(name: table) WHERE \(condition) LIMIT \(limit)"
    }

    /// Deletes the row with that key.
    func deletion(_ values: [SQLValue]) -> SQL { SQL(text: deletion, values: values) }

    /// Deletes the row whose key `keys` returned.
    func deletion(of row: any SQLRow) -> SQL { deletion(values(row)) }

    /// Deletes at most `limit` of the rows that `condition` selects. Returns how many.
    func delete(where condition: SQL, limit: Int, _ connection: any SQLConnection) throws -> Int {
        let found = try piece(where: condition, limit: limit, connection)
        guard !found.isEmpty else { return 0 }
        return try connection.execute(deletion, rows: found).reduce(0, +)
    }

    /// Sets columns to `values` in at most `limit` of the rows that `condition` selects. Returns in how many.
    func set(
        _ values: KeyValuePairs<String, SQLValue>, where condition: SQL, limit: Int, _ connection: any SQLConnection
    ) throws -> Int {
        let found = try piece(where: condition, limit: limit, connection)
        guard !found.isEmpty else { return 0 }
        let changes = values.enumerated().map { "\($1.key) = $\(key.count + $0 + 1)" }.joined(separator: ", ")
        let statement = "UPDATE \(table) SET \(changes) WHERE \(matching)"
        return try connection.execute(statement, rows: found.map { $0 + values.map(\.value) }).reduce(0, +)
    }

    private func piece(where condition: SQL, limit: Int, _ connection: any SQLConnection) throws -> [[SQLValue]] {
        guard limit > 0 else { return [] }
        var found: [[SQLValue]] = []
        try connection.scan(keys(where: condition, limit: limit)) { row in found.append(values(row)) }
        return found
    }

    private func values(_ row: any SQLRow) -> [SQLValue] {
        key.enumerated().map { column, part in SQLValue(row, column, part.kind) }
    }
}

extension TablePiece {
    static let slice = TablePiece(
        "slice", ["app": .int, "message": .bytes, "route": .int, "window_no": .int, "part": .int])
    static let moment = TablePiece("moment", ["app": .int, "message": .bytes, "user_id": .text])
    static let message = TablePiece("message", ["app": .int, "message": .bytes])
    static let content = TablePiece("message_content", ["app": .int, "message": .bytes])
    static let predicate = TablePiece("message_predicate", ["app": .int, "message": .bytes])
    static let keys = TablePiece("message_keys", ["app": .int, "message": .bytes, "route": .int])
    static let address = TablePiece(
        "message_address", ["app": .int, "message": .bytes, "route": .int, "n": .int])
    static let logPage = TablePiece(
        "delivery_page",
        ["app": .int, "message": .bytes, "route": .int, "window_no": .int, "part": .int, "page": .int])
    static let receipt = TablePiece("receipt", ["app": .int, "message": .bytes, "seq": .int, "kind": .int])
    static let receiptCount = TablePiece("receipt_count", ["app": .int, "message": .bytes, "kind": .int])
    static let member = TablePiece("topic_member", ["app": .int, "topic": .int, "route": .int, "seq": .int])
    static let subscription = TablePiece("device_topic", ["app": .int, "seq": .int, "topic": .int])
    static let identifier = TablePiece(
        "device_identifier", ["app": .int, "kind": .text, "value": .text, "seq": .int])
    static let detail = TablePiece("device_detail", ["app": .int, "seq": .int])
    static let device = TablePiece("device", ["app": .int, "seq": .int])
    static let topic = TablePiece("topic", ["app": .int, "topic": .int])
    static let frequency = TablePiece("frequency", ["app": .int, "seq": .int, "at": .int, "message": .bytes])
    static let rate = TablePiece("rate_bucket", ["app": .int, "message": .bytes])
    static let segment = TablePiece("segment", ["app": .int, "name": .text])
    static let savedMessage = TablePiece("saved_message", ["app": .int, "kind": .text, "name": .text])
    static let starredDevice = TablePiece("starred_device", ["app": .int, "seq": .int])
    static let setting = TablePiece("setting", ["name": .text])
    static let webhook = TablePiece("webhook", ["app": .int, "webhook": .int])
    static let outbox = TablePiece("outbox", ["app": .int, "webhook": .int, "created_at": .int, "id": .bytes])
    static let webhookDelivery = TablePiece("webhook_delivery", ["app": .int, "id": .bytes])
    static let apiKey = TablePiece("api_key", ["id": .bytes])
    static let keyGrant = TablePiece("key_grant", ["app": .int, "id": .bytes])
    static let credential = TablePiece("credential", ["app": .int, "provider": .text, "environment": .text])
    static let geofenceSeries = TablePiece("geofence_series", ["app": .int])
    static let geofence = TablePiece("geofence", ["app": .int, "geofence": .int])
    static let geofencePlace = TablePiece("geofence_place", ["app": .int, "geofence": .int, "position": .int])
    static let geofenceTombstone = TablePiece("geofence_tombstone", ["app": .int, "geofence": .int])
    static let location = TablePiece("location", ["app": .int, "location": .int])
    static let locationGroup = TablePiece("location_group", ["app": .int, "location_group": .int])
    static let locationGroupPlace = TablePiece(
        "location_group_place", ["app": .int, "location_group": .int, "position": .int])
    static let trigger = TablePiece(
        "geofence_trigger", ["app": .int, "geofence": .int, "location": .int, "seq": .int, "at": .int])
    static let installation = TablePiece("installation", ["app": .int, "seq": .int])
    static let spentWake = TablePiece("spent_wake", ["app": .int, "address_key": .bytes])
    static let deviceEvent = TablePiece("device_event", ["app": .int, "seq": .int, "id": .bytes])
    static let contextSample = TablePiece("context_sample", ["app": .int, "seq": .int, "id": .bytes])
    static let openHour = TablePiece("open_hour", ["app": .int, "user_id": .text, "hour": .int])
    static let experiment = TablePiece("experiment", ["app": .int, "campaign_id": .text])
    static let experimentArm = TablePiece(
        "experiment_arm", ["app": .int, "campaign_id": .text, "user_id": .text])
    static let campaignTotal = TablePiece("campaign_total", ["app": .int, "campaign_id": .text])
    static let experimentSum = TablePiece(
        "experiment_sum", ["app": .int, "campaign_id": .text, "salt": .text, "arm": .int, "day": .int])
    static let experimentCount = TablePiece(
        "experiment_count", ["app": .int, "campaign_id": .text, "salt": .text, "arm": .int, "name": .text])
    static let shareChange = TablePiece("share_change", ["app": .int, "campaign_id": .text, "at": .int])
    static let modelKey = TablePiece("model_key", ["app": .int, "kid": .text])
    static let momentModel = TablePiece("moment_model", ["app": .int, "campaign_id": .text, "version": .int])
    static let learning = TablePiece("learning", ["app": .int, "campaign_id": .text])
    static let routeGate = TablePiece("route_gate", ["app": .int, "route": .int])
    static let statistics = TablePiece("statistics", ["app": .int, "span": .int, "at": .int])
    static let answer = TablePiece("idempotency", ["scope": .bytes, "request_key": .text])
    static let remainder = TablePiece("remainder", ["kind": .int, "number": .int])

    /// Every table with rows of an app, except `app` itself, the audit log, which also records the deletion, and
    /// `remainder`. Rows that cause sending are deleted first.
    static let ofApp: [TablePiece] = [
        slice, moment, message, outbox, webhookDelivery, webhook, keyGrant, apiKey, installation, credential, content,
        predicate, keys, address, logPage, receipt, receiptCount, spentWake, deviceEvent, contextSample, member,
        subscription,
        identifier, detail, frequency, starredDevice, device, topic, segment, savedMessage, trigger, geofencePlace,
        geofence, geofenceTombstone,
        geofenceSeries, locationGroupPlace, locationGroup, location, experimentArm, experiment, openHour, routeGate,
        statistics, rate, momentModel, learning, modelKey, campaignTotal, experimentSum, experimentCount,
        shareChange,
    ]

    /// What a device reported.
    static let ofDevice: [TablePiece] = [receipt, trigger, deviceEvent, contextSample]

    /// Every table with rows of a message, except `message` itself.
    static let ofMessage: [TablePiece] = [
        logPage, receipt, receiptCount, address, keys, predicate, content, moment, slice, rate,
    ]
}
