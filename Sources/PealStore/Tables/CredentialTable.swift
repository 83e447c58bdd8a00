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
            return (try CredentialCoding.decode(bytes, provider), record)
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
        let bytes = CredentialCoding.encode(examination.credential)
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

/// A credential as the bytes that are sealed: JSON, its `kind` telling the members.
enum CredentialCoding {
    static func encode(_ credential: Credential) -> [UInt8] {
        JSON.compact([("kind", .string(credential.kind))] + members(credential)).bytes
    }

    private static func members(_ credential: Credential) -> [(String, JSON?)] {
        switch credential {
        case .apnsToken(let signing):
            [
                ("key_id", .string(signing.keyID)), ("team_id", .string(signing.teamID)),
                ("private_key", .string(signing.privateKey)), ("bundle_id", .string(signing.bundleID)),
            ]
        case .apnsCertificate(let certificate):
            members(certificate.identity) + [("bundle_id", .string(certificate.bundleID))]
        case .apnsArchive(let archive):
            [
                ("data", .string(Base64URL.encode(archive.data))), ("passphrase", .string(archive.passphrase)),
                ("bundle_id", .string(archive.bundleID)),
            ]
        case .fcm(let account):
            [
                ("project_id", .string(account.projectID)), ("client_email", .string(account.clientEmail)),
                ("private_key_id", account.privateKeyID.map(JSON.string)),
                ("private_key", .string(account.privateKey)), ("token_uri", .string(account.tokenURI)),
            ]
        case .wns(.storeApp(let packageSID, let secret)):
            [("package_sid", .string(packageSID)), ("client_secret", .string(secret))]
        case .wns(.tenant(let tenantID, let clientID, let secret)):
            [
                ("tenant_id", .string(tenantID)), ("client_id", .string(clientID)),
                ("client_secret", .string(secret)),
            ]
        case .mpns(let client): client.identity.map(members) ?? []
        case .webPush(let keys): [("keys", .array(keys.map(json)))]
        }
    }

    private static func members(_ identity: Credential.TLSIdentity) -> [(String, JSON?)] {
        [("certificate", .string(identity.certificates)), ("private_key", .string(identity.privateKey))]
    }

    private static func json(_ key: Credential.VAPIDKey) -> JSON {
        [
            "subject": .string(key.subject), "private_key": .string(key.privateKey),
            "public_key": .string(key.publicKey), "created_at": .integer(key.createdAt.milliseconds),
        ]
    }

    /// - Throws: when the bytes are not what `encode` made for that provider.
    static func decode(_ bytes: [UInt8], _ provider: ProviderName) throws -> Credential {
        guard let json = try? JSONParser.parse(bytes) else { throw PealError.damaged("a credential") }
        return try CredentialMembers(json: json).credential(provider)
    }
}

/// Reads the members that `CredentialCoding` wrote.
struct CredentialMembers {
    let json: JSON

    func credential(_ provider: ProviderName) throws -> Credential {
        let kind = try text("kind")
        switch (provider, kind) {
        case (.apns, "token"):
            return .apnsToken(
                .init(
                    keyID: try text("key_id"), teamID: try text("team_id"), privateKey: try text("private_key"),
                    bundleID: try text("bundle_id")))
        case (.apns, _):
            return .apnsCertificate(
                .init(identity: try identity(), bundleID: try text("bundle_id"), isFromArchive: kind == "p12"))
        case (.fcm, _):
            return .fcm(
                .init(
                    projectID: try text("project_id"), clientEmail: try text("client_email"),
                    privateKeyID: json["private_key_id"]?.stringValue, privateKey: try text("private_key"),
                    tokenURI: try text("token_uri")))
        case (.wns, "package"):
            return .wns(.storeApp(packageSID: try text("package_sid"), clientSecret: try text("client_secret")))
        case (.wns, _):
            return .wns(
                .tenant(
                    tenantID: try text("tenant_id"), clientID: try text("client_id"),
                    clientSecret: try text("client_secret")))
        case (.mpns, _): return .mpns(.init(identity: kind == "none" ? nil : try identity()))
        case (.webpush, _): return .webPush(try (json["keys"]?.arrayValue ?? []).map { try Self(json: $0).key() })
        }
    }

    private func text(_ name: String) throws -> String {
        guard let text = json[name]?.stringValue else { throw PealError.damaged("a credential") }
        return text
    }

    private func identity() throws -> Credential.TLSIdentity {
        .init(certificates: try text("certificate"), privateKey: try text("private_key"))
    }

    private func key() throws -> Credential.VAPIDKey {
        guard let createdAt = json["created_at"]?.integerValue else { throw PealError.damaged("a credential") }
        return .init(
            subject: try text("subject"), privateKey: try text("private_key"), publicKey: try text("public_key"),
            createdAt: Timestamp(milliseconds: createdAt))
    }
}
