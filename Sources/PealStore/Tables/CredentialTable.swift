internal import Crypto
internal import PealCore

extension StoreSession {
    private static let columns =
        "provider, environment, kind, fingerprint, facts, created_at, expires_at, health, health_at, health_reason"

    private static func record(_ row: any SQLRow) throws -> CredentialRecord {
        guard let provider = ProviderName(rawValue: row.text(0)), let environment = Environment(rawValue: row.text(1)),
            let facts = try? JSONParser.parse(row.bytes(4)).objectValue
        else { throw PealError.damaged("a credential") }
        let health: CredentialRecord.Health =
            switch row.int(7) {
            case 1: .ok(at: row.time(8))
            case 2: .stopped(at: row.time(8), reason: row.text(9))
            default: .unknown
            }
        return CredentialRecord(
            provider: provider, environment: environment, kind: row.text(2), fingerprint: row.text(3), facts: facts,
            createdAt: row.time(5), expiresAt: row.timeIfPresent(6), health: health)
    }

    func credential(
        app: AppKey, provider: ProviderName, environment: Environment
    ) throws -> (credential: Credential, record: CredentialRecord)? {
        try connection.first(
            "SELECT \(Self.columns), sealed FROM credential WHERE app = $1 AND provider = $2 AND environment = $3",
            Self.place(app, provider, environment)
        ) { row in
            let record = try Self.record(row)
            let bytes = try context.masterKey.unseal(row.bytes(10), place: Self.seal(app, provider, environment))
            return (try Credential(stored: bytes, of: provider), record)
        }
    }

    func credentialRecords(app: AppKey) throws -> [CredentialRecord] {
        try connection.all(
            "SELECT \(Self.columns) FROM credential WHERE app = $1 ORDER BY provider, environment", [.int(app)],
            Self.record)
    }

    func endingCredentials(limit: Int) throws -> [(app: AppID, record: CredentialRecord)] {
        try credentials("c.expires_at IS NOT NULL ORDER BY c.expires_at", limit: limit)
    }

    func stoppedCredentials(limit: Int) throws -> [(app: AppID, record: CredentialRecord)] {
        try credentials("c.health = 2 ORDER BY c.health_at DESC", limit: limit)
    }

    /// Those of every app that `condition` picks and sorts.
    private func credentials(
        _ condition: String, limit: Int
    ) throws -> [(app: AppID, record: CredentialRecord)] {
        let columns = Self.columns.split(separator: ", ").map { "c.\($0)" }.joined(separator: ", ")
        return try connection.all(
            "SELECT \(columns), a.id FROM credential c JOIN app a ON a.app = c.app WHERE \(condition) LIMIT $1",
            [.int(limit)]
        ) { row in (try row.id(10), try Self.record(row)) }
    }

    func putCredential(
        _ examination: CredentialExamination, app: AppKey, provider: ProviderName, environment: Environment,
        now: Timestamp
    ) throws -> CredentialRecord {
        let bytes = examination.credential.stored
        // With its place: connections are kept by fingerprint, and two apps with one key must not share them.
        let place = Self.seal(app, provider, environment)
        let record = CredentialRecord(
            provider: provider, environment: environment, kind: examination.credential.kind,
            fingerprint: Hex.encode(SHA256.hash(data: Array(place.utf8) + bytes)), facts: examination.facts,
            createdAt: now,
            expiresAt: examination.expiresAt)
        let sealed = try context.masterKey.seal(bytes, place: place)
        try connection.execute(
            """
            INSERT INTO credential (app, provider, environment, sealed, kind, fingerprint, facts, created_at,
                expires_at, health, health_at, health_reason)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, 0, $10)
            ON CONFLICT (app, provider, environment) DO UPDATE SET sealed = excluded.sealed, kind = excluded.kind,
                fingerprint = excluded.fingerprint, facts = excluded.facts, created_at = excluded.created_at,
                expires_at = excluded.expires_at, health = 0, health_at = 0, health_reason = excluded.health_reason
            """,
            Self.place(app, provider, environment) + [
                .bytes(sealed), .text(record.kind), .text(record.fingerprint), .bytes(JSON.object(record.facts).bytes),
                .time(now), .time(record.expiresAt), .null(.text),
            ])
        return record
    }

    func setHealth(
        _ health: CredentialRecord.Health, app: AppKey, provider: ProviderName, environment: Environment
    ) throws {
        let columns: [SQLValue] =
            switch health {
            case .unknown: [.int(0), .int(0), .null(.text)]
            case .ok(let at): [.int(1), .time(at), .null(.text)]
            case .stopped(let at, let reason): [.int(2), .time(at), .text(reason)]
            }
        try connection.execute(
            """
            UPDATE credential SET health = $4, health_at = $5, health_reason = $6
            WHERE app = $1 AND provider = $2 AND environment = $3
            """, Self.place(app, provider, environment) + columns)
    }

    func deleteCredential(app: AppKey, provider: ProviderName, environment: Environment) throws -> Bool {
        try connection.execute(
            "DELETE FROM credential WHERE app = $1 AND provider = $2 AND environment = $3",
            Self.place(app, provider, environment)) == 1
    }

    private static func place(_ app: AppKey, _ provider: ProviderName, _ environment: Environment) -> [SQLValue] {
        [.int(app), .text(provider.rawValue), .text(environment.rawValue)]
    }

    private static func seal(_ app: AppKey, _ provider: ProviderName, _ environment: Environment) -> String {
        "credential \(app) \(provider.rawValue) \(environment.rawValue)"
    }
}
