/// Where an app has a credential: the network and the environment. Networks with one environment use production.
package struct CredentialSlot: Sendable, Hashable, CustomStringConvertible {
    package let app: AppKey
    package let provider: ProviderName
    package let environment: Environment

    package init(app: AppKey, provider: ProviderName, environment: Environment) {
        self.app = app
        self.provider = provider
        self.environment = environment
    }

    /// The credential that the route uses; nil if its platform no longer has a push network.
    package init?(of route: ActiveRoute) {
        guard let provider = route.route.provider else { return nil }
        self.init(app: route.app, provider: provider, environment: route.route.environment)
    }

    /// Every network and environment that an app can have a credential for.
    static func all(app: AppKey) -> [CredentialSlot] {
        Networks.all.flatMap { network in
            network.environments.map { CredentialSlot(app: app, provider: network.name, environment: $0) }
        }
    }

    /// The routes that use the credential.
    package var routes: [ActiveRoute] {
        Route.allCases.filter { $0.provider == provider && $0.environment == environment }
            .map { ActiveRoute(app: app, route: $0) }
    }

    /// As the audit log names it: `apns sandbox`.
    package var description: String { "\(provider.rawValue) \(environment.rawValue)" }
}

/// The public properties of a stored credential, without its secrets.
package struct CredentialRecord: Sendable, Hashable {
    package var provider: ProviderName
    package var environment: Environment
    /// `token` or `certificate`, `service_account`, …
    package var kind: String
    /// SHA-256 of the credential in hexadecimal: identifies it without revealing it.
    package var fingerprint: String
    /// Members that may be shown, such as `key_id`, `team_id`, `bundle_id`.
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

    /// Whether notifications on the route are sent with this credential.
    package func isUsed(on route: Route) -> Bool { provider == route.provider && environment == route.environment }

    /// The provider's last answer to this credential.
    package enum Health: Sendable, Hashable {
        case unknown
        case ok(at: Timestamp)
        case stopped(at: Timestamp, reason: String)

        package var isOK: Bool { if case .ok = self { true } else { false } }
        package var isStopped: Bool { if case .stopped = self { true } else { false } }
    }
}

/// How near the expiry of a credential is, if it is near enough to warn of.
package enum ExpiryWarning: Sendable, Hashable {
    case expired
    /// It expires in less than a day.
    case today
    /// It expires in so many whole days, at least one.
    case days(Int)
}

extension CredentialRecord {
    /// The warning that is due; nil if the expiry is far away or there is none.
    package func expiryWarning(at now: Timestamp) -> ExpiryWarning? {
        guard let expiresAt else { return nil }
        guard expiresAt > now else { return .expired }
        let days = (expiresAt - now).milliseconds / 86_400_000
        guard days < Limits.expiryWarningDays.max() ?? 0 else { return nil }
        return days == 0 ? .today : .days(Int(days))
    }

    /// A readable warning about an expiry that is near or past; nil otherwise.
    package func warning(at now: Timestamp) -> String? {
        switch expiryWarning(at: now) {
        case nil: nil
        case .expired: "expired"
        case .today: "expires in less than a day"
        case .days(let days): "expires in \(Spelling.counted(days, "day"))"
        }
    }
}

/// What a provider finds in a credential without using it.
package struct CredentialExamination: Sendable, Hashable {
    /// The credential in the form that is stored.
    package var credential: Credential
    /// Members that may be shown, such as `key_id`, `project_id`, `public_key`.
    package var facts: JSON.Members
    /// When the certificate expires; nil for a credential that does not expire.
    package var expiresAt: Timestamp?

    package init(credential: Credential, facts: JSON.Members, expiresAt: Timestamp? = nil) {
        self.credential = credential
        self.facts = facts
        self.expiresAt = expiresAt
    }
}

/// A provider's answer to a harmless request with a credential.
package struct CredentialVerification: Sendable, Hashable {
    package enum Result: String, Sendable, Hashable {
        /// The provider accepted the credential.
        case accepted
        /// It refused the credential.
        case refused
        /// It did not answer, or it failed for another reason.
        case unreachable
        /// The network has no request that works without a device.
        case unverifiable
    }

    package var result: Result
    /// The HTTP status of the answer, 0 without one.
    package var status: Int
    /// The provider's own reason, such as `BadDeviceToken`, or one that Peal defines.
    package var reason: String
    /// A readable sentence.
    package var detail: String

    package init(_ result: Result, status: Int = 0, reason: String = "", detail: String) {
        self.result = result
        self.status = status
        self.reason = reason
        self.detail = detail
    }
}
