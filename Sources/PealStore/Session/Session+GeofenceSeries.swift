internal import PealCore

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
