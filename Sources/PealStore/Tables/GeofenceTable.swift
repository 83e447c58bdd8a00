internal import PealCore

extension StoreSession {
    func geofence(app: AppKey, id: Int64) throws -> Geofence? {
        let found = try connection.first(
            "SELECT \(GeofenceSQL.geofenceColumns) FROM geofence WHERE app = $1 AND geofence = $2",
            [.int(app), .int(id)], Self.geofence)
        return try found.map { try placed($0, app: app) }
    }

    func geofences(app: AppKey, _ query: NumberedPageQuery) throws -> NumberedPage<Geofence> {
        let page = try numberedPage(GeofenceSQL.geofences, app: app, query, updatedAt: 8, name: nil, Self.geofence)
        return NumberedPage(items: try page.items.map { try placed($0, app: app) }, total: page.total)
    }

    func geofences(app: AppKey, at location: Int64) throws -> [Geofence] {
        let ids = try connection.all(
            "SELECT DISTINCT geofence FROM geofence_place WHERE app = $1 AND location = $2 ORDER BY geofence",
            [.int(app), .int(location)]
        ) { $0.int(0) }
        return try ids.compactMap { try geofence(app: app, id: $0) }
    }

    func geofenceLedger(app: AppKey) throws -> GeofenceLedger {
        let geofences = try connection.all(GeofenceSQL.geofences, [.int(app)], Self.geofence)
        let deleted = try connection.all(GeofenceSQL.tombstones, [.int(app)]) {
            GeofenceLedger.Deleted(id: $0.int(0), at: $0.time(1))
        }
        let changedAt = try connection.int("SELECT changed_at FROM geofence_series WHERE app = $1", [.int(app)])
        return GeofenceLedger(
            geofences: try geofences.map { try placed($0, app: app) }, deleted: deleted,
            changedAt: changedAt.map { Timestamp(milliseconds: $0) })
    }

    func topicsJoined(app: AppKey, device: DeviceKey) throws -> [String: Timestamp] {
        var topics: [String: Timestamp] = [:]
        try connection.query(GeofenceSQL.topicsJoined, [.int(app), .int(device)]) { topics[$0.text(0)] = $0.time(1) }
        return topics
    }

    func insertGeofence(_ plan: Geofence.Plan, app: AppKey, now: Timestamp) throws -> Geofence {
        try checkLocations(plan.locationIDs, app: app, field: "locations")
        let at = try nextChange(app: app, now: now)
        let id = try nextInSeries("geofence", app: app)
        try connection.execute(
            """
            INSERT INTO geofence (app, \(GeofenceSQL.geofenceColumns), told_until)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
            """,
            [.int(app), .int(id)] + Self.values(plan) + [.time(at), .time(at), .time(Self.toldUntil(plan, now: now))])
        try insertPlaces("geofence_place", "geofence", id, plan.locationIDs, app: app)
        return try placed(Geofence(id: id, plan: plan, locations: [], createdAt: at, updatedAt: at), app: app)
    }

    func updateGeofence(_ id: Int64, _ plan: Geofence.Plan, app: AppKey, now: Timestamp) throws -> Geofence? {
        try checkLocations(plan.locationIDs, app: app, field: "locations")
        let at = try nextChange(app: app, now: now)
        let count = try connection.execute(
            """
            UPDATE geofence SET tags = $3, trigger_type = $4, starts_at = $5, expires_at = $6, reach = $7, data = $8,
                updated_at = $9, told_until = CASE WHEN told_until < $10 THEN $10 ELSE told_until END
            WHERE app = $1 AND geofence = $2
            """,
            [.int(app), .int(id)] + Self.values(plan) + [.time(at), .time(Self.toldUntil(plan, now: now))])
        guard count == 1 else { return nil }
        try deletePlaces("geofence_place", "geofence", id, app: app)
        try insertPlaces("geofence_place", "geofence", id, plan.locationIDs, app: app)
        return try geofence(app: app, id: id)
    }

    func deleteGeofence(_ id: Int64, app: AppKey, now: Timestamp) throws -> Bool {
        let toldUntil = try connection.int(
            "SELECT told_until FROM geofence WHERE app = $1 AND geofence = $2", [.int(app), .int(id)])
        guard let toldUntil else { return false }
        let at = try nextChange(app: app, now: now)
        try connection.execute(
            "INSERT INTO geofence_tombstone (app, geofence, deleted_at, told_until) VALUES ($1, $2, $3, $4)",
            [.int(app), .int(id), .time(at), .int(toldUntil)])
        try deletePlaces("geofence_place", "geofence", id, app: app)
        try connection.execute(
            "DELETE FROM geofence WHERE app = $1 AND geofence = $2", [.int(app), .int(id)])
        return true
    }

