/// A caller's key for one app, without its secret.
package struct APIKey: Sendable, Hashable {
    package var id: KeyID
    package var app: AppKey
    package var dialect: DialectName
    /// The half that may be shown and must be unique on the server, such as a user name or an application id. For a key
    /// with only one secret, the first characters of its hash.
    package var publicHalf: String
    package var scopes: Set<Scope>
    /// The platform and environment that the key's devices register for; nil if the key is not for devices of one
    /// platform.
    package var platform: Platform?
    package var environment: Environment?
    package var createdAt: Timestamp
    package var expiresAt: Timestamp?
    /// For display.
    package var name: String?
    /// The id of the actor who created it; nil if that is no longer known.
    package var createdBy: String?
    /// Exact to a minute; nil before the first use.
    package var lastUsedAt: Timestamp?
    /// All apps that the key may be used for, if it was granted to more than `app`; otherwise empty.
    package var apps: [GrantedApp] = []

    /// Whether the key may be used for that app.
    package func serves(_ app: AppKey) -> Bool { app == self.app || apps.contains { $0.key == app } }

    /// An app that a key may be used for.
    package struct GrantedApp: Sendable, Hashable {
        package let key: AppKey
        package let id: AppID

        package init(key: AppKey, id: AppID) {
            self.key = key
            self.id = id
        }
    }

    package init(
        id: KeyID, app: AppKey, dialect: DialectName, publicHalf: String, scopes: Set<Scope>, platform: Platform? = nil,
        environment: Environment? = nil, createdAt: Timestamp, expiresAt: Timestamp? = nil, name: String? = nil,
        createdBy: String? = nil, lastUsedAt: Timestamp? = nil
    ) {
        self.id = id
        self.app = app
        self.dialect = dialect
        self.publicHalf = publicHalf
        self.scopes = scopes
        self.platform = platform
        self.environment = environment
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.name = name
        self.createdBy = createdBy
        self.lastUsedAt = lastUsedAt
    }

    package enum Scope: String, CaseIterable, Sendable, Hashable {
        case send, read, devices, manage

        package static let usual: Set<Scope> = [.send, .read, .devices]
    }
}

/// A key with its credentials: the keyed hash of its secret, and the shared secret, if any. The store seals the shared
/// secret, because it must be readable again.
package struct StoredKey: Sendable, Hashable {
    package var key: APIKey
    /// HMAC-SHA256 of the secret half.
    package var secretHash: [UInt8]
    /// Hexadecimal text of the secret that signs user ids; nil if this kind of key has none.
    package var sharedSecret: String?

    package init(key: APIKey, secretHash: [UInt8], sharedSecret: String? = nil) {
        self.key = key
        self.secretHash = secretHash
        self.sharedSecret = sharedSecret
    }
}

/// Hashes secrets that are only compared: HMAC-SHA256 with a key derived from the master key, so that a stolen database
/// gives no access.
package protocol KeyHasher: Sendable {
    /// 32 bytes.
    func hash(_ secret: String) -> [UInt8]
}
