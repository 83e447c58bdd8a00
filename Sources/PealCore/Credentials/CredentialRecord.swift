/// What may be told of a stored credential.
package struct CredentialRecord: Sendable, Hashable {
    package var provider: ProviderName
    package var environment: Environment
    /// `token` or `certificate`, `service_account`, …
    package var kind: String
    /// SHA-256 over the credential, hex: names it without telling it.
    package var fingerprint: String
    /// Members safe to show, as `key_id`, `team_id`, `bundle_id`.
    package var facts: JSON.Members
    package var createdAt: Timestamp
    package var expiresAt: Timestamp?
    package var health: Health

    package init(
        provider: ProviderName, environment: Environment, kind: String, fingerprint: String, facts: JSON.Members,
        createdAt: Timestamp, expiresAt: Timestamp? = nil, health: Health = .unknown
    ) {
        self.provider = provider
        self.environment = environment
        self.kind = kind
        self.fingerprint = fingerprint
        self.facts = facts
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.health = health
    }

    /// What the provider last said to this credential.
    package enum Health: Sendable, Hashable {
        case unknown
        case ok(at: Timestamp)
        case stopped(at: Timestamp, reason: String)
    }
}
