/// A push network: renders messages into its own requests, and sends pages of them.
package protocol Provider: Sendable {
    var name: ProviderName { get }

    /// Renders one variant. Pure.
    /// - Throws: `payload_too_large` or `invalid_field`, naming the field.
    func render(_ order: RenderOrder) throws(PealError) -> Notification

    /// Checks a credential without using it.
    /// - Throws: `invalid_field`, naming the field.
    func check(_ credential: Credential) throws(PealError)

    /// Takes a page and returns at once; its answers go to `order.flight`, every device's exactly once.
    func send(_ order: PageOrder)

    /// Lets connections under credentials with that fingerprint finish and go: the credential was replaced or removed.
    func drain(fingerprint: String)

    /// Ends every connection; open pages get `unsent` or `lost` for what is missing.
    func close() async
}
