import NIOCore
import PealCore
import Testing

@testable import PealProviders

/// Protocol violations by a peer, and the error codes that it gets.
struct FaultCase: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]
    let code: HTTP2Code

    var testDescription: String { name }

    init(_ name: String, _ code: HTTP2Code, _ bytes: [UInt8]) {
        self.name = name
        self.code = code
        self.bytes = bytes
    }
}

@Suite("Peers that break the protocol")
struct HTTP2FaultTests {
    /// Stream 1 is open, 3 is not begun.
    static let cases: [FaultCase] = [
        .init("frame larger than announced", .frameSizeError, [0, 0x40, 1, 0, 0, 0, 0, 0, 1]),
        .init("data on a stream not begun", .protocolError, ServerFrame.data(3)),
        .init("data on stream 0", .protocolError, ServerFrame.data(0)),
        .init("headers on an even stream", .protocolError, ServerFrame.headers(2)),
        .init("headers on a stream not begun", .protocolError, ServerFrame.headers(3)),
        .init("reset of stream 0", .protocolError, ServerFrame.reset(0, .cancel)),
        .init("RST_STREAM of invalid size", .frameSizeError, ServerFrame.frame(3, stream: 1, [0, 0, 0])),
        .init("SETTINGS on a stream", .protocolError, ServerFrame.frame(4, stream: 1)),
        .init("SETTINGS truncated", .frameSizeError, ServerFrame.frame(4, [0, 3, 0, 0, 0])),
        .init(
            "settings SETTINGS acknowledgement with a payload", .frameSizeError,
            ServerFrame.frame(4, flags: 1, [0, 3, 0, 0, 0, 1])),
        .init("push announced", .protocolError, ServerFrame.settings([(2, 1)])),
        .init("initial window too large", .flowControlError, ServerFrame.settings([(4, 0x8000_0000)])),
        .init("frame size too small", .protocolError, ServerFrame.settings([(5, 100)])),
        .init("frame size too large", .protocolError, ServerFrame.settings([(5, 0x100_0000)])),
        .init("push promise", .protocolError, ServerFrame.frame(5, flags: 4, stream: 1, [0, 0, 0, 2, 0x88])),
        .init("PING on a stream", .protocolError, ServerFrame.frame(6, stream: 1, Array(repeating: 0, count: 8))),
        .init("PING of invalid size", .frameSizeError, ServerFrame.frame(6, [0])),
        .init("GOAWAY on a stream", .protocolError, ServerFrame.frame(7, stream: 1, Array(repeating: 0, count: 8))),
        .init("GOAWAY truncated", .frameSizeError, ServerFrame.frame(7, [0, 0, 0, 1])),
        .init("WINDOW_UPDATE of 0", .protocolError, ServerFrame.windowUpdate(0, 0)),
        .init("WINDOW_UPDATE of invalid size", .frameSizeError, ServerFrame.frame(8, [0, 0])),
        .init("connection window overflow", .flowControlError, ServerFrame.windowUpdate(0, 0x7FFF_FFFF)),
        .init("window update on a stream not begun", .protocolError, ServerFrame.windowUpdate(3, 1)),
        .init("CONTINUATION without a header block", .protocolError, ServerFrame.frame(9, flags: 4, stream: 1, [0x88])),
        .init(
            "header block interrupted by another frame", .protocolError,
            ServerFrame.headers(1, [0x88], endHeaders: false) + ServerFrame.frame(6, Array(repeating: 0, count: 8))),
        .init(
            "continuation of another stream", .protocolError,
            ServerFrame.headers(1, [0x88], endHeaders: false) + ServerFrame.frame(9, flags: 4, stream: 3, [0x88])),
        .init("more padding than payload", .protocolError, ServerFrame.frame(0, flags: 8, stream: 1, [9, 1, 2])),
        .init("padded frame without its length", .frameSizeError, ServerFrame.frame(0, flags: 8, stream: 1)),
        .init(
            "priority flag without its fields", .frameSizeError, ServerFrame.frame(1, flags: 0x24, stream: 1, [0, 0])),
        .init("PRIORITY on stream 0", .protocolError, ServerFrame.frame(2, [0, 0, 0, 0, 0])),
        .init("PRIORITY of invalid size", .frameSizeError, ServerFrame.frame(2, stream: 1, [0])),
        .init("index outside the tables", .compressionError, ServerFrame.headers(1, [0xFF, 0xFF, 0x7F])),
        .init("block cut within a string", .compressionError, ServerFrame.headers(1, [0x08, 30, 0x32])),
        .init("table size beyond ours", .compressionError, ServerFrame.headers(1, [0x3F, 0xFF, 0xFF, 0x03, 0x88])),
        .init(
            "header list larger than four times ours", .compressionError,
            ServerFrame.headers(
                1,
                // A field that enters the table, and 1,000 references to it.
                [0x40, 1, 0x61, 100] + Array(repeating: 0x62, count: 100) + Array(repeating: 0xBE, count: 1000))),
    ]

