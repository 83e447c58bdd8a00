package import PealCore

/// Microsoft's push network for Windows Phone 7 and 8, which Microsoft has shut down. Renders messages for it and sends
/// pages of them to the channel URIs of compatible services, with connections and a queue per credential.
package final class MPNSProvider: RequestProvider {
    private let configuration: MPNSConfiguration
    private let surroundings: ProviderSurroundings
    let pools = RequestPools()

    package init(_ configuration: MPNSConfiguration, _ surroundings: ProviderSurroundings) {
        self.configuration = configuration
        self.surroundings = surroundings
    }

    package var reasons: Set<String> { MPNSVerdicts.reasons }

    package func render(_ order: RenderOrder) throws(ContentRefusal) -> Notification {
        try MPNSRendering.notification(order)
    }

    /// MPNS also accepted notifications without a certificate, up to 500 per day and channel.
    package func examine(_ credential: Credential, now: Timestamp) throws(PealError) -> CredentialExamination {
        guard let client = credential.mpns else { throw .unsupported("kind") }
        guard let identity = client.identity else {
            return CredentialExamination(credential: credential, facts: .init())
        }
        let certificate = try LeafCertificate(identity, now: now)
        return CredentialExamination(
            credential: credential, facts: JSON.Members([("subject", .string(certificate.subject))]),
            expiresAt: certificate.expiresAt)
    }

    package func check(_ address: Address) throws(PealError) {
        try configuration.addressRules.check(address)
    }

    package func verify(
        _ credential: Credential, fingerprint: String, environment: Environment
    ) async -> CredentialVerification {
        CredentialVerification(
            .unverifiable, reason: "NoService",
            detail: "MPNS cannot be verified without a channel, and the live service has been shut down.")
    }

    func makePool(_ order: PageOrder) -> RequestPool? {
        guard let credential = order.credential.mpns else { return nil }
        let options = OutboundClient.Options(caFile: configuration.caFile, identity: credential.identity)
        let (group, time, logger) = (surroundings.group, surroundings.time, surroundings.logger)
        guard let client = try? OutboundClient(options, group: group, time: time) else { return nil }
        let exchange = MPNSExchange(rules: configuration.addressRules, time: time, logger: logger)
        return RequestPool(client: client, exchange: exchange, group: group, time: time, logger: logger)
    }
}

/// Which channel URIs MPNS messages may go to. Set by the administrator only: no request may choose any of it.
package struct MPNSConfiguration: Sendable {
    package var addressRules: AddressRules
    /// PEM file with trust roots in addition to the system's; nil for none.
    package var caFile: String?

    package init(addressRules: AddressRules = .init(), caFile: String? = nil) {
        self.addressRules = addressRules
        self.caFile = caFile
    }
}
