import Crypto
package import Logging
package import NIOCore
package import PealCore
import Synchronization

/// The push services of browsers: renders messages for them and sends pages of them, encrypted, over connections that
/// are kept per credential.
package final class WebPushProvider: Provider {
    private struct State {
        var pools: [String: RequestPool] = [:]
        /// Pools whose credential went, until they are gone.
        var drained: [RequestPool] = []
        var isClosed = false
    }

    private let configuration: WebPushConfiguration
    private let hosts: GuardedHosts
    private let tokens: VAPIDTokens
    private let group: any EventLoopGroup
    private let time: any TimeSource
    private let randomness: any Randomness
    private let logger: Logger
    private let state = Mutex(State())

    /// - Throws: when the CA file cannot be read.
    package convenience init(
        configuration: WebPushConfiguration, eventLoopGroup: any EventLoopGroup, time: any TimeSource,
        randomness: any Randomness, logger: Logger
    ) throws {
        if let caFile = configuration.caFile { _ = try Connector.context(caFile: caFile) }
        self.init(
            configuration: configuration,
            hosts: GuardedHosts(resolver: SystemResolver(), addressGuard: AddressGuard(), time: time),
            eventLoopGroup: eventLoopGroup, time: time, randomness: randomness, logger: logger)
    }

    /// - Parameter hosts: asked for addresses of hosts that are not listed.
    init(
        configuration: WebPushConfiguration, hosts: GuardedHosts, eventLoopGroup: any EventLoopGroup,
        time: any TimeSource, randomness: any Randomness, logger: Logger
    ) {
        self.configuration = configuration
        self.hosts = hosts
        tokens = VAPIDTokens(time: time)
        group = eventLoopGroup
        self.time = time
        self.randomness = randomness
        self.logger = logger
    }

    package var name: ProviderName { .webpush }

    package func render(_ order: RenderOrder) throws(PealError) -> Notification {
        try WebPushRendering.notification(order)
    }

    package func examine(_ credential: Credential, now: Timestamp) throws(PealError) -> CredentialExamination {
        guard case .webPush(let keys) = credential else { throw .unsupported("kind") }
        return try WebPushCredential.examine(keys, randomness: randomness)
    }

    package func check(_ address: Address) throws(PealError) {
        guard address.route == .webPush else { return }
        guard WebPushSubscription(address.json) != nil else {
            throw .invalid(
                "address.keys.p256dh", "p256dh must be a public key: a point of the curve P-256 in 65 bytes")
        }
    }

    /// Push services can be asked nothing without a subscription; whether the keys can sign is found out here.
    package func verify(
        _ credential: Credential, fingerprint: String, environment: Environment
    ) async -> CredentialVerification {
        guard case .webPush(let keys) = credential else {
            return CredentialVerification(.refused, reason: "NoCredential", detail: "There is no VAPID key.")
        }
        for key in keys where !WebPushCredential.canSign(key, at: time.now) {
            return CredentialVerification(
                .refused, reason: "BadKey", detail: "The VAPID key \(key.fingerprint) cannot sign: put it again.")
        }
        return CredentialVerification(
            .unverifiable,
            detail: "Push services answer only for a subscription. The app's VAPID keys sign as they should.")
    }

    package func send(_ order: PageOrder) {
        guard order.variants.allSatisfy({ Int($0) < order.notifications.count }) else {
            return order.flight.answerRest(.unsent("NoVariant"))
        }
        guard let pool = pool(for: order) else {
            let isClosed = state.withLock(\.isClosed)
            return order.flight.answerRest(.unsent(isClosed ? "Draining" : "NoCredential"))
        }
        pool.submit(order)
    }

    package func drain(fingerprint: String) {
        let pool = state.withLock { state in
            state.drained.removeAll(where: \.isGone)
            guard let pool = state.pools.removeValue(forKey: fingerprint) else { return nil as RequestPool? }
            state.drained.append(pool)
            return pool
        }
        pool?.drain()
    }

    package func close() async {
        let pools = state.withLock { state in
            state.isClosed = true
            defer {
                state.pools = [:]
                state.drained = []
            }
            return Array(state.pools.values) + state.drained
        }
        await withTaskGroup { group in
            for pool in pools { group.addTask { await pool.close() } }
        }
    }

    /// nil when the app has no key, or the provider is closed.
    private func pool(for order: PageOrder) -> RequestPool? {
        guard case .webPush(let keys) = order.credential, !keys.isEmpty else { return nil }
        return state.withLock { state in
            if let pool = state.pools[order.fingerprint] { return pool }
            guard !state.isClosed, let client = try? client() else { return nil }
            let exchange = WebPushExchange(
                keys: keys, rules: configuration.addressRules, tokens: tokens, hosts: hosts, time: time,
                randomness: randomness)
            let pool = RequestPool(client: client, exchange: exchange, group: group, time: time, logger: logger)
            state.pools[order.fingerprint] = pool
            return pool
        }
    }

    private func client() throws -> any OutboundSender {
        var options = OutboundClient.Options()
        options.caFile = configuration.caFile
        options.allowsHTTP2 = true
        return try PinnedClients(options, group: group, time: time)
    }
}
