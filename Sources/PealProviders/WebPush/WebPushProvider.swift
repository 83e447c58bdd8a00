package import PealCore
internal import PealNetwork

/// The push services of browsers: renders messages for them and sends pages of them, encrypted, over connections kept
/// per credential.
package final class WebPushProvider: RequestProvider {
    private let configuration: WebPushConfiguration
    private let hosts: GuardedHosts
    private let tokens: VAPIDTokens
    private let surroundings: ProviderSurroundings
    let pools = RequestPools()

    /// - Throws: if the CA file cannot be read.
    package convenience init(_ configuration: WebPushConfiguration, _ surroundings: ProviderSurroundings) throws {
        if let caFile = configuration.caFile { _ = try Connector.context(caFile: caFile) }
        self.init(
            configuration, surroundings,
            hosts: GuardedHosts(
                resolver: SystemResolver(threadCount: Limits.guardedHostResolutionsMax), addressGuard: AddressGuard(),
                time: surroundings.time))
    }

    /// - Parameter hosts: finds the addresses of hosts that are not listed.
    init(_ configuration: WebPushConfiguration, _ surroundings: ProviderSurroundings, hosts: GuardedHosts) {
        self.configuration = configuration
        self.surroundings = surroundings
        self.hosts = hosts
        tokens = VAPIDTokens(time: surroundings.time)
    }

    package var reasons: Set<String> { WebPushVerdicts.reasons }

    package func render(_ order: RenderOrder) throws(ContentRefusal) -> Notification {
        try WebPushRendering.notification(order)
    }

    package func examine(_ credential: Credential, now: Timestamp) throws(PealError) -> CredentialExamination {
        guard let keys = credential.webPush else { throw .unsupported("kind") }
        return try WebPushCredential.examine(keys, randomness: surroundings.randomness)
    }

    package func check(_ address: Address) throws(PealError) {
        guard address.route == .webPush else { return }
        guard WebPushSubscription(address.json) != nil else {
            throw .invalid(
                "address.keys.p256dh", "p256dh must be a public key: a point on the P-256 curve, 65 bytes")
        }
    }

    /// Push services answer only for a subscription, so this checks only whether the keys can sign.
    package func verify(
        _ credential: Credential, fingerprint: String, environment: Environment
    ) async -> CredentialVerification {
        guard let keys = credential.webPush else {
            return CredentialVerification(.refused, reason: "NoCredential", detail: "There is no VAPID key.")
        }
        for key in keys where !WebPushCredential.canSign(key, at: surroundings.time.now) {
            return CredentialVerification(
                .refused, reason: "BadKey", detail: "The VAPID key \(key.fingerprint) cannot sign; upload it again.")
        }
        return CredentialVerification(
            .unverifiable,
            detail: "Push services answer only for a subscription. The app's VAPID keys can sign.")
    }

    /// nil if the app has no key or the client cannot be created.
    func makePool(_ order: PageOrder) -> RequestPool? {
        // Over HTTP/2 the client loses streams that are answered before their body is read (for example by a proxy that
        // refuses early), and a request costs more.
        let options = OutboundClient.Options(caFile: configuration.caFile, allowsHTTP2: false)
        guard let keys = order.credential.webPush, !keys.isEmpty,
            let client = try? PinnedClients(options, group: surroundings.group, time: surroundings.time)
        else { return nil }
        let exchange = WebPushExchange(
            keys: keys, isPadded: configuration.isPadded, rules: configuration.addressRules, tokens: tokens,
            hosts: hosts, time: surroundings.time, randomness: surroundings.randomness)
        return RequestPool(
            client: client, exchange: exchange, group: surroundings.group, time: surroundings.time,
            logger: surroundings.logger)
    }
}

/// Where Web Push may send to. Set by the administrator only: no request may choose any of it.
package struct WebPushConfiguration: Sendable {
    /// The hosts of push services, and whether other public hosts may be sent to.
    package var addressRules: AddressRules
    /// PEM file with trust roots in addition to the system's; nil for none.
    package var caFile: String?
    /// Whether payloads are padded, so that push services cannot infer content from its length.
    package var isPadded: Bool

    package init(addressRules: AddressRules = AddressRules(), caFile: String? = nil, isPadded: Bool = true) {
        self.addressRules = addressRules
        self.caFile = caFile
        self.isPadded = isPadded
    }
}
