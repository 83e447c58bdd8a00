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

/// Compares secrets in a time that depends only on their length. Not generic, because other modules would call it
/// unspecialized, and every request compares a secret.
package enum ConstantTime {
    package static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
    }

    package static func areEqual(_ left: String, _ right: String) -> Bool {
        areEqual(Array(left.utf8), Array(right.utf8))
    }
}

/// The form and the permissions of one kind of keys. A dialect declares one for each kind that it accepts.
package struct KeyRules: Sendable, Hashable {
    package let dialect: DialectName
    /// The scopes of a key if the request names none.
    package let defaultScopes: Set<APIKey.Scope>
    /// The form of a new secret.
    package let secret: Pattern
    /// The form of a new public half; nil if the key has only one secret.
    package let publicHalf: Pattern?
    /// Whether a key also has a shared secret, which signs user ids.
    package let hasSharedSecret: Bool
    /// Whether several apps may have keys with the same secret, because it belongs to a person and requests name the
    /// app.
    package let isSharedByApps: Bool
    /// Whether one key may be granted to several apps, because requests name the app.
    package let isGrantable: Bool

    package init(
        dialect: DialectName, defaultScopes: Set<APIKey.Scope>, secret: Pattern, publicHalf: Pattern? = nil,
        hasSharedSecret: Bool = false, isSharedByApps: Bool = false, isGrantable: Bool = false
    ) {
        self.dialect = dialect
        self.defaultScopes = defaultScopes
        self.secret = secret
        self.publicHalf = publicHalf
        self.hasSharedSecret = hasSharedSecret
        self.isSharedByApps = isSharedByApps
        self.isGrantable = isGrantable
    }

    /// The form of a random value.
    package enum Pattern: Sendable, Hashable {
        case uuid
        case hex(prefix: String = "", byteCount: Int)
        case base64URL(prefix: String, byteCount: Int)

        package func value(_ randomness: any Randomness) -> String {
            switch self {
            case .uuid:
                let id: KeyID = randomness.identifier()
                return id.description
            case .hex(let prefix, let byteCount): return prefix + Hex.encode(randomness.bytes(byteCount))
            case .base64URL(let prefix, let byteCount):
                return prefix + Base64URL.encode(randomness.bytes(byteCount))
            }
        }
    }
}

/// Estimates how hard a secret is to guess, for secrets that a caller supplies. It detects what people type, not what a
/// program would guess: a secret that passes is long and varied, no more.
package enum SecretStrength {
    static let bitsMin = 80.0

    package static func isStrong(_ secret: String) -> Bool { bits(secret) >= bitsMin }

    /// The characters that do not continue a run (`aaaa`, `1234`, `dcba`), each worth the logarithm of the alphabet
    /// that the secret uses, but no more than its different characters allow. Two neighbours are not a run: in half of
    /// all random secrets of 14 letters and digits there is such a pair.
    package static func bits(_ secret: String) -> Double {
        let bytes = Array(secret.utf8)
        guard var last = bytes.first else { return 0 }
        var (counted, wasNear) = (1, false)
        for byte in bytes.dropFirst() {
            let isNear = abs(Int(byte) - Int(last)) <= 1
            if !isNear || !wasNear { counted += 1 }
            (last, wasNear) = (byte, isNear)
        }
        let different = Set(bytes).count
        guard different >= differentMin else { return Double(different) }
        return Double(counted) * bitsPerCharacter(bytes)
    }

    private static let differentMin = 8

    private static func bitsPerCharacter(_ bytes: [UInt8]) -> Double {
        let isHex = bytes.allSatisfy { Hex.digit($0) != nil || $0 == UInt8(ascii: "-") }
        if bytes.allSatisfy(\.isASCIIDigit) { return 3.3 }
        if isHex { return 4 }
        var alphabet = 0
        if bytes.contains(where: \.isASCIIDigit) { alphabet += 10 }
        if bytes.contains(where: { (0x61...0x7A).contains($0) }) { alphabet += 26 }
        if bytes.contains(where: { (0x41...0x5A).contains($0) }) { alphabet += 26 }
        // The base-2 logarithms, rounded down, of 10, 26, 36, 52 and 62 characters.
        switch alphabet {
        case ..<26: return 3.3
        case ..<36: return 4.7
        case ..<52: return 5.1
        case ..<62: return 5.7
        default: return 5.9
        }
    }
}
