internal import PealCore

/// `app`: an app, with the series of its device and topic numbers.
enum AppTable {
    static let columns: Columns = "id, app, name, bundle_id, richie_app_id, devtodev_app_id, settings, created_at"

    static func app(_ row: inout RowReader) throws -> App {
        App(
            id: try row.next(), key: try row.next(), name: try row.next(), bundleID: try row.next(),
            dialectIDs: try dialectIDs(&row), settings: try SettingsCoding.decode(row.next()),
            createdAt: try row.next())
    }

    /// The columns with the dialects' own ids for the app, in order. Each is named after its dialect.
    private static let dialectIDColumns = ["richie_app_id", "devtodev_app_id"].map { name in
        (name: name, dialect: DialectName(rawValue: String(name.dropLast("_app_id".count))))
    }

    private static func dialectIDs(_ row: inout RowReader) throws -> [DialectName: String] {
        var ids: [DialectName: String] = [:]
        for column in dialectIDColumns { ids[column.dialect] = try row.next(String?.self) }
        return ids
    }

    static func facts(_ app: AppKey) -> SQL { "SELECT id, device_seq FROM app WHERE app = \(app)" }

    /// The columns of an app that can change.
    static func changing(_ app: App) -> [ColumnValue] {
        [
            ("name", app.name), ("bundle_id", app.bundleID), ("settings", SettingsCoding.encode(app.settings)),
        ] + dialectIDColumns.map { ($0.name, app.dialectIDs[$0.dialect]) }
    }

    /// The column with a dialect's own ids; nil if the dialect has none.
    static func idColumn(of dialect: DialectName) -> String? {
        dialectIDColumns.first { $0.dialect == dialect }?.name
    }
}

extension StoreSession {
    func app(_ id: AppID) throws -> App? {
        try connection.first("SELECT \(AppTable.columns) FROM app WHERE id = \(id)", AppTable.app)
    }

    func appID(_ key: AppKey) throws -> AppID? { try facts(of: key)?.id }

    private func facts(of key: AppKey) throws -> (id: AppID, devices: DeviceSeries)? {
        if let known = memo.apps[key] { return known }
        let sql = AppTable.facts(key)
        try connection.query(sql.text, sql.values) { try note(facts: $0, of: key) }
        return memo.apps[key]
    }

    /// Caches a row of `AppTable.facts`.
    func note(facts row: any SQLRow, of key: AppKey) throws {
        // The row does not yet contain the numbers that this transaction and others of the commit have taken.
        let devices = memo.apps[key]?.devices ?? connection.commitWork?.value(DeviceSeries.name(key))
        memo.apps[key] = (id: try AppID(row, 0), devices: devices ?? DeviceSeries(last: row.int(1)))
    }

    func app(key: AppKey) throws -> App? {
        try connection.first("SELECT \(AppTable.columns) FROM app WHERE app = \(key)", AppTable.app)
    }

    func app(dialect: DialectName, id: String) throws -> App? {
        guard let column = AppTable.idColumn(of: dialect) else { return nil }
        return try connection.first(
            "SELECT \(AppTable.columns) FROM app WHERE lower(\(name: column)) = lower(\(id)) ORDER BY app",
            AppTable.app)
    }

    func apps(after cursor: AppID?, limit: Int) throws -> [App] {
        try connection.all(
            "SELECT \(AppTable.columns) FROM app WHERE id > \(cursor?.bytes ?? []) ORDER BY id LIMIT \(limit)",
            AppTable.app)
    }

    /// Scans all apps: used only when a request is refused.
    func hasApp(dialect: DialectName, id: String) throws -> Bool {
        guard let column = AppTable.idColumn(of: dialect) else { return false }
        return try connection.exists("SELECT 1 FROM app WHERE \(name: column) = \(id) LIMIT 1")
    }

