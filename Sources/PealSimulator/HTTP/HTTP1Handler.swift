import NIOCore
import NIOHTTP1
import NIOSSL

/// One HTTP/1.1 connection: collects a request, passes it to the responder, and carries the reply out.
final class HTTP1Handler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let responder: any Responder
    private let scheme: String
    private var memory = ConnectionMemory()
    private var request: PushRequest?
    private var isKeepAlive = true
    private var hasLookedForCertificate = false

    init(responder: any Responder, scheme: String) {
        self.responder = responder
        self.scheme = scheme
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            request = Self.request(head, scheme: scheme)
            isKeepAlive = head.isKeepAlive
        case .body(let bytes): request?.append(bytes.readableBytesView, upTo: responder.bodyBytesMax)
        case .end: finish(context)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ShutdownEvent {
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private static func request(_ head: HTTPRequestHead, scheme: String) -> PushRequest {
        var request = PushRequest(
            method: head.method.rawValue, path: head.uri,
            headers: head.headers.map { ($0.name.lowercased(), $0.value) }, body: [])
        request.scheme = scheme
        request.authority = head.headers.first(name: "host") ?? ""
        return request
    }

    private func finish(_ context: ChannelHandlerContext) {
        guard let request else { return }
        self.request = nil
        if !hasLookedForCertificate {
            hasLookedForCertificate = true
            memory.certificateDER = context.pipeline.syncOperations.shownCertificateDER
        }
        let reply = responder.receive(request, memory: &memory)
        guard reply.delayMilliseconds > 0 else { return carryOut(reply, context) }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: .milliseconds(reply.delayMilliseconds)) {
            let (handler, context) = bound.value
            if context.channel.isActive { handler.carryOut(reply, context) }
        }
    }

    private func carryOut(_ reply: ConnectionReply, _ context: ChannelHandlerContext) {
        switch reply.action {
        case .answer(let answer): write(answer, isLast: reply.isLast || !isKeepAlive, context)
        case .silence: return
        case .reset, .refuse, .goAway, .close: context.close(promise: nil)
        }
    }

    private func write(_ answer: HTTPAnswer, isLast: Bool, _ context: ChannelHandlerContext) {
        var headers = HTTPHeaders(answer.headers.map { ($0.name, $0.value) })
        if answer.status != 204 { headers.replaceOrAdd(name: "content-length", value: String(answer.body.count)) }
        if isLast { headers.replaceOrAdd(name: "connection", value: "close") }
        let status = HTTPResponseStatus(statusCode: answer.status)
        context.write(
            wrapOutboundOut(.head(.init(version: .http1_1, status: status, headers: headers))), promise: nil)
        if !answer.body.isEmpty {
            let bytes = context.channel.allocator.buffer(bytes: answer.body)
            context.write(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: nil)
        }
        let written = context.writeAndFlush(wrapOutboundOut(.end(nil)))
        // Closing discards data that the socket has not accepted yet.
        if isLast { written.assumeIsolated().whenComplete { _ in context.close(promise: nil) } }
    }
}

extension ChannelPipeline.SynchronousOperations {
    /// The client certificate of the TLS connection (DER); nil without one.
    var shownCertificateDER: [UInt8]? {
        guard let certificate = try? nioSSL_peerCertificate() else { return nil }
        return try? certificate.toDERBytes()
    }
}
