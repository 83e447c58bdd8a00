import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import PealCore
import PealTesting
import Testing

/// A simulator and servers on loopback, each in a separate process, in a directory that is deleted after the test.
final class ServerFixture: Sendable {
    static let adminToken = "test-admin-token-0123456789abcdef"

    let folder: URL
    let simulator: RunningProgram
    let controlURL: String
    private let settings: JSON
    /// The URL of the servers' store.
    private let store: [String: String]

    /// - Parameter environment: of the simulator.
    init(mode: String = "strict", environment: [String: String] = [:]) async throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("peal-\(UUID().uuidString)")
        let directory = folder.appendingPathComponent("sim")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        simulator = try RunningProgram(
            "peal-sim", arguments: ["--directory", directory.path, "--mode", mode], environment: environment)
        let file = directory.appendingPathComponent("simulator.json")
        settings = try JSONParser.parse(try await Self.contents(of: file, whileRunning: simulator))
        store = try Self.store(in: folder)
        controlURL = try #require(settings["control_url"]?.stringValue)
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    /// Starts `peal serve` on the fixture's database.
    func startServer(_ environment: [String: String] = [:]) async throws -> RunningServer {
        let name = UUID().uuidString
        let portFile = folder.appendingPathComponent("port-\(name)")
        let program = try RunningProgram(
            "peal", arguments: ["serve"],
            environment: try variables(environment).merging(["PEAL_HTTP_PORT_FILE": portFile.path]) { $1 },
            log: folder.appendingPathComponent("peal-\(name).log"))
        let port = try await Self.contents(of: portFile, whileRunning: program)
        let address = "http://127.0.0.1:\(port.trimmingCharacters(in: .whitespacesAndNewlines))"
        return RunningServer(program: program, address: address)
    }

