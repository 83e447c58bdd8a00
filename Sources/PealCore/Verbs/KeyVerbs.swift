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
        package let stored: StoredKey
        package let secret: String
    }

    /// - Throws: `conflict` when the public half is taken, or a lone secret by another key or the admin.
    package func create(
        _ draft: KeyDraft, app: AppKey, _ call: VerbCall, reply: @escaping @Sendable (Made) throws -> Reply
    ) async throws -> Reply {
        let made = make(draft, app: app, now: call.now)
        let isAdmins = made.stored.secretHash == adminTokenHash
        return try await store.commit(.control, call, reply: reply) { store in
            if !draft.dialect.hasPublicHalf {
                let publicHalf = made.stored.key.publicHalf
                let isTaken = try APIKey.Dialect.allCases.contains { dialect in
                    try !dialect.hasPublicHalf && store.storedKey(dialect, publicHalf: publicHalf) != nil
                }
                guard !isAdmins, !isTaken else { throw PealError(.conflict, "this secret is already in use") }
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
