internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypes
internal import NIOHTTPTypesHTTP1
internal import PealCore

/// The requests of a connection, or the one request of an HTTP/2 stream: closes it when a body arrives, or an answer is
/// read, more slowly than allowed, or when a client sends too many requests without waiting for answers; and answers
/// `Expect: 100-continue`.
final class RequestDeadlines: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// The body that is being received.
    private struct Incoming {
        /// The bytes received since the body became useless.
        var bytes = 0
        var pace = BodyPace()
        /// The answer is already written; the rest of the body is not needed.
        var isUseless = false
    }

    private static let checkInterval = TimeAmount.seconds(1)
    /// How much of a body is read after its request was refused, so that the client reads the answer.
    private static let uselessBytesMax = 8 * 1024 * 1024

    private let deadlines: HTTPDeadlines
    private var connection: ConnectionDeadlines?
    private var isHTTP1 = false
    private var requestsOpen = 0
    private var incoming: Incoming?
    private var readSince: NIODeadline?
    private var unwritten = 0
    private var bodyCheck: Scheduled<Void>?
    private var writeAlarm: Scheduled<Void>?
    private var isAnswering = false
    /// The client sent too many requests; what else it sent is dropped.
    private var isClosing = false

    init(_ deadlines: HTTPDeadlines) { self.deadlines = deadlines }

    func handlerAdded(context: ChannelHandlerContext) {
        let pipeline = context.pipeline.syncOperations
        if let codec = try? pipeline.handler(type: HTTP1ToHTTPServerCodec.self) {
            isHTTP1 = true
            try? pipeline.addHandlers([HostCheck(), HeadAnswers(), KeepAliveHandler()], position: .before(codec))
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        while requestsOpen > 0 { endRequest() }
        bodyCheck?.cancel()
        writeAlarm?.cancel()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if let since = readSince {
            incoming?.pace.wait(.now() - since)
            readSince = nil
        }
        guard !isClosing else { return }
        switch Self.unwrapInboundIn(data) {
        case .head(let head):
            if connection == nil { connection = Self.connection(of: context.channel, isHTTP1: isHTTP1) }
            guard requestsOpen < Limits.httpPipelinedRequestsMax else {
                // Requests that wait take many times their size in memory.
                isClosing = true
                return context.close(promise: nil)
            }
            requestsOpen += 1
            connection?.requestBegan()
            incoming = Incoming()
            isAnswering = false
            // On HTTP/1, `HostCheck` has refused it.
            if !isHTTP1, Self.hasTooManyMarks(head) {
                isClosing = true
                context.write(Self.wrapOutboundOut(.head(HTTPResponse(status: .badRequest))), promise: nil)
                context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
                return context.close(promise: nil)
            }
            if isHTTP1, head.headerFields[.expect]?.lowercased() == "100-continue" {
                // Immediately (RFC 9110 §10.1.1): curl and other clients hold back a large body until then. The final
                // answer says whether the body is accepted; its size is limited while it is read.
                let answer = HTTPResponsePart.head(HTTPResponse(status: .continue))
                context.writeAndFlush(Self.wrapOutboundOut(answer), promise: nil)
            }
        case .body(let buffer):
            incoming?.bytes += buffer.readableBytes
            if let incoming, incoming.isUseless {
                if incoming.bytes > Self.uselessBytesMax { context.close(promise: nil) }
                return
            }
            incoming?.pace.receive(buffer.readableBytes, deadlines)
        case .end: incoming = nil
        }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if incoming == nil {
            bodyCheck?.cancel()
            bodyCheck = nil
        } else if bodyCheck == nil {
            scheduleCheck(context)
        }
        context.fireChannelReadComplete()
        readUseless(context)
    }

    /// Nothing behind this handler asks for the rest of a body whose answer was the connection's last, and a client
    /// that is not read from may never read that answer.
    private func readUseless(_ context: ChannelHandlerContext) {
        if incoming?.isUseless == true, readSince == nil { read(context: context) }
    }

    func read(context: ChannelHandlerContext) {
        if readSince == nil { readSince = .now() }
        context.read()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch Self.unwrapOutboundIn(data) {
        case .head(let head): if head.status.kind != .informational { isAnswering = true }
        case .body(let buffer): unwritten = buffer.readableBytes
        case .end:
            endRequest()
            if requestsOpen == 0, incoming != nil {
                incoming?.isUseless = true
                incoming?.bytes = 0
                incoming?.pace = BodyPace()
                if bodyCheck == nil { scheduleCheck(context) }
            }
        }
        context.write(data, promise: promise)
        readUseless(context)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        writeAlarm?.cancel()
        writeAlarm = nil
        if !context.channel.isWritable {
            writeAlarm = context.eventLoop.assumeIsolated().scheduleTask(in: deadlines.allowance(unwritten)) {
                context.close(promise: nil)
            }
        }
        context.fireChannelWritabilityChanged()
    }

    private func endRequest() {
        guard requestsOpen > 0 else { return }
        requestsOpen -= 1
        connection?.requestEnded()
    }

    private func scheduleCheck(_ context: ChannelHandlerContext) {
        bodyCheck = context.eventLoop.assumeIsolated().scheduleTask(in: Self.checkInterval) { self.checkBody(context) }
    }

    private static func hasTooManyMarks(_ head: HTTPRequest) -> Bool {
        let texts = head.headerFields.map(\.value) + [head.path, head.authority].compactMap { $0 }
        return texts.contains { CombiningMarks.areTooMany(in: $0) }
    }

    private static func connection(of channel: any Channel, isHTTP1: Bool) -> ConnectionDeadlines? {
        let owner = isHTTP1 ? channel : channel.parent
        return try? owner?.pipeline.syncOperations.handler(type: ConnectionDeadlines.self)
    }

    /// Only time in which the server is ready to read counts: if the server is too busy to read, it is not the client's
    /// fault.
    private func checkBody(_ context: ChannelHandlerContext) {
        bodyCheck = nil
        guard let incoming else { return }
        let waiting = readSince.map { NIODeadline.now() - $0 } ?? .zero
        guard incoming.pace.isTooSlow(waiting: waiting, deadlines) else { return scheduleCheck(context) }
        if !isAnswering, !incoming.isUseless {
            let head = HTTPResponse(
                status: .requestTimeout, headerFields: isHTTP1 ? [.connection: "close", .contentLength: "0"] : [:])
            context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
            context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
        }
        context.close(promise: nil)
    }
}

/// Marks the last request of a connection with `Connection: close`, spelled as Hummingbird expects it. This is every
/// HTTP/1.0 request, whose client may wait for the connection to close, and every request with `close` in any letter
/// case (RFC 9112 §9.3).
final class KeepAliveHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = Self.unwrapInboundIn(data), head.version == .http1_0 || !head.isKeepAlive else {
            return context.fireChannelRead(data)
        }
        head.headers.replaceOrAdd(name: "connection", value: "close")
        // HTTP/1.0 has no interim answers (RFC 9110 §10.1.1).
        if head.version == .http1_0 { head.headers.remove(name: "expect") }
        context.fireChannelRead(Self.wrapInboundOut(.head(head)))
    }
}

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
        // Writes nothing, but completes the promise in its turn.
        context.write(Self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer()))), promise: promise)
    }
}
