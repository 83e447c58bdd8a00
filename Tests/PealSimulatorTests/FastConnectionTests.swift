import Testing

@testable import PealSimulator

@Suite("A fast connection")
struct FastConnectionTests {
    private static let device = String(repeating: "b2", count: 32)
    private static let id = "01234567-89ab-cdef-0123-456789abcdef"
    private static let accepted = [0x88, 0x00, 0x07] + Array("apns-id".utf8) + [36] + Array(id.utf8)
    private static let conversation =
        FastClient.preface + FastClient.frame(4, stream: 0) + FastClient.request(1, device: device, id: id)
        + FastClient.request(3, device: device, id: id) + FastClient.frame(6, stream: 0, Array(1...8))

    private func answers(_ frames: [FastClient.Frame]) -> [FastClient.Frame] {
        frames.filter { $0.stream != 0 }
    }

    private func begun(_ client: FastClient) -> FastClient {
        _ = client.send(FastClient.preface + FastClient.frame(4, stream: 0))
        return client
    }

    @Test("answers requests, SETTINGS and PING in one piece")
    func conversation() throws {
        let client = try FastClient()
        let frames = client.send(Self.conversation)
        #expect(frames.map(\.kind) == [4, 8, 4, 1, 1, 6])
        #expect(answers(frames).map(\.payload) == [Self.accepted, Self.accepted])
        #expect(answers(frames).map(\.flags) == [5, 5])
        #expect(frames.last?.payload == Array(1...8) && frames.last?.flags == 1)
        client.inbox.count { ledger, _ in
            #expect(ledger.total.accepted == 2 && ledger.total.devices == 1)
            #expect(ledger.total.duplicates == 1 && ledger.total.devicesWithMoreThanOne == 1)
        }
        #expect(client.inbox.itemsJSON(after: 0, limit: 9).contains(#""payload":{}"#))
    }

    @Test("answers the same however the bytes are split", arguments: [1, 2, 3, 7, 10, 33, 100])
    func cuts(size: Int) throws {
        let whole = try FastClient().send(Self.conversation)
        let client = try FastClient()
        var frames: [FastClient.Frame] = []
        for start in stride(from: 0, to: Self.conversation.count, by: size) {
            frames += client.send(Array(Self.conversation[start..<min(start + size, Self.conversation.count)]))
        }
        #expect(frames == whole)
    }

    @Test("takes padding, priority, CONTINUATION, trailers and a body in pieces")
    func shapes() throws {
        let client = begun(try FastClient())
        let block = FastClient.block(device: Self.device, id: Self.id)
        let padded = [3] + [0, 0, 0, 0, 16] + block.prefix(20) + [0, 0, 0]
        var bytes = FastClient.frame(1, flags: 0x28, stream: 1, Array(padded))
        bytes += FastClient.frame(9, stream: 1, Array(block[20..<30]))
        bytes += FastClient.frame(9, flags: 4, stream: 1, Array(block[30...]))
        bytes += FastClient.frame(0, flags: 8, stream: 1, [2] + Array("{\"a\"".utf8) + [0, 0])
        bytes += FastClient.frame(0, stream: 1, Array(":1}".utf8))
        bytes += FastClient.frame(1, flags: 5, stream: 1, FastClient.literal("x", "y"))
        #expect(answers(client.send(bytes)).filter { $0.kind == 1 }.map(\.payload) == [Self.accepted])
    }

