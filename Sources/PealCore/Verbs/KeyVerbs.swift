/// Makes and revokes the keys by which callers are let in.
package struct KeyVerbs: Sendable {
    package let store: any Store
    package let hasher: any KeyHasher
    package let randomness: any Randomness
    /// By `hasher`: no key's secret may be the admin token.
    package let adminTokenHash: [UInt8]

    package init(store: any Store, hasher: any KeyHasher, randomness: any Randomness, adminTokenHash: [UInt8]) {
        self.store = store
        self.hasher = hasher
        self.randomness = randomness
        self.adminTokenHash = adminTokenHash
    }

    /// A new key with what is shown this once.
    package struct Made: Sendable {
        package fileprivate(set) var stored: StoredKey
        package let secret: String
    }

    /// - Throws: `conflict` when the public half is taken, or a lone secret by another key or the admin. Only apps may
    ///   have one devtodev secret in common: it is a person's, and requests name the app.
    package func create(
        _ draft: KeyDraft, app: AppKey, _ call: VerbCall, reply: @escaping @Sendable (Made) throws -> Reply
    ) async throws -> Reply {
        let new = make(draft, app: app, now: call.now)
        let isAdmins = new.stored.secretHash == adminTokenHash
        return try await store.commit(.control, call, reply: reply) { store in
            var made = new
            if !draft.dialect.hasPublicHalf {
                let publicHalf = made.stored.key.publicHalf
                let holders = try APIKey.Dialect.allCases.filter { !$0.hasPublicHalf }.compactMap { dialect in
                    try store.storedKey(dialect, publicHalf: publicHalf)?.key
                }
                let isShared =
                    draft.dialect == .devtodev && holders.allSatisfy { $0.dialect == .devtodev && $0.app != app }
                guard !isAdmins, holders.isEmpty || isShared else {
                    throw PealError(.conflict, "this secret is already in use")
                }
                if !holders.isEmpty {
                    made.stored.key.publicHalf = Self.publicHalf(ofHash: made.stored.secretHash, in: app)
                }
            }
            try store.insertKey(made.stored)
            try store.audit(call, app: app, "key.create", "\(draft.dialect.rawValue) key \(made.stored.key.id)")
            return made
        }.reply
    }

    /// - Throws: `not_found`.
    package func revoke(_ id: KeyID, app: AppKey, _ call: VerbCall) async throws {
        try await store.write(.control) { store in
            guard try store.deleteKey(id, app: app) else { throw PealError.notFound("key") }
            try store.audit(call, app: app, "key.revoke", "key \(id)")
        }
    }

    /// How many characters of a lone secret's hash are its public half: 64 bits find it, and tell nothing of it.
    private static let publicHalfCharacters = 16

    /// The half that a lone secret is looked up by.
    package static func publicHalf(ofHash hash: [UInt8]) -> String {
        String(Hex.encode(hash).prefix(publicHalfCharacters))
    }

    /// The half that a devtodev secret is looked up by in an app that was not the first to have it.
    package static func publicHalf(ofHash hash: [UInt8], in app: AppKey) -> String {
        "\(publicHalf(ofHash: hash))-\(app)"
    }

    private func make(_ draft: KeyDraft, app: AppKey, now: Timestamp) -> Made {
        let secret = draft.secret ?? newSecret(for: draft.dialect)
        let hash = hasher.hash(secret)
        let publicHalf =
            draft.dialect.hasPublicHalf
            ? draft.publicHalf ?? newPublicHalf(for: draft.dialect) : Self.publicHalf(ofHash: hash)
        let key = APIKey(
            id: randomness.timeOrderedIdentifier(at: now), app: app, dialect: draft.dialect, publicHalf: publicHalf,
            scopes: draft.scopesInForce, platform: draft.platform, environment: draft.environment, createdAt: now,
            expiresAt: draft.expiresAt)
        let shared = draft.dialect.hasSharedSecret ? draft.sharedSecret ?? Hex.encode(randomness.bytes(32)) : nil
        return Made(stored: StoredKey(key: key, secretHash: hash, sharedSecret: shared), secret: secret)
    }

    private func newSecret(for dialect: APIKey.Dialect) -> String {
        switch dialect {
        case .native: "peal_" + Base64URL.encode(randomness.bytes(32))
        case .device: "peald_" + Base64URL.encode(randomness.bytes(32))
        case .contextpush: "CTX-" + Base64URL.encode(randomness.bytes(32))
        case .richie, .devtodev: Hex.encode(randomness.bytes(32))
        case .pivotal, .pivotalPlatform: newUUID()
        }
    }

    private func newPublicHalf(for dialect: APIKey.Dialect) -> String {
        dialect == .richie ? "peal-" + Hex.encode(randomness.bytes(8)) : newUUID()
    }

    private func newUUID() -> String {
        let id: KeyID = randomness.identifier()
        return id.description
    }
}

/// A request for a key. Values that are given are taken over, so that clients move by host name alone; the others are
/// made.
package struct KeyDraft: Sendable, Hashable {
    package var dialect: APIKey.Dialect
    /// nil = what the dialect usually needs.
    package var scopes: Set<APIKey.Scope>?
    package var platform: Platform?
    package var environment: Environment?
    package var expiresAt: Timestamp?
    /// User name, application or platform id; nil where the dialect has one secret only.
    package var publicHalf: String?
    package var secret: String?
    /// Hex text.
    package var sharedSecret: String?

    package init(dialect: APIKey.Dialect) { self.dialect = dialect }

    /// The rights that the key will have.
    package var scopesInForce: Set<APIKey.Scope> { scopes ?? dialect.usualScopes }
}

extension APIKey.Dialect {
    /// What callers of that dialect need; a native key's usual ones.
    package var usualScopes: Set<APIKey.Scope> {
        switch self {
        case .native, .pivotal: APIKey.Scope.usual
        case .contextpush, .richie, .devtodev: [.send, .read]
        case .pivotalPlatform, .device: [.devices]
        }
    }

    /// Whether keys have a half that is no secret, beside the secret one.
    package var hasPublicHalf: Bool {
        switch self {
        case .richie, .pivotal, .pivotalPlatform: true
        case .native, .contextpush, .devtodev, .device: false
        }
    }

    /// Whether keys carry a secret that signs user ids.
    package var hasSharedSecret: Bool { self == .pivotal || self == .device }
}
