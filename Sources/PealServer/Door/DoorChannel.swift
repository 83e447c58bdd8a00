internal import HTTPTypes
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOSSL
internal import PealAPI
internal import PealCore
internal import Synchronization

/// Sets up a listener's connections. It is replaced when the listener gets a new certificate.
final class DoorParts<Base: ServerChildChannel>: Sendable {
    private let present: Mutex<(base: Base, surplusTLS: NIOSSLContext?)>

    /// - Parameter surplusTLS: for surplus connections with TLS, which speak HTTP/1.1 only.
    init(_ base: Base, surplusTLS: NIOSSLContext?) { present = Mutex((base, surplusTLS)) }

    var base: Base { present.withLock { $0.base } }
    var surplusTLS: NIOSSLContext? { present.withLock { $0.surplusTLS } }

    func set(_ base: Base, surplusTLS: NIOSSLContext?) { present.withLock { $0 = (base, surplusTLS) } }
}

/// Every connection of a listener passes through here: an admitted one gets the channel of its protocol, and deadlines;
/// a surplus one gets an answer and is closed.
struct DoorChannel<Base: ServerChildChannel>: ServerChildChannel {
    struct Value: ServerChildChannelValue {
        let channel: any Channel
        /// nil for a surplus connection.
        let admitted: Base.Value?
    }

    let parts: DoorParts<Base>
    let connections: Connections
    let deadlines: HTTPDeadlines

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        guard connections.admit(channel) else {
            return channel.eventLoop.makeCompletedFuture {
                try refuse(channel)
                return Value(channel: channel, admitted: nil)
            }
        }
        ReadSize.limit(channel)
        return parts.base.setup(channel: channel, logger: logger).flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            if let tls = try? pipeline.handler(type: NIOSSLServerHandler.self) {
                try pipeline.addHandlers(
                    [ConnectionDeadlines(deadlines, usesTLS: true), FrameBudget()], position: .after(tls))
            } else {
                try pipeline.addHandler(ConnectionDeadlines(deadlines, usesTLS: false), position: .first)
            }
            return Value(channel: channel, admitted: value)
        }
    }

    func handle(value: Value, logger: Logger) async {
        guard let admitted = value.admitted else { return }
        // Requests run on the thread of their connection's event loop, which saves thread switches. A TLS connection may
        // use HTTP/2, and one thread would be too few for all its streams.
        let executor = parts.surplusTLS == nil ? EventLoopExecutor(value.channel.eventLoop) : nil
        await withTaskExecutorPreference(executor) {
            await parts.base.handle(value: admitted, logger: logger)
        }
    }

    private func refuse(_ channel: any Channel) throws {
        let pipeline = channel.pipeline.syncOperations
        if let surplusTLS = parts.surplusTLS { try pipeline.addHandler(NIOSSLServerHandler(context: surplusTLS)) }
        let handler = SurplusHandler()
        try pipeline.addHandler(handler)
        let bound = NIOLoopBound(handler, eventLoop: channel.eventLoop)
        let loop = channel.eventLoop
        connections.refuse(channel) { loop.execute { bound.value.evict() } }
    }
}

/// How much of one connection is read before the event loop turns to the others. A client that sends a body in pieces
/// of one byte costs much time for each kilobyte: with NIO's 256 KiB, a few of them would delay everyone by a second.
enum ReadSize {
    static let bytesMax = 16 * 1024

    static func limit(_ channel: any Channel) {
        // Fails only if the channel has closed already.
        try? channel.syncOptions?.setOption(ChannelOptions.maxMessagesPerRead, value: 1)
        try? channel.syncOptions?.setOption(
            ChannelOptions.recvAllocator,
            value: AdaptiveRecvByteBufferAllocator(minimum: 512, initial: 2048, maximum: bytesMax))
    }
}

/// Answers a connection beyond the limit: a health check gets its answer, any other request 503, and a silent client
/// 503 after a moment. Then the connection closes.
final class SurplusHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private static let headBytesMax = 8192
    private static let lingerTime = TimeAmount.seconds(1)

    private var head: [UInt8] = []
    private var isAnswered = false
    private var alarm: Scheduled<Void>?
    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        schedule(.seconds(HTTPDeadlines.surplusSeconds)) { $0.answer(.serviceUnavailable) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        alarm?.cancel()
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isAnswered else { return }
        head += Self.unwrapInboundIn(data).readableBytesView
        let isHealthCheck = head.starts(with: Array("GET /healthz".utf8))
        if !isHealthCheck, head.count >= 12 || head.contains(0x0A) { return answer(.serviceUnavailable) }
        if Self.ends(head) { return answer(isHealthCheck ? .ok : .serviceUnavailable) }
        if head.count > Self.headBytesMax { answer(.serviceUnavailable) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { return context.close(promise: nil) }
        if event as? ChannelEvent == .inputClosed, isAnswered { return context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// Closes to make room for a newer one.
    func evict() {
        guard let context else { return }
        if isAnswered { return context.close(promise: nil) }
        answer(.serviceUnavailable)
        context.close(promise: nil)
    }

    private static func ends(_ head: [UInt8]) -> Bool {
        head.suffix(4).elementsEqual([0x0D, 0x0A, 0x0D, 0x0A]) || head.suffix(2).elementsEqual([0x0A, 0x0A])
    }

    private func answer(_ status: HTTPResponse.Status) {
        guard let context, !isAnswered else { return }
        isAnswered = true
        let requestID = Hex.encode(SystemRandomness().bytes(8))
        let body =
            status == .ok
            ? #"{"status":"ok"}"#
            : String(
                decoding: PealError(.unavailable, "too many connections").nativeBody(requestID: requestID),
                as: UTF8.self)
        var text = "HTTP/1.1 \(status.code) \(status.reasonPhrase)\r\nConnection: close\r\nCache-Control: no-store\r\n"
        if status != .ok { text += "Retry-After: 5\r\nX-Request-Id: \(requestID)\r\n" }
        text += "Content-Type: application/json; charset=utf-8\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
        // Data that the client is still sending must not reach a closed socket before the client has read the answer.
        context.close(mode: .output, promise: nil)
        schedule(Self.lingerTime) { $0.context?.close(promise: nil) }
    }

    private func schedule(_ delay: TimeAmount, _ action: @escaping (SurplusHandler) -> Void) {
        alarm?.cancel()
        alarm = context?.eventLoop.assumeIsolated().scheduleTask(in: delay) { action(self) }
    }
}

/// Runs tasks on the thread of an event loop. A task that mostly waits for the loop's connections saves a thread switch
/// each time. Its code must be brief, because the connections wait while it runs.
final class EventLoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
