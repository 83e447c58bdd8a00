internal import PealCore

/// `location`: places on the map, named by geofences and groups.
enum LocationTable {
    static let columns: Columns = "location, name, latitude, longitude, radius, created_at, updated_at"

    static func location(_ row: inout RowReader) throws -> GeofenceLocation {
        GeofenceLocation(
            id: try row.next(),
            circle: .init(
                name: try row.next(), latitude: try row.next(), longitude: try row.next(), radius: try row.next()),
            createdAt: try row.next(), updatedAt: try row.next())
    }

    static func written(_ circle: GeofenceLocation.Circle) -> KeyValuePairs<String, any SQLStorable> {
        ["name": circle.name, "latitude": circle.latitude, "longitude": circle.longitude, "radius": circle.radius]
    }
}

/// A table of the ordered locations of a geofence or group: `geofence_place` or `location_group_place`.
struct LocationList {
    let table: String
    /// The column with the owner of the locations.
    let owner: String

    static let geofence = LocationList(table: "geofence_place", owner: "geofence")
    static let group = LocationList(table: "location_group_place", owner: "location_group")

    func locations(of id: Int64, app: AppKey) -> SQL {
        """
        SELECT \(LocationTable.columns.of("l")) FROM \(name: table) p
        JOIN location l ON l.app = p.app AND l.location = p.location
        WHERE p.app = \(app) AND p.\(name: owner) = \(id) ORDER BY p.position
        """
    }

    func read(of id: Int64, app: AppKey, _ connection: any SQLConnection) throws -> [GeofenceLocation] {
        try connection.all(locations(of: id, app: app), LocationTable.location)
    }

    func replace(by locations: [Int64], of id: Int64, app: AppKey, _ connection: any SQLConnection) throws {
        try delete(of: id, app: app, connection)
        try insert(locations, of: id, app: app, connection)
    }

    func insert(_ locations: [Int64], of id: Int64, app: AppKey, _ connection: any SQLConnection) throws {
        try connection.post(
            locations.enumerated().map { position, location in
                """
                INSERT INTO \(name: table) (app, \(name: owner), position, location)
                VALUES (\(app), \(id), \(position), \(location))
                """
            } as [SQL])
    }

    func delete(of id: Int64, app: AppKey, _ connection: any SQLConnection) throws {
        try connection.post("DELETE FROM \(name: table) WHERE app = \(app) AND \(name: owner) = \(id)")
    }
}

extension StoreSession {
    func location(app: AppKey, id: Int64) throws -> GeofenceLocation? {
        try connection.first(
            "SELECT \(LocationTable.columns) FROM location WHERE app = \(app) AND location = \(id)",
            LocationTable.location)
    }

    func locations(app: AppKey, _ query: NumberedPageQuery) throws -> ResultPage<GeofenceLocation> {
        try numberedPage(
            "SELECT \(LocationTable.columns) FROM location WHERE app = \(app) ORDER BY location", query,
            updatedAt: \.updatedAt, name: \.circle.name, LocationTable.location)
    }

    /// - Throws: `invalid_field` for the first id that names no location.
    func checkLocations(_ ids: [Int64], app: AppKey, field: String) throws {
        for (index, id) in ids.enumerated() where try location(app: app, id: id) == nil {
            throw PealError.invalid("\(field)[\(index)]", "there is no location \(id)")
        }
    }

    func insertLocation(_ circle: GeofenceLocation.Circle, app: AppKey, now: Timestamp) throws -> GeofenceLocation {
        let at = try nextChange(app: app, now: now)
        let id = try nextInSeries("location", app: app)
        try connection.post(
            """
            INSERT INTO location \(row: [
                "app": app, "location": id, "created_at": at, "updated_at": at,
            ], LocationTable.written(circle))
            """)
        return GeofenceLocation(id: id, circle: circle, createdAt: at, updatedAt: at)
    }

