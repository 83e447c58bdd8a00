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
