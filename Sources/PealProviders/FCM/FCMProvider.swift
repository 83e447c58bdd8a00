import Logging
import NIOHTTP1
import NIOSSL
package import PealCore
import Synchronization

/// Google's push network, HTTP v1: renders messages for it and sends pages of them, one request per device, over
/// connections kept per credential and paced per Firebase project.
package final class FCMProvider: Provider {
    /// The connections, access token and pace of one credential.
    struct Account: PoolEntry {
        let pool: ConnectionPool
        let tokens: AccessTokens
        let pace: Pace
    }

    private struct State {
        /// By credential fingerprint.
        var accounts = PoolTable<String, Account>()
        /// By project, because Google counts the requests of all its service accounts together.
        var paces: [String: Pace] = [:]
        /// How many servers share each pace.
        var servers = 1
    }

    let base: FCMConfiguration.Base
    let client: OutboundClient
    private let tokenHosts: TokenHosts
    private let tls: NIOSSLContext
    private let settings: ConnectionPool.Settings
    private let rates: Pacer.Rates
    private let surroundings: ProviderSurroundings
    private let state = Mutex(State())

    /// - Throws: if the URL or the CA file cannot be used.
    package init(_ configuration: FCMConfiguration, _ surroundings: ProviderSurroundings) throws {
        base = try configuration.base()
        tokenHosts = configuration.tokenHosts
        tls = try Connector.context(caFile: configuration.caFile)
        client = try OutboundClient(
            .init(caFile: configuration.caFile, allowsHTTP2: true), group: surroundings.group, time: surroundings.time)
        settings = ConnectionPool.Settings(connectionsMax: max(1, configuration.connectionsPerPoolMax))
        rates = Pacer.Rates(start: configuration.startRatePerSecond, most: configuration.ratePerSecond)
        self.surroundings = surroundings
    }

    package var reasons: Set<String> { FCMVerdicts.reasons }

    package func render(_ order: RenderOrder) throws(ContentRefusal) -> Notification {
        try FCMRendering.notification(order, path: base.path(projectID: order.providerAppID))
    }

    package func examine(_ credential: Credential, now: Timestamp) throws(PealError) -> CredentialExamination {
        guard let account = credential.fcm else { throw .unsupported("kind") }
        return try FCMCredential.examine(account, tokenHosts: tokenHosts)
    }

    package func send(_ order: PageOrder) {
        let flight = order.flight
        guard order.hasEveryVariant else { return flight.answerRest(.unsent("NoVariant")) }
        guard let account = account(order.credential, fingerprint: order.fingerprint) else {
            let isClosed = state.withLock(\.accounts.isClosed)
            return flight.answerRest(.unsent(isClosed ? "Draining" : "NoCredential"))
        }
        if let rest = account.pace.hold(at: surroundings.time.uptime) {
            return flight.answerRest(ProviderAnswer(.verdict(.holdApp(after: rest)), reason: "Throttled"))
        }
        account.tokens.whenReady { readiness in
            switch readiness {
            case .ready: account.pool.submit(order)
            case .unavailable(let answer): flight.answerRest(answer)
            }
        }
    }

    package func drain(fingerprint: String) {
        for account in state.withLock({ $0.accounts.remove { $0 == fingerprint } }) {
            account.tokens.close()
            account.pool.drain()
        }
    }

    package func share(among servers: Int) {
        state.withLock { state in
            state.servers = servers
            for pace in state.paces.values { pace.share(among: servers) }
        }
    }

    package func close() async {
        let (accounts, pools) = state.withLock { (Array($0.accounts.entries.values), $0.accounts.close()) }
        for account in accounts { account.tokens.close() }
        await pools.close()
        await client.close()
    }

    /// The account of a credential; nil if its key cannot be read or the provider is closed.
    func account(_ credential: Credential, fingerprint: String) -> Account? {
        guard let serviceAccount = credential.fcm else { return nil }
        return state.withLock { state in
            if let account = state.accounts.entries[fingerprint] { return account }
            guard !state.accounts.isClosed, tokenHosts.contains(serviceAccount.tokenURI),
                let source = try? FCMTokenSource(serviceAccount, client: client, time: surroundings.time)
            else { return nil }
            let account = make(source, pace: pace(serviceAccount.projectID, &state), serviceAccount.projectID)
            return state.accounts.keep(account, for: fingerprint)
        }
    }

    private func make(_ source: FCMTokenSource, pace: Pace, _ project: String) -> Account {
        let (time, randomness) = (surroundings.time, surroundings.randomness)
        var logger = surroundings.logger
        logger[metadataKey: "provider"] = "fcm"
        logger[metadataKey: "project"] = "\(project)"
        let tokens = AccessTokens(source: source, time: time, randomness: randomness, logger: logger)
        let pool = ConnectionPool(
            connector: Connector(endpoint: base.endpoint, tls: tls, group: surroundings.group),
            exchange: FCMExchange(tokens: tokens, time: time), settings: settings, pace: pace, time: time,
            randomness: randomness, logger: logger)
        return Account(pool: pool, tokens: tokens, pace: pace)
    }

    private func pace(_ projectID: String, _ state: inout State) -> Pace {
        if let pace = state.paces[projectID] { return pace }
        // A project that no credential names any more needs no pace.
        if state.paces.count >= Limits.outboundOriginsMax {
            let used = state.accounts.entries.values.map { ObjectIdentifier($0.pace) }
            state.paces = state.paces.filter { used.contains(ObjectIdentifier($0.value)) }
        }
        let pace = Pace(rates)
        pace.share(among: state.servers)
        state.paces[projectID] = pace
        return pace
    }
}

