import NIOCore

/// The thin shell of a fast connection: one write for each read, whatever the number of requests in it.
final class FastHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let connection: FastConnection

    init(desk: FastDesk) {
        connection = FastConnection(desk: desk, seed: desk.ids.number())
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        connection.now = connection.desk.clock.milliseconds
        connection.desk.inbox.count { ledger, recent in
            bytes.withUnsafeReadableBytes { connection.receive($0, &ledger, &recent) }
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        flush(context)
        context.fireChannelReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        // A client that does not read its answers is not read from either.
        context.channel.setOption(.autoRead, value: context.channel.isWritable).whenFailure { _ in }
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let farewell = event as? Farewell {
            connection.leave(reason: farewell.reason, code: 0, lastStream: connection.lastStream)
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

/// What the connections of a fast listener share, and which network they play.
struct FastDesk: Sendable {
    let provider: PushProvider
    let environment: PushEnvironment
    let inbox: Inbox
    let faults: FaultPlan
    let clock: SimulatorClock
    let ids: IDSource
}
