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

extension CredentialRecord {
    /// Days until the end, rounded down: 0 on the last day, negative from the end on; nil for what does not end.
    package func daysLeft(at now: Timestamp) -> Int64? {
        guard let expiresAt else { return nil }
        let days = (expiresAt - now).milliseconds.floorDivided(by: 86_400_000)
        return expiresAt > now ? days : min(days, -1)
    }

    /// The first of `Limits.expiryWarningDays` that still covers what is left, 0 once it has ended: a warning is worth
    /// more the smaller it is. nil while there is time, and for what does not end.
    package func warningDays(at now: Timestamp) -> Int64? {
        guard let left = daysLeft(at: now) else { return nil }
        if left < 0 { return 0 }
        return Limits.expiryWarningDays.filter { left < $0 }.min()
    }

    /// What people are told of an end that is near or past; nil while there is time.
    package func warning(at now: Timestamp) -> String? {
        guard warningDays(at: now) != nil, let left = daysLeft(at: now) else { return nil }
        switch left {
        case ..<0: return "expired"
        case 0: return "expires in less than a day"
        case 1: return "expires in 1 day"
        default: return "expires in \(left) days"
        }
    }
}

/// What a provider found in a credential without using it.
package struct CredentialExamination: Sendable, Hashable {
    /// In the form that is stored.
    package var credential: Credential
    /// Members safe to show, as `key_id`, `project_id`, `public_key`.
    package var facts: JSON.Members
    /// When a certificate ends; nil for what does not.
    package var expiresAt: Timestamp?

    package init(credential: Credential, facts: JSON.Members, expiresAt: Timestamp? = nil) {
        self.credential = credential
        self.facts = facts
        self.expiresAt = expiresAt
    }
}

/// What a provider answered to a harmless request under a credential.
package struct CredentialVerification: Sendable, Hashable {
    package enum Result: String, Sendable, Hashable {
        /// The provider let us in.
        case accepted
        /// It refused the credential.
        case refused
        /// It did not answer, or was in trouble of its own.
        case unreachable
        /// The network has nothing that could be asked without a device.
        case unverifiable
    }

    package var result: Result
    /// HTTP status of the answer, 0 without one.
    package var status: Int
    /// The provider's own word, as `BadDeviceToken`; or ours.
    package var reason: String
    /// A sentence for people.
    package var detail: String

    package init(_ result: Result, status: Int = 0, reason: String = "", detail: String) {
        self.result = result
        self.status = status
        self.reason = reason
        self.detail = detail
    }
}
