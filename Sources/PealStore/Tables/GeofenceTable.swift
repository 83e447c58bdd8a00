internal import PealCore

/// `geofence` with `geofence_place`, its locations in order. `geofence_tombstone` remembers deleted ones until no
/// device can still have them; `geofence_series` issues each app's numbers and change times.
enum GeofenceTable {
    static let columns: Columns = """
        geofence, tags, trigger_type, starts_at, expires_at, reach, data, created_at, updated_at
        """

    /// The locations are read separately.
    static func geofence(_ row: inout RowReader) throws -> Geofence {
        let id: Int64 = try row.next()
        let (tags, trigger, startsAt): ([UInt8], Geofence.Trigger, Int64) = (
            try row.next(), try row.next(), try row.next()
        )
        let plan = Geofence.Plan(
            tags: try GeofenceCoding.tags(tags), trigger: trigger,
            startsAt: startsAt == 0 ? nil : Timestamp(milliseconds: startsAt), expiresAt: try row.next(),
            reach: try row.next(), locationIDs: [], data: try GeofenceCoding.data(row.next()))
        return Geofence(id: id, plan: plan, locations: [], createdAt: try row.next(), updatedAt: try row.next())
    }

    static func written(_ plan: Geofence.Plan) -> KeyValuePairs<String, any SQLStorable> {
        [
            "tags": GeofenceCoding.encode(plan.tags), "trigger_type": plan.trigger,
            "starts_at": plan.startsAt?.milliseconds ?? 0, "expires_at": plan.expiresAt, "reach": plan.reach,
            "data": GeofenceCoding.encode(plan.data),
        ]
    }

    static func all(app: AppKey) -> SQL { "SELECT \(columns) FROM geofence WHERE app = \(app) ORDER BY geofence" }

    static func tombstones(app: AppKey) -> SQL {
        "SELECT geofence, deleted_at FROM geofence_tombstone WHERE app = \(app)"
    }
}

extension StoreSession {
    func geofence(app: AppKey, id: Int64) throws -> Geofence? {
        let found = try connection.first(
            "SELECT \(GeofenceTable.columns) FROM geofence WHERE app = \(app) AND geofence = \(id)",
            GeofenceTable.geofence)
        return try found.map { try withLocations($0, app: app) }
    }

    func geofences(app: AppKey, _ query: NumberedPageQuery) throws -> ResultPage<Geofence> {
        let page = try numberedPage(
            GeofenceTable.all(app: app), query, updatedAt: \.updatedAt, name: { _ in nil }, GeofenceTable.geofence)
        return ResultPage(items: try page.items.map { try withLocations($0, app: app) }, total: page.total)
    }

    func geofences(app: AppKey, at location: Int64) throws -> [Geofence] {
        let ids: [Int64] = try connection.values(
            """
            SELECT DISTINCT geofence FROM geofence_place WHERE app = \(app) AND location = \(location)
            ORDER BY geofence
            """)
        return try ids.compactMap { try geofence(app: app, id: $0) }
    }

    func geofenceLedger(app: AppKey) throws -> GeofenceLedger {
        let geofences = try connection.all(GeofenceTable.all(app: app), GeofenceTable.geofence)
        let deleted = try connection.all(GeofenceTable.tombstones(app: app)) { row in
            GeofenceLedger.Deleted(id: try row.next(), at: try row.next())
        }
        return GeofenceLedger(
            geofences: try geofences.map { try withLocations($0, app: app) }, deleted: deleted,
            changedAt: try connection.value("SELECT changed_at FROM geofence_series WHERE app = \(app)"))
    }

    func insertGeofence(_ plan: Geofence.Plan, app: AppKey, now: Timestamp) throws -> Geofence {
        try checkLocations(plan.locationIDs, app: app, field: "locations")
        let at = try nextChange(app: app, now: now)
        let id = try nextInSeries("geofence", app: app)
        let heldUntil = Self.heldUntil(plan, now: now)
        try connection.post(
            """
            INSERT INTO geofence \(row: [
                "app": app, "geofence": id, "created_at": at, "updated_at": at, "told_until": heldUntil,
            ], GeofenceTable.written(plan))
            """)
        try LocationList.geofence.insert(plan.locationIDs, of: id, app: app, connection)
        return try withLocations(Geofence(id: id, plan: plan, locations: [], createdAt: at, updatedAt: at), app: app)
    }

