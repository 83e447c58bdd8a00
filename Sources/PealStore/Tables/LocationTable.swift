internal import PealCore

extension StoreSession {
    func location(app: AppKey, id: Int64) throws -> GeofenceLocation? {
        try connection.first(
            "SELECT \(GeofenceSQL.locationColumns) FROM location WHERE app = $1 AND location = $2",
            [.int(app), .int(id)], Self.location)
    }

    func locations(app: AppKey, _ query: NumberedPageQuery) throws -> NumberedPage<GeofenceLocation> {
        try numberedPage(
            "SELECT \(GeofenceSQL.locationColumns) FROM location WHERE app = $1 ORDER BY location", app: app, query,
            updatedAt: 6, name: 1, Self.location)
    }

    func locationGroup(app: AppKey, id: Int64) throws -> LocationGroup? {
        let found = try connection.first(
            "SELECT \(Self.groupColumns) FROM location_group WHERE app = $1 AND location_group = $2",
            [.int(app), .int(id)], Self.group)
        return try found.map { try placed($0, app: app) }
    }

    func locationGroups(app: AppKey, _ query: NumberedPageQuery) throws -> NumberedPage<LocationGroup> {
        let page = try numberedPage(
            "SELECT \(Self.groupColumns) FROM location_group WHERE app = $1 ORDER BY location_group", app: app, query,
            updatedAt: 4, name: 1, Self.group)
        return NumberedPage(items: try page.items.map { try placed($0, app: app) }, total: page.total)
    }

    func insertLocation(_ place: GeofenceLocation.Place, app: AppKey, now: Timestamp) throws -> GeofenceLocation {
        let at = try nextChange(app: app, now: now)
        let id = try nextInSeries("location", app: app)
        try connection.execute(
            """
            INSERT INTO location (app, \(GeofenceSQL.locationColumns)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
            """,
            [
                .int(app), .int(id), .text(place.name), .text(place.latitude), .text(place.longitude),
                .text(place.radius), .time(at), .time(at),
            ])
        return GeofenceLocation(id: id, place: place, createdAt: at, updatedAt: at)
    }

    func updateLocation(
        _ id: Int64, _ place: GeofenceLocation.Place, app: AppKey, now: Timestamp
    ) throws -> GeofenceLocation? {
        let at = try nextChange(app: app, now: now)
        try connection.execute(
            """
            UPDATE location SET name = $3, latitude = $4, longitude = $5, radius = $6, updated_at = $7
            WHERE app = $1 AND location = $2
            """,
            [
                .int(app), .int(id), .text(place.name), .text(place.latitude), .text(place.longitude),
                .text(place.radius), .time(at),
            ])
        try connection.execute(
            """
            UPDATE geofence SET updated_at = $3 WHERE app = $1
                AND geofence IN (SELECT geofence FROM geofence_place WHERE app = $1 AND location = $2)
            """, [.int(app), .int(id), .time(at)])
        return try location(app: app, id: id)
    }

    func deleteLocation(_ id: Int64, app: AppKey) throws -> Bool {
        try connection.execute(
            "DELETE FROM location_group_place WHERE app = $1 AND location = $2", [.int(app), .int(id)])
        return try connection.execute(
            "DELETE FROM location WHERE app = $1 AND location = $2", [.int(app), .int(id)]) == 1
    }

    func insertLocationGroup(_ plan: LocationGroup.Plan, app: AppKey, now: Timestamp) throws -> LocationGroup {
        try checkLocations(plan.locationIDs, app: app, field: "location_ids")
        let at = try nextChange(app: app, now: now)
        let id = try nextInSeries("location_group", app: app)
        try connection.execute(
            "INSERT INTO location_group (app, \(Self.groupColumns)) VALUES ($1, $2, $3, $4, $5, $6)",
            [.int(app), .int(id), .text(plan.name), .text(plan.text), .time(at), .time(at)])
        try insertPlaces("location_group_place", "location_group", id, plan.locationIDs, app: app)
        return try placed(LocationGroup(id: id, plan: plan, locations: [], createdAt: at, updatedAt: at), app: app)
    }

    func updateLocationGroup(
        _ id: Int64, _ plan: LocationGroup.Plan, app: AppKey, now: Timestamp
    ) throws -> LocationGroup? {
        try checkLocations(plan.locationIDs, app: app, field: "location_ids")
        let at = try nextChange(app: app, now: now)
        let count = try connection.execute(
            """
            UPDATE location_group SET name = $3, description = $4, updated_at = $5
            WHERE app = $1 AND location_group = $2
            """, [.int(app), .int(id), .text(plan.name), .text(plan.text), .time(at)])
        guard count == 1 else { return nil }
        try deletePlaces("location_group_place", "location_group", id, app: app)
        try insertPlaces("location_group_place", "location_group", id, plan.locationIDs, app: app)
        return try locationGroup(app: app, id: id)
    }

    func deleteLocationGroup(_ id: Int64, app: AppKey) throws -> Bool {
        try deletePlaces("location_group_place", "location_group", id, app: app)
        return try connection.execute(
            "DELETE FROM location_group WHERE app = $1 AND location_group = $2", [.int(app), .int(id)]) == 1
    }

    private static let groupColumns = "location_group, name, description, created_at, updated_at"

    /// Reads `GeofenceSQL.locationColumns`.
    static func location(_ row: any SQLRow) -> GeofenceLocation {
        GeofenceLocation(
            id: row.int(0),
            place: .init(name: row.text(1), latitude: row.text(2), longitude: row.text(3), radius: row.text(4)),
            createdAt: row.time(5), updatedAt: row.time(6))
    }

    private static func group(_ row: any SQLRow) -> LocationGroup {
        LocationGroup(
            id: row.int(0), plan: .init(name: row.text(1), text: row.text(2), locationIDs: []), locations: [],
            createdAt: row.time(3), updatedAt: row.time(4))
    }

    private func placed(_ group: LocationGroup, app: AppKey) throws -> LocationGroup {
        var group = group
        group.locations = try connection.all(GeofenceSQL.groupPlaces, [.int(app), .int(group.id)], Self.location)
        group.plan.locationIDs = group.locations.map(\.id)
        return group
    }
}
