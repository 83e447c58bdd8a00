import Logging
import NIOCore
import NIOSSL
import PealCore
import Synchronization

/// The connections to APNs: one pool per route and credential. A connection never serves two teams, two keys, or an app
/// that was transferred to its team after it opened ("Establishing a token-based connection to APNs").
final class APNsPools: Sendable {
    /// What every pool of the provider shares.
    struct Settings: Sendable {
        let production: APNsConfiguration.Endpoints
        let sandbox: APNsConfiguration.Endpoints
        /// PEM file with trust roots in addition to the system's; nil for none.
        let caFile: String?
        let pool: ConnectionPool.Settings
        let surroundings: ProviderSurroundings
    }

    /// A pool, and the topics that may be sent over it.
    struct Entry: PoolEntry {
        let pool: ConnectionPool
        /// A certificate's topics, empty if it names none; nil if any topic of the credential's team is allowed.
        let certificateTopics: [String]?
        /// nil for a certificate.
        let tokens: ProviderTokens?

        /// Sends a page, once the servers have agreed on a provider token.
        func submit(_ order: PageOrder) {
            guard let tokens else { return pool.submit(order) }
            tokens.whenReady { [pool] in pool.submit(order) }
        }
    }

    private struct Key: Hashable {
        let route: Route
        let fingerprint: String
    }

    let tokens: ProviderTokenTable
    private let settings: Settings
    private let tls: NIOSSLContext
    private let table = Mutex(PoolTable<Key, Entry>())

    /// - Throws: if the CA file cannot be read.
    init(_ settings: Settings) throws {
        self.settings = settings
        tokens = ProviderTokenTable(
            time: settings.surroundings.time, randomness: settings.surroundings.randomness,
            store: settings.surroundings.store)
        tls = try Connector.context(caFile: settings.caFile)
    }

    var isClosed: Bool { table.withLock(\.isClosed) }

    /// The pool of a route and credential; nil if the credential's key cannot be read or everything is closed.
    func entry(_ route: Route, _ credential: Credential, fingerprint: String) -> Entry? {
        if let entry = known(route, fingerprint: fingerprint) { return entry }
        // Outside the lock, because reading a certificate takes milliseconds.
        guard !isClosed, let made = try? make(route, credential) else { return nil }
        // A pool that is not kept has opened no connection.
        return table.withLock { $0.keep(made, for: Key(route: route, fingerprint: fingerprint)) }
    }

    /// The pool of a route and credential if it was used before.
    func known(_ route: Route, fingerprint: String) -> Entry? {
        table.withLock { $0.entries[Key(route: route, fingerprint: fingerprint)] }
    }

    /// Lets the connections of that credential finish and close.
    func drain(fingerprint: String) {
        for entry in table.withLock({ $0.remove { $0.fingerprint == fingerprint } }) { entry.pool.drain() }
    }

    /// Closes every connection and returns when all are gone.
    func close() async { await table.withLock { $0.close() }.close() }

    private func make(_ route: Route, _ credential: Credential) throws -> Entry {
        let surroundings = settings.surroundings
        var context = tls
        var tokens: ProviderTokens?
        var topics: [String]?
        switch credential.apns {
        case .token(let signing): tokens = try self.tokens.tokens(for: signing)
        case .certificate(let certificate):
            context = try Connector.context(caFile: settings.caFile, identity: certificate.identity)
            topics = try LeafCertificate(certificate.identity.certificates).apnsTopics
        case .archive, nil: throw PealError.unsupported("kind")
        }
        let exchange = APNsExchange(
            tokens: tokens, time: surroundings.time, environment: route.environment, isBroadcast: route.isBroadcast)
        let endpoints = route.environment == .production ? settings.production : settings.sandbox
        let connector = Connector(
            endpoint: route.isBroadcast ? endpoints.broadcast : endpoints.send, tls: context, group: surroundings.group)
        let pool = ConnectionPool(
            connector: connector, exchange: exchange, settings: settings.pool, time: surroundings.time,
            randomness: surroundings.randomness, logger: surroundings.logger)
        return Entry(pool: pool, certificateTopics: topics, tokens: tokens)
    }
}
