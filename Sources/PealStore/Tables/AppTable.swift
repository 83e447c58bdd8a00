internal import PealCore

extension StoreSession {
    private static let columns =
        "app, id, name, bundle_id, richie_app_id, devtodev_app_id, settings, created_at"

    /// The columns from the fifth on, in their order: each is named after its dialect.
    private static let dialectIDColumns = ["richie_app_id", "devtodev_app_id"].map { name in
        (name: name, dialect: DialectName(rawValue: String(name.dropLast("_app_id".count))))
    }

    private static func dialectIDs(_ row: any SQLRow) -> [DialectName: String] {
        dialectIDColumns.enumerated().reduce(into: [:]) { ids, column in
            ids[column.element.dialect] = row.textIfPresent(4 + column.offset)
        }
    }

    private static func app(_ row: any SQLRow) throws -> App {
        App(
            id: try row.id(1), key: row.int(0), name: row.text(2), bundleID: row.textIfPresent(3),
            dialectIDs: dialectIDs(row), settings: try SettingsCoding.decode(row.bytes(6)),
            createdAt: row.time(7))
    }

    func app(_ id: AppID) throws -> App? {
        try connection.first("SELECT \(Self.columns) FROM app WHERE id = $1", [.id(id)], Self.app)
    }

    func app(key: AppKey) throws -> App? {
        try connection.first("SELECT \(Self.columns) FROM app WHERE app = $1", [.int(key)], Self.app)
    }

    func app(dialect: DialectName, id: String) throws -> App? {
        guard let column = Self.dialectIDColumns.first(where: { $0.dialect == dialect })?.name else { return nil }
        return try connection.first(
            "SELECT \(Self.columns) FROM app WHERE lower(\(column)) = lower($1) ORDER BY app", [.text(id)], Self.app)
    }

    func apps(after cursor: AppID?, limit: Int) throws -> [App] {
        try connection.all(
            "SELECT \(Self.columns) FROM app WHERE id > $1 ORDER BY id LIMIT $2",
            [.bytes(cursor?.bytes ?? []), .int(limit)], Self.app)
    }

    /// Looks through all apps: asked only where a request is refused.
    func hasApp(dialect: DialectName, id: String) throws -> Bool {
        guard let column = Self.dialectIDColumns.first(where: { $0.dialect == dialect })?.name else { return false }
        return try connection.int("SELECT app FROM app WHERE \(column) = $1 LIMIT 1", [.text(id)]) != nil
    }

    func insertApp(_ app: App) throws -> App {
        var app = app
        app.key = try nextNumber("app")
        let count = try connection.execute(
            """
            INSERT INTO app (\(Self.columns), device_seq, topic_seq) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0)
            ON CONFLICT DO NOTHING
            """, [.int(app.key), .id(app.id)] + Self.changeable(app) + [.time(app.createdAt)])
        guard count == 1 else { throw PealError(.conflict, "an app with that id exists", field: "id") }
        return app
    }

    func updateApp(_ app: App) throws {
        try connection.execute(
            """
            UPDATE app SET name = $2, bundle_id = $3, richie_app_id = $4, devtodev_app_id = $5, settings = $6
            WHERE app = $1
            """, [.int(app.key)] + Self.changeable(app))
    }

    private static func changeable(_ app: App) -> [SQLValue] {
        [.text(app.name), .text(app.bundleID)] + dialectIDColumns.map { .text(app.dialectIDs[$0.dialect]) } + [
            .bytes(SettingsCoding.encode(app.settings))
        ]
    }

    func deleteApp(_ key: AppKey) throws -> Bool {
        guard try connection.execute("DELETE FROM app WHERE app = $1", [.int(key)]) == 1 else { return false }
        for table in Self.tablesOfApp {
            try connection.execute("DELETE FROM \(table) WHERE app = $1", [.int(key)])
        }
        return true
    }

    /// Everything of an app but the audit log, which tells of the deletion too.
    private static let tablesOfApp = [
        "api_key", "credential", "device", "device_detail", "device_identifier", "topic", "device_topic",
        "topic_member", "message", "message_content", "message_predicate", "message_keys", "message_address", "slice",
        "delivery_page", "webhook", "outbox", "webhook_delivery", "geofence_series", "geofence", "geofence_place",
        "geofence_tombstone", "location", "location_group", "location_group_place", "receipt", "receipt_count",
        "geofence_trigger", "moment", "experiment", "experiment_arm",
    ]

    func setting(_ name: String) throws -> [UInt8]? {
        try connection.first("SELECT value FROM setting WHERE name = $1", [.text(name)]) { $0.bytes(0) }
    }

    func setSetting(_ name: String, _ value: [UInt8]) throws {
        try connection.execute(
            "INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            [.text(name), .bytes(value)])
    }
}

/// An app's settings as compact JSON. What is not there has its default.
enum SettingsCoding {
    static func encode(_ settings: AppSettings) -> [UInt8] { settings.json.bytes }

    static func decode(_ bytes: [UInt8]) throws -> AppSettings {
        guard let json = try? JSONParser.parse(bytes), json.objectValue != nil else {
            throw PealError.damaged("an app's settings")
        }
        return AppSettings(json: json)
    }
}
