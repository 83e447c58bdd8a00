import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL

/// Opens the listeners of a simulator: two of APNs over TLS and a plain one for control.
struct ListenerPlan {
    /// The open listeners.
    struct Listeners {
        let apns: any Channel
        let sandbox: any Channel
        let control: any Channel

        var all: [any Channel] { [apns, sandbox, control] }
    }

    private let options: SimulatorOptions
    private let parts: SimulatorParts
    private let tls: NIOSSLContext
    private let group: MultiThreadedEventLoopGroup
    private let connections: ListenerSet

    init(
        options: SimulatorOptions, parts: SimulatorParts, identity: ServerIdentity,
        group: MultiThreadedEventLoopGroup, connections: ListenerSet
    ) throws {
        self.options = options
        self.parts = parts
        self.tls = try identity.context()
        self.group = group
        self.connections = connections
    }

    /// Opens all three. Throws when an address is taken; those already open are closed.
    func open() async throws -> Listeners {
        var opened: [any Channel] = []
        do {
            opened.append(try await openAPNs(parts.desk(.production), port: options.apnsPort))
            opened.append(try await openAPNs(parts.desk(.sandbox), port: options.sandboxPort))
            opened.append(try await openControl())
        } catch {
            for channel in opened { try? await channel.close().get() }
            throw SimulatorError("cannot listen on \(options.host): \(error)")
        }
        return Listeners(apns: opened[0], sandbox: opened[1], control: opened[2])
    }

    private func bootstrap() -> ServerBootstrap {
        ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 512)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
    }

    private func openAPNs(_ desk: APNsDesk, port: Int) async throws -> any Channel {
        let (tls, connections, mode) = (tls, connections, options.mode)
        return try await bootstrap()
            .childChannelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 64 << 10))
            .childChannelOption(.writeBufferWaterMark, value: .init(low: 256 << 10, high: 1 << 20))
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    connections.add(channel)
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(NIOSSLServerHandler(context: tls))
                    switch mode {
                    case .strict: try pipeline.addHandlers([Self.framing(), StrictHandler(desk: desk)])
                    case .fast: try pipeline.addHandler(FastHandler(desk: desk))
                    }
                }
            }
            .bind(host: options.host, port: port).get()
    }

    /// The HTTP/2 of a new connection: one stream, until a good provider token has been shown.
    private static func framing() -> NIOHTTP2Handler {
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: 1),
            HTTP2Setting(parameter: .maxHeaderListSize, value: SimulatorLimits.headerListBytesMax),
        ]
        connection.controlFrameRateLimit.maximumCount = 10_000
        var stream = NIOHTTP2Handler.StreamConfiguration()
        // A client that gives up many requests at once is no attacker here.
        stream.streamResetFrameRateLimit.maximumCount = 100_000
        stream.streamErrorRateLimit.maximumCount = 100_000
        return NIOHTTP2Handler(mode: .server, connectionConfiguration: connection, streamConfiguration: stream)
    }

    private func openControl() async throws -> any Channel {
        let routes = ControlRoutes(parts: parts, mode: options.mode)
        let connections = connections
        return try await bootstrap().childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                connections.add(channel)
                try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                try channel.pipeline.syncOperations.addHandler(ControlHandler(routes: routes))
            }
        }
        .bind(host: options.host, port: options.controlPort).get()
    }
}

extension Channel {
    /// The TCP port that a listener has; 0 when it has none.
    var localPort: Int { localAddress?.port ?? 0 }
}
