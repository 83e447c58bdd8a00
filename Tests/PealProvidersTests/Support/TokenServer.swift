import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A token endpoint over plain HTTP on loopback: gives the specified answers in order, then a grant, and records the
/// requests.
final class TokenServer: Sendable {
    typealias Reply = (status: Int, body: String)

    private struct State {
        var replies: [Reply]
        var requests: [String] = []
    }

    let port: Int
    private let channel: any Channel
    private let state: Desk

    var uri: String { "http://127.0.0.1:\(port)/token" }
    /// The bodies so far.
    var requests: [String] { state.requests }

    init(_ replies: [Reply] = []) throws {
        let state = Desk(replies)
        self.state = state
        channel = try ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { child in
                child.eventLoop.makeCompletedFuture {
                    try child.pipeline.syncOperations.configureHTTPServerPipeline()
                    try child.pipeline.syncOperations.addHandler(Handler(state))
                }
            }
            .bind(host: "127.0.0.1", port: 0).wait()
        port = channel.localAddress?.port ?? 0
    }

    deinit { channel.close(promise: nil) }

    private final class Desk: Sendable {
        private let state: Mutex<State>

        init(_ replies: [Reply]) { state = Mutex(State(replies: replies)) }

        var requests: [String] { state.withLock { $0.requests } }

        func answer(_ request: String) -> Reply {
            state.withLock { state in
                state.requests.append(request)
                if !state.replies.isEmpty { return state.replies.removeFirst() }
                return (200, #"{"access_token":"granted-\#(state.requests.count)","expires_in":3599}"#)
            }
        }
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart
        private let desk: Desk
        private var body = ""

        init(_ desk: Desk) { self.desk = desk }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head: body = ""
            case .body(let part): body += String(decoding: part.readableBytesView, as: UTF8.self)
            case .end:
                let (status, text) = desk.answer(body)
                let head = HTTPResponseHead(
                    version: .http1_1, status: .init(statusCode: status),
                    headers: ["content-length": "\(text.utf8.count)", "content-type": "application/json"])
                context.write(wrapOutboundOut(.head(head)), promise: nil)
                context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            }
        }
    }
}
