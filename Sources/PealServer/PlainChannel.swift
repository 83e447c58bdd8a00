internal import HTTPTypes
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypes
internal import NIOHTTPTypesHTTP1
internal import PealCore

/// A connection without TLS: Hummingbird's HTTP/1 channel with two handlers that it lacks.
struct PlainChannel: ServerChildChannel {
    private let http1: HTTP1Channel

    init(responder: @escaping HTTPChannelHandler.Responder) {
        http1 = HTTP1Channel(
            responder: responder,
            configuration: .init(
                additionalChannelHandlers: [ContinueHandler()], idleTimeout: .seconds(Limits.httpIdleSeconds)))
    }

    func setup(
        channel: any Channel, logger: Logger
    ) -> EventLoopFuture<NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>> {
        http1.setup(channel: channel, logger: logger).flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let codec = try pipeline.handler(type: HTTP1ToHTTPServerCodec.self)
            try pipeline.addHandler(KeepAliveHandler(), position: .before(codec))
            return value
        }
    }

    func handle(value: NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>, logger: Logger) async {
        await http1.handle(value: value, logger: logger)
    }
}

/// Marks the last request of a connection with `Connection: close`, spelled as Hummingbird expects it. That is every
/// HTTP/1.0 request, whose client may wait for the connection to close, and one with `close` in any letter case
/// (RFC 9112 §9.3).
final class KeepAliveHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = Self.unwrapInboundIn(data), head.version == .http1_0 || !head.isKeepAlive else {
            return context.fireChannelRead(data)
        }
        head.headers.replaceOrAdd(name: "connection", value: "close")
        context.fireChannelRead(Self.wrapInboundOut(.head(head)))
    }
}

/// Answers `Expect: 100-continue` at once (RFC 9110 §10.1.1), because curl and others hold back a large body until
/// then. The final answer says whether the body is accepted; its size is limited while it is read.
final class ContinueHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundOut = HTTPResponsePart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = Self.unwrapInboundIn(data),
            head.headerFields[.expect]?.lowercased() == "100-continue"
        {
            let answer = HTTPResponsePart.head(HTTPResponse(status: .continue))
            context.writeAndFlush(Self.wrapOutboundOut(answer), promise: nil)
        }
        context.fireChannelRead(data)
    }
}