    @Test("end the connection with the right code", arguments: cases)
    func fault(_ fault: FaultCase) throws {
        var fixture = try StateFixture()
        fixture.begin(0)
        let thrown = #expect(throws: HTTP2Fault.self) { try fixture.receive(fault.bytes) }
        #expect(thrown?.code == fault.code)
        #expect(fixture.endings.accepted.isEmpty)
        fixture.state.giveUpAll(endings: &fixture.endings)
        #expect(fixture.endings.others.count == 1)
    }

    @Test(
        "must begin with SETTINGS",
        arguments: [
            ServerFrame.windowUpdate(0, 1), ServerFrame.settingsAcknowledgement, ServerFrame.goAway(0),
            Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8),
        ])
    func firstFrame(_ bytes: [UInt8]) throws {
        var fixture = try StateFixture(settings: nil)
        #expect(throws: HTTP2Fault.self) { try fixture.receive(bytes) }
    }

    @Test("a header block without end is refused")
    func endlessHeaders() throws {
        var fixture = try StateFixture()
        fixture.begin(0)
        try fixture.receive(ServerFrame.headers(1, [0x00], endHeaders: false))
        let thrown = #expect(throws: HTTP2Fault.self) {
            for _ in 0..<100 {
                try fixture.receive(ServerFrame.frame(9, stream: 1, Array(repeating: 0x61, count: 1000)))
            }
        }
        #expect(thrown?.code == .enhanceYourCalm)
    }

    @Test("a flood of frames that answer nothing is refused")
    func flood() throws {
        var fixture = try StateFixture()
        fixture.begin(0)
        let thrown = #expect(throws: HTTP2Fault.self) {
            for _ in 0...Limits.quietFramesMax {
                try fixture.receive(ServerFrame.frame(HTTP2Frame.Kind.ping, Array(repeating: 0, count: 8)))
            }
        }
        #expect(thrown?.code == .enhanceYourCalm)
    }

    @Test("more data than our window is refused")
    func overflow() throws {
        var fixture = try StateFixture()
        fixture.begin(0)
        fixture.state.receiveWindow = 10
        let thrown = #expect(throws: HTTP2Fault.self) { try fixture.receive(ServerFrame.data(1, "12345678901")) }
        #expect(thrown?.code == .flowControlError)
    }

    @Test(
        "faults of one stream end only that one",
        arguments: [
            ServerFrame.data(1, "before headers"), ServerFrame.headers(1, [0x00, 1, 0x61, 1, 0x62]),
            ServerFrame.headers(1, ServerFrame.status(103)), ServerFrame.windowUpdate(1, 0),
            ServerFrame.headers(1, [0x08, 2, 0x32, 0x30]), ServerFrame.headers(1, [0x08, 3, 0x32, 0x78, 0x30]),
        ])
    func streamFault(_ bytes: [UInt8]) throws {
        var fixture = try StateFixture()
        fixture.begin(0)
        fixture.begin(1)
        _ = fixture.frames()
        try fixture.receive(bytes)
        #expect(fixture.othersKinds == [.lost("BadResponse")])
        let written1 = fixture.frames()
        #expect(written1.map(\.header.kind) == [HTTP2Frame.Kind.reset])
        try fixture.receive(ServerFrame.headers(3))
        #expect(fixture.endings.accepted.map(\.index) == [1])
    }

    @Test("no input causes a crash, and every request ends once", arguments: 0..<300)
    func garbage(_ seed: Int) throws {
        var fixture = try StateFixture(notification: testNotification(bodyBytes: 900))
        let randomness = SeededRandomness(UInt64(seed + 1))
        for index in 0..<20 { fixture.begin(Int32(index)) }
        let pieces: [[UInt8]] = (0..<60).map { _ in
            let stream = UInt32(randomness.next() % 44)
            let length = Int(randomness.next() % 24)
            let isSane = randomness.next() % 4 != 0
            let payload = randomness.bytes(length)
            if isSane && stream % 2 == 1 && stream < 40 {
                return [
                    ServerFrame.headers(stream), ServerFrame.reset(stream, .refusedStream),
                    ServerFrame.headers(stream, ServerFrame.status(400), ends: false),
                    ServerFrame.windowUpdate(stream, 7),
                    ServerFrame.settings([(4, UInt32(randomness.next() % 70_000))]),
                    ServerFrame.goAway(stream), ServerFrame.data(stream, "x"),
                ][Int(randomness.next() % 7)]
            }
            return ServerFrame.frame(
                UInt8(truncatingIfNeeded: randomness.next() % 12), flags: UInt8(truncatingIfNeeded: randomness.next()),
                stream: stream, payload)
        }
        do { for piece in pieces { try fixture.receive(piece) } } catch {}
        fixture.state.giveUpAll(endings: &fixture.endings)
        let ended = fixture.endings.accepted.map(\.index) + fixture.endings.others.map(\.ticket.index)
        #expect(ended.sorted() == Array(0..<20))
        #expect(fixture.state.openCount == 0)
    }
}
