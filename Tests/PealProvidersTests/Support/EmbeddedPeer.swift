import NIOCore
import NIOEmbedded
import NIOHPACK
import PealCore

@testable import PealProviders

/// Opens connections to a server inside the test, on an event loop that the test advances: whole days pass in moments,
/// and always in the same way. Must be used from one thread.
final class EmbeddedPeer: Connecting, @unchecked Sendable {  // Only the test's thread uses it.
    /// What one connection saw.
    struct Connection {
        let channel: EmbeddedChannel
        var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
        var input = ByteBuffer()
        var hasPreface = false
        /// Values of `authorization`, one for each request.
        var authorizations: [String] = []
        var pings = 0
        var openNow = 0
        var openMost = 0
    }

    let endpoint = RemoteEndpoint(host: "api.push.apple.com", port: 443)
    let loop = EmbeddedEventLoop()
    var group: any EventLoopGroup { loop }
    private(set) var connections: [Connection] = []
    /// Streams that a connection may have open according to its first SETTINGS.
    var streamsMax: UInt32 = 100
    /// Whether requests are answered at once; otherwise when `answerHeldRequests` is called.
    var answersRequests = true
    /// Whether a connection's first request is answered at once in any case.
    var answersFirst = true
    private var held: [(number: Int, streamID: UInt32)] = []
    var answersPings = true

    /// Whether the next large write fails, because the peer has reset the connection.
    var breaksLargeWrite = false

    func connect(_ makeHandler: @escaping @Sendable () -> HTTP2ConnectionHandler) -> EventLoopFuture<Void> {
        let channel = EmbeddedChannel(loop: loop)
        connections.append(Connection(channel: channel))
        do {
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 443)).wait()
            try channel.pipeline.syncOperations.addHandlers([BrokenPipe(self), makeHandler()])
            return loop.makeSucceededVoidFuture()
        } catch {
            return loop.makeFailedFuture(error)
        }
    }

    var openCount: Int { connections.count { $0.channel.isActive } }

    /// Reads what the connections wrote and answers it, until nothing more arrives.
    func serve() throws {
        var isBusy = true
        while isBusy {
            loop.run()
            isBusy = false
            for number in connections.indices where try serve(number) { isBusy = true }
        }
    }

    /// Accepts the requests that were held back.
    func answerHeldRequests() throws {
        answersRequests = true
        let all = held
        held = []
        for (number, streamID) in all { try accept(number, streamID) }
        try serve()
    }

    /// Ends a connection as APNs does when it shuts a server down.
    func goAway(_ number: Int, reason: String, lastStreamID: UInt32 = HTTP2Frame.streamIDMax) throws {
        let frame = ServerFrame.goAway(lastStreamID, debug: #"{"reason":"\#(reason)"}"#)
        try connections[number].channel.writeInbound(ByteBuffer(bytes: frame))
        try serve()
    }

    private func serve(_ number: Int) throws -> Bool {
        let channel = connections[number].channel
        var hasRead = false
        while let part = try channel.readOutbound(as: ByteBuffer.self) {
            hasRead = true
            var part = part
            connections[number].input.writeBuffer(&part)
        }
        guard hasRead else { return false }
        if !connections[number].hasPreface {
            connections[number].input.moveReaderIndex(forwardBy: HTTP2Frame.preface.utf8.count)
            connections[number].hasPreface = true
            try answer(ServerFrame.settings([(3, streamsMax)]) + ServerFrame.windowUpdate(0, 1_000_000_000), channel)
        }
        for frame in WireFrame.parse(&connections[number].input) { try take(frame, number) }
        return true
    }

    private func take(_ frame: WireFrame, _ number: Int) throws {
        let channel = connections[number].channel
        switch frame.header.kind {
        case HTTP2Frame.Kind.headers:
            var block = ByteBuffer(bytes: frame.payload)
            let fields = try connections[number].decoder.decodeHeaders(from: &block)
            connections[number].authorizations.append(fields.first(name: "authorization") ?? "")
            connections[number].openNow += 1
            connections[number].openMost = max(connections[number].openMost, connections[number].openNow)
        case HTTP2Frame.Kind.data where frame.header.has(HTTP2Frame.Flag.endStream):
            let streamID = frame.header.streamID
            let isAnswered = answersRequests || answersFirst && streamID == 1
            if isAnswered { try accept(number, streamID) } else { held.append((number, streamID)) }
        case HTTP2Frame.Kind.ping where !frame.header.has(HTTP2Frame.Flag.acknowledgement):
            connections[number].pings += 1
            if answersPings {
                try answer(ServerFrame.frame(HTTP2Frame.Kind.ping, flags: 1, frame.payload), channel)
            }
        default: break
        }
    }

    private func accept(_ number: Int, _ streamID: UInt32) throws {
        connections[number].openNow -= 1
        try answer(ServerFrame.headers(streamID), connections[number].channel)
    }

    private func answer(_ bytes: [UInt8], _ channel: EmbeddedChannel) throws {
        guard channel.isActive else { return }
        try channel.writeInbound(ByteBuffer(bytes: bytes))
    }
}

/// Closes the channel within a flush, as a socket does on which writing fails.
private final class BrokenPipe: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    private static let largeBytes = 50_000

    private let peer: EmbeddedPeer
    private var isBroken = false

    init(_ peer: EmbeddedPeer) { self.peer = peer }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if peer.breaksLargeWrite, unwrapOutboundIn(data).readableBytes >= Self.largeBytes { isBroken = true }
        guard !isBroken else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        context.write(data, promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
        guard isBroken else { return context.flush() }
        peer.breaksLargeWrite = false
        context.close(promise: nil)
    }
}
