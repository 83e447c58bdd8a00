/// Creates and revokes the API keys of callers.
package struct KeyVerbs: Sendable {
    let store: any Store
    let hasher: any KeyHasher
    let randomness: any Randomness
    /// No key may have the same secret.
    let firstAdmin: FirstAdmin
    /// The kinds of keys with a single secret. No two keys of these kinds may have the same secret.
    let loneSecretDialects: [DialectName]

    /// A new key with the secret, which is shown only once.
    package struct Made: Sendable {
        package fileprivate(set) var stored: StoredKey
        package let secret: String
    }

    /// - Throws: `conflict` when the public half is taken, or when a lone secret is another key's or the admin token,
    ///   unless `KeyRules.isSharedByApps` allows other apps to have it.
    package func create(
        _ draft: KeyDraft, app: AppKey, _ call: VerbCall, reply: @escaping @Sendable (Made) throws -> Reply
    ) async throws -> Reply {
        let new = make(draft, app: app, call)
        let isFirst = await firstAdmin.hash(store) == new.stored.secretHash
        return try await store.commit(.control, call, reply: reply) { store in
            var made = new
            if draft.rules.publicHalf == nil {
                made.stored.key.publicHalf = try loneHalf(of: made.stored, draft.rules, isFirst: isFirst, in: store)
            }
            made.stored.key.apps = try Self.grants(draft.apps, home: app, in: store)
            try store.insertKey(made.stored)
            let name = Self.text(made.stored.key)
            try store.audit(call, app: app, "key.create", name)
            for granted in made.stored.key.apps where granted.key != app {
                try store.audit(call, app: granted.key, "key.grant", name)
            }
            return made
        }.reply
    }

    /// The public half of a key with only one secret.
    /// - Parameter isFirst: whether the secret is the first admin's token.
    /// - Throws: `conflict` if another key or an admin has the secret, and may not share it.
    private func loneHalf(
        of new: StoredKey, _ rules: KeyRules, isFirst: Bool, in store: any StoreReading
    ) throws -> String {
        let holders = try loneSecretDialects.compactMap { dialect in
            try store.storedKey(dialect, publicHalf: new.key.publicHalf)?.key
        }
        let isShared =
            rules.isSharedByApps && holders.allSatisfy { $0.dialect == rules.dialect && $0.app != new.key.app }
        let isAdmins =
            try isFirst || store.storedAdmin(publicHalf: Self.publicHalf(ofHash: new.secretHash)) != nil
        guard !isAdmins, holders.isEmpty || isShared else {
            throw PealError(.conflict, "this secret is already in use")
        }
        return holders.isEmpty ? new.key.publicHalf : Self.publicHalf(ofHash: new.secretHash, in: new.key.app)
    }

    /// The home app and the others, each once; empty if there are no others.
    /// - Throws: `invalid_field` for an unknown app.
    private static func grants(
        _ others: [AppID], home: AppKey, in store: any StoreReading
    ) throws -> [APIKey.GrantedApp] {
        guard let own = try store.app(key: home) else { throw PealError.notFound("app") }
        var apps = [APIKey.GrantedApp(key: own.key, id: own.id)]
        for (index, id) in others.enumerated() {
            guard let app = try store.app(id) else {
                throw PealError.invalid("apps[\(index)]", "apps[\(index)] is unknown")
            }
            let granted = APIKey.GrantedApp(key: app.key, id: app.id)
            if !apps.contains(granted) { apps.append(granted) }
        }
        return apps.count > 1 ? apps : []
    }

    /// Revokes a key of the app. A key that was granted to the app by another one is revoked for this app only.
    /// - Throws: `not_found`.
    package func revoke(_ id: KeyID, app: AppKey, _ call: VerbCall) async throws {
        try await store.write(.control) { store in
            let key = try store.keys(app: app).first { $0.id == id }
            guard let key, try store.deleteKey(id, app: app) else { throw PealError.notFound("key") }
            try store.audit(call, app: app, "key.revoke", Self.text(key))
        }
    }

    /// The key in the audit log.
    private static func text(_ key: APIKey) -> String {
        "\(key.dialect) key \(key.id)" + (key.name.map { " \($0)" } ?? "")
    }

    /// How many characters of a lone secret's hash are its public half: 64 bits identify the secret without revealing
    /// it.
    private static let publicHalfCharacters = 16

    /// The public half by which a lone secret is looked up.
    package static func publicHalf(ofHash hash: [UInt8]) -> String {
        String(Hex.encode(hash).prefix(publicHalfCharacters))
    }

    /// The public half by which a shared secret is looked up in every app except the first that had it.
    package static func publicHalf(ofHash hash: [UInt8], in app: AppKey) -> String {
        "\(publicHalf(ofHash: hash))-\(app)"
    }

    private func make(_ draft: KeyDraft, app: AppKey, _ call: VerbCall) -> Made {
        let rules = draft.rules
        let secret = draft.secret ?? rules.secret.value(randomness)
        let hash = hasher.hash(secret)
        let publicHalf =
            rules.publicHalf.map { draft.publicHalf ?? $0.value(randomness) } ?? Self.publicHalf(ofHash: hash)
        let key = APIKey(
            id: randomness.timeOrderedIdentifier(at: call.now), app: app, dialect: rules.dialect,
            publicHalf: publicHalf,
            scopes: draft.effectiveScopes, platform: draft.platform, environment: draft.environment,
            createdAt: call.now, expiresAt: draft.expiresAt, name: draft.name, createdBy: call.actor.id)
        let shared = rules.hasSharedSecret ? draft.sharedSecret ?? Hex.encode(randomness.bytes(32)) : nil
        return Made(stored: StoredKey(key: key, secretHash: hash, sharedSecret: shared), secret: secret)
    }
}

/// A request for a key. Given values are kept, so that clients can change servers by changing only the host name; the
/// others are generated.
package struct KeyDraft: Sendable, Hashable {
    package let rules: KeyRules
    /// nil for the kind's defaults.
    package var scopes: Set<APIKey.Scope>?
    package var platform: Platform?
    package var environment: Environment?
    package var expiresAt: Timestamp?
    /// For display.
    package var name: String?
    /// User name, application id or platform id; nil if the key has a single secret.
    package var publicHalf: String?
    package var secret: String?
    /// Hexadecimal text.
    package var sharedSecret: String?
    /// Further apps that the key may be used for.
    package var apps: [AppID] = []

    package init(rules: KeyRules) { self.rules = rules }

    /// The scopes that the key will have.
    package var effectiveScopes: Set<APIKey.Scope> { scopes ?? rules.defaultScopes }
}
