import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP1
import NIOHTTP2
import PealCore
@testable import PealNetwork
import Testing

@Suite("Guards of answers")
struct AnswerGuardTests {
    private func connection() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(HTTPRequestEncoder())
        try pipeline.addHandler(ByteToMessageHandler(HTTPResponseDecoder(informationalResponseStrategy: .forward)))
        try AnswerGuard.add(to: channel).wait()
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        return channel
    }

    /// Sends a request, and receives `answer`. Returns the statuses that were handed on.
    private func statuses(of answer: String, on channel: EmbeddedChannel) throws -> [UInt] {
        let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: "/", headers: ["host": "push.example.com"])
        channel.write(HTTPClientRequestPart.head(head), promise: nil)
        try channel.writeOutbound(HTTPClientRequestPart.end(nil))
        try channel.writeInbound(ByteBuffer(string: answer))
        var statuses: [UInt] = []
        while let part = try channel.readInbound(as: HTTPClientResponsePart.self) {
            if case .head(let head) = part { statuses.append(head.status.code) }
        }
        return statuses
    }

    @Test("hand valid answers on, with their interim answers", arguments: [101, 200, 204, 404, 999] as [UInt])
    func valid(status: UInt) throws {
        let channel = try connection()
        let interim = String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: Limits.interimAnswersMax)
        // After 101, a connection has another protocol.
        for _ in 0..<(status == 101 ? 1 : 2) {
            let answer = "HTTP/1.1 \(status) Answer\r\nContent-Length: 0\r\n\r\n"
            let found = try statuses(of: interim + answer, on: channel)
            #expect(found == Array(repeating: 103, count: Limits.interimAnswersMax) + [status])
        }
    }

    @Test("refuse a status below 100, and hand on nothing of the answer", arguments: ["000", "001", "099"])
    func invalid(status: String) throws {
        let channel = try connection()
        #expect(throws: AnswerGuard.Refused.self) {
            try statuses(of: "HTTP/1.1 \(status) Answer\r\nContent-Length: 2\r\n\r\nxx", on: channel)
        }
        #expect(try channel.readInbound(as: HTTPClientResponsePart.self) == nil)
    }

    @Test("refuse too many interim answers")
    func endless() throws {
        let channel = try connection()
        let interim = String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: Limits.interimAnswersMax + 1)
        #expect(throws: AnswerGuard.Refused.self) {
            try statuses(of: interim + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", on: channel)
        }
    }
}

@Suite("Guards of answers over HTTP/2")
struct StreamAnswerGuardTests {
    private func stream() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(HTTP2FramePayloadToHTTP1ClientCodec(httpProtocol: .https))
        try AnswerGuard.add(toStream: channel).wait()
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: "/", headers: ["host": "push.example.com"])
        channel.write(HTTPClientRequestPart.head(head), promise: nil)
        try channel.writeOutbound(HTTPClientRequestPart.end(nil))
        return channel
    }

    private func receive(_ headers: HPACKHeaders, ends: Bool = false, on channel: EmbeddedChannel) throws {
        try channel.writeInbound(HTTP2Frame.FramePayload.headers(.init(headers: headers, endStream: ends)))
    }

    private func statuses(on channel: EmbeddedChannel) throws -> [UInt] {
        var statuses: [UInt] = []
        while let part = try channel.readInbound(as: HTTPClientResponsePart.self) {
            if case .head(let head) = part { statuses.append(head.status.code) }
        }
        return statuses
    }

    @Test("hand valid answers on, with their interim answers and trailers", arguments: [200, 204, 404, 999] as [UInt])
    func valid(status: UInt) throws {
        let channel = try stream()
        for _ in 0..<Limits.interimAnswersMax { try receive([":status": "103"], on: channel) }
        try receive([":status": "\(status)"], on: channel)
        try receive(["x-a": "b"], ends: true, on: channel)
        let found = try statuses(on: channel)
        #expect(found == Array(repeating: 103, count: Limits.interimAnswersMax) + [status])
    }

    @Test(
        "refuse a status that HTTP/2 does not have, and hand on nothing of the answer",
        arguments: ["", "0", "7", "-5", "099", "+20", "20x", "1999", "101", "99999999999999999999"])
    func invalid(status: String) throws {
        let channel = try stream()
        #expect(throws: AnswerGuard.Refused.self) { try receive([":status": status], on: channel) }
        try receive([":status": "200"], ends: true, on: channel)
        #expect(try statuses(on: channel) == [])
    }

    @Test("refuse an answer without a status")
    func missing() throws {
        let channel = try stream()
        #expect(throws: AnswerGuard.Refused.self) { try receive(["x-a": "b"], ends: true, on: channel) }
    }

    @Test("refuse an interim answer that ends the stream")
    func lastInterim() throws {
        let channel = try stream()
        #expect(throws: AnswerGuard.Refused.self) { try receive([":status": "103"], ends: true, on: channel) }
    }

    @Test("refuse too many interim answers")
    func endless() throws {
        let channel = try stream()
        for _ in 0..<Limits.interimAnswersMax { try receive([":status": "100"], on: channel) }
        #expect(throws: AnswerGuard.Refused.self) { try receive([":status": "100"], on: channel) }
    }
}
