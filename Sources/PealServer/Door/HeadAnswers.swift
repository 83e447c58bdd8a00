internal import NIOCore
internal import NIOHTTP1

/// Lets answers to HEAD end with their heads. An answer without `Content-Length`, such as that of a stream, counts as
/// chunked, so that NIO would write its last chunk, which the client would read as part of its next answer (RFC 9112
/// §6.3).
final class HeadAnswers: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// The requests that have not been answered yet: whether each is HEAD.
    private var waiting = CircularBuffer<Bool>()

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = Self.unwrapInboundIn(data) { waiting.append(head.method == .HEAD) }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .end = Self.unwrapOutboundIn(data), waiting.popFirst() == true else {
            return context.write(data, promise: promise)
        }
        // Nothing, but it completes the promise in its turn.
        context.write(Self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer()))), promise: promise)
    }
}
