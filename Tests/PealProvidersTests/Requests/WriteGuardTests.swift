import NIOCore
import NIOEmbedded
import NIOHTTP1
import PealCore
import Testing

@testable import PealProviders

@Suite("What a request becomes when it is written")
struct WriteGuardTests {
    private let time = ManualTime()

    /// The bytes of a request that is written after it has waited for a connection.
    private func written(
        _ request: OutboundRequest, after milliseconds: Int64, _ requests: WaitingRequests
    ) throws -> (text: String, isWritten: Bool) {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(HTTPRequestEncoder())
        try WriteGuard.add(to: channel, for: requests).wait()
        var headers = request.headers
        let number = requests.begin(request, madeAt: time.uptime, &headers)
        time.advance(.milliseconds(milliseconds))
        let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: "/", headers: headers)
        // Throws if it is not written.
        _ = try? channel.writeOutbound(HTTPClientRequestPart.head(head))
        let bytes = try channel.readOutbound(as: ByteBuffer.self)
        _ = try? channel.finish()
        return (bytes.map { String(buffer: $0) } ?? "", requests.end(number))
    }

    @Test(
        "the remaining lifetime is shorter by the seconds that it waited, and is 0 only if it was",
        arguments: [
            ("60", 0, "60"), ("60", 999, "60"), ("60", 7900, "53"), ("5", 9000, "1"), ("0", 9000, "0"),
            ("-", 9000, "-"),
        ] as [(String, Int64, String)])
    func life(given: String, milliseconds: Int64, expected: String) throws {
        var request = OutboundRequest(url: "https://push.example.com", headers: ["TTL": given], lifeField: "ttl")
        let requests = WaitingRequests(time: time)
        let (text, isWritten) = try written(request, after: milliseconds, requests)
        #expect(text.lowercased().contains("ttl: \(expected)\r\n"), "\(text)")
        #expect(!text.lowercased().contains("x-peal"))
        #expect(isWritten)
        request.lifeField = nil
        #expect(try written(request, after: milliseconds, requests).text.contains("TTL: \(given)\r\n"))
    }

    @Test("nothing is written after the deadline", arguments: [(1000, true), (1001, false)] as [(Int64, Bool)])
    func deadline(milliseconds: Int64, expected: Bool) throws {
        var request = OutboundRequest(url: "https://push.example.com")
        request.deadline = time.uptime + .seconds(1)
        let (text, isWritten) = try written(request, after: milliseconds, WaitingRequests(time: time))
        #expect(text.isEmpty != expected && isWritten == expected)
    }
}
