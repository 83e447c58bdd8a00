import Logging
import NIOCore
import NIOSSL
import PealCore

/// Connects one channel to its pool: pulls devices from the pool, lets the state machine write their requests into one
/// buffer per flush, and hands answers back once per read. Runs on the connection's event loop only.
final class HTTP2ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let pool: ConnectionPool
    let id: Int
    let exchange: any Exchange
    var state: HTTP2ConnectionState
    /// The bytes of the next flush.
    var out: ByteBuffer
    private var spare = ByteBuffer()
    private static let bufferBytes = 128 * 1024
    private(set) var input = ByteBuffer()
    var endings = StreamEndings()
    var orders = OrderSlots()
    var context: ChannelHandlerContext?
    /// Whether an answer showed that the peer works and accepts the credential, so that more than one stream may be
    /// open.
    var isProven = false
    var hasAnswered = false
    /// Whether TLS failed, in the handshake or before the first answer.
    private var distrusts = false
    /// Whether to begin no further requests and close when all open ones are answered.
    var isFinishing = false
    /// Whether the pool knows that this connection is running out of stream ids.
    var hasAnnouncedEnd = false
    /// Whether this connection has logged that the provider refuses Peal's requests (`Exchange.needsAlert`).
    var hasAlerted = false
    private var hasEnded = false
    var pulse: ConnectionPulse
    var authorizations = AuthorizationMarks()
    private var tickTask: RepeatedTask?

    init(pool: ConnectionPool, id: Int) {
        self.pool = pool
        self.id = id
        exchange = pool.exchange
        state = HTTP2ConnectionState(
            authority: pool.connector.endpoint.authority, idName: pool.exchange.idName,
            indexesAuthorization: pool.exchange.indexesAuthorization, remarkName: pool.exchange.remarkName,
            streamIDMax: pool.settings.streamIDMax)
        out = ByteBufferAllocator().buffer(capacity: Self.bufferBytes)
        isProven = !pool.exchange.provesFirst && !pool.isMute
        pulse = ConnectionPulse(uptime: pool.time.uptime - pool.time.lag)
    }

    /// The channel is connected: see `Connector`.
    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let loop = context.eventLoop
        let bound = NIOLoopBound(self, eventLoop: loop)
        let handle = ConnectionHandle(
            wake: { loop.execute { bound.value.pump() } },
            finish: { loop.execute { bound.value.finish() } },
            abort: { loop.execute { bound.value.abort() } })
        isFinishing = !pool.attach(id, handle)
        let tick = pool.settings.tick
        tickTask = loop.scheduleRepeatedTask(initialDelay: tick, delay: tick) { _ in bound.value.tick() }
        state.start(into: &out)
        flush()
        closeIfDone()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Bytes that a peer sends while TLS shuts down are dropped.
        guard !hasEnded else { return }
        var buffer = unwrapInboundIn(data)
        if input.readableBytes > 0 {
            input.discardReadBytes()
            input.writeBuffer(&buffer)
        } else {
            input = buffer
        }
        pulse.hasRead = true
        do throws(HTTP2Fault) {
            try state.receive(&input, into: &out, endings: &endings)
        } catch {
            fail(error)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        settleEndings()
        noticeGoAway()
        pump()
        flush()
        closeIfDone()
        context.fireChannelReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        pump()
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end()
        self.context = nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Peers often close without TLS's close_notify alert, or while idle: neither deserves a warning.
        let isNews = !hasEnded && (state.openCount > 0 || !hasAnswered)
        pool.logger.log(level: isNews ? .warning : .debug, "connection failed", metadata: metadata("\(error)"))
        if case NIOSSLError.handshakeFailed = error { distrusts = true }
        if let error = error as? NIOSSLExtraError, error == .failedToValidateHostname { distrusts = true }
        // In TLS 1.3 the client's part of the handshake ends before the peer has checked its certificate (RFC 8446 §2).
        if error is BoringSSLError, !hasAnswered { distrusts = true }
        context.close(promise: nil)
    }

    /// Sends the buffer. Two buffers take turns, so that the one TLS has read is filled again. Writing may call back
    /// into this handler, so the other buffer is in use before the write.
    func flush() {
        guard out.readableBytes > 0, let context else { return }
        swap(&out, &spare)
        var written = ByteBuffer()
        swap(&written, &spare)
        context.writeAndFlush(wrapOutboundOut(written), promise: nil)
        written.clear(minimumCapacity: Self.bufferBytes)
        if out.capacity < Self.bufferBytes { out.reserveCapacity(Self.bufferBytes) }
        spare = written
    }

    /// The peer violated the protocol.
    private func fail(_ fault: HTTP2Fault) {
        pool.logger.warning("the peer violated the protocol", metadata: metadata(fault.reason))
        state.writeGoAway(fault.code, into: &out)
        flush()
        abort()
    }

    func finish() {
        guard !isFinishing else { return }
        isFinishing = true
        pool.retire(id)
        closeIfDone()
    }

    func closeIfDone() {
        guard isFinishing, !hasEnded, state.openCount == 0, let context else { return }
        state.writeGoAway(.noError, into: &out)
        flush()
        context.close(promise: nil)
    }

    func abort() {
        end()
        context?.close(promise: nil)
    }

    /// Answers the open requests and leaves the pool, once.
    private func end() {
        guard !hasEnded else { return }
        hasEnded = true
        tickTask?.cancel()
        state.giveUpAll(endings: &endings)
        settleEndings()
        pool.end(id, hasAnswered: hasAnswered || wasUnneeded, failure: distrusts ? "NoTLS" : "NoConnection")
    }

    /// Whether it could have taken requests for some time and never got any. Its end, by whichever side, says nothing
    /// about the next connection.
    private var wasUnneeded: Bool {
        let age = pool.time.uptime - pool.time.lag - pulse.startedAt
        return state.isSettled && state.nextStreamID == 1 && state.peer.streamsMax > 0
            && age >= .seconds(Limits.connectTimeoutSeconds)
    }

    func metadata(_ reason: String) -> Logger.Metadata {
        ["host": "\(pool.connector.endpoint.authority)", "reason": "\(reason)"]
    }
}

