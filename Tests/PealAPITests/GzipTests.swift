import CZlib
import HTTPTypes
import HummingbirdTesting
import NIOCore
import PealAPI
import PealCore
import Testing

@Suite("Compressed bodies")
struct GzipTests {
    private static let body = #"{"audience":{"topics":["nobody"]},"content":{"title":"x"}}"#

    /// One gzip member.
    static func gzip(_ bytes: [UInt8]) throws -> [UInt8] {
        var stream = z_stream()
        let size = Int32(MemoryLayout<z_stream>.size)
        let begun = deflateInit2_(&stream, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size)
        try #require(begun == Z_OK)
        defer { deflateEnd(&stream) }
        var (input, output) = (bytes, [UInt8](repeating: 0, count: bytes.count + 1024))
        let count = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                _ = deflate(&stream, Z_FINISH)
                return output.count - Int(stream.avail_out)
            }
        }
        return Array(output.prefix(count))
    }

    private static func send(
        _ fixture: Fixture, _ bytes: [UInt8], _ encoding: String = "gzip", to path: String = "…/messages",
        authorization: String = "Bearer \(Fixture.adminToken)"
    ) async throws -> Fixture.Reply {
        let response = try await fixture.client.execute(
            uri: path.replacing("…", with: fixture.path), method: .post,
            headers: [
                .authorization: authorization, .contentType: "application/json", .contentEncoding: encoding,
            ], body: ByteBuffer(bytes: bytes))
        return Fixture.Reply(
            status: response.status.code, headers: response.headers, text: String(buffer: response.body))
    }

    @Test("are read, in one or several members", arguments: ["gzip", "GZIP", "x-gzip", " gzip "])
    func read(encoding: String) async throws {
        try await Fixture.open { fixture in
            let whole = try Self.gzip(Array(Self.body.utf8))
            #expect(try await Self.send(fixture, whole, encoding).status == 202)
            let halves = (Self.body.utf8.prefix(20), Self.body.utf8.dropFirst(20))
            let members = try Self.gzip(Array(halves.0)) + Self.gzip(Array(halves.1))
            #expect(try await Self.send(fixture, members, encoding).status == 202)
            #expect(try await Self.send(fixture, Array(Self.body.utf8), "identity").status == 202)
        }
    }

    @Test("are limited by their decoded size, however small they are as sent", arguments: [1_000_000, 100_000_000])
    func bomb(size: Int) async throws {
        try await Fixture.open(options: APIOptions { $0.requestBodyBytesMax = 500_000 }) { fixture in
            let bomb = try Self.gzip([UInt8](repeating: 0x20, count: size))
            #expect(bomb.count < 500_000)
            let reply = try await Self.send(fixture, bomb)
            #expect(reply.status == 413 && reply.code == "body_too_large", "\(reply.text)")
        }
    }

    @Test("are limited by their size as sent, however little they decode to")
    func emptyMembers() async throws {
        try await Fixture.open(options: APIOptions { $0.requestBodyBytesMax = 10_000 }) { fixture in
            let empty = try Self.gzip([])
            let whole = try Self.gzip(Array(Self.body.utf8))
            let some = Array(repeating: empty, count: 100).flatMap { $0 } + whole
            #expect(try await Self.send(fixture, some).status == 202)
            let many = Array(repeating: empty, count: 10_000 / empty.count).flatMap { $0 } + whole
            let reply = try await Self.send(fixture, many)
            #expect(reply.status == 413 && reply.code == "body_too_large", "\(reply.text)")
        }
    }

    @Test("that are broken are refused")
    func broken() async throws {
        try await Fixture.open { fixture in
            let whole = try Self.gzip(Array(Self.body.utf8))
            var wrong = whole
            wrong[whole.count - 6] ^= 1
            for bytes in [Array(whole.dropLast(3)), wrong, whole + [1, 2, 3], Array(Self.body.utf8), [0x1F]] {
                let reply = try await Self.send(fixture, bytes)
                #expect(reply.status == 400 && reply.field == "Content-Encoding", "\(reply.text)")
            }
            #expect(try await fixture.census()["messages"] == 0)
        }
    }

    @Test("in another encoding are refused in each API's envelope", arguments: ["br", "deflate", "gzip, gzip"])
    func others(encoding: String) async throws {
        try await Fixture.open { fixture in
            let native = try await Self.send(fixture, Array(Self.body.utf8), encoding)
            #expect(native.status == 415 && native.code == "unsupported_media_type", "\(native.text)")
            #expect(native.header("Accept-Encoding") == "gzip")
            _ = try await fixture.key(
                "pivotal", [("application_uuid", "a-1"), ("api_key", "a-secret-of-24-characters")])
            let pivotal = try await Self.send(
                fixture, [0x7B, 0x7D], encoding, to: "/v1/push",
                authorization: fixture.basic("a-1", "a-secret-of-24-characters"))
            #expect(pivotal.status == 415 && pivotal["status"] == 415, "\(pivotal.text)")
        }
    }

    @Test("are read by every API")
    func everywhere() async throws {
        try await Fixture.open { fixture in
            _ = try await fixture.key(
                "pivotal", [("application_uuid", "a-1"), ("api_key", "a-secret-of-24-characters")])
            let body = try Self.gzip(Array(#"{"message":{"body":"x"},"target":{"platforms":["ios"]}}"#.utf8))
            let pivotal = try await Self.send(
                fixture, body, to: "/v1/push", authorization: fixture.basic("a-1", "a-secret-of-24-characters"))
            #expect(pivotal.status < 300, "\(pivotal.text)")
        }
    }
}
