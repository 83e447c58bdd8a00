internal import Foundation
internal import Hummingbird
internal import HummingbirdCore
internal import HummingbirdHTTP2
internal import HummingbirdTLS
internal import Logging
internal import NIOCore
internal import NIOSSL
internal import PealAPI
internal import ServiceLifecycle

/// The HTTP listeners: one for the API and, if configured, a second one for `/metrics` only.
struct HTTPListeners {
    let services: [any Service]

    init(
        _ configuration: ServerConfiguration, services api: APIServices, group: any EventLoopGroup, logger: Logger
    ) throws {
        var services: [any Service] = [
            Application(
                router: buildRouter(api),
                server: try Self.server(configuration.httpTLS),
                configuration: ApplicationConfiguration(
                    address: .hostname(configuration.httpHost, port: configuration.httpPort), serverName: "peal"),
                onServerRunning: Self.announce("server is listening", file: configuration.httpPortFile, logger: logger),
                eventLoopGroupProvider: .shared(group), logger: logger)
        ]
        if let port = configuration.metricsPort {
            services.append(
                Application(
                    router: buildOperationsRouter(api),
                    server: try Self.server(nil),
                    configuration: ApplicationConfiguration(
                        address: .hostname(configuration.httpHost, port: port), serverName: "peal"),
                    onServerRunning: Self.announce(
                        "metrics server is listening", file: configuration.metricsPortFile, logger: logger),
                    eventLoopGroupProvider: .shared(group), logger: logger))
        }
        self.services = services
    }

    private static func server(_ files: ServerConfiguration.TLSFiles?) throws -> HTTPServerBuilder {
        guard let files else { return HTTPServerBuilder { PlainChannel(responder: $0) } }
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(files.certificate).map {
                NIOSSLCertificateSource.certificate($0)
            }
            let key = try NIOSSLPrivateKey(file: files.key, format: .pem)
            return try .http2Upgrade(
                tlsConfiguration: .makeServerConfiguration(certificateChain: chain, privateKey: .privateKey(key)))
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
