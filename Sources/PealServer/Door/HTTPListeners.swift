internal import Foundation
internal import Hummingbird
internal import HummingbirdCore
internal import HummingbirdHTTP2
internal import HummingbirdTLS
internal import Logging
internal import NIOCore
internal import NIOSSL
internal import PealAPI
internal import PealConsole
internal import PealCore
internal import ServiceLifecycle
internal import Synchronization

/// The HTTP listeners: one for the API and the console and, if configured, others for `/metrics` only and for admins.
struct HTTPListeners {
    let services: [any Service]
    private let renewals: [Renewal]

    /// Replaces a listener's certificate.
    private typealias Renewal = @Sendable (ServerConfiguration) throws -> Void

    /// - Parameter connections: counts those of the API.
    init(
        _ configuration: ServerConfiguration, services api: APIServices, console: Console, connections: Connections,
        group: any EventLoopGroup, logger: Logger
    ) throws {
        let factory = ListenerFactory(
            deadlines: configuration.http.deadlines, time: api.time, group: group, logger: logger)
        let http = configuration.http
        let main = try Self.server(.init(http.tls), http.deadlines, connections)
        var renewals: [Renewal] = [{ try main.renew(.init($0.http.tls)) }]
        var services = [
            factory.service(
                "server",
                Front(
                    api: buildRouter(api).buildResponder(), console: console, services: api,
                    listener: .init(isTLS: http.tls != nil, servesAdmins: configuration.adminListener == nil)), main,
                Location(.httpHost, http.host, .httpPort, http.port, file: http.portFile))
        ]
        if let port = configuration.metricsPort {
            let metrics = try Self.server(.init(nil), http.deadlines, factory.few())
            services.append(
                factory.service(
                    "metrics server", buildOperationsRouter(api).buildResponder(), metrics,
                    Location(.httpHost, http.host, .metricsPort, port, file: configuration.metricsPortFile)))
        }
        if let admin = configuration.adminListener {
            let server = try Self.server(.init(admin.tls, clientCA: admin.clientCA), http.deadlines, factory.few())
            renewals.append { configuration in
                guard let admin = configuration.adminListener else { return }
                try server.renew(.init(admin.tls, clientCA: admin.clientCA))
            }
            services.append(
                factory.service(
                    "admin server",
                    Front(
                        api: buildAdminRouter(api).buildResponder(), console: console, services: api,
                        listener: .init(isTLS: admin.tls != nil, servesAdmins: true)), server,
                    Location(.adminListenHost, admin.host, .adminListenPort, admin.port, file: admin.portFile)))
        }
        self.services = services
        self.renewals = renewals
    }

    /// Where a listener listens, and the keys of the configuration that say so.
    private struct Location {
        let hostKey: ConfigurationKey
        let host: String
        let portKey: ConfigurationKey
        let port: Int
        /// Receives the port.
        let file: String?

        init(_ hostKey: ConfigurationKey, _ host: String, _ portKey: ConfigurationKey, _ port: Int, file: String?) {
            (self.hostKey, self.host, self.portKey, self.port, self.file) = (hostKey, host, portKey, port, file)
        }
    }

    /// A listener that names the configuration key at fault when it cannot listen.
    private struct LocatedService: Service {
        let service: any Service
        let location: Location

        init(_ service: any Service, _ location: Location) {
            self.service = service
            self.location = location
        }

        func run() async throws {
            do {
                try await service.run()
            } catch let error as IOError {
                guard let advice = Self.advice[error.errnoCode] else { throw error }
                let host = location.host.contains(":") ? "[\(location.host)]" : location.host
                let key = error.errnoCode == EADDRNOTAVAIL ? location.hostKey : location.portKey
                let reason = String(cString: strerror(error.errnoCode))
                throw ConfigurationFailure(
                    key, "cannot listen on \(host):\(location.port): \(reason); \(advice)",
                    mayPass: error.errnoCode != EACCES)
            } catch is SocketAddressError.UnknownHost {
                // A name may resolve later; a wrong address stays wrong.
                let isName = location.host.contains(where: \.isLetter) && !location.host.contains(":")
                let advice = location.host.hasPrefix("[") ? "; write an IPv6 address without brackets" : ""
                throw ConfigurationFailure(
                    location.hostKey, "\(location.host) has no address\(advice)", mayPass: isName)
            }
        }

        private static let advice = [
            EADDRINUSE: "stop the program that uses the port, or choose another one",
            EADDRNOTAVAIL: "this machine has no such address",
            EACCES: "a port below 1024 needs the capability CAP_NET_BIND_SERVICE",
        ]
    }

    /// Creates the listeners with what they share.
    private struct ListenerFactory {
        let deadlines: HTTPDeadlines
        let time: any TimeSource
        let group: any EventLoopGroup
        let logger: Logger

