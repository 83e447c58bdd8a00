import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL
import NIOTLS
import Synchronization

/// Opens the listeners of a simulator.
struct ListenerPlan {
    let host: String
    let identity: ServerIdentity
    let group: MultiThreadedEventLoopGroup
    let connections: ListenerSet

    /// Opens all of `orders`. Throws when an address is taken; those already open are closed.
    func open(_ orders: [ListenerName: ListenerOrder]) async throws -> [ListenerName: any Channel] {
        var opened: [ListenerName: any Channel] = [:]
        do {
            for name in ListenerName.allCases {
                if let order = orders[name] { opened[name] = try await open(order) }
            }
        } catch {
            for channel in opened.values { try? await channel.close().get() }
            throw SimulatorError("cannot listen on \(host): \(error)")
        }
        return opened
    }

    private func open(_ order: ListenerOrder) async throws -> any Channel {
        let connections = connections
        let tls =
            order.wire == .plain
            ? nil
            : try identity.context(protocols: order.wire.protocols, asksForCertificate: order.asksForCertificate)
        return try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 512)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 64 << 10))
            .childChannelOption(.writeBufferWaterMark, value: .init(low: 256 << 10, high: 1 << 20))
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    connections.add(channel)
                    try Self.configure(channel, order, tls)
                }
            }
            .bind(host: host, port: order.port).get()
    }

    private static func configure(_ channel: any Channel, _ order: ListenerOrder, _ tls: NIOSSLContext?) throws {
        let pipeline = channel.pipeline.syncOperations
        if let tls {
            // Without a wish for certificates the callback is never asked.
            try pipeline.addHandler(
                order.asksForCertificate
                    ? NIOSSLServerHandler(context: tls, customVerificationCallback: ServerIdentity.acceptAny)
                    : NIOSSLServerHandler(context: tls))
        }
        switch order.wire {
        case .plain, .secure: try addHTTP1(pipeline, order)
        case .secureHTTP2: try addHTTP2(pipeline, order)
        case .secureEither:
            let negotiation = ApplicationProtocolNegotiationHandler { result, channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if result == .negotiated("h2") {
                        try addHTTP2(pipeline, order)
                    } else {
                        try addHTTP1(pipeline, order)
                    }
                }
            }
            try pipeline.addHandler(negotiation)
        }
    }

    private static func addHTTP1(_ pipeline: ChannelPipeline.SynchronousOperations, _ order: ListenerOrder) throws {
        try pipeline.configureHTTPServerPipeline()
        try pipeline.addHandler(HTTP1Handler(desk: order.desk, scheme: order.wire == .plain ? "http" : "https"))
    }

    private static func addHTTP2(_ pipeline: ChannelPipeline.SynchronousOperations, _ order: ListenerOrder) throws {
        if let desk = order.fastDesk {
            try pipeline.addHandler(FastHandler(desk: desk))
        } else {
            try pipeline.addHandlers([framing(streams: order.desk.streamsAtFirst), HTTP2Handler(desk: order.desk)])
        }
    }

    /// The HTTP/2 of a new connection.
    private static func framing(streams: Int) -> NIOHTTP2Handler {
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: streams),
            HTTP2Setting(parameter: .maxHeaderListSize, value: SimulatorLimits.headerListBytesMax),
        ]
        connection.controlFrameRateLimit.maximumCount = 10_000
        var stream = NIOHTTP2Handler.StreamConfiguration()
        // A client that gives up many requests at once is no attacker here.
        stream.streamResetFrameRateLimit.maximumCount = 100_000
        stream.streamErrorRateLimit.maximumCount = 100_000
        return NIOHTTP2Handler(mode: .server, connectionConfiguration: connection, streamConfiguration: stream)
    }
}

extension Channel {
    /// The TCP port that a listener has; 0 when it has none.
    var localPort: Int { localAddress?.port ?? 0 }
}

/// The listeners of a simulator.
enum ListenerName: CaseIterable {
    case apns, sandbox, management, sandboxManagement, fcm, wns, mpns, mpnsSecure, webPush, control
}

/// A listener to be opened: where, what it speaks, and who deals with its requests.
struct ListenerOrder {
    /// What connections speak.
    enum Wire {
        /// HTTP/1.1 in plain.
        case plain
        /// HTTP/1.1 over TLS.
        case secure
        /// HTTP/2 over TLS, and nothing else.
        case secureHTTP2
        /// Either over TLS, as ALPN settles it.
        case secureEither

        /// What ALPN offers.
        var protocols: [String] {
            switch self {
            case .plain: []
            case .secure: ["http/1.1"]
            case .secureHTTP2: ["h2"]
            case .secureEither: ["h2", "http/1.1"]
            }
        }
    }

    let port: Int
    let wire: Wire
    var asksForCertificate = false
    let desk: any RequestDesk
    /// For HTTP/2 in the fast mode.
    var fastDesk: FastDesk?
}

/// The open channels of a simulator, so that stopping can say farewell to each.
final class ListenerSet: Sendable {
    private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

    /// Holds `channel` until it closes.
    func add(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        channels.withLock { $0[id] = channel }
        channel.closeFuture.whenComplete { _ in self.channels.withLock { $0[id] = nil } }
    }

    /// What is open now.
    var open: [any Channel] {
        channels.withLock { Array($0.values) }
    }
}
