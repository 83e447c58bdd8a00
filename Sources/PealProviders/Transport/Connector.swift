import NIOCore
import NIOPosix
import NIOSSL
import PealCore

/// Opens connections for a pool.
protocol Connecting: Sendable {
    var endpoint: Endpoint { get }
    var group: any EventLoopGroup { get }

    /// - Parameter makeHandler: called once the channel is connected, on its event loop.
    func connect(_ makeHandler: @escaping @Sendable () -> HTTP2ConnectionHandler) -> EventLoopFuture<Void>
}

/// Opens TCP and TLS towards one endpoint. Names are resolved anew for every connection: Apple asks for it, since that
/// is how it spreads load ("Sending notification requests to APNs", best practices).
struct Connector: Connecting {
    let endpoint: Endpoint
    let tls: NIOSSLContext
    let group: any EventLoopGroup
    /// Makes what resolves names for one connection; nil = the system's resolver.
    var makeResolver: (@Sendable (any EventLoop) -> any Resolver & Sendable)?

    /// Trusts the system's roots and those of `caFile` (PEM).
    /// - Parameter identity: shown to the peer; nil = none.
    static func context(caFile: String?, identity: Credential.TLSIdentity? = nil) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.applicationProtocols = ["h2"]
        configuration.minimumTLSVersion = .tlsv12
        if let caFile { configuration.additionalTrustRoots = [.file(caFile)] }
        if let identity { try configuration.show(identity) }
        return try NIOSSLContext(configuration: configuration)
    }

    func connect(_ makeHandler: @escaping @Sendable () -> HTTP2ConnectionHandler) -> EventLoopFuture<Void> {
        let context = tls
        let serverName = endpoint.isAddress ? nil : endpoint.host
        let loop = group.next()
        return ClientBootstrap(group: loop)
            .resolver(makeResolver?(loop))
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
