/// Where everything durable is. A read sees one consistent state; a write is one transaction: whatever `body` throws
/// undoes all of it, and what it returns is durable when the call returns. Bodies are synchronous and may run on any
/// thread; concurrent writes share commits, and a write goes on when the calling task is cancelled.
package protocol Store: Sendable {
    func read<R: Sendable>(_ body: @escaping @Sendable (any StoreReading) throws -> R) async throws -> R

    /// - Throws: what `body` throws; `rate_limited` when too many writes wait; `unavailable` when the store failed.
    func write<R: Sendable>(
        _ lane: WriteLane, _ body: @escaping @Sendable (any StoreWriting) throws -> R
    ) async throws -> R
}

/// Who goes first when writes wait.
package enum WriteLane: Int, CaseIterable, Sendable {
    case intake, control, settle, rest
}

package protocol StoreReading:
    AppReading, KeyReading, CredentialReading, DeviceReading, TopicReading, MessageReading, DeliveryReading,
    WebhookReading, OutboxReading, GeofenceReading, ReceiptReading, MomentReading
{}

package protocol StoreWriting:
    StoreReading, AppWriting, KeyWriting, CredentialWriting, DeviceWriting, TopicWriting, MessageWriting,
    DeliveryWriting, IdempotencyWriting, AuditWriting, WebhookWriting, OutboxWriting, GeofenceWriting,
    ReceiptWriting, MomentWriting
{}

package protocol AppReading {
    func app(_ id: AppID) throws -> App?
    func app(key: AppKey) throws -> App?
    /// The app that devtodev's clients call so; letter case does not matter.
    func app(devtodevAppID: String) throws -> App?
    /// By id, ascending, from after `cursor`.
    func apps(after cursor: AppID?, limit: Int) throws -> [App]
    /// Whether some app has that `richie_app_id`.
    func hasApp(richieAppID: String) throws -> Bool
    /// A server-wide value, as the hash of the first start's admin token.
    func setting(_ name: String) throws -> [UInt8]?
}

package protocol AppWriting {
    /// `app.key` is given by the store; the one passed is ignored.
    /// - Throws: `conflict` when the id is taken.
    func insertApp(_ app: App) throws -> App
    func updateApp(_ app: App) throws
    /// Takes everything of the app along. Returns false when there was none.
    func deleteApp(_ key: AppKey) throws -> Bool
    func setSetting(_ name: String, _ value: [UInt8]) throws
}

package protocol KeyReading {
    /// The key with that public half, even when it has expired.
    func storedKey(_ dialect: DialectName, publicHalf: String) throws -> StoredKey?
    func keys(app: AppKey) throws -> [APIKey]
}

package protocol KeyWriting {
    /// - Throws: `conflict` when another key of that dialect has the public half.
    func insertKey(_ key: StoredKey) throws
    func deleteKey(_ id: KeyID, app: AppKey) throws -> Bool
}

package protocol CredentialReading {
    func credential(
        app: AppKey, provider: ProviderName, environment: Environment
    ) throws -> (credential: Credential, record: CredentialRecord)?
    func credentialRecords(app: AppKey) throws -> [CredentialRecord]
    /// Of every app, those that end, the earliest first.
    func endingCredentials(limit: Int) throws -> [(app: AppID, record: CredentialRecord)]
    /// Of every app, those whose health is stopped, the latest first.
    func stoppedCredentials(limit: Int) throws -> [(app: AppID, record: CredentialRecord)]
}

package protocol CredentialWriting {
    /// Stores it sealed, in place of an earlier one; the fingerprint is made by the store.
    func putCredential(
        _ examination: CredentialExamination, app: AppKey, provider: ProviderName, environment: Environment,
        now: Timestamp
    ) throws -> CredentialRecord
    func setHealth(
        _ health: CredentialRecord.Health, app: AppKey, provider: ProviderName, environment: Environment
    ) throws
    func deleteCredential(app: AppKey, provider: ProviderName, environment: Environment) throws -> Bool
}

package protocol IdempotencyWriting {
    /// Looks up what was answered to this request before; nil = never. Records older than the request's
    /// `lifeSeconds` do not count.
    func keptAnswer(_ request: IdempotentRequest, now: Timestamp) throws -> KeptAnswer?
    func keepAnswer(_ answer: KeptAnswer, to request: IdempotentRequest, now: Timestamp) throws
}

/// A request that names itself, so that its repetition is known.
package struct IdempotentRequest: Sendable, Hashable {
    /// 32 bytes over the caller's credential, the method and the path.
    package let scope: [UInt8]
    package let key: String
    /// 32 bytes over the body.
    package let digest: [UInt8]
    /// How long its name is known, at most `Limits.idempotencyLifeSeconds`.
    package let lifeSeconds: Int64

    package init(
        scope: [UInt8], key: String, digest: [UInt8], lifeSeconds: Int64 = Limits.idempotencyLifeSeconds
    ) {
        self.scope = scope
        self.key = key
        self.digest = digest
        self.lifeSeconds = lifeSeconds
    }
}

/// A 2xx answer that is given again to a repeated request.
package struct KeptAnswer: Sendable, Hashable {
    package let digest: [UInt8]
    package let status: Int
    package let body: [UInt8]

    package init(digest: [UInt8], status: Int, body: [UInt8]) {
        self.digest = digest
        self.status = status
        self.body = body
    }
}

package protocol AuditWriting {
    func audit(_ entry: AuditEntry) throws
    /// Newest first, from before `cursor` (an entry's number); of one app, or of all.
    func auditEntries(app: AppKey?, before cursor: Int64?, limit: Int) throws -> [(number: Int64, entry: AuditEntry)]
}

/// Who did what to which object.
package struct AuditEntry: Sendable, Hashable {
    package let at: Timestamp
    package let app: AppKey?
    /// `admin` or a key's id.
    package let actor: String
    /// As `credential.put`.
    package let action: String
    package let object: String

    package init(at: Timestamp, app: AppKey?, actor: String, action: String, object: String) {
        self.at = at
        self.app = app
        self.actor = actor
        self.action = action
        self.object = object
    }
}
