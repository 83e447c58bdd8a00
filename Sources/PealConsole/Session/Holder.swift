package import HTTPTypes
package import NIOCore
package import PealCore

/// Who signed in: the first admin, a named one, or a key with its app and scopes.
package enum Holder: Sendable, Hashable {
    case firstAdmin
    /// The hash of the admin's token.
    case admin(Admin, secretHash: [UInt8])
    case key(StoredKey)

    /// The caller in the audit log, named as by the API.
    package var actor: Actor {
        switch self {
        case .firstAdmin: Actor(Admin.first)
        case .admin(let admin, _): Actor(admin.id.description, name: admin.name)
        case .key(let stored): Actor(stored.key.id.description, name: stored.key.name)
        }
    }

    package var isAdmin: Bool {
        switch self {
        case .firstAdmin, .admin: true
        case .key: false
        }
    }

    package var scopes: Set<APIKey.Scope> {
        guard case .key(let stored) = self else { return Set(APIKey.Scope.allCases) }
        return stored.key.scopes
    }

    /// The only app that it may see; nil for every app.
    package var app: AppKey? {
        guard case .key(let stored) = self else { return nil }
        return stored.key.app
    }

    /// The holder's name in a cookie.
    var cookieName: String {
        switch self {
        case .firstAdmin: Admin.first
        case .admin(_, let hash): Admin.sessionPrefix + KeyVerbs.publicHalf(ofHash: hash)
        case .key(let stored): stored.key.publicHalf
        }
    }

    /// Of the token or key, by `KeyHasher`; nil for the first admin, whose token may change meanwhile.
    var secretHash: [UInt8]? {
        switch self {
        case .firstAdmin: nil
        case .admin(_, let hash): hash
        case .key(let stored): stored.secretHash
        }
    }
}

/// What the listener of a request decides about its pages.
package struct ConsoleListener: Sendable {
    /// Whether its own connections are encrypted.
    package var isTLS: Bool
    /// Whether admins may sign in and have their pages; false if another listener is for admins.
    package var servesAdmins: Bool

    package init(isTLS: Bool = false, servesAdmins: Bool = true) {
        self.isTLS = isTLS
        self.servesAdmins = servesAdmins
    }
}

/// Where a request comes from, as limits on guessing and the audit log need it.
package struct ConsoleClient: Sendable {
    package let listener: ConsoleListener
    /// Of the connection.
    package let peer: SocketAddress?
    package let headers: HTTPFields
    /// The client's address, behind trusted proxies too.
    package let address: String?

    package init(
        peer: SocketAddress?, headers: HTTPFields, address: String? = nil, listener: ConsoleListener = .init()
    ) {
        self.listener = listener
        self.peer = peer
        self.headers = headers
        self.address = address
    }
}

/// Checks the secret at sign-in, within the API's limits on guessing. A port, because the console and
/// the API do not import each other.
package protocol SignInAuthenticator: Sendable {
    /// - Throws: `unauthorized` if no key has the secret; `forbidden` for a key of another dialect; `rate_limited`.
    func holder(of secret: String, from client: ConsoleClient, now: Timestamp) async throws -> Holder
}

/// Limits the memory of forms and long pages, together with the bodies of the API. A port, for the same reason.
package protocol ConsoleBodies: Sendable {
    /// - Parameter app: the only app that the caller may see; nil for an admin and for an unknown caller.
    func share(of client: ConsoleClient, app: AppKey?) -> any BodyShare
}
