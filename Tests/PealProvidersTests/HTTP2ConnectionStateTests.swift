import NIOCore
import NIOHPACK
import PealCore
import Testing

@testable import PealProviders

@Suite("The HTTP/2 connection, frame by frame")
struct HTTP2ConnectionStateTests {
    @Test("begins with the preface, settings without push and a large window")
    func preface() {
        var state = HTTP2ConnectionState(authority: "a", idName: nil)
        var out = ByteBuffer()
        state.start(into: &out)
        #expect(out.readString(length: 24) == HTTP2Frame.preface)
        let frames = WireFrame.parse(&out)
        #expect(frames.map(\.header.kind) == [HTTP2Frame.Kind.settings, HTTP2Frame.Kind.windowUpdate])
        #expect(frames[0].payload.prefix(6) == [0, 2, 0, 0, 0, 0])
        #expect(state.streamRoom == 0)
    }

    @Test("acknowledges settings and obeys the stream limit as it changes")
    func streamLimit() throws {
        var fixture = try StateFixture(settings: nil)
        _ = fixture.frames()
        try fixture.receive(ServerFrame.settings([(3, 2)]))
        let written1 = fixture.frames()
        #expect(written1.map(\.header.flags) == [1])
        #expect(fixture.state.streamRoom == 2)
        fixture.begin(0)
        fixture.begin(1)
        #expect(fixture.state.streamRoom == 0)
        try fixture.receive(ServerFrame.settings([(3, 1)]), ServerFrame.headers(1))
        #expect(fixture.state.streamRoom == 0)
        try fixture.receive(ServerFrame.headers(3))
        #expect(fixture.state.streamRoom == 1)
        #expect(fixture.endings.accepted.map(\.index) == [0, 1])
    }

    @Test("writes one HEADERS and one DATA frame per request")
    func request() throws {
        var fixture = try StateFixture()
        let id = fixture.begin(5)
        let frames = fixture.frames()
        #expect(id == 1)
        #expect(frames.map(\.header.kind) == [HTTP2Frame.Kind.headers, HTTP2Frame.Kind.data])
        #expect(frames.map(\.header.flags) == [HTTP2Frame.Flag.endHeaders, HTTP2Frame.Flag.endStream])
        #expect(frames[1].payload == fixture.notification.body.prefix)
        #expect(fixture.state.sendWindow == 65_535 - 300)
    }

