package import NIOCore
package import NIOHTTP1
internal import PealCore

/// Part of an HTTP/1.1 connection to a host that others choose. Receives the parts of its answers and hands them on,
/// except answers that async-http-client cannot take: it ends the process at the end of an answer with a status below
/// 100, and reads interim answers without end.
package final class AnswerGuard: ChannelInboundHandler {
    package typealias InboundIn = HTTPClientResponsePart
    package typealias InboundOut = HTTPClientResponsePart

    /// The answer's status is not one of HTTP (RFC 9110 §15), or too many interim answers preceded the final one.
    struct Refused: Error {}

    private var interimCount = 0
    private var isRefused = false

    private init() {}

    /// Adds a guard to a new connection of the client. Runs on the connection's event loop.
    package static func add(to channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
            try pipeline.addHandler(AnswerGuard(), position: .after(decoder))
        }
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = Self.unwrapInboundIn(data), !isRefused, !permits(head.status) {
            isRefused = true
            // The client fails the request and closes the connection.
            context.fireErrorCaught(Refused())
        }
        if !isRefused { context.fireChannelRead(data) }
    }

    private func permits(_ status: HTTPResponseStatus) -> Bool {
        switch status.code {
        case ..<100: return false
        // 101 is final.
        case 100, 102..<200:
            interimCount += 1
            return interimCount <= Limits.interimAnswersMax
        default:
            interimCount = 0
            return true
        }
    }
}
