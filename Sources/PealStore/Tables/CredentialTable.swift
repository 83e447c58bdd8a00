internal import Crypto
internal import PealCore

/// `credential`: the sealed credentials of an app for its providers, and whether their last use succeeded.
enum CredentialTable {
    static let columns: Columns = """
        provider, environment, kind, fingerprint, facts, created_at, expires_at, health, health_at, health_reason
        """

    static func record(_ row: inout RowReader) throws -> CredentialRecord {
        CredentialRecord(
            provider: try row.next(), environment: try row.next(), kind: try row.next(), fingerprint: try row.next(),
            facts: try facts(row.next()), createdAt: try row.next(), expiresAt: try row.next(),
            health: try health(&row))
    }

    private static func facts(_ bytes: [UInt8]) throws -> JSON.Members {
        guard let facts = try? JSONParser.parse(bytes).objectValue else { throw PealError.damaged("a credential") }
        return facts
    }

    private static func health(_ row: inout RowReader) throws -> CredentialRecord.Health {
        let (code, at, reason): (HealthCode, Timestamp, String) = (try row.next(), try row.next(), try row.next())
        return switch code {
        case .unknown: .unknown
        case .ok: .ok(at: at)
        case .stopped: .stopped(at: at, reason: reason)
        }
    }

    enum HealthCode: Int64, SQLStorable {
        case unknown = 0
        case ok = 1
        case stopped = 2
    }

    static func written(
        _ health: CredentialRecord.Health
    ) -> (code: HealthCode, at: Timestamp, reason: String?) {
        switch health {
        case .unknown: (.unknown, Timestamp(milliseconds: 0), nil)
        case .ok(let at): (.ok, at, nil)
        case .stopped(let at, let reason): (.stopped, at, reason)
        }
    }

    static func place(_ app: AppKey, _ provider: ProviderName, _ environment: Environment) -> SQL {
        "app = \(app) AND provider = \(provider) AND environment = \(environment)"
    }

    /// What a sealed credential is bound to.
    static func seal(_ app: AppKey, _ provider: ProviderName, _ environment: Environment) -> String {
        "credential \(app) \(provider.rawValue) \(environment.rawValue)"
    }
}

extension StoreSession {
    func credential(
        app: AppKey, provider: ProviderName, environment: Environment
    ) throws -> (credential: Credential, record: CredentialRecord)? {
        try connection.first(
            """
            SELECT \(CredentialTable.columns), sealed FROM credential
            WHERE \(CredentialTable.place(app, provider, environment))
            """
        ) { row in
            let record = try CredentialTable.record(&row)
            let bytes = try context.masterKey.unseal(
                row.next(), place: CredentialTable.seal(app, provider, environment))
            return (try CredentialCoding.decode(bytes, provider), record)
        }
    }

    func credentialRecords(app: AppKey) throws -> [CredentialRecord] {
        try connection.all(
            "SELECT \(CredentialTable.columns) FROM credential WHERE app = \(app) ORDER BY provider, environment",
            CredentialTable.record)
    }

    func endingCredentials(limit: Int) throws -> [(app: AppID, record: CredentialRecord)] {
        try credentials("c.expires_at IS NOT NULL ORDER BY c.expires_at", limit: limit)
    }

    func stoppedCredentials(limit: Int) throws -> [(app: AppID, record: CredentialRecord)] {
        try credentials(
            "c.health = \(code: CredentialTable.HealthCode.stopped) ORDER BY c.health_at DESC", limit: limit)
    }

    /// Those of every app that `condition` selects and sorts.
    private func credentials(
        _ condition: SQL, limit: Int
    ) throws -> [(app: AppID, record: CredentialRecord)] {
        try connection.all(
            """
            SELECT a.id, \(CredentialTable.columns.of("c")) FROM credential c JOIN app a ON a.app = c.app
            WHERE \(condition) LIMIT \(limit)
            """
        ) { row in (try row.next(), try CredentialTable.record(&row)) }
    }

    func putCredential(
        _ examination: CredentialExamination, app: AppKey, provider: ProviderName, environment: Environment,
        now: Timestamp
    ) throws -> CredentialRecord {
        let bytes = CredentialCoding.encode(examination.credential)
        // Includes the place: connections are kept by fingerprint, and two apps with one key must not share them.
        let place = CredentialTable.seal(app, provider, environment)
        let record = CredentialRecord(
            provider: provider, environment: environment, kind: examination.credential.kind,
            fingerprint: Hex.encode(SHA256.hash(data: Array(place.utf8) + bytes)), facts: examination.facts,
            createdAt: now, expiresAt: examination.expiresAt)
        let health = CredentialTable.written(.unknown)
        try connection.execute(
            """
            INSERT INTO credential \(row: [
                "app": app, "provider": provider, "environment": environment,
                "sealed": try context.masterKey.seal(bytes, place: place), "kind": record.kind,
                "fingerprint": record.fingerprint, "facts": JSON.object(record.facts).bytes, "created_at": now,
                "expires_at": record.expiresAt, "health": health.code, "health_at": health.at,
                "health_reason": health.reason,
            ])
            ON CONFLICT (app, provider, environment) DO UPDATE SET sealed = excluded.sealed, kind = excluded.kind,
                fingerprint = excluded.fingerprint, facts = excluded.facts, created_at = excluded.created_at,
                expires_at = excluded.expires_at, health = excluded.health, health_at = excluded.health_at,
                health_reason = excluded.health_reason
            """)
        return record
    }

    func setHealth(
        _ health: CredentialRecord.Health, app: AppKey, provider: ProviderName, environment: Environment
    ) throws {
        let health = CredentialTable.written(health)
        try connection.execute(
            """
            UPDATE credential SET health = \(health.code), health_at = \(health.at), health_reason = \(health.reason)
            WHERE \(CredentialTable.place(app, provider, environment))
            """)
    }

    func deleteCredential(app: AppKey, provider: ProviderName, environment: Environment) throws -> Bool {
        try connection.execute(
            "DELETE FROM credential WHERE \(CredentialTable.place(app, provider, environment))") == 1
    }
}

/// A credential as the bytes that are sealed: JSON whose `kind` decides its members.
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

    /// - Throws: when `encode` did not write the bytes for that provider.
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
