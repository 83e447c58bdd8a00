import Logging
package import PealCore

/// Microsoft's push network for Windows: renders messages for it and sends pages of them to channel URIs, with
/// connections, a queue and an access token per credential.
package final class WNSProvider: RequestProvider {
    private let configuration: WNSConfiguration
    private let surroundings: ProviderSurroundings
    let pools = RequestPools()

    /// - Throws: if a token URL is unusable.
    package init(_ configuration: WNSConfiguration, _ surroundings: ProviderSurroundings) throws {
        try configuration.check()
        self.configuration = configuration
        self.surroundings = surroundings
    }

    package var reasons: Set<String> { WNSVerdicts.reasons }

    package func render(_ order: RenderOrder) throws(ContentRefusal) -> Notification {
        try WNSRendering.notification(order)
    }

    package func examine(_ credential: Credential, now: Timestamp) throws(PealError) -> CredentialExamination {
        guard let client = credential.wns else { throw .unsupported("kind") }
        return try WNSCredential.examine(client)
    }

    package func check(_ address: Address) throws(PealError) {
        try configuration.addressRules.check(address)
    }

    /// Requests an access token, because nothing can be sent without a device.
    package func verify(
        _ credential: Credential, fingerprint: String, environment: Environment
    ) async -> CredentialVerification {
        guard let known = credential.wns, let client = makeClient() else {
            return CredentialVerification(
                .refused, reason: "BadCredential", detail: "This is not a credential for WNS.")
        }
        let reply = await source(known, client).fetch()
        await client.close()
        return CredentialVerification(reply)
    }

    func makePool(_ order: PageOrder) -> RequestPool? {
        guard let credential = order.credential.wns, let client = makeClient() else { return nil }
        let (time, randomness) = (surroundings.time, surroundings.randomness)
        var logger = surroundings.logger
        logger[metadataKey: "provider"] = "wns"
        let tokens = AccessTokens(
            source: source(credential, client), time: time, randomness: randomness, logger: logger)
        let exchange = WNSExchange(
            rules: configuration.addressRules, tokens: tokens, time: time, randomness: randomness, logger: logger)
        return RequestPool(
            client: client, exchange: exchange, group: surroundings.group, time: time, logger: logger)
    }

    private func makeClient() -> OutboundClient? {
        try? OutboundClient(
            .init(caFile: configuration.caFile), group: surroundings.group, time: surroundings.time)
    }

    private func source(_ credential: Credential.WNSClient, _ client: OutboundClient) -> WNSTokenSource {
        WNSTokenSource(credential: credential, configuration: configuration, client: client, time: surroundings.time)
    }
}

/// Where WNS's access tokens come from and which channel URIs may be sent to. Set by the administrator only: no request
/// may choose any of it.
package struct WNSConfiguration: Sendable {
    package static let tokenURLDefault = "https://login.live.com/accesstoken.srf"
    package static let tenantTokenURLDefault = "https://login.microsoftonline.com/{tenant_id}/oauth2/v2.0/token"

    /// For Store apps.
    package var tokenURL: String
    /// For the Windows App SDK; `{tenant_id}` is replaced with the credential's tenant.
    package var tenantTokenURL: String
    package var addressRules: AddressRules
    /// PEM file with trust roots in addition to the system's; nil for none.
    package var caFile: String?

    package init(
        tokenURL: String = tokenURLDefault, tenantTokenURL: String = tenantTokenURLDefault,
        addressRules: AddressRules = .init(), caFile: String? = nil
    ) {
        self.tokenURL = tokenURL
        self.tenantTokenURL = tenantTokenURL
        self.addressRules = addressRules
        self.caFile = caFile
    }
}

/// A token URL in the configuration is unusable.
package struct WNSConfigurationError: Error, CustomStringConvertible {
    /// Whether the error concerns `tenantTokenURL`.
    package let isTenant: Bool
    /// One line for the operator.
    package let description: String
}

extension WNSConfiguration {
    /// - Throws: `WNSConfigurationError`, naming the URL: secrets may go only over https or to this machine.
    func check() throws(WNSConfigurationError) {
        for (isTenant, text) in [(false, tokenURL), (true, tenantTokenURL)] {
            let uri = EndpointURI(isTenant ? text.replacing("{tenant_id}", with: "tenant") : text)
            guard let uri, uri.isSecure || uri.isLoopback else {
                throw WNSConfigurationError(isTenant: isTenant, description: "must be an https URL, not \"\(text)\"")
            }
        }
    }
}
