import Foundation
import PealCore
import PealTesting
import PealWorlds

/// Where a run finds its programs and its store.
package struct TortureSetting: Sendable {
    /// The folder with `peal` and `peal-sim`.
    package var binaries: String
    /// The store's URI; nil for a new SQLite database, `postgres` for a new one on a PostgreSQL server of this process.
    package var store: String?
    /// The name for a PostgreSQL server of this process.
    package static let ownPostgres = "postgres"
    package var pagesInFlight = 2
    /// How long the servers may take after the last fault.
    package var drainSeconds = 180.0

    package init(binaries: String) { self.binaries = binaries }
}

/// The simulator and the servers of one run, in a folder that is deleted with them.
actor TortureWorld {
    /// The longest time that a program may take to start, on a loaded machine.
    private static let startSecondsMax = 60.0

    let http = TortureHTTP()
    let disk: FullDisk?
    let clock: TortureClock?
    let folder: String
    private let setting: TortureSetting
    private let store: String
    /// The database on this process's PostgreSQL server; nil for another store.
    private let database: String?
    private let simulator: TortureProgram
    private let simulated: JSON
    private let masterKey: String
    private var servers: [TortureProgram] = []
    private var addresses: [String] = []
    private var turn = 0
    /// How far each server's clock is ahead.
    private var clockSeconds: [Int]

    /// Starts the simulator and `plan.nodes` servers.
    init(_ setting: TortureSetting, _ plan: TortureSchedule.Plan) async throws {
        self.setting = setting
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("peal-torture-\(UUID().uuidString)").path
        for part in ["sim", "store"] {
            try FileManager.default.createDirectory(atPath: "\(folder)/\(part)", withIntermediateDirectories: true)
        }
        database = setting.store == TortureSetting.ownPostgres ? try PostgresServer.shared().createDatabase() : nil
        let own = try database.map { try PostgresServer.shared().url($0) }
        store = own ?? setting.store ?? "sqlite:\(folder)/store/peal.db"
        let usesFile = setting.store == nil
        disk = plan.faults.contains(.disk) && usesFile ? await FullDisk.make("\(folder)/store") : nil
        clock = plan.faults.contains(.clock) ? await TortureClock.make(folder, nodes: plan.nodes) : nil
        clockSeconds = Array(repeating: 0, count: plan.nodes)
        var random = WorldRandom(seed: Int(truncatingIfNeeded: plan.seed), stream: 3)
        masterKey = Data((0..<32).map { _ in UInt8(random.below(256)) }).base64EncodedString()
        simulator = try TortureProgram(
            "\(setting.binaries)/peal-sim", ["--directory", "\(folder)/sim", "--seed", "\(plan.seed)"],
            environment: [:], log: "\(folder)/sim.log")
        let text = try await Self.contents(of: "\(folder)/sim/simulator.json", simulator)
        simulated = try JSONParser.parse(Array(text.utf8))
        for node in 0..<plan.nodes {
            servers.append(try startProgram(node))
            addresses.append(try await address(node))
        }
    }

    /// Ends everything and deletes the folder, unless it is needed for inspection.
    func end(keepingFolder: Bool) async {
        for server in servers { await server.end() }
        await simulator.end()
        await http.close()
        await disk?.remove()
        if let database { try? PostgresServer.shared().dropDatabase(database) }
        if !keepingFolder { try? FileManager.default.removeItem(atPath: folder) }
    }

    private static func contents(of file: String, _ program: TortureProgram) async throws -> String {
        let clock = ContinuousClock()
        let end = clock.now + .seconds(startSecondsMax)
        while clock.now < end {
            if let text = try? String(contentsOfFile: file, encoding: .utf8), !text.isEmpty { return text }
            guard program.isRunning else { throw TortureFailure("a program ended before it wrote \(file)") }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw TortureFailure("\(file) was not written within \(startSecondsMax) s")
    }
}

/// The servers.
extension TortureWorld {
    private func portFile(_ node: Int) -> String { "\(folder)/port-\(node)" }

    private func startProgram(_ node: Int) throws -> TortureProgram {
        try? FileManager.default.removeItem(atPath: portFile(node))
        let own = [
            "PEAL_STORE_URL": store, "PEAL_HTTP_PORT": "0",
            "PEAL_HTTP_PORT_FILE": portFile(node), "PEAL_ADMIN_TOKEN": TortureHTTP.adminToken,
            "PEAL_MASTER_KEY": masterKey, "PEAL_LOG_LEVEL": "info",
            "PEAL_DELIVERY_PAGES_IN_FLIGHT": "\(setting.pagesInFlight)",
            "PEAL_PROVIDERS_APNS_PRODUCTION_URL": simulated["apns_url"]?.stringValue ?? "",
            "PEAL_PROVIDERS_CA_FILE": simulated["ca_file"]?.stringValue ?? "",
        ]
        let plain = (path: "\(setting.binaries)/peal", arguments: ["serve"])
        let command = disk?.command(plain.path, plain.arguments) ?? plain
        return try TortureProgram(
            command.path, command.arguments, environment: own.merging(clock?.environment(of: node) ?? [:]) { $1 },
            log: "\(folder)/peal-\(node).log")
    }

    private func address(_ node: Int) async throws -> String {
        let port = try await Self.contents(of: portFile(node), servers[node])
        return "http://127.0.0.1:\(port.trimmingCharacters(in: .whitespacesAndNewlines))"
    }

    /// The addresses of the servers in turn.
    func address() -> String {
        turn += 1
        return addresses[turn % addresses.count]
    }

    /// Kills a server and starts it again, with its clock moved.
    func restart(_ node: Int, clockSeconds: Int?) async throws {
        await servers[node].end()
        if let clockSeconds { setClock(clockSeconds, of: node) }
        servers[node] = try startProgram(node)
        addresses[node] = try await address(node)
    }

    /// Restarts servers that have ended by themselves. Returns how many there were.
    func revive() async throws -> Int {
        var count = 0
        for node in servers.indices where !servers[node].isRunning {
            count += 1
            servers[node] = try startProgram(node)
            addresses[node] = try await address(node)
        }
        return count
    }

    func send(_ signal: Int32, toServer node: Int) { servers[node].send(signal) }
    func sendToSimulator(_ signal: Int32) { simulator.send(signal) }

    /// Lets a running server's clock jump ahead.
    func advanceClock(by seconds: Int, of node: Int) {
        setClock(min(TortureSchedule.clockSecondsMax, clockSeconds[node] + seconds), of: node)
    }

    private func setClock(_ seconds: Int, of node: Int) {
        clockSeconds[node] = seconds
        clock?.set(seconds, of: node)
    }

    func fillDisk() async { await disk?.fill(for: servers) }
    func freeDisk() async { await disk?.free(for: servers) }
}

/// The push network.
extension TortureWorld {
    func control(_ method: String, _ path: String, _ body: String? = nil) async throws -> JSON {
        let url = (simulated["control_url"]?.stringValue ?? "") + path
        let answer = try await http.call(method, url, body.map { Array($0.utf8) }, seconds: 60)
        guard (200..<300).contains(answer.status) else {
            throw TortureFailure("\(method) \(path): \(answer.status) \(answer.json.text)")
        }
        return answer.json
    }

    /// The credential of the simulator's app, in the native API's format.
    func credential() throws -> JSON {
        guard let apns = simulated["apns"], let file = apns["private_key_file"]?.stringValue else {
            throw TortureFailure("the simulator names no key")
        }
        return [
            "kind": "token", "key_id": apns["key_id"] ?? .null, "team_id": apns["team_id"] ?? .null,
            "bundle_id": apns["bundle_id"] ?? .null,
            "private_key": .string(try String(contentsOfFile: file, encoding: .utf8)),
        ]
    }
}
