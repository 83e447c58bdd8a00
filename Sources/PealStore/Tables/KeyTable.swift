internal import PealCore

extension StoreSession {
    private static let columns =
        "id, app, dialect, public_half, scopes, platform, environment, created_at, expires_at"

    private static func key(_ row: any SQLRow) throws -> APIKey {
        let scopes = row.text(4).split(separator: " ").compactMap { APIKey.Scope(rawValue: String($0)) }
        return APIKey(
            id: try row.id(0), app: row.int(1), dialect: DialectName(rawValue: row.text(2)), publicHalf: row.text(3),
            scopes: Set(scopes),
            platform: row.textIfPresent(5).flatMap(Platform.init(rawValue:)),
            environment: row.textIfPresent(6).flatMap(Environment.init(rawValue:)),
            createdAt: row.time(7), expiresAt: row.timeIfPresent(8))
    }

    func storedKey(_ dialect: DialectName, publicHalf: String) throws -> StoredKey? {
        try connection.first(
            "SELECT \(Self.columns), secret_hash, shared_secret FROM api_key WHERE dialect = $1 AND public_half = $2",
            [.text(dialect.rawValue), .text(publicHalf)]
        ) { row in
            let key = try Self.key(row)
            let secret = try row.bytesIfPresent(10).map { try context.masterKey.unseal($0, place: Self.place(key)) }
            return StoredKey(
                key: key, secretHash: row.bytes(9), sharedSecret: secret.map { String(decoding: $0, as: UTF8.self) })
        }
    }

    func keys(app: AppKey) throws -> [APIKey] {
        try connection.all(
            "SELECT \(Self.columns) FROM api_key WHERE app = $1 ORDER BY created_at, id", [.int(app)], Self.key)
    }

    func insertKey(_ stored: StoredKey) throws {
        let key = stored.key
        let secret = try stored.sharedSecret.map {
            try context.masterKey.seal(Array($0.utf8), place: Self.place(key))
        }
        let count = try connection.execute(
            """
            INSERT INTO api_key (\(Self.columns), secret_hash, shared_secret)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING
            """,
            [
                .id(key.id), .int(key.app), .text(key.dialect.rawValue), .text(key.publicHalf),
                .text(key.scopes.map(\.rawValue).sorted().joined(separator: " ")), .text(key.platform?.rawValue),
                .text(key.environment?.rawValue), .time(key.createdAt), .time(key.expiresAt),
                .bytes(stored.secretHash), .bytes(secret),
            ])
        guard count == 1 else { throw PealError(.conflict, "a key with that public half exists") }
    }

    private static func place(_ key: APIKey) -> String { "api_key \(key.app) \(key.dialect.rawValue) \(key.id)" }

    func deleteKey(_ id: KeyID, app: AppKey) throws -> Bool {
        try connection.execute("DELETE FROM api_key WHERE id = $1 AND app = $2", [.id(id), .int(app)]) == 1
    }
}
