import NIOCore
import NIOHTTP1
import NIOPosix
import PealCore
import Synchronization

/// An HTTP server on a free loopback port that records requests and gives the specified answers.
final class ScriptedServer: Sendable {
    struct Seen: Sendable {
        let method: String
        let uri: String
        let headers: [String: String]
        let body: String
    }

    struct Reply: Sendable {
        let status: Int
        let body: String
        var headers: [(String, String)] = []
    }

    private let seen = Mutex<[Seen]>([])
    private let answer: @Sendable (Seen) -> Reply

    init(answer: @escaping @Sendable (Seen) -> Reply) { self.answer = answer }

    /// Runs `body` with the server's base URL; the server is gone afterwards.
    static func with(
        _ answer: @escaping @Sendable (Seen) -> Reply, _ body: (String, ScriptedServer) async throws -> Void
    ) async throws {
        let server = ScriptedServer(answer: answer)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.pipeline.configureHTTPServerPipeline().flatMap {
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Handler(server))
                    }
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            try await body("http://127.0.0.1:\(channel.localAddress?.port ?? 0)", server)
        } catch {
            try await channel.close()
            throw error
        }
        try await channel.close()
    }

    var requests: [Seen] { seen.withLock { $0 } }

    fileprivate func take(_ request: Seen) -> Reply {
        seen.withLock { $0.append(request) }
        return answer(request)
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let server: ScriptedServer
        private var head: HTTPRequestHead?
        private var body = ""

        init(_ server: ScriptedServer) { self.server = server }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head):
                self.head = head
                body = ""
            case .body(let buffer):
                body += String(buffer: buffer)
            case .end:
                guard let head else { return }
                let headers = Dictionary(head.headers.map { ($0.name.lowercased(), $0.value) }) { $1 }
                write(
                    server.take(Seen(method: head.method.rawValue, uri: head.uri, headers: headers, body: body)),
                    context)
            }
        }

        private func write(_ reply: Reply, _ context: ChannelHandlerContext) {
            var headers = HTTPHeaders(reply.headers)
            headers.add(name: "content-length", value: String(reply.body.utf8.count))
            let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: reply.status), headers: headers)
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: reply.body)))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
