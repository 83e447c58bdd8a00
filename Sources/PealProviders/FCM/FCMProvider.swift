package import Logging
package import NIOCore
import NIOSSL
package import PealCore
import Synchronization

/// Google's push network, HTTP v1: renders messages for it and sends pages of them, one request a device, over
/// connections that are kept per credential and paced per Firebase project.
package final class FCMProvider: Provider {
    /// What one credential has.
    struct Account: Sendable {
        let pool: ConnectionPool
        let tokens: AccessTokens
        let pace: Pace
    }

    private struct State {
        /// By fingerprint.
        var accounts: [String: Account] = [:]
        /// Pools whose credential went, until `close`.
        var drained: [ConnectionPool] = []
        /// By project: Google counts the requests of all its service accounts together.
        var paces: [String: Pace] = [:]
        var isClosed = false
    }

    let base: FCMConfiguration.Base
    let client: OutboundClient
    let time: any TimeSource
    private let tokenHosts: TokenHosts
    private let tls: NIOSSLContext
    private let group: any EventLoopGroup
    private let settings: ConnectionPool.Settings
    private let rates: Pacer.Rates
    private let randomness: any Randomness
    private let logger: Logger
    private let state = Mutex(State())

    /// - Throws: when the URL or the CA file cannot be used.
    package init(
        configuration: FCMConfiguration, eventLoopGroup: any EventLoopGroup, time: any TimeSource,
        randomness: any Randomness, logger: Logger
    ) throws {
        base = try configuration.base()
        tokenHosts = configuration.tokenHosts
        tls = try Connector.context(caFile: configuration.caFile)
        client = try OutboundClient(
            .init(caFile: configuration.caFile, allowsHTTP2: true), group: eventLoopGroup)
        group = eventLoopGroup
        settings = ConnectionPool.Settings(connectionsMax: max(1, configuration.connectionsPerPoolMax))
        rates = Pacer.Rates(start: configuration.startRatePerSecond, most: configuration.ratePerSecond)
        self.time = time
        self.randomness = randomness
        self.logger = logger
    }

    package var name: ProviderName { .fcm }

    package func render(_ order: RenderOrder) throws(PealError) -> Notification {
        try FCMRendering.notification(order, path: base.path(projectID: order.providerAppID))
    }

    package func examine(_ credential: Credential, now: Timestamp) throws(PealError) -> CredentialExamination {
        guard case .fcm(let account) = credential else { throw .unsupported("kind") }
        return try FCMCredential.examine(account, tokenHosts: tokenHosts)
    }

    package func send(_ order: PageOrder) {
        let flight = order.flight
        guard order.variants.allSatisfy({ Int($0) < order.notifications.count }) else {
            return flight.answerRest(.unsent("NoVariant"))
        }
        guard let account = account(order.credential, fingerprint: order.fingerprint) else {
            let isClosed = state.withLock(\.isClosed)
            return flight.answerRest(.unsent(isClosed ? "Draining" : "NoCredential"))
        }
        if let rest = account.pace.hold(at: time.uptime) {
            return flight.answerRest(Answer(.verdict(.holdApp(after: rest)), reason: "Throttled"))
        }
        account.tokens.whenReady { readiness in
            switch readiness {
            case .ready: account.pool.submit(order)
            case .unavailable(let answer): flight.answerRest(answer)
            }
        }
    }

    package func drain(fingerprint: String) {
        let account = state.withLock { state in
            state.drained.removeAll(where: \.isGone)
            let account = state.accounts.removeValue(forKey: fingerprint)
            if let account { state.drained.append(account.pool) }
            return account
        }
        account?.tokens.close()
        account?.pool.drain()
    }

    package func close() async {
        let (accounts, pools) = state.withLock { state in
            state.isClosed = true
            defer {
                state.accounts = [:]
                state.drained = []
            }
            return (Array(state.accounts.values), state.accounts.values.map(\.pool) + state.drained)
        }
        for account in accounts { account.tokens.close() }
        await withTaskGroup { group in
            for pool in pools { group.addTask { await pool.close() } }
        }
        await client.close()
    }

    /// nil when the credential's key cannot be read, or the provider is closed.
    func account(_ credential: Credential, fingerprint: String) -> Account? {
        guard case .fcm(let serviceAccount) = credential else { return nil }
        return state.withLock { state in
            if let account = state.accounts[fingerprint] { return account }
            guard !state.isClosed, tokenHosts.contains(serviceAccount.tokenURI),
                let source = try? FCMTokenSource(serviceAccount, client: client, time: time)
            else { return nil }
            let account = make(source, pace: pace(serviceAccount.projectID, &state))
            state.accounts[fingerprint] = account
            return account
        }
    }

    private func make(_ source: FCMTokenSource, pace: Pace) -> Account {
        let tokens = AccessTokens(source: source, time: time, randomness: randomness, logger: logger)
        let pool = ConnectionPool(
            connector: Connector(endpoint: base.endpoint, tls: tls, group: group),
            exchange: FCMExchange(tokens: tokens, time: time), settings: settings, pace: pace, time: time,
            randomness: randomness, logger: logger)
        return Account(pool: pool, tokens: tokens, pace: pace)
    }

    private func pace(_ projectID: String, _ state: inout State) -> Pace {
        if let pace = state.paces[projectID] { return pace }
        let pace = Pace(rates)
        state.paces[projectID] = pace
        return pace
    }
}
