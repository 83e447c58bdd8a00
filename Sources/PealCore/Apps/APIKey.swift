/// A caller's key to one app, without its secret.
package struct APIKey: Sendable, Hashable {
    package var id: KeyID
    package var app: AppKey
    package var dialect: DialectName
    /// The half that may be shown and must be unique on the server, such as a user name or an application id. Of a key
    /// with one secret only, the first characters of its hash.
    package var publicHalf: String
    package var scopes: Set<Scope>
    /// Of keys for the devices of one platform: the platform and environment that they register for.
    package var platform: Platform?
    package var environment: Environment?
    package var createdAt: Timestamp
    package var expiresAt: Timestamp?

    package init(
        id: KeyID, app: AppKey, dialect: DialectName, publicHalf: String, scopes: Set<Scope>, platform: Platform? = nil,
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
}

/// A key with what proves it: the keyed hash of its secret, and the shared secret, if any, which must be read again and
/// which the store seals.
package struct StoredKey: Sendable, Hashable {
    package var key: APIKey
    /// HMAC-SHA256 of the secret half.
    package var secretHash: [UInt8]
    /// Hex text of the secret that signs user ids; nil where the kind of key has none.
    package var sharedSecret: String?

    package init(key: APIKey, secretHash: [UInt8], sharedSecret: String? = nil) {
        self.key = key
        self.secretHash = secretHash
        self.sharedSecret = sharedSecret
    }
}

/// Hashes secrets that are only compared: HMAC-SHA256 under a key derived from the master key, so that a stolen
/// database opens nothing.
package protocol KeyHasher: Sendable {
    /// 32 bytes.
    func hash(_ secret: String) -> [UInt8]
}
