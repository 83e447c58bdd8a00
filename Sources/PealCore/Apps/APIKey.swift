/// A caller's key to one app, without its secret.
package struct APIKey: Sendable, Hashable {
    package var id: KeyID
    package var app: AppKey
    package var dialect: Dialect
    /// The half that may be shown and must be unique on the server (a user name, an application id); for dialects with
    /// one token the first characters of its hash.
    package var publicHalf: String
    package var scopes: Set<Scope>
    /// Of `pivotal-platform` keys: the platform and environment their devices register for.
    package var platform: Platform?
    package var environment: Environment?
    package var createdAt: Timestamp
    package var expiresAt: Timestamp?

    package init(
        id: KeyID, app: AppKey, dialect: Dialect, publicHalf: String, scopes: Set<Scope>, platform: Platform? = nil,
        environment: Environment? = nil, createdAt: Timestamp, expiresAt: Timestamp? = nil
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
    }

    package enum Scope: String, CaseIterable, Sendable, Hashable {
        case send, read, devices, manage

        package static let usual: Set<Scope> = [.send, .read, .devices]
    }

    /// Which HTTP vocabulary the key opens.
    package enum Dialect: String, CaseIterable, Sendable, Hashable {
        case native, contextpush, richie, devtodev, pivotal
        case pivotalPlatform = "pivotal-platform"
        case device
    }
}

/// A key with what proves it: the keyed hash of its secret, and where the secret must be read again (`shared_secret`)
/// that one, which the store seals.
package struct StoredKey: Sendable, Hashable {
    package var key: APIKey
    /// HMAC-SHA256 of the secret half.
    package var secretHash: [UInt8]
    /// Hex text of the secret that signs custom user ids; nil where the dialect has none.
    package var sharedSecret: String?

    package init(key: APIKey, secretHash: [UInt8], sharedSecret: String? = nil) {
        self.key = key
        self.secretHash = secretHash
        self.sharedSecret = sharedSecret
    }
}

/// Hashes secrets that are only compared: HMAC-SHA256 under a key derived from the master key, so that a stolen
/// database lets nobody in.
package protocol KeyHasher: Sendable {
    /// 32 bytes.
    func hash(_ secret: String) -> [UInt8]
}
