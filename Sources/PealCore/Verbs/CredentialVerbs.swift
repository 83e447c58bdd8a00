/// Puts and removes what an app shows the push networks.
package struct CredentialVerbs: Sendable {
    package let store: any Store
    package let engine: any DeliveryEngine
    package let providers: [ProviderName: any Provider]

    package init(store: any Store, engine: any DeliveryEngine, providers: [ProviderName: any Provider]) {
        self.store = store
        self.engine = engine
        self.providers = providers
    }

    /// Every place a credential can be in: only APNs has two environments.
    static let places: [(ProviderName, Environment)] =
        [(.apns, .production), (.apns, .sandbox)]
        + ProviderName.allCases.filter { $0 != .apns }.map { ($0, .production) }

    /// Checks the credential and stores it sealed, in place of an earlier one.
    /// - Parameter facts: what may be shown of it.
    /// - Throws: `invalid_field`; `not_supported` when this server has no such provider.
    package func put(
        _ credential: Credential, app: AppKey, provider: ProviderName, environment: Environment, facts: JSON.Members,
        _ call: VerbCall
    ) async throws -> CredentialRecord {
        guard let network = providers[provider] else { throw PealError.unsupported("provider") }
        try network.check(credential)
        let (record, earlier) = try await store.write(.control) { store in
            let earlier = try store.credential(app: app, provider: provider, environment: environment)?.record
            let record = try store.putCredential(
                credential, app: app, provider: provider, environment: environment, facts: facts, now: call.now)
            try store.audit(
                call, app: app, "credential.put", "\(provider.rawValue) \(environment.rawValue) \(record.fingerprint)")
            return (record, earlier)
        }
        engine.credentialsChanged(app: app, provider: provider, environment: environment)
        if let earlier, earlier.fingerprint != record.fingerprint { network.drain(fingerprint: earlier.fingerprint) }
        return record
    }

    /// - Throws: `not_found`.
    package func delete(
        app: AppKey, provider: ProviderName, environment: Environment, _ call: VerbCall
    ) async throws {
        let earlier = try await store.write(.control) { store in
            let earlier = try store.credential(app: app, provider: provider, environment: environment)?.record
            guard try store.deleteCredential(app: app, provider: provider, environment: environment) else {
                throw PealError.notFound("credential")
            }
            try store.audit(call, app: app, "credential.delete", "\(provider.rawValue) \(environment.rawValue)")
            return earlier
        }
        engine.credentialsChanged(app: app, provider: provider, environment: environment)
        if let earlier { providers[provider]?.drain(fingerprint: earlier.fingerprint) }
    }
}
