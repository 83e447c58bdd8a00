import PealCore
import Testing

@testable import PealProviders

/// How an answer ends before its end.
enum CutOff: String, CaseIterable, Sendable {
    case connectionLost, overdue, goneAway, reset, refused, windowOfNothing, secondStatus

    func apply(to bench: inout StateBench) throws {
        switch self {
        case .connectionLost: bench.state.giveUpAll(endings: &bench.endings)
        case .overdue: bench.state.giveUp(before: 3, into: &bench.out, endings: &bench.endings)
        case .goneAway: try bench.receive(ServerFrame.goAway(0))
        case .reset: try bench.receive(ServerFrame.reset(1, .cancel))
        case .refused: try bench.receive(ServerFrame.reset(1, .refusedStream))
        case .windowOfNothing: try bench.receive(ServerFrame.windowUpdate(1, 0))
        case .secondStatus: try bench.receive(ServerFrame.headers(1, [0x88], ends: false))
        }
    }
}

@Suite("Answers that are cut off, and bodies that do not end")
struct HTTP2CutOffTests {
    @Test("a status that came counts, so that nothing accepted is sent again", arguments: CutOff.allCases)
    func accepted(_ cutOff: CutOff) throws {
        var bench = try StateBench()
        bench.begin(7)
        try bench.receive(ServerFrame.headers(1, ends: false), ServerFrame.data(1, "{", ends: false))
        try cutOff.apply(to: &bench)
        #expect(bench.endings.accepted.map(\.index) == [7])
        #expect(bench.endings.others.isEmpty)
        #expect(bench.state.openCount == 0)
    }

    @Test("so does the part of an error's body that came", arguments: CutOff.allCases)
    func refused(_ cutOff: CutOff) throws {
        var bench = try StateBench()
        bench.begin(7)
        let body = #"{"reason":"Unregistered"}"#
        try bench.receive(
            ServerFrame.headers(1, ServerFrame.status(410), ends: false), ServerFrame.data(1, body, ends: false))
        try cutOff.apply(to: &bench)
        #expect(bench.othersKinds == [.response(.init(status: 410, body: Array(body.utf8)))])
        #expect(bench.state.drafts.isEmpty)
    }

    @Test("a success with an endless body is a success once the limit is passed")
    func endlessSuccess() throws {
        var bench = try StateBench()
        bench.begin(0)
        bench.begin(1)
        _ = bench.frames()
        let piece = String(repeating: "x", count: Limits.responseBodyBytesMax)
        try bench.receive(ServerFrame.headers(1, ends: false), ServerFrame.data(1, piece, ends: false))
        #expect(bench.endings.isEmpty)
        try bench.receive(ServerFrame.data(1, "x", ends: false))
        #expect(bench.endings.accepted.map(\.index) == [0])
        let written = bench.frames()
        #expect(written.map(\.header.kind) == [HTTP2Frame.Kind.reset])
        // What was on its way when the reset left is passed over, and the connection goes on.
        try bench.receive(ServerFrame.data(1, piece, ends: false), ServerFrame.headers(3))
        #expect(bench.endings.accepted.map(\.index) == [0, 1])
    }

    @Test("windows of one octet are slow and no flood")
    func tinyWindows() throws {
        let octets = Limits.quietFramesMax + 10
        var bench = try StateBench(notification: testNotification(bodyBytes: octets), settings: [(4, 0)])
        bench.begin(0)
        _ = bench.frames()
        for _ in 0..<octets { try bench.receive(ServerFrame.windowUpdate(1, 1)) }
        let written = bench.frames()
        #expect(written.count == octets)
        #expect(written.last?.header.flags == HTTP2Frame.Flag.endStream)
        try bench.receive(ServerFrame.headers(1))
        #expect(bench.endings.accepted.count == 1)
    }

    @Test("bodies that come octet by octet on many streams are no flood")
    func tinyBodies() throws {
        var bench = try StateBench()
        let streams = (0..<6).map { bench.begin(Int32($0)) }
        for stream in streams { try bench.receive(ServerFrame.headers(stream, ServerFrame.status(500), ends: false)) }
        for _ in 0..<2000 {
            for stream in streams { try bench.receive(ServerFrame.data(stream, " ", ends: false)) }
        }
        for stream in streams { try bench.receive(ServerFrame.data(stream)) }
        #expect(bench.endings.others.count == 6)
    }
}