        func service(
            _ name: String, _ responder: some HTTPResponder<APIContext>, _ server: RenewableServer, _ location: Location
        ) -> any Service {
            let announce = announce("\(name) is listening", file: location.file, logger: logger)
            let listener =
                Application(
                    responder: responder, server: server.builder,
                    configuration: ApplicationConfiguration(
                        address: .hostname(location.host, port: location.port), serverName: "peal",
                        backlog: Limits.httpBacklog),
                    onServerRunning: { channel in
                        // Fails only if the channel has closed already.
                        try? await AcceptGate.install(on: channel, server.capacity)
                        await announce(channel)
                    },
                    eventLoopGroupProvider: .shared(group), logger: logger)
            return NamedService(name, LocatedService(listener, location))
        }

        /// The connections of a listener for operators.
        func few() -> Connections {
            Connections(
                .init(total: fewConnectionsMax, perAddress: nil, descriptors: Limits.descriptorsMax),
                time: time, logger: logger)
        }
    }

    private static let fewConnectionsMax = 64

    /// Reads certificates and keys again. New connections use the new ones.
    /// - Throws: `ConfigurationFailure`; in this case the former ones stay.
    func reloadCertificates(_ configuration: ServerConfiguration) throws {
        for renew in renewals { try renew(configuration) }
    }

    /// How a listener's connections are encrypted.
    private struct Encryption: Sendable {
        let files: ServerConfiguration.TLSFiles?
        let clientCA: String?

        init(_ files: ServerConfiguration.TLSFiles?, clientCA: String? = nil) {
            self.files = files
            self.clientCA = clientCA
        }

        /// nil without a certificate.
        /// - Throws: `ConfigurationFailure`.
        func configuration() throws -> TLSConfiguration? { try files?.configuration(clientCA: clientCA) }
    }

    /// A server whose certificate can be replaced.
    private struct RenewableServer: Sendable {
        let builder: HTTPServerBuilder
        let capacity: Connections.Capacity
        let renew: @Sendable (Encryption) throws -> Void
    }

    private static func server(
        _ encryption: Encryption, _ deadlines: HTTPDeadlines, _ connections: Connections
    ) throws -> RenewableServer {
        let requests = HTTP1Channel.Configuration(
            additionalChannelHandlers: [RequestDeadlines(deadlines)],
            idleTimeout: .seconds(Int64(deadlines.idleSeconds)))
        guard let tls = try encryption.configuration() else {
            let builder = HTTPServerBuilder { responder in
                DoorChannel(
                    parts: DoorParts(HTTP1Channel(responder: responder, configuration: requests), surplusTLS: nil),
                    connections: connections, deadlines: deadlines)
            }
            return RenewableServer(builder: builder, capacity: connections.capacity) { _ in }
        }
        var http2 = HTTP2ChannelConfiguration(
            idleTimeout: .seconds(deadlines.idleSeconds), gracefulCloseTimeout: .seconds(Limits.httpCloseSeconds),
            streamConfiguration: requests)
        http2.maxAgeTimeout = .seconds(deadlines.ageSeconds)
        let configuration = http2
        let renewal = CertificateRenewal(tls)
        let builder = HTTPServerBuilder { responder in
            let parts = DoorParts(
                try renewal.channel(responder, configuration), surplusTLS: try renewal.surplusContext())
            renewal.onChange {
                parts.set(try renewal.channel(responder, configuration), surplusTLS: try renewal.surplusContext())
            }
            return DoorChannel(parts: parts, connections: connections, deadlines: deadlines)
        }
        return RenewableServer(builder: builder, capacity: connections.capacity) { encryption in
            if let tls = try encryption.configuration() { try renewal.set(tls) }
        }
    }

    /// Logs the port and writes it to `file` atomically.
    private static func announce(
        _ message: Logger.Message, file: String?, logger: Logger
    ) -> @Sendable (any Channel) async -> Void {
        { channel in
            guard let port = channel.localAddress?.port else { return }
            logger.info(message, metadata: ["http.port": .stringConvertible(port)])
            guard let file else { return }
            do {
                try Data("\(port)\n".utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
            } catch {
                logger.error("cannot write the port file", metadata: ["error": "\(error)", "file": "\(file)"])
            }
        }
    }
}

/// Renews the certificate of a listener.
private final class CertificateRenewal: Sendable {
    private let present: Mutex<TLSConfiguration>
    private let change = Mutex<(@Sendable () throws -> Void)?>(nil)

    init(_ tls: TLSConfiguration) { present = Mutex(tls) }

    private var tls: TLSConfiguration { present.withLock { $0 } }

    func onChange(_ body: @escaping @Sendable () throws -> Void) { change.withLock { $0 = body } }

    func set(_ tls: TLSConfiguration) throws {
        present.withLock { $0 = tls }
        try change.withLock { $0 }?()
    }

    func channel(
        _ responder: @escaping HTTPChannelHandler.Responder, _ configuration: HTTP2ChannelConfiguration
    ) throws -> HTTP2UpgradeChannel {
        try HTTP2UpgradeChannel(tlsConfiguration: tls, configuration: configuration, responder: responder)
    }

    /// Surplus connections speak HTTP/1.1 only.
    func surplusContext() throws -> NIOSSLContext {
        var surplus = tls
        surplus.applicationProtocols = ["http/1.1"]
        return try NIOSSLContext(configuration: surplus)
    }
}