    func updateLocation(
        _ id: Int64, _ circle: GeofenceLocation.Circle, app: AppKey, now: Timestamp
    ) throws -> GeofenceLocation? {
        let at = try nextChange(app: app, now: now)
        try connection.post(
            """
            UPDATE location SET \(set: LocationTable.written(circle)), updated_at = \(at)
            WHERE app = \(app) AND location = \(id)
            """)
        try connection.post(
            """
            UPDATE geofence SET updated_at = \(at) WHERE app = \(app)
                AND geofence IN (SELECT geofence FROM geofence_place WHERE app = \(app) AND location = \(id))
            """)
        return try location(app: app, id: id)
    }

    func deleteLocation(_ id: Int64, app: AppKey) throws -> Bool {
        try connection.post("DELETE FROM location_group_place WHERE app = \(app) AND location = \(id)")
        return try connection.execute("DELETE FROM location WHERE app = \(app) AND location = \(id)") == 1
    }
}

/// `location_group` with `location_group_place`, its locations in order.
enum LocationGroupTable {
    static let columns: Columns = "location_group, name, description, created_at, updated_at"

    /// The locations are read separately.
    static func group(_ row: inout RowReader) throws -> LocationGroup {
        LocationGroup(
            id: try row.next(), plan: .init(name: try row.next(), text: try row.next(), locationIDs: []),
            locations: [], createdAt: try row.next(), updatedAt: try row.next())
    }
}

extension StoreSession {
    func locationGroup(app: AppKey, id: Int64) throws -> LocationGroup? {
        let found = try connection.first(
            "SELECT \(LocationGroupTable.columns) FROM location_group WHERE app = \(app) AND location_group = \(id)",
            LocationGroupTable.group)
        return try found.map { try withLocations($0, app: app) }
    }

    func locationGroups(app: AppKey, _ query: NumberedPageQuery) throws -> ResultPage<LocationGroup> {
        let page = try numberedPage(
            "SELECT \(LocationGroupTable.columns) FROM location_group WHERE app = \(app) ORDER BY location_group",
            query, updatedAt: \.updatedAt, name: \.plan.name, LocationGroupTable.group)
        return ResultPage(items: try page.items.map { try withLocations($0, app: app) }, total: page.total)
    }

    func insertLocationGroup(_ plan: LocationGroup.Plan, app: AppKey, now: Timestamp) throws -> LocationGroup {
        try checkLocations(plan.locationIDs, app: app, field: "location_ids")
        let at = try nextChange(app: app, now: now)
        let id = try nextInSeries("location_group", app: app)
        try connection.post(
            """
            INSERT INTO location_group \(row: [
                "app": app, "location_group": id, "name": plan.name, "description": plan.text, "created_at": at,
                "updated_at": at,
            ])
            """)
        try LocationList.group.insert(plan.locationIDs, of: id, app: app, connection)
        return try withLocations(
            LocationGroup(id: id, plan: plan, locations: [], createdAt: at, updatedAt: at), app: app)
    }

    func updateLocationGroup(
        _ id: Int64, _ plan: LocationGroup.Plan, app: AppKey, now: Timestamp
    ) throws -> LocationGroup? {
        try checkLocations(plan.locationIDs, app: app, field: "location_ids")
        let at = try nextChange(app: app, now: now)
        let count = try connection.execute(
            """
            UPDATE location_group SET name = \(plan.name), description = \(plan.text), updated_at = \(at)
            WHERE app = \(app) AND location_group = \(id)
            """)
        guard count == 1 else { return nil }
        try LocationList.group.replace(by: plan.locationIDs, of: id, app: app, connection)
        return try locationGroup(app: app, id: id)
    }

    func deleteLocationGroup(_ id: Int64, app: AppKey) throws -> Bool {
        try LocationList.group.delete(of: id, app: app, connection)
        return try connection.execute("DELETE FROM location_group WHERE app = \(app) AND location_group = \(id)") == 1
    }

    private func withLocations(_ group: LocationGroup, app: AppKey) throws -> LocationGroup {
        var group = group
        group.locations = try LocationList.group.read(of: group.id, app: app, connection)
        group.plan.locationIDs = group.locations.map(\.id)
        return group
    }
}
