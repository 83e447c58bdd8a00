/// A push network: renders messages into its own requests, and sends pages of them.
package protocol Provider: Sendable {
    var name: ProviderName { get }

    /// Renders one variant. Pure.
    /// - Throws: `payload_too_large` or `invalid_field`, naming the field.
    func render(_ order: RenderOrder) throws(PealError) -> Notification

    /// Checks a credential without using it, brings it into the form that is stored, and tells what may be shown of it.
    /// - Throws: `invalid_field`, naming the field.
    func examine(_ credential: Credential, now: Timestamp) throws(PealError) -> CredentialExamination

    /// Checks an address beyond its form, as that a public key is a point of its curve.
    /// - Throws: `invalid_field` with a field path beginning with `address`.
    func check(_ address: Address) throws(PealError)

    /// Whether that word of an answer may mean that the address belongs to the network's other environment.
    func doubtsEnvironment(_ reason: String) -> Bool

    /// Takes a page and returns at once; its answers go to `order.flight`, every device's exactly once.
    func send(_ order: PageOrder)

    /// Sends something harmless under the credential and says what came back.
    /// - Parameter fingerprint: names the credential among connections, as in `PageOrder`.
    func verify(_ credential: Credential, fingerprint: String, environment: Environment) async
        -> CredentialVerification

    /// Lets connections under credentials with that fingerprint finish and go: the credential was replaced or removed.
    func drain(fingerprint: String)

    /// Ends every connection; open pages get `unsent` or `lost` for what is missing.
    func close() async
}

extension Provider {
    package func check(_ address: Address) throws(PealError) {}
    package func doubtsEnvironment(_ reason: String) -> Bool { false }
}
