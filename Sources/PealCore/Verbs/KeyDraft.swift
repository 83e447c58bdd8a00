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