    func updateGeofence(_ id: Int64, _ plan: Geofence.Plan, app: AppKey, now: Timestamp) throws -> Geofence? {
        try checkLocations(plan.locationIDs, app: app, field: "locations")
        let at = try nextChange(app: app, now: now)
        let heldUntil = Self.heldUntil(plan, now: now)
        let count = try connection.execute(
            """
            UPDATE geofence SET \(set: GeofenceTable.written(plan)), updated_at = \(at),
                told_until = CASE WHEN told_until < \(heldUntil) THEN \(heldUntil) ELSE told_until END
            WHERE app = \(app) AND geofence = \(id)
            """)
        guard count == 1 else { return nil }
        try LocationList.geofence.replace(by: plan.locationIDs, of: id, app: app, connection)
        return try geofence(app: app, id: id)
    }

    func deleteGeofence(_ id: Int64, app: AppKey, now: Timestamp) throws -> Bool {
        let heldUntil: Timestamp? = try connection.value(
            "SELECT told_until FROM geofence WHERE app = \(app) AND geofence = \(id)")
        guard let heldUntil else { return false }
        let at = try nextChange(app: app, now: now)
        try connection.post(
            """
            INSERT INTO geofence_tombstone \(row: [
                "app": app, "geofence": id, "deleted_at": at, "told_until": heldUntil,
            ])
            """)
        try LocationList.geofence.delete(of: id, app: app, connection)
        try connection.post("DELETE FROM geofence WHERE app = \(app) AND geofence = \(id)")
        return true
    }

    /// Phones drop a geofence by themselves when it ends. A geofence that practically never ends is remembered only for
    /// a limited time.
    private static func heldUntil(_ plan: Geofence.Plan, now: Timestamp) -> Timestamp {
        min(plan.expiresAt, now + .seconds(Limits.geofenceMemorySeconds))
    }

    private func withLocations(_ geofence: Geofence, app: AppKey) throws -> Geofence {
        var geofence = geofence
        geofence.locations = try LocationList.geofence.read(of: geofence.id, app: app, connection)
        geofence.plan.locationIDs = geofence.locations.map(\.id)
        return geofence
    }
}

/// The series of change times and numbers that geofences, locations and groups share.
extension StoreSession {
    /// An instant after all earlier changes of the app. Taking it locks the row, so that changes become visible in the
    /// order of their instants.
    func nextChange(app: AppKey, now: Timestamp) throws -> Timestamp {
        let at: Timestamp? = try connection.value(
            """
            INSERT INTO geofence_series (app, geofence, location, location_group, changed_at)
            VALUES (\(app), 0, 0, 0, \(now))
            ON CONFLICT (app) DO UPDATE SET changed_at = CASE
                WHEN geofence_series.changed_at < excluded.changed_at THEN excluded.changed_at
                ELSE geofence_series.changed_at + 1 END
            RETURNING changed_at
            """)
        guard let at else { throw PealError.damaged("the order of geofences") }
        return at
    }

    /// The next number of `series`, a column of the table. `nextChange` has created the row.
    func nextInSeries(_ series: String, app: AppKey) throws -> Int64 {
        let number: Int64? = try connection.value(
            """
            UPDATE geofence_series SET \(name: series) = \(name: series) + 1 WHERE app = \(app)
            RETURNING \(name: series)
            """)
        guard let number else { throw PealError.damaged("the order of geofences") }
        return number
    }

    /// Reads every row and keeps those of the page.
    func numberedPage<Item>(
        _ sql: SQL, _ query: NumberedPageQuery, updatedAt: (Item) -> Timestamp, name: (Item) -> String?,
        _ make: (inout RowReader) throws -> Item
    ) throws -> ResultPage<Item> {
        var page = ResultPage<Item>()
        try connection.query(sql) { row in
            let item = try make(&row)
            guard query.includes(name: name(item), updatedAt: updatedAt(item)) else { return }
            if query.page.contains(page.total) { page.items.append(item) }
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
        guard let list = (try? JSONParser.parse(bytes, isStored: true))?.arrayValue else {
            throw PealError.damaged("a geofence's tags")
        }
        return list.compactMap(\.stringValue)
    }

    static func data(_ bytes: [UInt8]) throws -> JSON.Members {
        guard let data = (try? JSONParser.parse(bytes, depthMax: ContentCoding.depthMax, isStored: true))?.objectValue
        else {
            throw PealError.damaged("a geofence's data")
        }
        return data
    }
}
