internal import Crypto
internal import FoundationEssentials
internal import PealCore

/// `model_key` and `moment_model`: signed models, and the keys that sign them.
enum ModelTable {
    private static let columns: Columns = """
        campaign_id, version, trained_at, expires_at, parent, labels, payload, kid, signature
        """
    /// The id of an app's first key.
    static let firstKey = "m1"

    static func release(_ row: inout RowReader) throws -> ModelRelease {
        let draft = ModelRelease.Draft(
            campaign: try row.next(), version: try row.next(), trainedAt: try row.next(), expiresAt: try row.next(),
            parent: try row.next(), labels: try row.next(), payload: try row.next())
        return ModelRelease(draft, keyID: try row.next(), signature: try row.next())
    }

    static func find(_ campaign: String, app: AppKey, version: Int64?) -> SQL {
        let wanted: SQL = version.map { "version = \($0)" } ?? "version > 0"
        return """
            SELECT \(columns) FROM moment_model WHERE \(matching(campaign, app)) AND \(wanted)
            ORDER BY version DESC LIMIT 1
            """
    }

    static func insert(_ release: ModelRelease, app: AppKey) -> SQL {
        let draft = release.draft
        return """
            INSERT INTO moment_model \(row: [
                "app": app, "campaign_id": draft.campaign, "version": draft.version, "trained_at": draft.trainedAt,
                "expires_at": draft.expiresAt, "parent": draft.parent, "labels": draft.labels,
                "payload": draft.payload, "kid": release.keyID, "signature": release.signature,
            ])
            """
    }

    static func versions(_ campaign: String, app: AppKey) -> SQL {
        "SELECT version FROM moment_model WHERE \(matching(campaign, app)) ORDER BY version DESC"
    }

    static func matching(_ campaign: String, _ app: AppKey) -> SQL { "app = \(app) AND campaign_id = \(campaign)" }

    /// The campaigns of a user's open messages, once for each message. Every deadline is positive: the condition makes
    /// SQLite begin with the user's moments instead of the app's campaigns.
    static func openCampaigns(of userID: String, app: AppKey) -> SQL {
        """
        SELECT g.campaign_id FROM moment m JOIN message g ON g.app = m.app AND g.message = m.message
        WHERE m.app = \(app) AND m.user_id = \(userID) AND m.state = \(code: Moment.State.open) AND m.deadline > 0
            AND g.campaign_id IS NOT NULL
        """
    }

    /// What a sealed key is bound to.
    static func sealLabel(_ app: AppKey, _ id: String) -> String { sealLabel(["\(app)", id]) }

    /// - Parameter key: the row's primary key as text.
    static func sealLabel(_ key: [String]) -> String { "model_key \(key[0]) \(key[1])" }
}

extension StoreSession {
    func modelKeys(app: AppKey) throws -> [ModelKey] {
        try connection.all(
            "SELECT kid, public_key FROM model_key WHERE app = \(app) ORDER BY created_at, kid"
        ) { row in ModelKey(id: try row.next(), publicKey: try row.next()) }
    }

    func provideModelKeys(app: AppKey, now: Timestamp) throws -> [ModelKey] {
        let known = try modelKeys(app: app)
        guard known.isEmpty else { return known }
        let (id, key) = (ModelTable.firstKey, Curve25519.Signing.PrivateKey())
        let sealed = try context.masterKey.seal(
            Array(key.rawRepresentation), label: ModelTable.sealLabel(app, id))
        try connection.execute(
            """
            INSERT INTO model_key \(row: [
                "app": app, "kid": id, "public_key": Array(key.publicKey.rawRepresentation), "sealed": sealed,
                "created_at": now,
            ])
            ON CONFLICT (app, kid) DO NOTHING
            """)
        // Another server may have made it.
        return try modelKeys(app: app)
    }

    func modelRelease(app: AppKey, campaign: String, version: Int64?) throws -> ModelRelease? {
        try connection.first(ModelTable.find(campaign, app: app, version: version), ModelTable.release)
    }

    func modelVersions(app: AppKey, campaign: String) throws -> [Int64] {
        try connection.values(ModelTable.versions(campaign, app: app))
    }

    func issueModel(_ draft: ModelRelease.Draft, app: AppKey, now: Timestamp) throws -> ModelRelease {
        let versions = try modelVersions(app: app, campaign: draft.campaign)
        guard draft.version > versions.first ?? 0 else {
            throw PealError(.conflict, "the campaign has a newer model")
        }
        guard let keyID = try provideModelKeys(app: app, now: now).last?.id else {
            throw PealError(.internal, "the app has no key for models")
        }
        let release = ModelRelease(draft, keyID: keyID, signature: try signature(of: draft.payload, app, keyID))
        try connection.execute(ModelTable.insert(release, app: app))
        for version in versions.dropFirst(Limits.modelVersionsMax - 1) {
            try connection.execute(
                "DELETE FROM moment_model WHERE \(ModelTable.matching(draft.campaign, app)) AND version = \(version)")
        }
        return release
    }

    private func signature(of payload: [UInt8], _ app: AppKey, _ keyID: String) throws -> [UInt8] {
        let sealed: [UInt8]? = try connection.value(
            "SELECT sealed FROM model_key WHERE app = \(app) AND kid = \(keyID)")
        guard let sealed else { throw PealError.damaged("a model key") }
        let bytes = try context.masterKey.unseal(sealed, label: ModelTable.sealLabel(app, keyID))
        return Array(try Curve25519.Signing.PrivateKey(rawRepresentation: bytes).signature(for: payload))
    }

    func newModels(
        app: AppKey, userID: String?, held: [String: Int64], now: Timestamp
    ) throws -> [ModelRelease] {
        guard try connection.exists("SELECT 1 FROM moment_model WHERE app = \(app) LIMIT 1") else {
            return []
        }
        let ofMessages = try userID.map {
            try connection.values(ModelTable.openCampaigns(of: $0, app: app), String.self)
        }
        let campaigns = Set((ofMessages ?? []).map(ExactText.init)).sorted().map(\.text)
        var models: [ModelRelease] = []
        for campaign in [""] + campaigns where models.count < Limits.modelsPerSyncMax {
            guard let newest = try modelRelease(app: app, campaign: campaign, version: nil),
                newest.draft.version > held[campaign] ?? 0, newest.draft.expiresAt > now
            else { continue }
            models.append(newest)
        }
        return models
    }
}