    @Test("reads answers in parts: HEADERS, CONTINUATION, padding, priority, DATA, trailers")
    func responseInParts() throws {
        var fixture = try StateFixture()
        for index in 0..<6 { fixture.begin(Int32(index)) }
        let block = ServerFrame.status(410, [("apns-id", "x")])
        try fixture.receive(
            ServerFrame.headers(1, Array(block[..<3]), ends: false, endHeaders: false),
            ServerFrame.frame(HTTP2Frame.Kind.continuation, stream: 1, Array(block[3..<6])),
            ServerFrame.frame(HTTP2Frame.Kind.continuation, flags: 4, stream: 1, Array(block[6...])),
            ServerFrame.data(1, #"{"reason":"#, ends: false))
        #expect(fixture.endings.isEmpty)
        let padded = [2] + Array(#""Unregistered"}"#.utf8) + [0, 0]
        try fixture.receive(ServerFrame.frame(HTTP2Frame.Kind.data, flags: 0x1 | 0x8, stream: 1, padded))
        // Padded and with priority bytes.
        let wrapped = [1, 0, 0, 0, 0, 16] + ServerFrame.status(429) + [0]
        try fixture.receive(
            ServerFrame.frame(HTTP2Frame.Kind.headers, flags: 0x1 | 0x4 | 0x8 | 0x20, stream: 3, wrapped))
        // An interim answer, the final one, a body and trailers.
        try fixture.receive(
            ServerFrame.headers(5, ServerFrame.status(103), ends: false),
            ServerFrame.headers(5, ServerFrame.status(503, [("retry-after", "7")]), ends: false),
            ServerFrame.data(5, "busy", ends: false), ServerFrame.headers(5, [0x00, 1, 0x61, 1, 0x62]))
        // The peer's time, read only from a 403.
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT")
        try fixture.receive(ServerFrame.headers(9, ServerFrame.status(403, [date])))
        try fixture.receive(ServerFrame.headers(11, ServerFrame.status(400, [date])))
        // 200 with a body.
        try fixture.receive(ServerFrame.headers(7, ends: false), ServerFrame.data(7, "", ends: true))
        let expected: [StreamEndings.Kind] = [
            .response(ProviderResponse(status: 410, body: Array(#"{"reason":"Unregistered"}"#.utf8))),
            .response(ProviderResponse(status: 429)),
            .response(ProviderResponse(status: 503, body: Array("busy".utf8), retryAfter: .seconds(7))),
            .response(ProviderResponse(status: 403, date: Timestamp(seconds: 784_111_777))),
            .response(ProviderResponse(status: 400)),
        ]
        #expect(fixture.othersKinds == expected)
        #expect(fixture.endings.accepted.map(\.index) == [3])
        #expect(fixture.state.openCount == 0)
    }

    @Test("reads answers byte by byte")
    func dribble() throws {
        var fixture = try StateFixture()
        fixture.begin(0)
        for byte in ServerFrame.headers(1, ServerFrame.status(400), ends: false) + ServerFrame.data(1, "{}") {
            try fixture.receive([byte])
        }
        #expect(fixture.othersKinds == [.response(.init(status: 400, body: Array("{}".utf8)))])
    }

    @Test("reads an answer whose header list is larger than announced, and those of other requests")
    func largeHeaders() throws {
        var fixture = try StateFixture()
        for index in 0..<2 { fixture.begin(Int32(index)) }
        let field: [UInt8] = [0x00, 1, 0x61, 100] + Array(repeating: 0x62, count: 100)
        let block = ServerFrame.status(410) + Array(repeating: field, count: 150).flatMap { $0 }
        try fixture.receive(ServerFrame.headers(1, block), ServerFrame.headers(3))
        #expect(fixture.endings.accepted.count == 1)
        guard case .response(let response) = fixture.endings.others.first?.kind else {
            Issue.record("the answer was not read")
            return
        }
        #expect(response.status == 410)
    }

    @Test("decodes header blocks of closed streams, so that the table stays in step with the peer's")
    func tableFollows() throws {
        var fixture = try StateFixture()
        fixture.begin(0)
        fixture.begin(1)
        fixture.state.giveUp(before: 3, into: &fixture.out, endings: &fixture.endings)
        // The late answer puts `:status 418` into the table; the next one refers to it.
        try fixture.receive(ServerFrame.headers(1, [0x48, 3] + Array("418".utf8)), ServerFrame.headers(3, [0x80 | 62]))
        #expect(fixture.othersKinds == [.lost("Timeout"), .response(.init(status: 418))])
    }

    @Test("a reset after a complete answer changes nothing")
    func resetAfterAnswer() throws {
        var fixture = try StateFixture()
        fixture.begin(0)
        try fixture.receive(ServerFrame.headers(1), ServerFrame.reset(1, .noError), ServerFrame.reset(1, .cancel))
        #expect(fixture.endings.accepted.count == 1)
        #expect(fixture.endings.others.isEmpty)
        #expect(fixture.state.openCount == 0)
    }

    @Test(
        "a reset without an answer",
        arguments: [
            (HTTP2Code.refusedStream, StreamEndings.Kind.unprocessed), (.cancel, .lost("StreamReset")),
            (.enhanceYourCalm, .lost("StreamReset")), (.internalError, .lost("StreamReset")),
        ])
    func reset(code: HTTP2Code, kind: StreamEndings.Kind) throws {
        var fixture = try StateFixture()
        fixture.begin(0)
        try fixture.receive(ServerFrame.reset(1, code))
        #expect(fixture.othersKinds == [kind])
    }

    @Test("GOAWAY returns requests above its id, awaits those below and reports its reason")
    func goAway() throws {
        var fixture = try StateFixture()
        for index in 0..<4 { fixture.begin(Int32(index)) }
        try fixture.receive(ServerFrame.goAway(0x7FFF_FFFF))
        #expect(fixture.endings.isEmpty)
        #expect(fixture.state.streamRoom == 0)
        try fixture.receive(ServerFrame.goAway(3, debug: #"{"reason":"Shutdown"}"#))
        #expect(fixture.othersKinds == [.unprocessed, .unprocessed])
        #expect(fixture.endings.others.map(\.ticket.index).sorted() == [2, 3])
        #expect(fixture.state.goAway?.reason == "Shutdown")
        // It cannot be taken back.
        try fixture.receive(ServerFrame.goAway(7), ServerFrame.headers(1), ServerFrame.headers(3))
        #expect(fixture.state.goAway?.lastStreamID == 3)
        #expect(fixture.endings.accepted.map(\.index) == [0, 1])
    }

    @Test("bodies wait for windows, the connection's and the stream's, also negative ones")
    func windows() throws {
        var fixture = try StateFixture(notification: testNotification(bodyBytes: 1000), settings: [(4, 600)])
        fixture.begin(0)
        let written2 = fixture.frames()
        #expect(written2.map(\.header.payloadBytes).dropFirst() == [600])
        // 400 to go; the window shrinks to 100, so the stream's is -500.
        try fixture.receive(ServerFrame.settings([(4, 100)]))
        try fixture.receive(ServerFrame.windowUpdate(1, 500))
        let written3 = fixture.frames()
        #expect(written3.filter { $0.header.kind == HTTP2Frame.Kind.data }.isEmpty)
        try fixture.receive(ServerFrame.windowUpdate(1, 150))
        try fixture.receive(ServerFrame.windowUpdate(1, 1000))
        let rest = fixture.frames().filter { $0.header.kind == HTTP2Frame.Kind.data }
        #expect(rest.map(\.header.payloadBytes) == [150, 250])
        #expect(rest.map(\.header.flags) == [0, 1])
        #expect(fixture.state.sendWindow == 65_535 - 1000)
    }

    @Test("an answer before the body was sent ends both halves")
    func earlyAnswer() throws {
        var fixture = try StateFixture(notification: testNotification(bodyBytes: 1000), settings: [(4, 0)])
        fixture.begin(0)
        _ = fixture.frames()
        try fixture.receive(ServerFrame.headers(1, ServerFrame.status(413)))
        #expect(fixture.othersKinds == [.response(.init(status: 413))])
        let written4 = fixture.frames()
        #expect(written4.map(\.header.kind) == [HTTP2Frame.Kind.reset])
        #expect(fixture.state.pendingBodies.isEmpty)
    }

    @Test("splits bodies and header blocks at the peer's frame size")
    func frameSize() throws {
        var fixture = try StateFixture(
            notification: testNotification(bodyBytes: 40_000, topic: String(repeating: "t", count: 20_000)))
        fixture.begin(0)
        let frames = fixture.frames()
        #expect(frames.map(\.header.kind) == [1, 9, 0, 0, 0])
        #expect(frames.allSatisfy { $0.header.payloadBytes <= 16_384 })
        #expect(frames.map(\.header.flags) == [0, 4, 0, 0, 1])
        var block = ByteBuffer(bytes: frames[0].payload + frames[1].payload)
        var decoder = HPACKDecoder(
            allocator: ByteBufferAllocator(), maxDynamicTableSize: 4096, maxHeaderListSize: 100_000)
        let fields = try decoder.decodeHeaders(from: &block)
        #expect(fields.first(name: "apns-topic")?.utf8.count == 20_000)
        #expect(frames.dropFirst(2).flatMap(\.payload) == fixture.notification.body.prefix)
    }

    @Test("answers a PING, counts its own and tops the window up")
    func pingAndWindow() throws {
        var fixture = try StateFixture()
        fixture.begin(0)
        fixture.state.ping(into: &fixture.out)
        _ = fixture.frames()
        try fixture.receive(
            ServerFrame.frame(HTTP2Frame.Kind.ping, [1, 2, 3, 4, 5, 6, 7, 8]),
            ServerFrame.frame(HTTP2Frame.Kind.ping, flags: 1, [0, 0, 0, 0, 0, 0, 0, 1]))
        let pong = WireFrame(header: .init(payloadBytes: 8, kind: 6, flags: 1), payload: [1, 2, 3, 4, 5, 6, 7, 8])
        let written5 = fixture.frames()
        #expect(written5 == [pong])
        #expect(fixture.state.pongCount == 1)
        try fixture.receive(ServerFrame.headers(1, ends: false))
        for _ in 0..<17 { try fixture.receive(ServerFrame.data(1, String(repeating: "x", count: 16_384), ends: false)) }
        let written6 = fixture.frames()
        // The body is too long to be read on; what comes of it nevertheless still uses the connection's window.
        #expect(written6.map(\.header.kind) == [HTTP2Frame.Kind.reset, HTTP2Frame.Kind.windowUpdate])
        #expect(fixture.state.receiveWindow > Limits.receiveWindowBytes - 256 * 1024)
    }

    @Test("an endless error body is cut off and the status counts")
    func endlessBody() throws {
        var fixture = try StateFixture()
        fixture.begin(0)
        _ = fixture.frames()
        try fixture.receive(
            ServerFrame.headers(1, ServerFrame.status(500), ends: false),
            ServerFrame.data(1, String(repeating: "x", count: 5000), ends: false))
        guard case .response(let response) = fixture.othersKinds.first else {
            Issue.record("no answer")
            return
        }
        #expect(response.status == 500)
        #expect(response.body.count == Limits.responseBodyBytesMax)
        let written7 = fixture.frames()
        #expect(written7.map(\.header.kind) == [HTTP2Frame.Kind.reset])
    }

    @Test("stream ids skip those still open and run out before the last")
    func streamIDs() throws {
        var fixture = try StateFixture(streamIDMax: 30_001)
        fixture.begin(0)
        var begun = 1
        while fixture.state.streamRoom > 0 {
            let id = fixture.begin(1)
            begun += 1
            try fixture.receive(ServerFrame.headers(id))
            _ = fixture.frames()
        }
        #expect(fixture.state.openCount == 1)
        #expect(fixture.state.nextStreamID > 19_999 && fixture.state.nextStreamID < 20_100)
        #expect(begun > 9_990 && begun < 10_000)
        #expect(fixture.endings.accepted.count == begun - 1)
    }

    @Test("overdue requests are given up with a reset, and their late answers ignored")
    func givenUp() throws {
        var fixture = try StateFixture()
        for index in 0..<3 { fixture.begin(Int32(index)) }
        _ = fixture.frames()
        fixture.state.giveUp(before: 5, into: &fixture.out, endings: &fixture.endings)
        #expect(fixture.endings.others.map(\.ticket.index) == [0, 1])
        #expect(fixture.othersKinds == [.lost("Timeout"), .lost("Timeout")])
        let written8 = fixture.frames()
        #expect(written8.map(\.header.kind) == [HTTP2Frame.Kind.reset, HTTP2Frame.Kind.reset])
        try fixture.receive(ServerFrame.headers(1), ServerFrame.headers(3), ServerFrame.headers(5))
        #expect(fixture.endings.accepted.map(\.index) == [2])
    }

    @Test("an overdue request whose body never fit was not processed, and its connection is starved")
    func starved() throws {
        var fixture = try StateFixture(notification: testNotification(bodyBytes: 1000), settings: [(4, 600)])
        for index in 0..<2 { fixture.begin(Int32(index)) }
        try fixture.receive(ServerFrame.windowUpdate(1, 400))
        #expect(!fixture.state.isStarved(before: 3) && fixture.state.isStarved(before: 5))
        fixture.state.giveUp(before: 5, into: &fixture.out, endings: &fixture.endings)
        #expect(fixture.othersKinds == [.lost("Timeout"), .unprocessed])
        #expect(!fixture.state.isStarved(before: 5) && fixture.state.openCount == 0)
    }

    @Test("unknown frames and settings are ignored")
    func unknown() throws {
        var fixture = try StateFixture()
        fixture.begin(0)
        try fixture.receive(
            ServerFrame.frame(0x77, flags: 0xFF, stream: 99, [1, 2, 3]), ServerFrame.settings([(0xABCD, 1)]),
            ServerFrame.frame(HTTP2Frame.Kind.priority, stream: 1, [0, 0, 0, 0, 1]),
            ServerFrame.windowUpdate(1, 5), ServerFrame.headers(1), ServerFrame.windowUpdate(1, 5),
            ServerFrame.data(1, "late"))
        #expect(fixture.endings.accepted.count == 1)
    }

    @Test("reads the remark of an acceptance if one is requested", arguments: ["apns-unique-id", nil])
    func remark(name: String?) throws {
        var fixture = try StateFixture(remarkName: name)
        for index in 0..<5 { fixture.begin(Int32(index)) }
        try fixture.receive(
            ServerFrame.headers(1, ServerFrame.status(200, [("apns-id", "x"), ("apns-unique-id", "abc-1")])),
            ServerFrame.headers(3, ServerFrame.status(200, [("apns-id", "x")])),
            ServerFrame.headers(5, ServerFrame.status(200, [("apns-unique-id", "a b")])),
            ServerFrame.headers(7, ServerFrame.status(200, [("apns-unique-id", "abc-2")]), ends: false),
            ServerFrame.data(7), ServerFrame.headers(9, ServerFrame.status(400, [("apns-unique-id", "abc-3")])))
        let remarks = [
            StreamEndings.Kind.response(ProviderResponse(status: 200, remark: "abc-1")),
            .response(ProviderResponse(status: 200, remark: "abc-2")),
        ]
        let failure = StreamEndings.Kind.response(ProviderResponse(status: 400))
        #expect(fixture.othersKinds == (name == nil ? [failure] : remarks + [failure]))
        #expect(fixture.endings.accepted.map(\.index) == (name == nil ? [0, 1, 2, 3] : [1, 2]))
    }

    @Test(
        "accepts only one word as the reason of a GOAWAY",
        arguments: [
            (#"{"reason":"BadCertificate"}"#, "BadCertificate"), (#"{"reason":"a\nb"}"#, nil), ("{}", nil), ("x", nil),
            (#"{"reason":""}"#, nil), (#"{"reason":5}"#, nil),
        ])
    func goAwayReason(debug: String, reason: String?) throws {
        var fixture = try StateFixture()
        try fixture.receive(ServerFrame.goAway(0, .noError, debug: debug))
        #expect(fixture.state.goAway?.reason == reason)
        #expect(!fixture.state.takesRequests)
    }

    @Test("says when stream ids run short, and not of a connection that began with few")
    func nearEnd() throws {
        var fixture = try StateFixture(streamIDMax: 50_001)
        #expect(!fixture.state.isNearEnd)
        fixture.state.nextStreamID = 30_001
        #expect(!fixture.state.isNearEnd)
        fixture.state.nextStreamID = 30_003
        #expect(fixture.state.isNearEnd && fixture.state.takesRequests)
        fixture.state.nextStreamID = 40_003
        #expect(!fixture.state.takesRequests)
        let short = try StateFixture(streamIDMax: 10_401)
        #expect(!short.state.isNearEnd)
    }
}
