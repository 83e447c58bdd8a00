/// What an address must stand beyond its form: its push network's own check, and for Web Push a key of the app.
package struct AddressCheck: Sendable {
    package let providers: [ProviderName: any Provider]
    package let keys: ApplicationServerKeys

    package init(providers: [ProviderName: any Provider], keys: ApplicationServerKeys) {
        self.providers = providers
        self.keys = keys
    }

    /// - Parameter fallback: the key of a subscription that names none, where it was known before.
    /// - Returns: the address as it is stored.
    /// - Throws: `invalid_field` with a field path beginning with `address`.
    package func checked(_ address: Address, fallback: String? = nil) throws(PealError) -> Address {
        if let provider = address.route.provider { try providers[provider]?.check(address) }
        return try keys.complete(address, fallback: fallback)
    }
}
