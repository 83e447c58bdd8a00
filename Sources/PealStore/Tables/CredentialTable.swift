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
        guard let facts = try? JSONParser.parse(bytes, isStored: true).objectValue else {
            throw PealError.damaged("a credential")
        }
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

    static func matching(_ slot: CredentialSlot) -> SQL {
        "app = \(slot.app) AND provider = \(slot.provider) AND environment = \(slot.environment)"
    }

    /// 1 if there is a credential.
    static func any(at slot: CredentialSlot) -> SQL { "SELECT 1 FROM credential WHERE \(matching(slot))" }

    /// What a sealed credential is bound to.
    static func sealLabel(_ slot: CredentialSlot) -> String {
        sealLabel(["\(slot.app)", slot.provider.rawValue, slot.environment.rawValue])
    }

    /// - Parameter key: the row's primary key as text.
    static func sealLabel(_ key: [String]) -> String { "credential \(key[0]) \(key[1]) \(key[2])" }
}

extension StoreSession {
    func credential(at slot: CredentialSlot) throws -> (credential: Credential, record: CredentialRecord)? {
        try connection.first(
            """
            SELECT \(CredentialTable.columns), sealed FROM credential
            WHERE \(CredentialTable.matching(slot))
            """
        ) { row in
            let record = try CredentialTable.record(&row)
            let bytes = try context.masterKey.unseal(
                row.next(), label: CredentialTable.sealLabel(slot))
            return (try Credential(stored: bytes, of: slot.provider), record)
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

    /// The credentials of all apps that `condition` selects and sorts, except those that cannot be read.
    private func credentials(
        _ condition: SQL, limit: Int
    ) throws -> [(app: AppID, record: CredentialRecord)] {
        try connection.all(
            """
            SELECT a.id, \(CredentialTable.columns.of("c")) FROM credential c JOIN app a ON a.app = c.app
            WHERE \(condition) LIMIT \(limit)
            """
        ) { row -> (app: AppID, record: CredentialRecord)? in
            let app: AppID = try row.next()
            return (try? CredentialTable.record(&row)).map { (app, $0) }
        }.compactMap(\.self)
    }

    func putCredential(
        _ examination: CredentialExamination, at slot: CredentialSlot, now: Timestamp
    ) throws -> CredentialRecord {
        memo.changesSetup = true
        let bytes = examination.credential.stored
        // Includes app, provider and environment: connections are kept by fingerprint, and two apps with the same key
        // must not share them.
        let label = CredentialTable.sealLabel(slot)
        let record = CredentialRecord(
            provider: slot.provider, environment: slot.environment, kind: examination.credential.kind,
            fingerprint: Hex.encode(SHA256.hash(data: Array(label.utf8) + bytes)), facts: examination.facts,
            createdAt: now, expiresAt: examination.expiresAt)
        let health = CredentialTable.written(.unknown)
        try connection.post(
            """
            INSERT INTO credential \(row: [
                "app": slot.app, "provider": slot.provider, "environment": slot.environment,
                "sealed": try context.masterKey.seal(bytes, label: label), "kind": record.kind,
                "fingerprint": record.fingerprint, "facts": JSON.object(record.facts).bytes, "created_at": now,
                "expires_at": record.expiresAt, "health": health.code, "health_at": health.at,
                "health_reason": health.reason,
            ])
            ON CONFLICT (app, provider, environment) DO UPDATE SET sealed = excluded.sealed, kind = excluded.kind,
                fingerprint = excluded.fingerprint, facts = excluded.facts, created_at = excluded.created_at,
                expires_at = excluded.expires_at, health = excluded.health, health_at = excluded.health_at,
                health_reason = excluded.health_reason
            """)
        try openGates(at: slot)
        return record
    }

    func setHealth(_ health: CredentialRecord.Health, at slot: CredentialSlot) throws {
        memo.changesSetup = true
        let health = CredentialTable.written(health)
        try connection.post(
            """
            UPDATE credential SET health = \(health.code), health_at = \(health.at), health_reason = \(health.reason)
            WHERE \(CredentialTable.matching(slot))
            """)
    }

    func deleteCredential(at slot: CredentialSlot) throws -> Bool {
        memo.changesSetup = true
        try openGates(at: slot)
        return try connection.execute(
            "DELETE FROM credential WHERE \(CredentialTable.matching(slot))") == 1
    }
}