extension FCMProvider {
    /// No registration token has this form.
    private static let noDevice = "peal-verifies-a-credential"

    /// Requests an access token, then asks FCM to validate a message to a device that does not exist. If FCM rejects
    /// only the device, it has accepted the credential.
    package func verify(
        _ credential: Credential, fingerprint: String, environment: Environment
    ) async -> CredentialVerification {
        guard let serviceAccount = credential.fcm, let account = account(credential, fingerprint: fingerprint)
        else {
            return CredentialVerification(.refused, reason: "NoCredential", detail: "The credential cannot be used.")
        }
        let reply = await account.tokens.renew()
        guard case .granted(let accessToken, _) = reply else { return CredentialVerification(reply) }
        return await check(projectID: serviceAccount.projectID, accessToken: accessToken)
    }

    private func check(projectID: String, accessToken: String) async -> CredentialVerification {
        let body: JSON = ["validateOnly": true, "message": ["token": .string(Self.noDevice)]]
        let request = OutboundRequest(
            url: "https://\(base.endpoint.authority)\(base.path(projectID: projectID))",
            headers: ["content-type": "application/json", "authorization": "Bearer \(accessToken)"], body: body.bytes)
        do {
            return Self.judge(try await client.send(request))
        } catch {
            return CredentialVerification(.unreachable, .init(reason: error.answer.reason), "FCM did not answer")
        }
    }

    /// What the answer to the validation message means for the credential.
    static func judge(_ reply: OutboundReply) -> CredentialVerification {
        let error = FCMError(reply.body)
        let reason = (200...299).contains(reply.status) ? "" : FCMVerdicts.reason(status: reply.status, error: error)
        let failure = AccessTokenReply.Failure(reason: reason, status: reply.status)
        switch FCMVerdicts.verdict(status: reply.status, error: error) {
        case .accepted, .retireAddress:
            return CredentialVerification(.accepted, failure, "FCM accepted the service account")
        case .rejectMessage where reply.status == 400:
            return CredentialVerification(.accepted, failure, "FCM accepted the service account")
        case .rejectMessage:
            return CredentialVerification(.unreachable, failure, "FCM gave an unexpected answer")
        case .stopApp, .refreshCredential:
            return CredentialVerification(.refused, failure, "FCM refused the service account or its project")
        case .holdAddress, .holdApp, .reconnect, .retry:
            return CredentialVerification(.unreachable, failure, "FCM had an internal problem")
        }
    }
}

/// Where FCM is and how it is reached. Set by the administrator only: no request may choose any of it.
package struct FCMConfiguration: Sendable {
    /// Google's host.
    package static let urlDefault = "https://fcm.googleapis.com"

    /// `https://host[:port][/prefix]`; the prefix precedes `/v1/projects/…`.
    package var url: String
    /// Hosts that a service account's `token_uri` may name in addition to Google's: `host`, `host:port` or `.suffix`.
    package var tokenAllowedHosts: [String]
    /// PEM file with trust roots in addition to the system's; nil for none.
    package var caFile: String?
    /// Maximum number of connections per credential.
    package var connectionsPerPoolMax: Int
    /// Requests per second to one Firebase project: the maximum, and the rate at which a ramp begins.
    package var ratePerSecond: Int
    package var startRatePerSecond: Int

    package init(
        url: String = urlDefault, tokenAllowedHosts: [String] = [], caFile: String? = nil,
        connectionsPerPoolMax: Int = Limits.connectionsPerPoolMax, ratePerSecond: Int = Limits.fcmRatePerSecond,
        startRatePerSecond: Int = Limits.fcmStartRatePerSecond
    ) {
        self.url = url
        self.tokenAllowedHosts = tokenAllowedHosts
        self.caFile = caFile
        self.connectionsPerPoolMax = connectionsPerPoolMax
        self.ratePerSecond = ratePerSecond
        self.startRatePerSecond = startRatePerSecond
    }
}

/// The URL in the configuration is unusable.
package struct FCMConfigurationError: Error, CustomStringConvertible {
    /// One line for the operator.
    package let description: String
}

extension FCMConfiguration {
    /// The parts of the configured URL.
    struct Base: Sendable, Hashable {
        let endpoint: RemoteEndpoint
        /// Empty, or a path that starts with `/` and does not end with it.
        let pathPrefix: String

        /// The path of every request that sends a message.
        /// - Parameter projectID: characters that need no escaping in a path; see `FCMCredential`.
        func path(projectID: String) -> String { "\(pathPrefix)/v1/projects/\(projectID)/messages:send" }
    }

    /// - Throws: `FCMConfigurationError`, naming the URL.
    func base() throws(FCMConfigurationError) -> Base {
        let scheme = "https://"
        let rest = url.dropFirst(scheme.count)
        let origin = scheme + rest.prefix { $0 != "/" }
        var prefix = rest.drop { $0 != "/" }
        while prefix.hasSuffix("/") { prefix = prefix.dropLast() }
        let isPath = prefix.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x23 && $0 != 0x3F }
        guard url.lowercased().hasPrefix(scheme), isPath, let endpoint = RemoteEndpoint(origin) else {
            throw FCMConfigurationError(description: "the FCM URL must be https://host[:port][/prefix], not \(url)")
        }
        return Base(endpoint: endpoint, pathPrefix: String(prefix))
    }

    /// Google's token endpoints and the configured ones.
    var tokenHosts: TokenHosts {
        TokenHosts(
            vendors: ["oauth2.googleapis.com", "accounts.google.com", ".googleapis.com"], allowed: tokenAllowedHosts)
    }
}
