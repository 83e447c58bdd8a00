import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import PealCore
import PealServer
import Testing

/// A server in this process with its own database, and a client of its native API.
struct PealServerFixture: Sendable {
    private static let adminToken = "sixth-network-admin-token-0123456789"
    private let address: String

    /// Runs a server while `body` runs.
    static func run(
        networks: [ServerNetwork], _ body: @escaping @Sendable (PealServerFixture) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("peal-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let portFile = folder.appendingPathComponent("port")
        let configuration = try await ServerConfiguration.load(
            arguments: [],
            environment: [
                "PEAL_HTTP_PORT": "0", "PEAL_HTTP_PORT_FILE": portFile.path, "PEAL_ADMIN_TOKEN": adminToken,
                "PEAL_STORE_URL": "sqlite:\(folder.path)/peal.db", "PEAL_LOG_LEVEL": "error",
            ])
        try await withThrowingTaskGroup { group in
            group.addTask { try await runServer(configuration, networks: networks) }
            group.addTask { try await body(PealServerFixture(address: try await address(in: portFile))) }
            // The server ends with the test; a server that ends first has failed.
            try await group.next()
            group.cancelAll()
        }
    }

    /// The server writes the file once it listens. It uses the system's clock, so this waits at most a minute.
    private static func address(in portFile: URL) async throws -> String {
        for _ in 0..<3000 {
            if let port = try? String(contentsOf: portFile, encoding: .utf8), port.hasSuffix("\n") {
                return "http://127.0.0.1:\(port.trimmingCharacters(in: .whitespacesAndNewlines))"
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw FixtureFailure(description: "the server did not start")
    }

    /// Returns the app's path.
    func makeApp() async throws -> String {
        let app = try await call("POST", "/peal/v1/apps", ["name": "pigeons"], expect: 201)
        return "/peal/v1/apps/\(try #require(app["id"]?.stringValue))"
    }

    func call(_ method: String, _ path: String, _ body: JSON? = nil, expect status: Int) async throws -> JSON {
        var request = HTTPClientRequest(url: address + path)
        request.method = .RAW(value: method)
        request.headers.add(name: "Authorization", value: "Bearer \(Self.adminToken)")
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: body.bytes))
        }
        let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        let bytes = try await answer.body.collect(upTo: 16 * 1024 * 1024)
        let json = (try? JSONParser.parse(Array(bytes.readableBytesView))) ?? .null
        guard Int(answer.status.code) == status else {
            throw FixtureFailure(description: "\(method) \(path): \(answer.status.code) \(json.text)")
        }
        return json
    }

    /// The message once it has ended, within at most two minutes, because the server uses the system's clock.
    func end(of path: String) async throws -> JSON {
        for _ in 0..<2400 {
            let message = try await call("GET", path, expect: 200)
            let state = message["state"]?.stringValue.flatMap { Message.State(name: $0) }
            if state?.isFinal == true { return message }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw FixtureFailure(description: "\(path) did not end")
    }
}

struct FixtureFailure: Error, CustomStringConvertible {
    let description: String
}
