import Logging
import NIOCore
import NIOEmbedded
import NIOPosix
import Testing

@testable import PealProviders

@Suite("A connection that was given up")
struct HTTP2FarewellTests {
    /// TLS waits for the peer's close_notify before it closes.
    private final class PatientGoodbye: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            promise?.succeed()
        }
    }

    @Test("keeps nothing of what its peer still sends, and writes no more")
    func silence() throws {
        let pool = ConnectionPool(
            connector: Connector(
                endpoint: RemoteEndpoint(host: "localhost", port: 1), tls: try Connector.context(caFile: nil),
                group: MultiThreadedEventLoopGroup.singleton),
            exchange: PlainExchange(), time: RealTime(), randomness: SeededRandomness(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let channel = EmbeddedChannel()
        let handler = HTTP2ConnectionHandler(pool: pool, id: 0)
        try channel.pipeline.syncOperations.addHandlers([PatientGoodbye(), handler])
        try channel.writeInbound(ByteBuffer(string: "HTTP/1.1 400 Bad Request\r\n\r\n"))
        let farewell = try channel.readAll()
        #expect(farewell.map(\.header.kind).last == HTTP2Frame.Kind.goAway)
        let left = handler.input.readableBytes
        for _ in 0..<50 { try channel.writeInbound(ByteBuffer(repeating: 0, count: 16_384)) }
        #expect(handler.input.readableBytes == left)
        #expect(try channel.readAll().isEmpty)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }
}

extension EmbeddedChannel {
    /// The frames written since the last call, without the preface.
    fileprivate func readAll() throws -> [WireFrame] {
        var all = ByteBuffer()
        while var part = try readOutbound(as: ByteBuffer.self) { all.writeBuffer(&part) }
        if all.readableBytesView.starts(with: HTTP2Frame.preface.utf8) {
            all.moveReaderIndex(forwardBy: HTTP2Frame.preface.utf8.count)
        }
        return WireFrame.parse(&all)
    }
}
