package import Logging
package import NIOCore
package import PealCore

/// Apple's push network: renders messages for it and sends pages of them, over connections that are kept per
/// environment and credential.
package final class APNsProvider: Provider {
    /// The broadcast channels of apps.
    package let channels: any ChannelDirectory

    fileprivate let pools: APNsPools
    private let time: any TimeSource
    private let randomness: any Randomness

    /// - Throws: `APNsConfigurationError` when a URL cannot be used; another error when the CA file cannot.
    package init(
        configuration: APNsConfiguration, eventLoopGroup: any EventLoopGroup, time: any TimeSource,
        randomness: any Randomness, logger: Logger
    ) throws {
        let production = try configuration.endpoints(.production)
        let sandbox = try configuration.endpoints(.sandbox)
        pools = try APNsPools(
            APNsPools.Settings(
                production: production, sandbox: sandbox, caFile: configuration.caFile,
                pool: .init(connectionsMax: max(1, configuration.connectionsPerPoolMax)), group: eventLoopGroup,
                time: time, randomness: randomness, logger: logger))
        channels = try APNsChannels(
            production: production.management, sandbox: sandbox.management, caFile: configuration.caFile,
            group: eventLoopGroup, tokens: pools.tokens, time: time, randomness: randomness)
        self.time = time
        self.randomness = randomness
    }

    package var name: ProviderName { .apns }

    package func render(_ order: RenderOrder) throws(PealError) -> Notification {
        try APNsRendering.notification(order)
    }

    package func examine(_ credential: Credential, now: Timestamp) throws(PealError) -> CredentialExamination {
        try APNsCredential.examine(credential, now: now)
    }

    package func verify(
        _ credential: Credential, fingerprint: String, environment: Environment
    ) async -> CredentialVerification {
        await APNsVerification(
            credential: credential, fingerprint: fingerprint, environment: environment, time: time,
            randomness: randomness, send: send
        ).run()
    }

    package func send(_ order: PageOrder) {
        guard order.variants.allSatisfy({ Int($0) < order.notifications.count }) else {
            return order.flight.answerRest(.unsent("NoVariant"))
        }
        guard
            let entry = pools.entry(order.slice.route, order.credential, fingerprint: order.fingerprint)
        else { return order.flight.answerRest(.unsent(pools.isClosed ? "Draining" : "NoCredential")) }
        if let answer = entry.refusal(of: order) { return order.flight.answerRest(answer) }
        entry.pool.submit(order)
    }

    package func drain(fingerprint: String) { pools.drain(fingerprint: fingerprint) }

    package func close() async {
        await pools.close()
        await (channels as? APNsChannels)?.close()
    }
}

extension APNsPools.Entry {
    /// Our own word for a push that the certificate cannot carry.
    static let notInCertificate = "TopicNotInCertificate"

    /// What a certificate does not carry is refused here: APNs would answer `TopicDisallowed`, which stops the whole
    /// app, for a mistake of one message. Variants of a message differ in their texts alone.
    func refusal(of order: PageOrder) -> Answer? {
        guard let certificateTopics, !order.slice.route.isBroadcast, let first = order.notifications.first else {
            return nil
        }
        func value(_ name: String) -> String? { first.headers.first { $0.name == name }?.value }
        let needsToken = value("apns-push-type").flatMap(APNsPushType.init(rawValue:))?.needsToken ?? false
        let isKnown = certificateTopics.isEmpty || value("apns-topic").map(certificateTopics.contains) ?? true
        guard needsToken || !isKnown else { return nil }
        return Answer(.verdict(.rejectMessage), reason: Self.notInCertificate)
    }
}

extension APNsProvider {
    /// How many signing keys are held: none without a connection that uses it. For tests.
    var signingKeyCount: Int { pools.tokens.keyCount }
}