    /// The environment of a server.
    func variables(_ environment: [String: String]) throws -> [String: String] {
        [
            "PEAL_HTTP_PORT": "0", "PEAL_ADMIN_TOKEN": Self.adminToken,
            "PEAL_PROVIDERS_APNS_PRODUCTION_URL": try #require(settings["apns_url"]?.stringValue),
            "PEAL_PROVIDERS_APNS_SANDBOX_URL": try #require(settings["apns_sandbox_url"]?.stringValue),
            "PEAL_PROVIDERS_FCM_URL": try #require(settings["fcm_url"]?.stringValue),
            "PEAL_PROVIDERS_FCM_TOKEN_ALLOWED_HOSTS": try #require(
                settings["fcm_url"]?.stringValue?.split(separator: "/").last.map(String.init)),
            "PEAL_PROVIDERS_CA_FILE": try #require(settings["ca_file"]?.stringValue),
        ].merging(store) { $1 }.merging(environment) { $1 }
    }

    /// A database of the engine that is tested.
    private static func store(in folder: URL) throws -> [String: String] {
        switch StoreUnderTest.selected {
        case .sqlite: return ["PEAL_STORE_URL": "sqlite:\(folder.path)/peal.db"]
        case .postgres:
            let server = try PostgresServer.shared()
            return [
                "PEAL_STORE_URL": server.url(try server.createDatabase()),
                "PEAL_MASTER_KEY": Data(repeating: 3, count: 32).base64EncodedString(),
            ]
        }
    }

    /// Creates an app with the simulator's APNs key. Returns the path of the app.
    func makeApp(_ server: RunningServer) async throws -> String {
        let bundleID = settings["apns"]?["bundle_id"] ?? .null
        let app = try await server.call("POST", "/peal/v1/apps", ["name": "Test", "bundle_id": bundleID], expect: 201)
        let path = "/peal/v1/apps/\(try #require(app["id"]?.stringValue))"
        _ = try await server.call(
            "PUT", "\(path)/credentials/apns/production", try await credential(), expect: 200)
        return path
    }

    /// Gives an app the simulator's service account for FCM.
    func addServiceAccount(_ server: RunningServer, app: String) async throws {
        let file = try #require(settings["fcm"]?["service_account_file"]?.stringValue)
        let account = try JSONParser.parse(try String(contentsOfFile: file, encoding: .utf8))
        _ = try await server.call("PUT", "\(app)/credentials/fcm", ["service_account": account], expect: 200)
    }

    /// The request body that stores the simulator's APNs key.
    func credential() async throws -> JSON {
        let apns = try #require(settings["apns"])
        let keyFile = try #require(apns["private_key_file"]?.stringValue)
        return [
            "kind": "token", "key_id": apns["key_id"] ?? .null, "team_id": apns["team_id"] ?? .null,
            "bundle_id": apns["bundle_id"] ?? .null,
            "private_key": .string(try String(contentsOfFile: keyFile, encoding: .utf8)),
        ]
    }

    /// Registers `count` devices in `topic`, a thousand per request.
    func registerDevices(_ server: RunningServer, app: String, count: Int, topic: String) async throws {
        for start in stride(from: 0, to: count, by: 1000) {
            let devices = (start..<min(start + 1000, count)).map { number -> JSON in
                let address = String(repeating: "0", count: 56) + Self.eightDigits(number)
                return ["platform": "ios", "address": .string(address), "topics": [.string(topic)]]
            }
            let answer = try await register(devices, server, app: app)
            let refused = answer["results"]?.arrayValue?.filter { $0["error"] != nil } ?? []
            #expect(refused.isEmpty)
        }
    }

    /// Repeats a batch after a 503, as its answer asks: on a busy machine a statement may exceed its time limit.
    private func register(_ devices: [JSON], _ server: RunningServer, app: String) async throws -> JSON {
        var attempt = 1
        while true {
            do {
                return try await server.call(
                    "POST", "\(app)/devices:batch", ["devices": .array(devices)], expect: 200)
            } catch  where attempt < 5 && "\(error)".contains(": 503 ") {
                attempt += 1
                try await Task.sleep(for: .seconds(1))
            }
        }
    }

    /// Replaces the simulator's fault rules, given as YAML.
    func setFaults(_ script: String) async throws {
        var request = HTTPClientRequest(url: "\(controlURL)/script")
        request.method = .POST
        request.body = .bytes(ByteBuffer(string: script))
        let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        guard (200..<300).contains(answer.status.code) else { throw FixtureFailure("the script was refused") }
    }

    /// What its servers logged as warnings and errors.
    var warnings: String {
        let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        let logs = files.filter { $0.pathExtension == "log" }
            .compactMap { try? String(contentsOf: $0, encoding: .utf8) }
        return logs.flatMap { $0.split(separator: "\n") }.filter { $0.contains("warning") || $0.contains("error") }
            .joined(separator: "\n")
    }

    /// What the simulator's devices received.
    func inboxSummary() async throws -> JSON {
        try await RunningServer.request("GET", "\(controlURL)/inbox/summary", nil).1
    }

    func inbox(device: String) async throws -> [JSON] {
        try await RunningServer.request("GET", "\(controlURL)/inbox?device=\(device)", nil).1["items"]?.arrayValue ?? []
    }

    /// Everything that the simulator's devices received, oldest first; at most 10,000.
    func inbox() async throws -> [JSON] {
        try await RunningServer.request("GET", "\(controlURL)/inbox?limit=10000", nil).1["items"]?.arrayValue ?? []
    }

    private static func eightDigits(_ number: Int) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: 8 - text.count) + text
    }

    private static func contents(of file: URL, whileRunning program: RunningProgram) async throws -> String {
        for _ in 0..<6000 {
            if let text = try? String(contentsOf: file, encoding: .utf8), !text.isEmpty { return text }
            guard program.isRunning else { break }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw FixtureFailure("\(file.lastPathComponent) did not appear")
    }
}

struct FixtureFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