    /// Phones drop a geofence at its end by themselves. One that hardly ever ends is remembered for a while only.
    private static func toldUntil(_ plan: Geofence.Plan, now: Timestamp) -> Timestamp {
        min(plan.expiresAt, now + .seconds(Limits.geofenceMemorySeconds))
    }

    private static func values(_ plan: Geofence.Plan) -> [SQLValue] {
        [
            .bytes(GeofenceCoding.encode(plan.tags)), .text(plan.trigger.rawValue),
            .int(plan.startsAt?.milliseconds ?? 0), .time(plan.expiresAt), .text(plan.reach.rawValue),
            .bytes(GeofenceCoding.encode(plan.data)),
        ]
    }

    /// Reads `GeofenceSQL.geofenceColumns`; the locations come later.
    private static func geofence(_ row: any SQLRow) throws -> Geofence {
        guard let trigger = Geofence.Trigger(rawValue: row.text(2)), let reach = Geofence.Reach(rawValue: row.text(5))
        else { throw PealError.damaged("a geofence") }
        let plan = Geofence.Plan(
            tags: try GeofenceCoding.tags(row.bytes(1)), trigger: trigger,
            startsAt: row.int(3) == 0 ? nil : row.time(3), expiresAt: row.time(4), reach: reach, locationIDs: [],
            data: try GeofenceCoding.data(row.bytes(6)))
        return Geofence(id: row.int(0), plan: plan, locations: [], createdAt: row.time(7), updatedAt: row.time(8))
    }

    private func placed(_ geofence: Geofence, app: AppKey) throws -> Geofence {
        var geofence = geofence
        geofence.locations = try connection.all(
            GeofenceSQL.places, [.int(app), .int(geofence.id)], Self.location)
        geofence.plan.locationIDs = geofence.locations.map(\.id)
        return geofence
    }
}

/// What geofences, locations and groups are written with.
extension StoreSession {
    /// An instant after every earlier change of the app's. The row is locked by it, so that changes become visible in
    /// the order of their instants.
    func nextChange(app: AppKey, now: Timestamp) throws -> Timestamp {
        let at = try connection.int(
            """
            INSERT INTO geofence_series (app, geofence, location, location_group, changed_at) VALUES ($1, 0, 0, 0, $2)
            ON CONFLICT (app) DO UPDATE SET changed_at = CASE
                WHEN geofence_series.changed_at < excluded.changed_at THEN excluded.changed_at
                ELSE geofence_series.changed_at + 1 END
            RETURNING changed_at
            """, [.int(app), .time(now)])
        guard let at else { throw PealError.damaged("the order of geofences") }
        return Timestamp(milliseconds: at)
    }

    /// The next number of `series`, a column of the table; `nextChange` has made the row.
    func nextInSeries(_ series: String, app: AppKey) throws -> Int64 {
        let number = try connection.int(
            "UPDATE geofence_series SET \(series) = \(series) + 1 WHERE app = $1 RETURNING \(series)", [.int(app)])
        guard let number else { throw PealError.damaged("the order of geofences") }
        return number
    }

    /// - Throws: `invalid_field` naming the first location that there is not.
    func checkLocations(_ ids: [Int64], app: AppKey, field: String) throws {
        for (index, id) in ids.enumerated() where try location(app: app, id: id) == nil {
            throw PealError.invalid("\(field)[\(index)]", "there is no location \(id)")
        }
    }

    func insertPlaces(_ table: String, _ owner: String, _ id: Int64, _ locations: [Int64], app: AppKey) throws {
        try connection.execute(
            "INSERT INTO \(table) (app, \(owner), position, location) VALUES ($1, $2, $3, $4)",
            rows: locations.enumerated().map { [.int(app), .int(id), .int($0), .int($1)] })
    }

    func deletePlaces(_ table: String, _ owner: String, _ id: Int64, app: AppKey) throws {
        try connection.execute("DELETE FROM \(table) WHERE app = $1 AND \(owner) = $2", [.int(app), .int(id)])
    }

    /// Reads every row of the app and keeps those of the page.
    /// - Parameters:
    ///   - updatedAt: the column of the instant of change.
    ///   - name: the column of the name; nil = there is none.
    func numberedPage<Item>(
        _ sql: String, app: AppKey, _ query: NumberedPageQuery, updatedAt: Int, name: Int?,
        _ make: (any SQLRow) throws -> Item
    ) throws -> NumberedPage<Item> {
        var page = NumberedPage<Item>(items: [], total: 0)
        try connection.query(sql, [.int(app)]) { row in
            guard query.includes(name: name.map { row.text($0) }, updatedAt: row.time(updatedAt)) else { return }
            if query.shows(page.total) { page.items.append(try make(row)) }
            page.total += 1
        }
        return page
    }
}

