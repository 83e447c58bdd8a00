internal import PealCore

/// `saved_message`: the drafts and templates of an app.
enum SavedMessageTable {
    private static let columns: Columns = "name, kind, request, created_at, changed_at"

    static func message(_ row: inout RowReader) throws -> SavedMessage {
        let (name, kind): (String, String) = (try row.next(), try row.next())
        let request: [UInt8] = try row.next()
        guard let kind = SavedMessage.Kind(rawValue: kind), let json = try? JSONParser.parse(request, isStored: true)
        else {
            throw PealError.damaged("a saved message")
        }
        return SavedMessage(
            kind: kind, name: name, request: json, createdAt: try row.next(), changedAt: try row.next())
    }

    static func find(_ kind: SavedMessage.Kind, _ name: String, app: AppKey) -> SQL {
        "SELECT \(columns) FROM saved_message WHERE \(matching(kind, name, app: app))"
    }

    static func list(_ kind: SavedMessage.Kind, app: AppKey, after cursor: String, limit: Int) -> SQL {
        """
        SELECT \(columns) FROM saved_message WHERE app = \(app) AND kind = \(kind.rawValue) AND name > \(cursor)
        ORDER BY name LIMIT \(limit)
        """
    }

    static func matching(_ kind: SavedMessage.Kind, _ name: String, app: AppKey) -> SQL {
        "app = \(app) AND kind = \(kind.rawValue) AND name = \(name)"
    }
}

extension StoreSession {
    func savedMessage(app: AppKey, _ kind: SavedMessage.Kind, name: String) throws -> SavedMessage? {
        try connection.first(SavedMessageTable.find(kind, name, app: app), SavedMessageTable.message)
    }

    func savedMessages(
        app: AppKey, _ kind: SavedMessage.Kind, after cursor: String?, limit: Int
    ) throws -> [SavedMessage] {
        try connection.all(
            SavedMessageTable.list(kind, app: app, after: cursor ?? "", limit: limit), SavedMessageTable.message)
    }

    func putSavedMessage(_ message: SavedMessage, app: AppKey) throws -> (message: SavedMessage, isNew: Bool) {
        var message = message
        let known = try savedMessage(app: app, message.kind, name: message.name)
        if let known {
            message.createdAt = known.createdAt
        } else {
            let count = try connection.count(
                "SELECT COUNT(*) FROM saved_message WHERE app = \(app) AND kind = \(message.kind.rawValue)")
            guard count < Limits.savedMessagesPerAppMax else {
                throw PealError(
                    .conflict, "an app may have at most \(Limits.savedMessagesPerAppMax) \(message.kind.rawValue)s")
            }
        }
        try connection.post(
            """
            INSERT INTO saved_message \(row: [
                "app": app, "kind": message.kind.rawValue, "name": message.name, "request": message.request.bytes,
                "created_at": message.createdAt, "changed_at": message.changedAt,
            ])
            ON CONFLICT (app, kind, name) DO UPDATE SET request = excluded.request, changed_at = excluded.changed_at
            """)
        return (message, known == nil)
    }

    func deleteSavedMessage(app: AppKey, _ kind: SavedMessage.Kind, name: String) throws -> Bool {
        try connection.execute(
            "DELETE FROM saved_message WHERE \(SavedMessageTable.matching(kind, name, app: app))") == 1
    }
}

/// `starred_device`: the devices that test messages go to.
extension StoreSession {
    func starredDevices(app: AppKey) throws -> [Device] {
        let keys = try connection.all(
            "SELECT seq FROM starred_device WHERE app = \(app) ORDER BY starred_at, seq"
        ) { row -> DeviceKey in try row.next() }
        return try keys.compactMap { try device(app: app, key: $0) }
    }

    func star(app: AppKey, device: DeviceKey, now: Timestamp) throws {
        try connection.post(
            """
            INSERT INTO starred_device (app, seq, starred_at) VALUES (\(app), \(device), \(now))
            ON CONFLICT (app, seq) DO NOTHING
            """)
    }

    func unstar(app: AppKey, device: DeviceKey) throws {
        try connection.post("DELETE FROM starred_device WHERE app = \(app) AND seq = \(device)")
    }
}