/// Outgoing requests.
extension HTTP2ConnectionHandler {
    /// Begins as many requests as the pool has and the connection can take.
    func pump() {
        guard let context, !isFinishing, state.isSettled, context.channel.isActive else { return }
        guard state.takesRequests else { return finish() }
        if state.isNearEnd, !hasAnnouncedEnd {
            hasAnnouncedEnd = true
            pool.announceEnd(id)
        }
        let authorization = exchange.authorization()
        if authorization == nil, let answer = exchange.obstacle() {
            pool.refuse(id, answer)
            return flush()
        }
        authorizations.note(authorization, from: state.nextStreamID)
        while context.channel.isWritable, let run = pool.pull(id, budget) {
            begin(run, authorization)
        }
        flush()
    }

    /// What the connection can take now: one request until it is proven, if the exchange asks for that. The bulk limits
    /// are those of the lead connection, which keeps a share free for small messages.
    private var budget: PoolQueue.Budget {
        let room = min(state.streamRoom, max(0, (pulse.openMax ?? .max) - state.openCount))
        let streams = isProven ? room : min(room, max(0, 1 - state.openCount))
        let streamsMax = min(state.peer.streamsMax, Limits.streamsPerConnectionMax)
        let share = streamsMax > 1 && isProven ? max(1, streamsMax / 20) : 0
        // At most an eighth, because peers send a WINDOW_UPDATE only after a good part of the window is used.
        let shareBytes = min(Limits.directWindowBytes, pulse.largestWindow / 8)
        pulse.largestWindow = max(pulse.largestWindow, state.sendWindow)
        return PoolQueue.Budget(
            streams: streams, windowBytes: state.sendWindow, bulkStreams: streams - share,
            bulkWindowBytes: state.sendWindow - shareBytes, streamWindow: state.peer.initialWindow,
            partialBodies: state.partialBodyRoom, isIdle: state.openCount == 0, isProven: isProven)
    }

    private func begin(_ run: PoolQueue.Run, _ authorization: Authorization?) {
        let number = orders.number(for: run.order)
        guard let slot = orders[number] else { return }
        slot.outstanding += run.count
        run.order.order.flight.begin(run.count)
        let writer = RunWriter(run: run, number: number, slot: slot, authorization: authorization)
        var position = 0
        while position < run.count {
            position = writer.write(from: position, with: &state, into: &out)
            guard out.readableBytes >= Limits.flushBytes else { continue }
            flush()
            // A write that fails closes the channel before it returns, and nothing would answer what begins later.
            if hasEnded { return giveBack(run, from: position) }
        }
    }

    /// Queues the rest of a run again, because nothing of it was written.
    private func giveBack(_ run: PoolQueue.Run, from position: Int) {
        let rest = (position..<run.count).map {
            PoolQueue.Resend(order: run.order, index: run.indices[$0], count: run.resends)
        }
        run.order.order.flight.withdraw(rest.count)
        pool.requeue(rest)
    }
}

extension HTTP2ConnectionHandler {
    /// Runs once per second unless the settings say otherwise.
    func tick() {
        // Time in which this process could not read answers is not the peer's delay.
        let orders = pulse.tick(
            uptime: pool.time.uptime - pool.time.lag, nextStreamID: state.nextStreamID, openCount: state.openCount,
            oldestOpenID: state.oldestOpenID, hasRoom: state.streamRoom > 0, pongCount: state.pongCount,
            isSettled: state.isSettled)
        if orders.isStalled {
            if !isFinishing { pool.logger.warning("connection stalled", metadata: metadata("")) }
            guard hasAnswered else { return abort() }
            // Another connection takes over, but a peer that only paused still answers what it has received: these
            // requests are lost after their own time-out, because each of them will be sent again.
            finish()
        }
        if let id = orders.giveUpBefore, state.openCount > 0 { giveUp(before: id, isMute: orders.isMute) }
        if orders.sendsPing { state.ping(into: &out) }
        if orders.isShut || orders.isIdle && pool.isSpare(id) { finish() }
        pump()
        flush()
        closeIfDone()
    }

    /// Gives up overdue requests. If some could not be written, another connection is needed, because this one's window
    /// may never open again. The same if nothing was answered meanwhile: a front end may answer PINGs for a server that
    /// it has lost.
    private func giveUp(before id: UInt32, isMute: Bool) {
        let isStarved = state.isStarved(before: id)
        state.giveUp(before: id, into: &out, endings: &endings)
        let isOverdue = !endings.isEmpty
        settleEndings()
        let isMute = isMute && isOverdue && !pulse.hasAnswer
        guard isStarved || isMute, !isFinishing else { return }
        if isMute { pool.noteMute() }
        pool.logger.warning(
            isStarved ? "the peer opens no flow-control window" : "the peer answers no request", metadata: metadata(""))
        finish()
    }
}
