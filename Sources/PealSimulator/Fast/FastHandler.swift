import NIOCore

/// The channel handler of a fast connection: one write for each read, however many requests it contains.
final class FastHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let connection: FastConnection

    init(listener: FastListener) {
        connection = FastConnection(listener: listener, seed: listener.ids.number())
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        connection.now = connection.listener.clock.milliseconds
        connection.listener.inbox.count { ledger, recent in
            bytes.withUnsafeReadableBytes { connection.receive($0, &ledger, &recent) }
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        flush(context)
        context.fireChannelReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        // Stops reading from a client that does not read its answers.
        context.channel.setOption(.autoRead, value: context.channel.isWritable).whenFailure { _ in }
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let shutdown = event as? ShutdownEvent {
            connection.sendGoAway(reason: shutdown.reason, code: 0, lastStream: connection.lastStream)
            flush(context)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func flush(_ context: ChannelHandlerContext) {
        if connection.writer.buffer.readableBytes > 0 {
            context.writeAndFlush(wrapOutboundOut(connection.writer.take()), promise: nil)
        }
        schedule(context)
        if connection.isEnding { close(context) }
    }

    private func schedule(_ context: ChannelHandlerContext) {
        guard !connection.delayed.isEmpty else { return }
        let delayed = connection.delayed
        connection.delayed = []
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        for answer in delayed {
            context.eventLoop.scheduleTask(in: .milliseconds(answer.fault.delayMilliseconds)) {
                let (handler, context) = bound.value
                guard context.channel.isActive, !handler.connection.isEnding else { return }
                answer.apnsID.withUnsafeBytes { id in
                    handler.connection.carryOut(answer.fault.action, answer.stream, id)
                }
                handler.flush(context)
            }
        }
    }

    private func close(_ context: ChannelHandlerContext) {
        guard !connection.isAborted else { return context.close(promise: nil) }
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: .milliseconds(SimulatorLimits.goAwayGraceMilliseconds)) {
            bound.value.close(promise: nil)
        }
    }
}

/// What the connections of a listener share in fast mode.
struct FastListener: Sendable {
    let service: any FastService
    let provider: PushProvider
    let environment: PushEnvironment
    let inbox: Inbox
    let faults: FaultPlan
    let clock: SimulatorClock
    let ids: IDSource
}

/// A network as fast mode uses it.
protocol FastService: Sendable {
    /// The answer to an access token or provider token that a fault has expired.
    var expired: FaultAnswer { get }
    /// The answer to a body over the limit.
    var tooLarge: FaultAnswer { get }
    /// The body of every success.
    var successBody: [UInt8] { get }

    /// The body of the answer to a request for an access token; nil for any other request.
    func accessToken(path: UnsafeRawBufferPointer) -> [UInt8]?

    /// The device of a request, and its fingerprint. `path` is what follows `/3/device/`, or else the whole path;
    /// `fingerprint` is that of `path`.
    func device(
        path: UnsafeRawBufferPointer, _ fingerprint: UInt64, _ body: UnsafeRawBufferPointer
    ) -> (UnsafeRawBufferPointer, UInt64)

    /// Writes the headers of a success; `successBody` follows unless it is empty.
    func writeSuccess(id: UnsafeRawBufferPointer, stream: UInt32, _ writer: inout FastWriter)

    /// The network's answer for a fault.
    func answer(_ fault: FaultAnswer, id: UnsafeRawBufferPointer) -> HTTPAnswer
}
