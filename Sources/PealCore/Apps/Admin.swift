internal import Synchronization

/// A person with full access, who has a separate key.
package struct Admin: Sendable, Hashable {
    package let id: AdminID
    package let name: String
    /// The id of the actor who created the key.
    package let createdBy: String
    package let createdAt: Timestamp
    /// Exact to a minute; nil before the first use.
    package let lastUsedAt: Timestamp?

    package init(id: AdminID, name: String, createdBy: String, createdAt: Timestamp, lastUsedAt: Timestamp? = nil) {
        self.id = id
        self.name = name
        self.createdBy = createdBy
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
    }

    /// The first admin, whose token is configured or was generated at the first start.
    package static let first = "admin"
    /// The prefix of a named admin's public half in the console's sessions.
    package static let sessionPrefix = "admin-"
}

/// Knows the token of the first admin by its hash.
package final class FirstAdmin: Sendable {
    /// The setting that holds the hash of a generated token.
    package static let settingName = "admin_token_hash"
    /// How long a stored hash is cached: another server may have replaced the token.
    private static let lasts = Duration.seconds(1)

    private struct Known {
        var hash: [UInt8]
        var isConfigured: Bool
        var readAt: Duration
    }

    private let time: any TimeSource
    private let known: Mutex<Known>

    package init(hash: [UInt8], isConfigured: Bool, time: any TimeSource) {
        self.time = time
        known = Mutex(Known(hash: hash, isConfigured: isConfigured, readAt: time.uptime))
    }

    /// Whether the token comes from the configuration. Then only the configuration can change it.
    package var isConfigured: Bool { known.withLock(\.isConfigured) }

    /// The hash of the current token.
    package func hash(_ store: any Store) async -> [UInt8] {
        let present = known.withLock { $0 }
        guard !present.isConfigured, time.uptime - present.readAt > Self.lasts else { return present.hash }
        guard let stored = try? await store.read({ try $0.setting(Self.settingName) }) else { return present.hash }
        return take(stored: stored)
    }

    /// The configuration may have got a token meanwhile.
    private func take(stored: [UInt8]) -> [UInt8] {
        let now = time.uptime
        return known.withLock { known in
            if !known.isConfigured { known = Known(hash: stored, isConfigured: false, readAt: now) }
            return known.hash
        }
    }

    package func set(_ hash: [UInt8], isConfigured: Bool) {
        let now = time.uptime
        known.withLock { $0 = Known(hash: hash, isConfigured: isConfigured, readAt: now) }
    }
}

/// Creates and revokes admins, and replaces the first one's token.
package struct AdminVerbs: Sendable {
    let store: any Store
    let hasher: any KeyHasher
    let randomness: any Randomness
    let first: FirstAdmin

    /// A new admin with the token, which is shown only once.
    package struct Made: Sendable {
        package let admin: Admin
        package let adminToken: String
    }

    package func create(
        name: String, _ call: VerbCall, reply: @escaping @Sendable (Made) throws -> Reply
    ) async throws -> Reply {
        let admin = Admin(
            id: randomness.timeOrderedIdentifier(at: call.now), name: name, createdBy: call.actor.id,
            createdAt: call.now)
        let made = Made(admin: admin, adminToken: Self.newToken(randomness))
        let hash = hasher.hash(made.adminToken)
        return try await store.commit(.control, call, reply: reply) { store in
            guard try store.admins().count < Limits.adminsMax else {
                throw PealError(.conflict, "at most \(Limits.adminsMax) admins are allowed")
            }
            try store.insertAdmin(admin, publicHalf: KeyVerbs.publicHalf(ofHash: hash), secretHash: hash)
            try store.audit(call, app: nil, "admin.create", "admin \(admin.id) \(name)")
            return made
        }.reply
    }

    /// - Throws: `not_found`.
    package func revoke(_ id: AdminID, _ call: VerbCall) async throws {
        try await store.write(.control) { store in
            guard let admin = try store.deleteAdmin(id) else { throw PealError.notFound("admin") }
            try store.audit(call, app: nil, "admin.revoke", "admin \(id) \(admin.name)")
        }
    }

    /// Replaces the token of the first admin. The former one becomes invalid immediately, on other servers within a
    /// second.
    /// - Parameter reply: composes the answer from the new token.
    /// - Throws: `conflict` when the token is configured.
    package func rotate(_ call: VerbCall, reply: @escaping @Sendable (String) throws -> Reply) async throws -> Reply {
        guard !first.isConfigured else {
            throw PealError(.conflict, "the token is configured as PEAL_ADMIN_TOKEN; change it in the configuration")
        }
        let adminToken = Self.newToken(randomness)
        let hash = hasher.hash(adminToken)
        let (answer, made) = try await store.commit(.control, call, reply: reply) { store in
            try store.setSetting(FirstAdmin.settingName, hash)
            try store.audit(call, app: nil, "admin.rotate", "admin \(Admin.first)")
            return adminToken
        }
        if made != nil { first.set(hash, isConfigured: false) }
        return answer
    }

    /// The prefix of every admin's token.
    package static let tokenPrefix = "peal-admin-"

    /// 256 random bits.
    package static func newToken(_ randomness: any Randomness) -> String {
        tokenPrefix + Base64URL.encode(randomness.bytes(32))
    }
}
