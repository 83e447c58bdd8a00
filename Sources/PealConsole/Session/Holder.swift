package import HTTPTypes
package import NIOCore
package import PealCore

/// Who signed in: the admin, or a key with its app and scopes.
package enum Holder: Sendable, Hashable {
    case admin
    case key(StoredKey)

    /// For the audit, as the API names the caller.
    package var actor: String {
        switch self {
        case .admin: "admin"
        case .key(let stored): stored.key.id.description
        }
    }

    package var isAdmin: Bool { self == .admin }

    package var scopes: Set<APIKey.Scope> {
        switch self {
        case .admin: Set(APIKey.Scope.allCases)
        case .key(let stored): stored.key.scopes
        }
    }

    /// The only app that it may see; nil for every app.
    package var app: AppKey? {
        guard case .key(let stored) = self else { return nil }
        return stored.key.app
    }
}

/// Where a request comes from, as limits on guessing need it.
package struct ConsoleClient: Sendable {
    /// Of the connection.
    package let peer: SocketAddress?
    package let headers: HTTPFields

    package init(peer: SocketAddress?, headers: HTTPFields) {
        self.peer = peer
        self.headers = headers
    }
}

/// Checks the secret that somebody signs in with, within the API's limits on guessing. A port, because the console and
/// the API do not import each other.
package protocol SignInDoor: Sendable {
    /// - Throws: `unauthorized` if no key has the secret; `forbidden` for a key of another dialect; `rate_limited`.
    func holder(of secret: String, from client: ConsoleClient, now: Timestamp) async throws -> Holder
}