    func insertApp(_ app: App) throws -> App {
        memo.changesSetup = true
        var app = app
        app.key = try nextNumber("app")
        let count = try connection.execute(
            """
            INSERT INTO app \(row: [
                "app": app.key, "id": app.id, "created_at": app.createdAt, "device_seq": 0, "topic_seq": 0,
            ], AppTable.changing(app))
            ON CONFLICT DO NOTHING
            """)
        guard count == 1 else { throw PealError(.conflict, "an app with this id already exists", field: "id") }
        return app
    }

    func updateApp(_ app: App) throws {
        memo.changesSetup = true
        try connection.post(
            """
            UPDATE app SET \(set: AppTable.changing(app))
            WHERE app = \(app.key)
            """)
    }

    /// How many keys a deletion removes at once, so that their public halves can be used again.
    private static let keysAtOnce = 1000

    /// Without its row, an app is not found and nothing is sent for it. The Pruner deletes the rest.
    func deleteApp(_ key: AppKey, now: Timestamp) throws -> Bool {
        memo.changesSetup = true
        guard try connection.execute("DELETE FROM app WHERE app = \(key)") == 1 else { return false }
        memo.apps[key] = nil
        try connection.execute("DELETE FROM key_grant WHERE id IN (SELECT id FROM api_key WHERE app = \(key))")
        for table in [TablePiece.apiKey, .credential, .webhook] {
            _ = try table.delete(where: "app = \(key)", limit: Self.keysAtOnce, connection)
        }
        try leave(.app, app: key, now: now)
        return true
    }

    /// Whether the app exists. Rows of a deleted app remain for a while.
    func isLiving(_ app: AppKey) throws -> Bool { try facts(of: app) != nil }

    func nextDeviceKey(app: AppKey) throws -> DeviceKey {
        guard let work = connection.commitWork else {
            let series = NumberSeries(name: "device \(app)", blockSize: 64) { count in
                "UPDATE app SET device_seq = device_seq + \(count) WHERE app = \(app) RETURNING device_seq"
            }
            guard let key = try connection.number(in: series) else { throw PealError.notFound("app") }
            memo.apps[app]?.devices.last = key
            return key
        }
        guard let devices = try facts(of: app)?.devices else { throw PealError.notFound("app") }
        if !devices.isNoted {
            devices.isNoted = true
            work.set(DeviceSeries.name(app), devices) {
                try connection.post("UPDATE app SET device_seq = \($0.last) WHERE app = \(app)")
            }
        }
        devices.last += 1
        return devices.last
    }

    /// Gives back the key that was taken last, because no device uses it.
    func giveBack(_ key: DeviceKey, app: AppKey) {
        guard connection.commitWork != nil, let devices = memo.apps[app]?.devices, devices.last == key else { return }
        devices.last -= 1
    }

    func lastDeviceKey(app: AppKey) throws -> DeviceKey {
        try facts(of: app)?.devices.last ?? 0
    }

    func nextTopicNumber(app: AppKey) throws -> Int64 {
        let number = try connection.number(
            in: NumberSeries(name: "topic \(app)") { count in
                "UPDATE app SET topic_seq = topic_seq + \(count) WHERE app = \(app) RETURNING topic_seq"
            })
        guard let number else { throw PealError.notFound("app") }
        return number
    }
}

/// An app's settings as compact JSON. A missing setting has its default.
enum SettingsCoding {
    static func encode(_ settings: AppSettings) -> [UInt8] { settings.json.bytes }

    static func decode(_ bytes: [UInt8]) throws -> AppSettings {
        guard let json = try? JSONParser.parse(bytes, isStored: true), json.objectValue != nil else {
            throw PealError.damaged("an app's settings")
        }
        return AppSettings(json: json)
    }
}

/// The highest key that an app has assigned to a device. If transactions share commits, they also share this value, and
/// the app's row is written once before the commit.
final class DeviceSeries {
    var last: DeviceKey
    /// Whether the commit writes it.
    var isNoted = false

    init(last: DeviceKey) { self.last = last }

    /// Its name in `CommitWork`.
    static func name(_ app: AppKey) -> String { "device \(app)" }
}
