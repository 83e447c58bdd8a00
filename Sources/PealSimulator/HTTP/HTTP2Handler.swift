import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOSSL

/// One HTTP/2 connection: assembles requests from frames, passes them to the responder, and carries the replies out.
/// swift-nio-http2 does framing, flow control and stream states.
final class HTTP2Handler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private let responder: any Responder
    private var memory = ConnectionMemory()
    private var hasLookedForCertificate = false
    private var streams: [HTTP2StreamID: PushRequest] = [:]
    /// Streams whose answer is pending.
    private var waiting: Set<HTTP2StreamID> = []
    private var lastStream = HTTP2StreamID.rootStream
    private var bytesConsumed = 0
    private var isLeaving = false

    init(responder: any Responder) {
        self.responder = responder
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        guard !isLeaving else { return }
        switch frame.payload {
        case .headers(let headers): receive(headers, on: frame.streamID, context)
        case .data(let data): receive(data, on: frame.streamID, context)
        case .rstStream: forget(frame.streamID)
        default: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.flush()
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case let closed as StreamClosedEvent: forget(closed.streamID)
        case let shutdown as ShutdownEvent: sendGoAway(context, reason: shutdown.reason, lastStream: lastStream)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A stream error has been answered with RST_STREAM; any other error ends the connection.
        if !(error is NIOHTTP2Errors.StreamError) { context.close(promise: nil) }
    }

    private func forget(_ stream: HTTP2StreamID) {
        streams[stream] = nil
        waiting.remove(stream)
    }

    private func receive(
        _ headers: HTTP2Frame.FramePayload.Headers, on stream: HTTP2StreamID, _ context: ChannelHandlerContext
    ) {
        if streams[stream] == nil {
            guard !waiting.contains(stream), stream > lastStream else { return }
            lastStream = stream
            streams[stream] = Self.request(headers.headers)
        }
        if headers.endStream { finish(stream, context) }
    }

    private static func request(_ headers: HPACKHeaders) -> PushRequest {
        var request = PushRequest(
            method: headers.first(name: ":method") ?? "", path: headers.first(name: ":path") ?? "",
            headers: headers.filter { !$0.name.hasPrefix(":") }.map { ($0.name, $0.value) }, body: [])
        request.authority = headers.first(name: ":authority") ?? headers.first(name: "host") ?? ""
        return request
    }

    private func receive(
        _ data: HTTP2Frame.FramePayload.Data, on stream: HTTP2StreamID, _ context: ChannelHandlerContext
    ) {
        guard case .byteBuffer(let bytes) = data.data else { return }
        let length = bytes.readableBytes + (data.paddingBytes.map { $0 + 1 } ?? 0)
        consume(length, context)
        guard streams[stream] != nil else { return }
        // A body over the limit is read but not kept: the beginning is enough to refuse it.
        streams[stream]?.append(bytes.readableBytesView, upTo: responder.bodyBytesMax)
        if data.endStream {
            finish(stream, context)
        } else if length > 0 {
            write(.windowUpdate(windowSizeIncrement: length), on: stream, context)
        }
    }

    /// Returns flow-control credit for the bytes received.
    private func consume(_ bytes: Int, _ context: ChannelHandlerContext) {
        bytesConsumed += bytes
        guard bytesConsumed >= 16_384 else { return }
        write(.windowUpdate(windowSizeIncrement: bytesConsumed), on: .rootStream, context)
        bytesConsumed = 0
    }

    private func finish(_ stream: HTTP2StreamID, _ context: ChannelHandlerContext) {
        guard let request = streams.removeValue(forKey: stream) else { return }
        if !hasLookedForCertificate {
            hasLookedForCertificate = true
            memory.certificateDER = context.pipeline.syncOperations.shownCertificateDER
        }
        let reply = responder.receive(request, memory: &memory)
        waiting.insert(stream)
        guard reply.delayMilliseconds > 0 else { return carryOut(reply, on: stream, context) }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: .milliseconds(reply.delayMilliseconds)) {
            let (handler, context) = bound.value
            guard context.channel.isActive, !handler.isLeaving else { return }
            handler.carryOut(reply, on: stream, context)
            context.flush()
        }
    }

    private func allow(_ streams: Int, _ context: ChannelHandlerContext) {
        let setting = HTTP2Setting(parameter: .maxConcurrentStreams, value: streams)
        write(.settings(.settings([setting])), on: .rootStream, context)
    }

    private func carryOut(_ reply: ConnectionReply, on stream: HTTP2StreamID, _ context: ChannelHandlerContext) {
        // The limit applies to the connection even if the client has reset this stream.
        if let limit = reply.streamLimit { allow(limit, context) }
        if waiting.contains(stream) { carryOut(reply.action, on: stream, context) }
        if let limit = reply.laterStreamLimit { allow(limit, context) }
        if reply.isLast { sendGoAway(context, reason: nil, lastStream: lastStream) }
    }

    private func carryOut(_ action: ConnectionReply.Action, on stream: HTTP2StreamID, _ context: ChannelHandlerContext)
    {
        if case .silence = action { return }
        waiting.remove(stream)
        switch action {
        case .answer(let answer): write(answer, on: stream, context)
        case .reset(let code): write(.rstStream(HTTP2ErrorCode(networkCode: code)), on: stream, context)
        case .refuse: write(.rstStream(.refusedStream), on: stream, context)
        case .goAway(let reason): sendGoAway(context, reason: reason, lastStream: Self.before(stream))
        case .close: context.close(promise: nil)
        case .silence: break
        }
    }

    private func write(_ answer: HTTPAnswer, on stream: HTTP2StreamID, _ context: ChannelHandlerContext) {
        var headers = HPACKHeaders([(":status", String(answer.status))])
        for header in answer.headers { headers.add(name: header.name, value: header.value) }
        let isShort = answer.body.isEmpty
        write(.headers(.init(headers: headers, endStream: isShort)), on: stream, context)
        if !isShort {
            let body = context.channel.allocator.buffer(bytes: answer.body)
            write(.data(.init(data: .byteBuffer(body), endStream: true)), on: stream, context)
        }
    }

    /// Sends GOAWAY with `reason`, and closes the connection a moment later so that the client can read it.
    private func sendGoAway(_ context: ChannelHandlerContext, reason: String?, lastStream: HTTP2StreamID) {
        guard !isLeaving else { return }
        isLeaving = true
        let data = reason.map { context.channel.allocator.buffer(string: APNsReason.json($0)) }
        write(.goAway(lastStreamID: lastStream, errorCode: .noError, opaqueData: data), on: .rootStream, context)
        context.flush()
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: .milliseconds(SimulatorLimits.goAwayGraceMilliseconds)) {
            bound.value.close(promise: nil)
        }
    }

    private static func before(_ stream: HTTP2StreamID) -> HTTP2StreamID {
        HTTP2StreamID(max(0, Int(stream) - 2))
    }

    private func write(
        _ payload: HTTP2Frame.FramePayload, on stream: HTTP2StreamID, _ context: ChannelHandlerContext
    ) {
        context.write(wrapOutboundOut(HTTP2Frame(streamID: stream, payload: payload)), promise: nil)
    }
}
