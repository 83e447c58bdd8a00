package import NIOCore
internal import NIOHPACK
package import NIOHTTP1
internal import NIOHTTP2
internal import PealCore

/// Part of an HTTP/1.1 connection of async-http-client. Receives the parts of the answers and hands them on, except
/// answers that the client cannot take: it ends the process at the end of an answer with a status below 100, and reads
/// any number of interim answers.
package final class AnswerGuard: ChannelInboundHandler {
    package typealias InboundIn = HTTPClientResponsePart
    package typealias InboundOut = HTTPClientResponsePart

    /// The answer's status is not one of HTTP (RFC 9110 §15), or too many interim answers preceded the final one.
    struct Refused: Error, CustomStringConvertible {
        let description = "the answer is not valid HTTP"
    }

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

    /// The same for a new stream of an HTTP/2 connection.
    package static func add(toStream channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            // Before the codec, which cannot take every status either.
            try channel.pipeline.syncOperations.addHandler(StreamAnswerGuard(), position: .first)
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

/// Part of a stream of an HTTP/2 connection. Receives the frames of the answer and hands them on, except answers that
/// async-http-client or its codec cannot take. They end the process at an empty or negative status, at one below 100 or
/// above 999, and at the answer after a 101. HTTP/2 has no 101 (RFC 9113 §8.6).
final class StreamAnswerGuard: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload

    private var interimCount = 0
    private var isFinal = false
    private var isRefused = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .headers(let block) = Self.unwrapInboundIn(data), !isRefused, !permits(block) {
            isRefused = true
            // The client fails the request and resets the stream.
            context.fireErrorCaught(AnswerGuard.Refused())
        }
        if !isRefused { context.fireChannelRead(data) }
    }

    private func permits(_ block: HTTP2Frame.FramePayload.Headers) -> Bool {
        // Trailers follow.
        guard !isFinal else { return true }
        guard let status = Self.status(of: block.headers) else { return false }
        isFinal = status >= 200
        interimCount += 1
        return isFinal || status != 101 && !block.endStream && interimCount <= Limits.interimAnswersMax
    }

    /// The status, if it is exactly three digits and at least 100.
    private static func status(of headers: HPACKHeaders) -> Int? {
        guard let text = headers.first(name: ":status"), text.utf8.count == 3,
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return Int(text).flatMap { $0 >= 100 ? $0 : nil }
    }
}
