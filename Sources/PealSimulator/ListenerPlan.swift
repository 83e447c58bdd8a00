import Foundation
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

    /// Opens all of `listeners`. Throws when a port is taken; those already open are closed then.
    func open(_ listeners: [Listener]) async throws -> [ListenerName: any Channel] {
        var opened: [ListenerName: any Channel] = [:]
        for listener in listeners {
            do {
                opened[listener.name] = try await open(listener)
            } catch {
                for channel in opened.values { try? await channel.close().get() }
                let reason = (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
                throw SimulatorError("cannot listen on \(host):\(listener.port): \(reason)")
            }
        }
        return opened
    }

    private func open(_ listener: Listener) async throws -> any Channel {
        let connections = connections
        let tls =
            listener.wire == .plain
            ? nil
            : try identity.context(protocols: listener.wire.protocols, asksForCertificate: listener.asksForCertificate)
        return try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 512)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 64 << 10))
            .childChannelOption(.writeBufferWaterMark, value: .init(low: 256 << 10, high: 1 << 20))
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    connections.add(channel)
                    try Self.configure(channel, listener, tls)
                }
            }
            .bind(host: host, port: listener.port).get()
    }

    private static func configure(_ channel: any Channel, _ listener: Listener, _ tls: NIOSSLContext?) throws {
        let pipeline = channel.pipeline.syncOperations
        if let tls {
            // TLS calls back only if it has requested a certificate.
            try pipeline.addHandler(
                listener.asksForCertificate
                    ? NIOSSLServerHandler(context: tls, customVerificationCallback: ServerIdentity.acceptAny)
                    : NIOSSLServerHandler(context: tls))
        }
        switch listener.wire {
        case .plain, .secure: try addHTTP1(pipeline, listener)
        case .secureHTTP2: try addHTTP2(pipeline, listener)
        case .secureEither:
            let negotiation = ApplicationProtocolNegotiationHandler { result, channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if result == .negotiated("h2") {
                        try addHTTP2(pipeline, listener)
                    } else {
                        try addHTTP1(pipeline, listener)
                    }
                }
            }
            try pipeline.addHandler(negotiation)
        }
    }

    private static func addHTTP1(_ pipeline: ChannelPipeline.SynchronousOperations, _ listener: Listener) throws {
        try pipeline.configureHTTPServerPipeline()
        try pipeline.addHandler(
            HTTP1Handler(responder: listener.responder, scheme: listener.wire == .plain ? "http" : "https"))
    }

    private static func addHTTP2(_ pipeline: ChannelPipeline.SynchronousOperations, _ listener: Listener) throws {
        if let fast = listener.fast {
            try pipeline.addHandler(FastHandler(listener: fast))
        } else {
            try pipeline.addHandlers([
                framing(streams: listener.responder.streamsAtFirst), HTTP2Handler(responder: listener.responder),
            ])
        }
    }

    /// HTTP/2 framing for a new connection.
    private static func framing(streams: Int) -> NIOHTTP2Handler {
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: streams),
            HTTP2Setting(parameter: .maxHeaderListSize, value: SimulatorLimits.headerListBytesMax),
        ]
        connection.controlFrameRateLimit.maximumCount = 10_000
        var stream = NIOHTTP2Handler.StreamConfiguration()
        // A client that resets many streams at once is not an attacker here.
        stream.streamResetFrameRateLimit.maximumCount = 100_000
        stream.streamErrorRateLimit.maximumCount = 100_000
        return NIOHTTP2Handler(mode: .server, connectionConfiguration: connection, streamConfiguration: stream)
    }
}

extension Channel {
    /// The TCP port that a listener has; 0 when it has none.
    var localPort: Int { localAddress?.port ?? 0 }
}

/// Names a listener in `simulator.json` and in the options.
package struct ListenerName: Hashable, Sendable {
    /// The member of `simulator.json` with its URL.
    let member: String
    var scheme = "https"

    /// The control interface.
    package static let control = ListenerName(member: "control_url", scheme: "http")
}

/// A listener to be opened: its address, its protocol, and its responder.
struct Listener: Sendable {
    /// The protocol of connections.
    enum Wire: Sendable {
        /// HTTP/1.1 without TLS.
        case plain
        /// HTTP/1.1 over TLS.
        case secure
        /// HTTP/2 over TLS, and nothing else.
        case secureHTTP2
        /// Either over TLS, as ALPN negotiates.
        case secureEither

        /// The protocols that ALPN offers.
        var protocols: [String] {
            switch self {
            case .plain: []
            case .secure: ["http/1.1"]
            case .secureHTTP2: ["h2"]
            case .secureEither: ["h2", "http/1.1"]
            }
        }
    }

    let name: ListenerName
    let port: Int
    let wire: Wire
    var asksForCertificate = false
    let responder: any Responder
    /// For HTTP/2 in fast mode.
    var fast: FastListener?
}

/// The open channels of a simulator, so that each can be shut down.
final class ListenerSet: Sendable {
    private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

    /// Holds `channel` until it closes.
    func add(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        channels.withLock { $0[id] = channel }
        channel.closeFuture.whenComplete { _ in self.channels.withLock { $0[id] = nil } }
    }

    /// The channels that are open now.
    var open: [any Channel] {
        channels.withLock { Array($0.values) }
    }
}
