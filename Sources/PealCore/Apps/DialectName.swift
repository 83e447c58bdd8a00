/// The name of a dialect, or of one kind of its keys. Messages and keys are stored with it, and the API shows it. The
/// dialects declare the names; the core and the store only compare them.
package struct DialectName: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package init(stringLiteral value: String) { rawValue = value }

    package var description: String { rawValue }
}

/// The form and the permissions of one kind of keys. A dialect declares one for each kind that it accepts.
package struct KeyRules: Sendable, Hashable {
    package let dialect: DialectName
    /// The scopes of a key if the request names none.
    package let usualScopes: Set<APIKey.Scope>
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
        dialect: DialectName, usualScopes: Set<APIKey.Scope>, secret: Pattern, publicHalf: Pattern? = nil,
        hasSharedSecret: Bool = false, isSharedByApps: Bool = false, isGrantable: Bool = false
    ) {
        self.dialect = dialect
        self.usualScopes = usualScopes
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
