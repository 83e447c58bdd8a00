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
