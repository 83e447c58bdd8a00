internal import HTTPTypes
internal import NIOCore
internal import NIOHTTPTypes

/// Answers `Expect: 100-continue` at once (RFC 9110 §10.1.1): curl and others hold a large body back until then.
/// Whether the body is welcome is told by the final answer; its size is limited while it is read.
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
