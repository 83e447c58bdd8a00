import PealCore
import Testing

@testable import PealProviders

/// How an answer can be cut off.
enum CutOff: String, CaseIterable, Sendable {
    case connectionLost, overdue, goneAway, reset, refused, windowOfNothing, secondStatus

    func apply(to fixture: inout StateFixture) throws {
        switch self {
        case .connectionLost: fixture.state.giveUpAll(endings: &fixture.endings)
        case .overdue: fixture.state.giveUp(before: 3, into: &fixture.out, endings: &fixture.endings)
        case .goneAway: try fixture.receive(ServerFrame.goAway(0))
        case .reset: try fixture.receive(ServerFrame.reset(1, .cancel))
        case .refused: try fixture.receive(ServerFrame.reset(1, .refusedStream))
        case .windowOfNothing: try fixture.receive(ServerFrame.windowUpdate(1, 0))
        case .secondStatus: try fixture.receive(ServerFrame.headers(1, [0x88], ends: false))
        }
    }
}

@Suite("Answers that are cut off, and bodies that do not end")
struct HTTP2CutOffTests {
    @Test("a status that was received counts, so that nothing accepted is sent again", arguments: CutOff.allCases)
    func accepted(_ cutOff: CutOff) throws {
        var fixture = try StateFixture()
        fixture.begin(7)
        try fixture.receive(ServerFrame.headers(1, ends: false), ServerFrame.data(1, "{", ends: false))
        try cutOff.apply(to: &fixture)
        #expect(fixture.endings.accepted.map(\.index) == [7])
        #expect(fixture.endings.others.isEmpty)
        #expect(fixture.state.openCount == 0)
    }

    @Test("the part of an error's body that was received counts too", arguments: CutOff.allCases)
    func refused(_ cutOff: CutOff) throws {
        var fixture = try StateFixture()
        fixture.begin(7)
        let body = #"{"reason":"Unregistered"}"#
        try fixture.receive(
            ServerFrame.headers(1, ServerFrame.status(410), ends: false), ServerFrame.data(1, body, ends: false))
        try cutOff.apply(to: &fixture)
        #expect(fixture.othersKinds == [.response(.init(status: 410, body: Array(body.utf8)))])
        #expect(fixture.state.drafts.isEmpty)
    }

    @Test("a success with an endless body is a success once the limit is passed")
    func endlessSuccess() throws {
        var fixture = try StateFixture()
        fixture.begin(0)
        fixture.begin(1)
        _ = fixture.frames()
        let piece = String(repeating: "x", count: Limits.responseBodyBytesMax)
        try fixture.receive(ServerFrame.headers(1, ends: false), ServerFrame.data(1, piece, ends: false))
        #expect(fixture.endings.isEmpty)
        try fixture.receive(ServerFrame.data(1, "x", ends: false))
        #expect(fixture.endings.accepted.map(\.index) == [0])
        let written = fixture.frames()
        #expect(written.map(\.header.kind) == [HTTP2Frame.Kind.reset])
        // Frames that were on their way when the reset was sent are ignored, and the connection continues.
        try fixture.receive(ServerFrame.data(1, piece, ends: false), ServerFrame.headers(3))
        #expect(fixture.endings.accepted.map(\.index) == [0, 1])
    }

    @Test("windows of one byte are slow but not a flood")
    func tinyWindows() throws {
        let bytes = Limits.quietFramesMax + 10
        var fixture = try StateFixture(notification: testNotification(bodyBytes: bytes), settings: [(4, 0)])
        fixture.begin(0)
        _ = fixture.frames()
        for _ in 0..<bytes { try fixture.receive(ServerFrame.windowUpdate(1, 1)) }
        let written = fixture.frames()
        #expect(written.count == bytes)
        #expect(written.last?.header.flags == HTTP2Frame.Flag.endStream)
        try fixture.receive(ServerFrame.headers(1))
        #expect(fixture.endings.accepted.count == 1)
    }

    @Test("bodies that come byte by byte on many streams are not a flood")
    func tinyBodies() throws {
        var fixture = try StateFixture()
        let streams = (0..<6).map { fixture.begin(Int32($0)) }
        for stream in streams { try fixture.receive(ServerFrame.headers(stream, ServerFrame.status(500), ends: false)) }
        for _ in 0..<2000 {
            for stream in streams { try fixture.receive(ServerFrame.data(stream, " ", ends: false)) }
        }
        for stream in streams { try fixture.receive(ServerFrame.data(stream)) }
        #expect(fixture.endings.others.count == 6)
    }
}
