internal import NIOCore
internal import NIOSSL
internal import NIOTLS
internal import PealCore

/// Closes an HTTP/2 connection whose client sends many frames that ask for nothing, such as window updates of one byte
/// and frames of unknown types, with ENHANCE_YOUR_CALM (RFC 9113 §10.5).
///
/// A connection may send `Limits.httpSpareFramesMax` of them; requests and answers earn more, because a client widens
/// its windows while it reads. The library limits pings, settings, priorities, resets and empty data by itself.
///
/// It sees bytes: after TLS, before HTTP. It reads only the header of each frame.
final class FrameBudget: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private static let headerBytes = 9
    private static let prefaceBytes = 24
    private static let framesPerRequest = 4
    /// Clients widen the windows of the stream and of the connection after each event that they read.
    private static let framesPerWrite = 2
    private static let bytesPerFrame = 1024
    /// How long the client may take to read why its connection ends.
    private static let lingerTime = TimeAmount.seconds(1)
    private static let data: UInt8 = 0x0
    private static let headers: UInt8 = 0x1
    /// GOAWAY: eight bytes on stream 0, with the highest stream and ENHANCE_YOUR_CALM.
    private static let goAway: [UInt8] =
        [0, 0, 8, 0x7, 0, 0, 0, 0, 0] + [0x7F, 0xFF, 0xFF, 0xFF] + [0, 0, 0, 0xB]

    private enum Phase {
        /// Not HTTP/2, or not yet.
        case off
        case frames
        /// The client sent too many frames; nothing else is read.
        case closing
    }

    private var phase = Phase.off
    /// How many bytes follow before the next header.
    private var skip = prefaceBytes
    private var header: [UInt8] = []
    private let framesMax: Int
    private var left: Int

    init(framesMax: Int = Limits.httpSpareFramesMax) { (self.framesMax, left) = (framesMax, framesMax) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted("h2") = event as? TLSUserEvent { phase = .frames }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch phase {
        case .off: return context.fireChannelRead(data)
        case .closing: return
        case .frames: count(Self.unwrapInboundIn(data).readableBytesView)
        }
        guard left < 0 else { return context.fireChannelRead(data) }
        phase = .closing
        context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer(bytes: Self.goAway)), promise: nil)
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.lingerTime) { Self.reset(context) }
    }

    func read(context: ChannelHandlerContext) {
        if phase != .closing { context.read() }
    }

    /// Closes the connection below TLS, whose own end would wait for the client's.
    private static func reset(_ context: ChannelHandlerContext) {
        guard context.channel.isActive else { return }
        let tls = try? context.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
        (tls ?? context).close(promise: nil)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if phase == .frames {
            let bytes = Self.unwrapOutboundIn(data).readableBytes
            earn(Self.framesPerWrite + bytes / Self.bytesPerFrame)
        }
        context.write(data, promise: promise)
    }

    /// Reads the headers of the frames that begin in `bytes`.
    private func count(_ bytes: ByteBufferView) {
        var rest = bytes
        while !rest.isEmpty, left >= 0 {
            let skipped = min(skip, rest.count)
            skip -= skipped
            rest.removeFirst(skipped)
            let read = min(Self.headerBytes - header.count, rest.count)
            header += rest.prefix(read)
            rest.removeFirst(read)
            if header.count == Self.headerBytes {
                countFrame()
                header.removeAll(keepingCapacity: true)
            }
        }
    }

    private func countFrame() {
        skip = header[..<3].reduce(0) { $0 << 8 | Int($1) }
        switch header[3] {
        case Self.data: break
        case Self.headers: earn(Self.framesPerRequest)
        default: left -= 1
        }
    }

    private func earn(_ frames: Int) { left = min(left + frames, framesMax) }
}
