internal import NIOCore
internal import NIOHTTP1

/// Says `Connection: close` of requests that are the last of their connection, in the words that Hummingbird looks for:
/// those of HTTP/1.0, whose clients may wait for the end, and those that say so themselves in any letter case (RFC 9112
/// §9.3).
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
