internal import PealCore

/// `api_key`: the keys of apps. Secrets that are only compared are hashed; shared ones are sealed.
enum KeyTable {
    static let columns: Columns = """
        id, app, dialect, public_half, scopes, platform, environment, created_at, expires_at, name, created_by, \
        last_used_at
        """

    static func key(_ row: inout RowReader) throws -> APIKey {
        APIKey(
            id: try row.next(), app: try row.next(), dialect: try row.next(), publicHalf: try row.next(),
            scopes: scopes(try row.next()), platform: try row.next(String?.self).flatMap(Platform.init(rawValue:)),
            environment: try row.next(String?.self).flatMap(Environment.init(rawValue:)), createdAt: try row.next(),
            expiresAt: try row.next(), name: try row.next(), createdBy: try row.next(), lastUsedAt: try row.next())
    }

    private static func scopes(_ text: String) -> Set<APIKey.Scope> {
        Set(text.split(separator: " ").compactMap { APIKey.Scope(rawValue: String($0)) })
    }

    static func text(_ scopes: Set<APIKey.Scope>) -> String {
        scopes.map(\.rawValue).sorted().joined(separator: " ")
    }

    /// Keys that were granted to the app, including its own.
    static func granted(to app: AppKey) -> SQL {
        "SELECT id FROM key_grant WHERE app = \(app)"
    }

    /// The apps that a key was granted to. Deleted apps are left out.
    static func apps(of key: KeyID) -> SQL {
        """
        SELECT a.app, a.id FROM key_grant g JOIN app a ON a.app = g.app WHERE g.id = \(key) ORDER BY a.app
        """
    }

    /// What a sealed secret is bound to.
    static func sealLabel(_ key: APIKey) -> String { sealLabel(["\(key.id)", "\(key.app)", key.dialect.rawValue]) }

    /// - Parameter key: the row's id, app and dialect as text.
    static func sealLabel(_ key: [String]) -> String { "api_key \(key[1]) \(key[2]) \(key[0])" }
}

extension StoreSession {
    func storedKey(_ dialect: DialectName, publicHalf: String) throws -> StoredKey? {
        try connection.first(
            """
            SELECT \(KeyTable.columns), secret_hash, shared_secret FROM api_key
            WHERE dialect = \(dialect) AND public_half = \(publicHalf)
            """
        ) { row in
            let key = try KeyTable.key(&row)
            let hash: [UInt8] = try row.next()
            let secret = try row.next([UInt8]?.self).map {
                try context.masterKey.unseal($0, label: KeyTable.sealLabel(key))
            }
            return StoredKey(
                key: key, secretHash: hash, sharedSecret: secret.map { String(decoding: $0, as: UTF8.self) })
        }.map { stored in
            var stored = stored
            stored.key.apps = try grants(of: stored.key.id)
            return stored
        }
    }

    private func grants(of key: KeyID) throws -> [APIKey.GrantedApp] {
        try connection.all(KeyTable.apps(of: key)) { row in
            APIKey.GrantedApp(key: try row.next(), id: try row.next())
        }
    }

    func keys(app: AppKey) throws -> [APIKey] {
        try connection.all(
            """
            SELECT \(KeyTable.columns) FROM api_key WHERE app = \(app) OR id IN (\(KeyTable.granted(to: app)))
            ORDER BY created_at, id
            """, KeyTable.key
        ).map { key in
            var key = key
            key.apps = try grants(of: key.id)
            return key
        }
    }

    func hasKey(app: AppKey, dialect: DialectName) throws -> Bool {
        try connection.exists("SELECT 1 FROM api_key WHERE app = \(app) AND dialect = \(dialect) LIMIT 1")
    }

    func insertKey(_ stored: StoredKey) throws {
        memo.changesSetup = true
        let key = stored.key
        let secret = try stored.sharedSecret.map {
            try context.masterKey.seal(Array($0.utf8), label: KeyTable.sealLabel(key))
        }
        let count = try connection.execute(
            """
            INSERT INTO api_key \(row: [
                "id": key.id, "app": key.app, "dialect": key.dialect, "public_half": key.publicHalf,
                "scopes": KeyTable.text(key.scopes), "platform": key.platform, "environment": key.environment,
                "created_at": key.createdAt, "expires_at": key.expiresAt, "name": key.name,
                "created_by": key.createdBy, "secret_hash": stored.secretHash,
                "shared_secret": secret,
            ])
            ON CONFLICT DO NOTHING
            """)
        guard count == 1 else { throw PealError(.conflict, "a key with this token or user name already exists") }
        for app in key.apps {
            try connection.execute("INSERT INTO key_grant (app, id) VALUES (\(app.key), \(key.id))")
        }
    }

    func deleteKey(_ id: KeyID, app: AppKey) throws -> Bool {
        memo.changesSetup = true
        guard try connection.execute("DELETE FROM api_key WHERE id = \(id) AND app = \(app)") == 1 else {
            return try connection.execute("DELETE FROM key_grant WHERE id = \(id) AND app = \(app)") == 1
        }
        try connection.execute("DELETE FROM key_grant WHERE id = \(id)")
        return true
    }
}
