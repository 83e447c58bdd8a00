import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import PealCore

/// Requests to the servers and to the simulator.
struct TortureHTTP: Sendable {
    private static let replyBytesMax = 256 << 20
    static let adminToken = "torture-admin-token-0123456789abcdef"

    private let client = HTTPClient(configuration: .init(connectionPool: .init(idleTimeout: .seconds(2))))

    /// - Returns: status and body; `.null` if the body is not JSON.
    /// - Throws: when there was no answer.
    func call(
        _ method: String, _ url: String, _ body: [UInt8]? = nil, key: String? = nil, seconds: Int64 = 15
    ) async throws -> (status: Int, json: JSON) {
        var request = HTTPClientRequest(url: url)
        request.method = .RAW(value: method)
        request.headers.add(name: "Authorization", value: "Bearer \(Self.adminToken)")
        request.headers.add(name: "Content-Type", value: "application/json")
        if let key { request.headers.add(name: "Idempotency-Key", value: key) }
        if let body { request.body = .bytes(ByteBuffer(bytes: body)) }
        let answer = try await client.execute(request, timeout: .seconds(seconds))
        let bytes = try await answer.body.collect(upTo: Self.replyBytesMax)
        let json = try? JSONParser.parse(Array(bytes.readableBytesView))
        return (Int(answer.status.code), json ?? .null)
    }

    /// Repeats a request until it gets the expected status.
    /// - Throws: `TortureFailure` for a refusal other than 429 and 503, or when the time has run out.
    func insist(
        _ method: String, _ url: @Sendable () async -> String, _ body: [UInt8]? = nil, key: String? = nil,
        expect: Set<Int> = [200, 201, 202], seconds: Double = 120
    ) async throws -> JSON {
        let clock = ContinuousClock()
        let end = clock.now + .seconds(seconds)
        var last = "no answer"
        while clock.now < end {
            let target = await url()
            if let answer = try? await call(method, target, body, key: key) {
                if expect.contains(answer.status) { return answer.json }
                last = "\(answer.status) \(answer.json.text)"
                guard [429, 500, 503].contains(answer.status) else { break }
            }
            try await Task.sleep(for: .milliseconds(200))
        }
        throw TortureFailure("\(method) \(await url()): \(last)")
    }

    func close() async { try? await client.shutdown() }
}
