import NIOCore
import NIOEmbedded
import NIOTLS
import Testing

@testable import PealServer

@Suite("Frames of an HTTP/2 client that ask for nothing")
struct FrameBudgetTests {
    private static let windowUpdate: UInt8 = 0x8
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private static let framesMax = 40

    private let channel: EmbeddedChannel

    init() throws {
        channel = EmbeddedChannel(handler: FrameBudget(framesMax: Self.framesMax))
        try channel.connect(to: .init(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    private static func frame(_ type: UInt8, _ length: Int) -> [UInt8] {
        [UInt8(length >> 16 & 0xFF), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), type, 0, 0, 0, 0, 0]
            + [UInt8](repeating: 0xFF, count: length)
    }

    private func negotiate(_ name: String) {
        channel.pipeline.fireUserInboundEventTriggered(TLSUserEvent.handshakeCompleted(negotiatedProtocol: name))
    }

    /// Sends bytes in pieces. Returns whether the connection is still open.
    private func receive(_ bytes: [UInt8], pieces: Int = 16_384) throws -> Bool {
        for start in stride(from: 0, to: bytes.count, by: pieces) where channel.isActive {
            try channel.writeInbound(ByteBuffer(bytes: bytes[start..<min(start + pieces, bytes.count)]))
            // The channel copies what was not read with each write.
            while try channel.readInbound(as: ByteBuffer.self) != nil {}
            channel.embeddedEventLoop.run()
        }
        return channel.isActive
    }

    private static func repeated(_ bytes: [UInt8], _ count: Int) -> [UInt8] {
        Array(repeatElement(bytes, count: count).joined())
    }

    @Test(
        "close the connection with ENHANCE_YOUR_CALM, however they are cut into pieces",
        arguments: [(windowUpdate, 4), (0xFA, 0), (0xFA, 1000), (0x7, 8)] as [(UInt8, Int)], [1, 13, 16_384])
    func flood(frame: (type: UInt8, length: Int), pieces: Int) throws {
        negotiate("h2")
        #expect(try receive(Self.preface, pieces: pieces))
        let frame = Self.frame(frame.type, frame.length)
        #expect(try receive(Self.repeated(frame, Self.framesMax), pieces: pieces))
        #expect(try channel.readOutbound(as: ByteBuffer.self) == nil)
        _ = try receive(frame, pieces: pieces)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
        let farewell = try #require(try channel.readOutbound(as: ByteBuffer.self))
        #expect(farewell.getInteger(at: 3) == UInt8(7))
        #expect(Array(farewell.readableBytesView.suffix(4)) == [0, 0, 0, 0xB])
    }

    @Test("are not counted on HTTP/1.1, and data and requests do not count")
    func others() throws {
        let frame = Self.frame(Self.windowUpdate, 4)
        negotiate("http/1.1")
        #expect(try receive(Self.repeated(frame, 3 * Self.framesMax)))
        negotiate("h2")
        #expect(try receive(Self.preface))
        for type in [0x0, 0x1] as [UInt8] {
            #expect(try receive(Self.repeated(Self.frame(type, 10), 3 * Self.framesMax)))
        }
    }

    @Test("may be as many as a client needs that reads long answers, or many events")
    func earned() throws {
        negotiate("h2")
        #expect(try receive(Self.preface))
        let updates = Self.repeated(Self.frame(Self.windowUpdate, 4), 2)
        for bytes in Self.repeated([1, 200], 2 * Self.framesMax) {
            try channel.writeOutbound(ByteBuffer(bytes: [UInt8](repeating: 0, count: Int(bytes))))
            #expect(try receive(updates))
        }
        let request = Self.frame(0x1, 10) + updates + updates
        #expect(try receive(Self.repeated(request, Self.framesMax)))
    }
}