/// Tags and data of a geofence as compact JSON.
enum GeofenceCoding {
    static func encode(_ tags: [String]) -> [UInt8] { JSON.array(tags.map(JSON.string)).bytes }

    static func encode(_ data: JSON.Members) -> [UInt8] { JSON.object(data).bytes }

    static func tags(_ bytes: [UInt8]) throws -> [String] {
        guard let list = (try? JSONParser.parse(bytes))?.arrayValue else {
            throw PealError.damaged("a geofence's tags")
        }
        return list.compactMap(\.stringValue)
    }

    static func data(_ bytes: [UInt8]) throws -> JSON.Members {
        guard let data = (try? JSONParser.parse(bytes, depthMax: ContentCoding.depthMax))?.objectValue else {
            throw PealError.damaged("a geofence's data")
        }
        return data
    }
}

/// The statements of geofences and receipts that run for devices or in every round of a service. A test reads the plan
/// of each.
enum GeofenceSQL {
    static let locationColumns = "location, name, latitude, longitude, radius, created_at, updated_at"

    /// A geofence's locations in their order.
    static let places = """
        SELECT \(qualified) FROM geofence_place p JOIN location l ON l.app = p.app AND l.location = p.location
        WHERE p.app = $1 AND p.geofence = $2 ORDER BY p.position
        """
    static let groupPlaces = """
        SELECT \(qualified) FROM location_group_place p JOIN location l ON l.app = p.app AND l.location = p.location
        WHERE p.app = $1 AND p.location_group = $2 ORDER BY p.position
        """
    private static let qualified = locationColumns.split(separator: ", ").map { "l.\($0)" }.joined(separator: ", ")

    static let geofenceColumns = """
        geofence, tags, trigger_type, starts_at, expires_at, reach, data, created_at, updated_at
        """
    static let geofences = "SELECT \(geofenceColumns) FROM geofence WHERE app = $1 ORDER BY geofence"
    static let tombstones = "SELECT geofence, deleted_at FROM geofence_tombstone WHERE app = $1"
    static let topicsJoined = """
        SELECT t.name, d.since FROM device_topic d JOIN topic t ON t.app = d.app AND t.topic = d.topic
        WHERE d.app = $1 AND d.seq = $2
        """

    static let insertReceipt = """
        INSERT INTO receipt (app, message, seq, kind, at) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (app, message, seq, kind) DO NOTHING
        """
    static let addReceipts = """
        INSERT INTO receipt_count (app, message, kind, n) VALUES ($1, $2, $3, $4)
        ON CONFLICT (app, message, kind) DO UPDATE SET n = receipt_count.n + excluded.n
        """
    static let receiptsOfDevice = """
        SELECT kind, at FROM receipt WHERE app = $1 AND message = $2 AND seq = $3
        """
    static let topicsNamed = """
        SELECT app, topic FROM topic WHERE name = $1 AND (expires_at IS NULL OR expires_at > $2) ORDER BY app
        """
    static let firstMember = "SELECT seq FROM topic_member WHERE app = $1 AND topic = $2 LIMIT 1"
    static let pruneTombstones = """
        DELETE FROM geofence_tombstone WHERE (app, geofence) IN (
            SELECT app, geofence FROM geofence_tombstone WHERE told_until <= $1 LIMIT $2)
        """
    static let pruneTriggers = """
        DELETE FROM geofence_trigger WHERE (app, geofence, location, seq, at) IN (
            SELECT app, geofence, location, seq, at FROM geofence_trigger WHERE at <= $1 LIMIT $2)
        """
    static let pruneReceipts = """
        DELETE FROM receipt WHERE (app, message, seq, kind) IN (
            SELECT app, message, seq, kind FROM receipt WHERE app = $1 AND message = $2 LIMIT $3)
        """

    /// Every statement that looks something up, by name.
    static let all: KeyValuePairs<String, String> = [
        "geofence.places": places, "geofence.groupPlaces": groupPlaces, "geofence.geofences": geofences,
        "geofence.tombstones": tombstones, "geofence.topicsJoined": topicsJoined,
        "receipt.ofDevice": receiptsOfDevice,
        "topic.named": topicsNamed, "topic.firstMember": firstMember, "geofence.pruneTombstones": pruneTombstones,
        "geofence.pruneTriggers": pruneTriggers, "receipt.prune": pruneReceipts,
    ]
}
