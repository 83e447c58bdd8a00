internal import PealCore

/// Who is calling, proved.
struct Caller: Sendable {
    enum Identity: Sendable {
        case nobody
        case admin
        case key(StoredKey)
    }

    let identity: Identity
    /// The key's app, or the one that the admin named in the path.
    var app: App?

    /// What the audit shows.
    var name: String {
        switch identity {
        case .nobody: "nobody"
        case .admin: "admin"
        case .key(let stored): stored.key.id.description
        }
    }

    var isAdmin: Bool { if case .admin = identity { true } else { false } }

    var key: APIKey? { if case .key(let stored) = identity { stored.key } else { nil } }

    /// The rights to pass on.
    var scopes: Set<APIKey.Scope> { isAdmin ? Set(APIKey.Scope.allCases) : key?.scopes ?? [] }
}
