import NIOCore
import NIOPosix
import NIOSSL
import PealCore

/// Opens connections for a pool.
protocol Connecting: Sendable {
    var endpoint: RemoteEndpoint { get }
    var group: any EventLoopGroup { get }

    /// - Parameter makeHandler: called once the channel is connected, on its event loop.
    func connect(_ makeHandler: @escaping @Sendable () -> HTTP2ConnectionHandler) -> EventLoopFuture<Void>
}

/// Opens TCP and TLS connections to one endpoint and hands each to its handler. Resolves the name again for every
/// connection, because Apple spreads load through DNS ("Sending notification requests to APNs", best practices).
struct Connector: Connecting {
    let endpoint: RemoteEndpoint
    let tls: NIOSSLContext
    let group: any EventLoopGroup
    /// Returns the name resolver for one connection; nil if the system resolver is used.
    var makeResolver: (@Sendable (any EventLoop) -> any Resolver & Sendable)?

    /// Trusts the system's roots and those in `caFile` (PEM).
    /// - Parameter identity: the client certificate and key; nil for none.
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
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.writeBufferWaterMark, value: .init(low: 256 * 1024, high: 1024 * 1024))
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 64 * 1024))
            .connect(host: endpoint.host, port: endpoint.port)
            .flatMapThrowing { channel in
                // Not earlier: until one address connects, there may be several channels.
                let pipeline = channel.pipeline.syncOperations
                try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: serverName))
                try pipeline.addHandler(makeHandler())
            }
    }
}

/// A push network's host and port: where connections go and what requests carry as `:authority`.
struct RemoteEndpoint: Hashable, Sendable {
    let host: String
    let port: Int

    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Parses `https://host[:port]`, including an IPv6 address in brackets; nil for anything else, including a URL with
    /// a path.
    init?(_ url: String) {
        let prefix = "https://"
        guard url.lowercased().hasPrefix(prefix) else { return nil }
        var rest = url.dropFirst(prefix.count)
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        guard !rest.isEmpty, !rest.contains(where: { "/?#@\\ ".contains($0) }) else { return nil }
        if rest.hasPrefix("["), let close = rest.firstIndex(of: "]") {
            host = String(rest[rest.index(after: rest.startIndex)..<close])
            rest = rest[rest.index(after: close)...]
        } else {
            host = String(rest.prefix { $0 != ":" })
            rest = rest.dropFirst(host.count)
        }
        if rest.isEmpty {
            port = 443
        } else {
            guard rest.hasPrefix(":"), let number = UInt16(rest.dropFirst()), number > 0 else { return nil }
            port = Int(number)
        }
        guard !host.isEmpty else { return nil }
    }

    /// The value of `:authority`: the port appears only if it is not 443.
    var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == 443 ? name : "\(name):\(port)"
    }

    /// Whether the host is an IP address, which TLS does not allow as a server name (RFC 6066 §3).
    var isAddress: Bool {
        host.contains(":") || host.split(separator: ".").allSatisfy { UInt8($0) != nil }
    }
}

extension TLSConfiguration {
    /// Presents the identity when the peer requests a client certificate.
    /// - Throws: if the chain or the key cannot be read.
    mutating func show(_ identity: Credential.TLSIdentity) throws {
        certificateChain = try NIOSSLCertificate.fromPEMBytes(Array(identity.certificates.utf8))
            .map { .certificate($0) }
        privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(identity.privateKey.utf8), format: .pem))
    }
}
