package import Logging
package import NIOCore
import NIOSSL
package import PealCore
import Synchronization

/// Apple's push network: renders messages for it and sends pages of them, over connections that are kept per
/// environment and credential.
package final class APNsProvider: Provider {
    private struct PoolKey: Hashable {
        let endpoint: Endpoint
        let fingerprint: String
    }

    private struct TokensKey: Hashable {
        let teamID: String
        let keyID: String
        let privateKey: String
    }

    private struct State {
        var pools: [PoolKey: ConnectionPool] = [:]
        /// Pools whose credential went, until `close`.
        var drained: [ConnectionPool] = []
        var tokens: [TokensKey: ProviderTokens] = [:]
        var isClosed = false
    }

    private let production: Endpoint
    private let sandbox: Endpoint
    private let tls: NIOSSLContext
    private let group: any EventLoopGroup
    private let settings: ConnectionPool.Settings
    private let time: any TimeSource
    private let randomness: any Randomness
    private let logger: Logger
    private let state = Mutex(State())

    /// - Throws: when a URL or the CA file cannot be used.
    package init(
        configuration: APNsConfiguration, eventLoopGroup: any EventLoopGroup, time: any TimeSource,
        randomness: any Randomness, logger: Logger
    ) throws {
        production = try configuration.endpoint(.production)
        sandbox = try configuration.endpoint(.sandbox)
        tls = try Connector.context(caFile: configuration.caFile)
        group = eventLoopGroup
        settings = ConnectionPool.Settings(connectionsMax: max(1, configuration.connectionsPerPoolMax))
        self.time = time
        self.randomness = randomness
        self.logger = logger
    }

    package var name: ProviderName { .apns }

    package func render(_ order: RenderOrder) throws(PealError) -> Notification {
        try APNsRendering.notification(order)
    }

    package func examine(_ credential: Credential, now: Timestamp) throws(PealError) -> CredentialExamination {
        switch credential {
        case .apnsToken(let signing):
            try APNsCredential.check(signing)
            let facts = JSON.Members([
                ("key_id", .string(signing.keyID)), ("team_id", .string(signing.teamID)),
                ("bundle_id", .string(signing.bundleID)),
            ])
            return CredentialExamination(credential: credential, facts: facts)
        default: throw .unsupported("kind")
        }
    }

    package func verify(
        _ credential: Credential, fingerprint: String, environment: Environment
    ) async -> CredentialVerification {
        CredentialVerification(.unverifiable, detail: "not built yet")
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
        let pools = state.withLock { state in
            let keys = state.pools.keys.filter { $0.fingerprint == fingerprint }
            let pools = keys.compactMap { state.pools.removeValue(forKey: $0) }
            state.drained.removeAll(where: \.isGone)
            state.drained += pools
            return pools
        }
        for pool in pools { pool.drain() }
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

    /// nil when the credential's key cannot be read, or the provider is closed.
    private func pool(for order: PageOrder) -> ConnectionPool? {
        let endpoint = order.slice.route.environment == .production ? production : sandbox
        let key = PoolKey(endpoint: endpoint, fingerprint: order.fingerprint)
        return state.withLock { state in
            if let pool = state.pools[key] { return pool }
            guard !state.isClosed, let tokens = tokens(for: order.credential, &state) else { return nil }
            let pool = ConnectionPool(
                connector: Connector(endpoint: endpoint, tls: tls, group: group),
                exchange: APNsExchange(tokens: tokens), settings: settings, time: time, randomness: randomness,
                logger: logger)
            state.pools[key] = pool
            return pool
        }
    }

    /// One per (team, key) in the process, whatever app and environment use it.
    private func tokens(for credential: Credential, _ state: inout State) -> ProviderTokens? {
        switch credential {
        case .apnsToken(let credential):
            let key = TokensKey(
                teamID: credential.teamID, keyID: credential.keyID, privateKey: credential.privateKey)
            if let tokens = state.tokens[key] { return tokens }
            let tokens = try? ProviderTokens(credential, time: time, randomness: randomness)
            state.tokens[key] = tokens
            return tokens
        default: return nil
        }
    }
}
