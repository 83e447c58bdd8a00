import Logging
import NIOCore
import NIOSSL
import PealCore
import Synchronization

/// The connections to APNs: one pool per route and credential, so that a connection never sees two teams, two keys, or
/// an app that its team got after the connection was made ("Establishing a token-based connection to APNs").
final class APNsPools: Sendable {
    /// What pools are made with.
    struct Settings: Sendable {
        let production: APNsConfiguration.Endpoints
        let sandbox: APNsConfiguration.Endpoints
        /// PEM file with trust roots in addition to the system's; nil = none.
        let caFile: String?
        let pool: ConnectionPool.Settings
        let group: any EventLoopGroup
        let time: any TimeSource
        let randomness: any Randomness
        let logger: Logger
    }

    /// A pool, and what may be sent over it.
    struct Entry: Sendable {
        let pool: ConnectionPool
        /// Of a certificate, and empty where it names none; nil = whatever the credential's team may send to.
        let certificateTopics: [String]?
    }

    private struct Key: Hashable {
        let route: Route
        let fingerprint: String
    }

    /// Does not hold its pool, so that pool and private key go with the last connection.
    private struct Drained {
        weak var pool: ConnectionPool?
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        /// Those whose credential went.
        var drained: [Drained] = []
        var isClosed = false
    }

    let tokens: ProviderTokenTable
    private let settings: Settings
    private let tls: NIOSSLContext
    private let state = Mutex(State())

    /// - Throws: when the CA file cannot be read.
    init(_ settings: Settings) throws {
        self.settings = settings
        tokens = ProviderTokenTable(time: settings.time, randomness: settings.randomness)
        tls = try Connector.context(caFile: settings.caFile)
    }

    var isClosed: Bool { state.withLock(\.isClosed) }

    /// nil when the credential's key cannot be read, or everything is closed.
    func entry(_ route: Route, _ credential: Credential, fingerprint: String) -> Entry? {
        let key = Key(route: route, fingerprint: fingerprint)
        return state.withLock { state in
            if let entry = state.entries[key] { return entry }
            guard !state.isClosed, let entry = try? make(route, credential) else { return nil }
            state.entries[key] = entry
            return entry
        }
    }

    /// Lets connections under that credential finish and go.
    func drain(fingerprint: String) {
        let pools = state.withLock { state in
            let keys = state.entries.keys.filter { $0.fingerprint == fingerprint }
            let pools = keys.compactMap { state.entries.removeValue(forKey: $0)?.pool }
            state.drained.removeAll { $0.pool == nil }
            state.drained += pools.map { Drained(pool: $0) }
            return pools
        }
        for pool in pools { pool.drain() }
    }

    /// Ends every connection and returns when they are gone.
    func close() async {
        let pools = state.withLock { state in
            state.isClosed = true
            defer {
                state.entries = [:]
                state.drained = []
            }
            return state.entries.values.map(\.pool) + state.drained.compactMap(\.pool)
        }
        await withTaskGroup { group in
            for pool in pools { group.addTask { await pool.close() } }
        }
    }

    private func make(_ route: Route, _ credential: Credential) throws -> Entry {
        let exchange: APNsExchange
        var context = tls
        var topics: [String]?
        switch credential.apns {
        case .token(let signing):
            exchange = APNsExchange(
                tokens: try tokens.tokens(for: signing), environment: route.environment,
                isBroadcast: route.isBroadcast)
        case .certificate(let certificate):
            exchange = APNsExchange(tokens: nil, environment: route.environment, isBroadcast: route.isBroadcast)
            context = try Connector.context(caFile: settings.caFile, identity: certificate.identity)
            topics = try APNsCertificateReader(certificate.identity.certificates).topics
        case .archive, nil: throw PealError.unsupported("kind")
        }
        let endpoints = route.environment == .production ? settings.production : settings.sandbox
        let connector = Connector(
            endpoint: route.isBroadcast ? endpoints.broadcast : endpoints.send, tls: context, group: settings.group)
        let pool = ConnectionPool(
            connector: connector, exchange: exchange, settings: settings.pool, time: settings.time,
            randomness: settings.randomness, logger: settings.logger)
        return Entry(pool: pool, certificateTopics: topics)
    }
}
