import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import PealCore
import Testing

/// A running `peal serve` and a client for it.
struct RunningServer: Sendable {
    let program: RunningProgram
    let address: String

    /// Calls the native API as administrator and checks the status.
    func call(_ method: String, _ path: String, _ body: JSON? = nil, expect status: Int) async throws -> JSON {
        let (answered, json) = try await Self.request(
            method, address + path, body, headers: [("Authorization", "Bearer \(ServerFixture.adminToken)")])
        guard answered == status else { throw FixtureFailure("\(method) \(path): \(answered) \(json.text)") }
        return json
    }

    /// Waits until the message has ended and returns it.
    func waitForEnd(_ path: String, seconds: Int = 120) async throws -> JSON {
        for _ in 0..<(seconds * 20) {
            let message = try await call("GET", path, expect: 200)
            let state = message["state"]?.stringValue.flatMap { Message.State(name: $0) }
            if state?.isFinal == true { return message }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw FixtureFailure("\(path) did not end in \(seconds) s")
    }

    func waitUntilReady(seconds: Int = 60) async throws {
        for _ in 0..<(seconds * 10) {
            if let answer = try? await Self.request("GET", "\(address)/readyz", nil), answer.0 == 200 { return }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw FixtureFailure("\(address) was not ready in \(seconds) s")
    }

    static func request(
        _ method: String, _ url: String, _ body: JSON?, headers: [(String, String)] = []
    ) async throws -> (Int, JSON) {
        var request = HTTPClientRequest(url: url)
        request.method = .RAW(value: method)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: body.bytes))
        }
        let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        let bytes = try await answer.body.collect(upTo: 64 * 1024 * 1024)
        let json = try? JSONParser.parse(Array(bytes.readableBytesView))
        return (Int(answer.status.code), json ?? .null)
    }
}