    @Test("follows the client's dynamic table: indexed, evicted, resized")
    func dynamicTable() throws {
        let client = begun(try FastClient())
        let path = "/3/device/\(Self.device)"
        let first = FastClient.literal(":path", path, first: 0x40) + FastClient.literal("apns-id", Self.id, first: 0x40)
        let second: [UInt8] = [0xBE, 0xBF]
        // Name by index, another value; then the table is emptied.
        let third = [0x0F, 0x2F] + [UInt8(Self.id.utf8.count)] + Self.id.utf8 + [0xBF]
        let fourth: [UInt8] = [0x20, 0xBE]
        for (stream, block) in [(UInt32(1), first), (3, second), (5, third)] {
            let frames = client.send(FastClient.frame(1, flags: 5, stream: stream, block))
            #expect(frames.map(\.payload) == [Self.accepted])
        }
        client.inbox.count { ledger, _ in #expect(ledger.total.devices == 1 && ledger.total.accepted == 3) }
        let frames = client.send(FastClient.frame(1, flags: 5, stream: 7, fourth))
        #expect(frames.map(\.kind) == [7])
        #expect(Array(frames[0].payload[4..<8]) == FastClient.word(9))
    }

    @Test("sends a fault's reason only as the client gives room")
    func flowControl() throws {
        let client = try FastClient(yaml: "rules: [{status: 410, reason: Unregistered, timestamp: 5}]")
        let window = FastClient.frame(4, stream: 0, [0, 4] + FastClient.word(10))
        _ = client.send(FastClient.preface + window)
        var frames = client.send(FastClient.request(1, device: Self.device, id: Self.id))
        #expect(frames.map(\.kind) == [1, 0])
        #expect(frames[0].flags == 4 && frames[0].payload.prefix(5) == [0x08, 3, 0x34, 0x31, 0x30])
        frames += client.send(FastClient.frame(8, stream: 1, FastClient.word(5)))
        frames += client.send(FastClient.frame(8, stream: 1, FastClient.word(100)))
        let body = frames.filter { $0.kind == 0 }
        #expect(body.map(\.payload.count) == [10, 5, 24])
        #expect(body.map(\.flags) == [0, 0, 1])
        #expect(String(decoding: body.flatMap(\.payload), as: UTF8.self) == #"{"reason":"Unregistered","timestamp":5}"#)
    }

    @Test(
        "does what a fault says",
        arguments: [
            ("action: reset, code: 11", [UInt8(3)]), ("action: refuse", [3]), ("action: goaway", [7]),
            ("action: close", []), ("action: silence", []), ("action: stream_limit, streams: 1", [4, 1]),
            ("delay_ms: 5", []),
        ] as [(String, [UInt8])])
    func faults(rule: String, kinds: [UInt8]) throws {
        let client = begun(try FastClient(yaml: "rules: [{\(rule), times: 1}]"))
        let frames = client.send(FastClient.request(1, device: Self.device, id: Self.id))
        #expect(frames.map(\.kind) == kinds)
        #expect(client.connection.isEnding == (rule.contains("goaway") || rule.contains("close")))
        #expect(client.connection.delayed.count == (rule.contains("delay") ? 1 : 0))
    }

    @Test("refuses the stream above a thousand open ones, and continues when one has ended")
    func streamLimit() throws {
        let client = begun(try FastClient())
        let block = FastClient.block(device: Self.device, id: Self.id)
        var bytes: [UInt8] = []
        for number in 0..<1_001 { bytes += FastClient.frame(1, flags: 4, stream: UInt32(number * 2 + 1), block) }
        let refused = client.send(bytes)
        #expect(refused.map(\.kind) == [3] && refused[0].stream == 2_001)
        #expect(refused[0].payload == FastClient.word(7))
        #expect(client.send(FastClient.frame(3, stream: 1, FastClient.word(8))).isEmpty)
        // The index that follows from this number is stream 3's, so this one gets another.
        let more = client.send(FastClient.frame(1, flags: 4, stream: 2_051, block))
        #expect(more.isEmpty)
        let ended = client.send(
            FastClient.frame(0, flags: 1, stream: 3, [0x7B, 0x7D])
                + FastClient.frame(0, flags: 1, stream: 2_051, [0x7B, 0x7D]))
        #expect(ended.map(\.stream) == [3, 2_051])
    }

    @Test(
        "ends the connection for a violation of the protocol",
        arguments: [
            (FastClient.frame(1, flags: 4, stream: 2, [0x83]), UInt32(1)),
            (FastClient.frame(1, flags: 4, stream: 1, [0x80]), 9),
            (FastClient.frame(1, flags: 4, stream: 1, [0xFE]), 9),
            (FastClient.frame(1, flags: 4, stream: 1, [0x44, 0x85, 0xFF]), 9),
            (FastClient.frame(1, flags: 0xC, stream: 1, [9, 0x83]), 1),
            (FastClient.frame(1, stream: 1, [0x83]) + FastClient.frame(6, stream: 0, Array(1...8)), 1),
            (FastClient.frame(9, stream: 1), 1), (FastClient.frame(6, stream: 0, [1]), 6),
            (FastClient.frame(4, stream: 0, [1]), 6), (FastClient.frame(4, stream: 1), 1),
            (FastClient.frame(4, stream: 0, [0, 4] + FastClient.word(0x8000_0000)), 3),
            (FastClient.frame(8, stream: 0, FastClient.word(0)), 1),
            (FastClient.frame(8, stream: 0, FastClient.word(0x7FFF_FFFF)), 3),
            (FastClient.frame(0, stream: 0), 1), (FastClient.frame(5, stream: 1), 1),
            (FastClient.word(0x0040_0100) + [0, 0, 0, 0, 0], 6),
        ] as [([UInt8], UInt32)])
    func brokenRules(bytes: [UInt8], code: UInt32) throws {
        let frames = begun(try FastClient()).send(bytes)
        let farewell = try #require(frames.last)
        #expect(farewell.kind == 7)
        #expect(Array(farewell.payload[4..<8]) == FastClient.word(code))
    }

    @Test("survives any bytes", arguments: 0..<200)
    func garbage(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let client = begun(try FastClient())
        var bytes = Self.conversation.dropFirst(FastClient.preface.count).map { $0 }
        for _ in 0..<Int.random(in: 1...8, using: &random) {
            let index = Int.random(in: bytes.indices, using: &random)
            bytes[index] = UInt8.random(in: 0...255, using: &random)
        }
        for _ in 0..<20 where !client.connection.isEnding {
            let length = Int.random(in: 0...40, using: &random)
            let payload = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
            bytes += FastClient.frame(
                UInt8.random(in: 0...9, using: &random), flags: UInt8.random(in: 0...63, using: &random),
                stream: UInt32.random(in: 0...9, using: &random), payload)
            _ = client.send(bytes)
            bytes = []
        }
    }
}
