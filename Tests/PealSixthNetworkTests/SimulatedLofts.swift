import NIOCore
import NIOHTTP1
import NIOPosix
import PealCore
import Synchronization

/// The far end of the made-up network: an HTTP server that keeps what arrives. Lofts whose ring begins with `gone` are
/// abandoned.
final class SimulatedLofts: Sendable {
    struct Arrival: Sendable, Equatable {
        let path: String
        let whistle: String
        let feed: String
        let text: String
    }

    private let arrived = Mutex<[Arrival]>([])
    private let channel = Mutex<(any Channel)?>(nil)

    var arrivals: [Arrival] { arrived.withLock { $0 } }

    /// Returns the server's URL.
    func start() async throws -> String {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { [self] channel in
                channel.pipeline.configureHTTPServerPipeline().flatMapThrowing {
                    try channel.pipeline.syncOperations.addHandler(LoftHandler(lofts: self))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = channel.localAddress?.port ?? 0
        self.channel.withLock { $0 = channel }
        return "http://127.0.0.1:\(port)"
    }

    func stop() async throws {
        try await channel.withLock { $0.take() }?.close()
    }

    fileprivate func receive(_ arrival: Arrival) -> HTTPResponseStatus {
        guard !arrival.path.contains("/gone") else { return .gone }
        arrived.withLock { $0.append(arrival) }
        return .ok
    }
}

private final class LoftHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let lofts: SimulatedLofts
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    init(lofts: SimulatedLofts) { self.lofts = lofts }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = []
        case .body(let part): body += part.readableBytesView
        case .end:
            guard let head else { return }
            let status = lofts.receive(
                .init(
                    path: head.uri, whistle: head.headers.first(name: "x-whistle") ?? "",
                    feed: head.headers.first(name: "x-feed") ?? "", text: String(decoding: body, as: UTF8.self)))
            let reply = HTTPResponseHead(version: .http1_1, status: status, headers: ["content-length": "0"])
            context.write(wrapOutboundOut(.head(reply)), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
