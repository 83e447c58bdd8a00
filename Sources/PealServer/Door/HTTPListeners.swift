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

/// The HTTP listeners: one for the API and, if configured, a second one for `/metrics` only.
struct HTTPListeners {
    let services: [any Service]

    /// - Parameter connections: counts those of the API.
    init(
        _ configuration: ServerConfiguration, services api: APIServices, console: Console, connections: Connections,
        group: any EventLoopGroup, logger: Logger
    ) throws {
        var services: [any Service] = [
            Application(
                responder: Front(api: buildRouter(api).buildResponder(), console: console, services: api),
                server: try Self.server(configuration.httpTLS, configuration.httpDeadlines, connections),
                configuration: ApplicationConfiguration(
                    address: .hostname(configuration.httpHost, port: configuration.httpPort), serverName: "peal"),
                onServerRunning: Self.announce("server is listening", file: configuration.httpPortFile, logger: logger),
                eventLoopGroupProvider: .shared(group), logger: logger)
        ]
        if let port = configuration.metricsPort {
            let few = Connections(
                .init(total: Self.metricsConnectionsMax, perAddress: nil, descriptors: Limits.descriptorsMax),
                time: api.time, logger: logger)
            services.append(
                Application(
                    router: buildOperationsRouter(api),
                    server: try Self.server(nil, configuration.httpDeadlines, few),
                    configuration: ApplicationConfiguration(
                        address: .hostname(configuration.httpHost, port: port), serverName: "peal"),
                    onServerRunning: Self.announce(
                        "metrics server is listening", file: configuration.metricsPortFile, logger: logger),
                    eventLoopGroupProvider: .shared(group), logger: logger))
        }
        self.services = services
    }

    private static let metricsConnectionsMax = 32

    private static func server(
        _ files: ServerConfiguration.TLSFiles?, _ deadlines: HTTPDeadlines, _ connections: Connections
    ) throws -> HTTPServerBuilder {
        let requests = HTTP1Channel.Configuration(
            additionalChannelHandlers: [RequestDeadlines(deadlines)],
            idleTimeout: .seconds(Int64(deadlines.idleSeconds)))
        guard let files else {
            return HTTPServerBuilder { responder in
                DoorChannel(
                    base: HTTP1Channel(responder: responder, configuration: requests), connections: connections,
                    deadlines: deadlines, surplusTLS: nil)
            }
        }
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(files.certificate).map {
                NIOSSLCertificateSource.certificate($0)
            }
            let key = try NIOSSLPrivateKey(file: files.key, format: .pem)
            let tls = TLSConfiguration.makeServerConfiguration(certificateChain: chain, privateKey: .privateKey(key))
            var surplus = tls
            surplus.applicationProtocols = ["http/1.1"]
            let surplusTLS = try NIOSSLContext(configuration: surplus)
            var http2 = HTTP2ChannelConfiguration(
                idleTimeout: .seconds(deadlines.idleSeconds), gracefulCloseTimeout: .seconds(Limits.httpCloseSeconds),
                streamConfiguration: requests)
            http2.maxAgeTimeout = .seconds(deadlines.ageSeconds)
            let configuration = http2
            return HTTPServerBuilder { responder in
                DoorChannel(
                    base: try HTTP2UpgradeChannel(
                        tlsConfiguration: tls, configuration: configuration, responder: responder),
                    connections: connections, deadlines: deadlines, surplusTLS: surplusTLS)
            }
        } catch {
            throw ConfigurationFailure(.httpCertificate, "cannot use certificate and key: \(error)")
        }
    }

    /// Logs the port and writes it to `file` atomically.
    private static func announce(
        _ message: Logger.Message, file: String?, logger: Logger
    ) -> @Sendable (any Channel) async -> Void {
        { channel in
            guard let port = channel.localAddress?.port else { return }
            logger.info(message, metadata: ["http.port": "\(port)"])
            guard let file else { return }
            do {
                try Data("\(port)\n".utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
            } catch {
                logger.error("cannot write the port file", metadata: ["error": "\(error)", "file": "\(file)"])
            }
        }
    }
}
