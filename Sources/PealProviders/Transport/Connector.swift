import NIOCore
import NIOPosix
import NIOSSL
import PealCore

/// Opens TCP and TLS towards one endpoint. Names are resolved anew for every connection.
struct Connector: Sendable {
    let endpoint: Endpoint
    let tls: NIOSSLContext
    let group: any EventLoopGroup

    /// Trusts the system's roots and those of `caFile` (PEM).
    static func context(caFile: String?) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.applicationProtocols = ["h2"]
        configuration.minimumTLSVersion = .tlsv12
        if let caFile { configuration.additionalTrustRoots = [.file(caFile)] }
        return try NIOSSLContext(configuration: configuration)
    }

    /// - Parameter makeHandler: called on the connection's event loop.
    func connect(_ makeHandler: @escaping @Sendable () -> HTTP2ConnectionHandler) -> EventLoopFuture<Void> {
        let context = tls
        let serverName = endpoint.isAddress ? nil : endpoint.host
        return ClientBootstrap(group: group.next())
            .connectTimeout(.seconds(Limits.connectTimeoutSeconds))
            .channelOption(.socketOption(.tcp_nodelay), value: 1)
            .channelOption(.writeBufferWaterMark, value: .init(low: 256 * 1024, high: 1024 * 1024))
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 64 * 1024))
            .connect(host: endpoint.host, port: endpoint.port)
            .flatMapThrowing { channel in
                // Only now: while names are resolved and addresses tried there may be several channels.
                let pipeline = channel.pipeline.syncOperations
                try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: serverName))
                try pipeline.addHandler(makeHandler())
            }
    }
}
