import Foundation
import PealCore
@testable import PealServer
import PealTesting
import Testing

/// A PostgreSQL database, and several `peal serve` on it.
private struct Cluster {
    let fixture: ServerFixture
    let url: String
    let database: String
    let environment: [String: String]

    init(mode: String = "fast") async throws {
        fixture = try await ServerFixture(mode: mode)
        let server = try PostgresServer.shared()
        database = try server.createDatabase()
        url = server.url(database)
        environment = [
            "PEAL_STORE_URL": url, "PEAL_MASTER_KEY": Data(repeating: 3, count: 32).base64EncodedString(),
            "PEAL_DELIVERY_PAGES_IN_FLIGHT": "2",
        ]
    }

    func start() async throws -> RunningServer { try await fixture.startServer(environment) }

    func end(_ servers: [RunningServer]) async throws {
        for server in servers { #expect(try await server.program.stop() == 0) }
        try PostgresServer.shared().dropDatabase(database)
    }
}

@Suite("Servers on one database", .serialized)
struct ClusterTests {
    @Test("three servers share a send; one is killed, and no device is left out")
    func killed() async throws {
        let cluster = try await Cluster()
        let first = try await cluster.start()
        let app = try await cluster.fixture.makeApp(first)
        let count: Int64 = 20_000
        try await cluster.fixture.registerDevices(first, app: app, count: Int(count), topic: "all")
        let others = [try await cluster.start(), try await cluster.start()]
        let message = try await first.call(
            "POST", "\(app)/messages", ["audience": ["all": true], "content": ["body": "once"]], expect: 202)
        try await Polling.wait(for: "the first 2,000 notifications") {
            try await cluster.fixture.inboxSummary()["received"]?.integerValue ?? 0 >= 2000
        }
        try await first.program.kill()
        let id = try #require(message["id"]?.stringValue)
        let ended = try await others[0].waitForEnd("\(app)/messages/\(id)")
        #expect(ended["state"] == "sent")
        #expect(ended["counts"]?["accepted"]?.integerValue == count)
        let summary = try await cluster.fixture.inboxSummary()
        #expect(summary["devices"]?.integerValue == count)
        let repeated = (summary["received"]?.integerValue ?? 0) - count
        #expect(repeated <= 2 * Int64(Limits.pageDevicesPerSlot), "\(repeated) notifications came twice")
        try await cluster.end(others)
    }

    @Test("a server that joins takes part, and a rolling restart loses and repeats nothing")
    func rollingRestart() async throws {
        let cluster = try await Cluster()
        var servers = [try await cluster.start(), try await cluster.start()]
        let app = try await cluster.fixture.makeApp(servers[0])
        let count: Int64 = 5000
        try await cluster.fixture.registerDevices(servers[0], app: app, count: Int(count), topic: "all")
        var messages: [String] = []
        for round in 0..<4 {
            for server in servers {
                let message = try await server.call(
                    "POST", "\(app)/messages",
                    ["audience": ["all": true], "content": ["body": .string("round \(round)")]],
                    expect: 202)
                messages.append(try #require(message["id"]?.stringValue))
            }
            let oldest = servers.removeFirst()
            servers.append(try await cluster.start())
            #expect(try await oldest.program.stop() == 0)
        }
        for id in messages {
            let ended = try await servers[0].waitForEnd("\(app)/messages/\(id)")
            #expect(ended["counts"]?["accepted"]?.integerValue == count)
        }
        let summary = try await cluster.fixture.inboxSummary()
        #expect(summary["received"]?.integerValue == count * Int64(messages.count))
        #expect(summary["duplicates"]?.integerValue == 0)
        try await cluster.end(servers)
    }

    @Test("a scheduled message is sent once, whoever wakes first")
    func schedule() async throws {
        let cluster = try await Cluster(mode: "strict")
        let servers = [try await cluster.start(), try await cluster.start(), try await cluster.start()]
        let app = try await cluster.fixture.makeApp(servers[0])
        try await cluster.fixture.registerDevices(servers[0], app: app, count: 20, topic: "all")
        let start = SystemTime().now + .seconds(6)
        var messages: [String] = []
        for number in 0..<12 {
            let message = try await servers[number % 3].call(
                "POST", "\(app)/messages",
                [
                    "audience": ["all": true], "content": ["body": .string("number \(number)")],
                    "schedule": ["at": .string("\(start)")],
                ], expect: 202)
            messages.append(try #require(message["id"]?.stringValue))
        }
        for id in messages {
            let ended = try await servers[1].waitForEnd("\(app)/messages/\(id)")
            #expect(ended["counts"]?["accepted"]?.integerValue == 20)
        }
        let summary = try await cluster.fixture.inboxSummary()
        #expect(summary["received"]?.integerValue == 240)
        try await cluster.end(servers)
    }

    @Test("a pause on one server stops the others, and resuming on another sends the rest once")
    func pause() async throws {
        // On a busy machine the strict simulator would answer so late that requests time out and are sent again.
        let cluster = try await Cluster()
        // Every answer takes a while, so that the send does too.
        try await cluster.fixture.setFaults("rules:\n  - match: {provider: apns, every: 1}\n    delay_ms: 400\n")
        let servers = [try await cluster.start(), try await cluster.start(), try await cluster.start()]
        let app = try await cluster.fixture.makeApp(servers[0])
        let count: Int64 = 20_000
        try await cluster.fixture.registerDevices(servers[0], app: app, count: Int(count), topic: "all")
        let message = try await servers[0].call(
            "POST", "\(app)/messages", ["audience": ["all": true], "content": ["body": "wait"]], expect: 202)
        let path = "\(app)/messages/\(try #require(message["id"]?.stringValue))"
        func received() async throws -> Int64 {
            try await cluster.fixture.inboxSummary()["received"]?.integerValue ?? 0
        }
        try await Polling.wait(for: "the first 1,000 notifications") { try await received() >= 1000 }
        _ = try await servers[1].call("POST", "\(path)/pause", expect: 200)
        // Requests that have begun are still received.
        var (atPause, since) = (try await received(), ContinuousClock.now)
        try await Polling.wait(for: "the end of what was in flight") {
            let now = try await received()
            if now != atPause { (atPause, since) = (now, .now) }
            return ContinuousClock.now - since >= .seconds(3)
        }
        #expect(atPause < count)
        _ = try await servers[2].call("POST", "\(path)/resume", expect: 200)
        try await cluster.fixture.setFaults("rules: []\n")
        let ended = try await servers[0].waitForEnd(path)
        #expect(ended["counts"]?["accepted"]?.integerValue == count)
        let summary = try await cluster.fixture.inboxSummary()
        #expect(summary["devices"]?.integerValue == count)
        // A machine on which leases end early repeats what Peal reports as resent.
        let resent = ended["resent"]?.integerValue ?? 0
        let repeated = (summary["received"]?.integerValue ?? 0) - count
        #expect(repeated <= resent, "\(cluster.fixture.warnings)")
        try await cluster.end(servers)
    }
}

/// Beside the other suite: a test of a serialized suite waits for the one before, and begins after those of all others.
@Suite("What servers on one database share", .serialized)
struct ClusterStateTests {
    /// When the simulator's devices received what they received, in milliseconds.
    private static func arrivals(_ cluster: Cluster) async throws -> [Int64] {
        let items = try await cluster.fixture.inbox()
        return items.compactMap { $0["at"]?.integerValue }.sorted()
    }

    @Test(
        "two servers share the rate of a message and that of an app",
        arguments: [(rule: nil, option: 40, perSecond: 80), (rule: 50, option: nil, perSecond: 50)]
            as [(rule: Int64?, option: Int64?, perSecond: Int)])
    func rate(rule: Int64?, option: Int64?, perSecond: Int) async throws {
        let cluster = try await Cluster(mode: "strict")
        let servers = [try await cluster.start(), try await cluster.start()]
        let app = try await cluster.fixture.makeApp(servers[0])
        if let rule {
            _ = try await servers[0].call(
                "PATCH", app, ["settings": ["rate_per_second": .integer(rule)]], expect: 200)
        }
        try await cluster.fixture.registerDevices(servers[0], app: app, count: 150, topic: "all")
        let begunAt = SystemTime().now.milliseconds
        var messages: [String] = []
        for server in servers {
            var body: JSON.Members = .init([("audience", ["all": true]), ("content", ["body": "slowly"])])
            if let option { body["options"] = ["rate_per_second": .integer(option)] }
            let message = try await server.call("POST", "\(app)/messages", .object(body), expect: 202)
            messages.append(try #require(message["id"]?.stringValue))
        }
        for id in messages {
            let ended = try await servers[1].waitForEnd("\(app)/messages/\(id)")
            #expect(ended["counts"]?["accepted"]?.integerValue == 150)
        }
        let arrivals = try await Self.arrivals(cluster)
        #expect(arrivals.count == 300)
        // Counted from the beginning, because what a busy machine delivers late arrives with the next second's. Two
        // blocks of 100 ms for each rate are taken in advance.
        for (index, at) in arrivals.enumerated() {
            let most = Int64(perSecond) * (at - begunAt + 200) / 1000 + Int64(perSecond / 2)
            #expect(index < most, "\(index + 1) after \(at - begunAt) ms")
        }
        try await cluster.end(servers)
    }

    @Test("no device gets more than the frequency cap of its app from two servers that send at once")
    func frequencyCap() async throws {
        let cluster = try await Cluster(mode: "strict")
        let servers = [try await cluster.start(), try await cluster.start()]
        let app = try await cluster.fixture.makeApp(servers[0])
        _ = try await servers[0].call(
            "PATCH", app, ["settings": ["frequency_cap": ["messages": 2, "hours": 24]]], expect: 200)
        try await cluster.fixture.registerDevices(servers[0], app: app, count: 200, topic: "all")
        let messages = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<6 {
                group.addTask {
                    let message = try await servers[number % 2].call(
                        "POST", "\(app)/messages", ["audience": ["all": true], "content": ["body": "capped"]],
                        expect: 202)
                    return message["id"]?.stringValue ?? ""
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        /// How many devices got a message, and how many wait.
        func sums() async throws -> (accepted: Int64, pending: Int64) {
            var sums: (accepted: Int64, pending: Int64) = (0, 0)
            for id in messages {
                let counts = try await servers[0].call("GET", "\(app)/messages/\(id)", expect: 200)["counts"]
                sums.accepted += counts?["accepted"]?.integerValue ?? 0
                sums.pending += counts?["pending"]?.integerValue ?? 0
            }
            return sums
        }
        try await Polling.wait(for: "two messages on every device") { try await sums() == (400, 800) }
        let summary = try await cluster.fixture.inboxSummary()
        #expect(summary["received"]?.integerValue == 400)
        let devices = Dictionary(grouping: try await cluster.fixture.inbox()) { $0["device"]?.stringValue ?? "" }
        #expect(devices.count == 200 && devices.values.allSatisfy { $0.count == 2 })
        try await cluster.end(servers)
    }

    @Test("a key that is revoked on one server is refused on the other within two seconds")
    func revokedKey() async throws {
        let cluster = try await Cluster()
        let servers = [try await cluster.start(), try await cluster.start()]
        let app = try await cluster.fixture.makeApp(servers[0])
        let key = try await servers[0].call("POST", "\(app)/keys", ["dialect": "native"], expect: 201)
        let (id, token) = (key["id"]?.stringValue ?? "", key["token"]?.stringValue ?? "")
        func status() async throws -> Int {
            try await RunningServer.request(
                "GET", servers[1].address + app, nil, headers: [("Authorization", "Bearer \(token)")]
            ).0
        }
        #expect(try await status() == 200)
        _ = try await servers[0].call("DELETE", "\(app)/keys/\(id)", expect: 204)
        let revoked = ContinuousClock.now
        // What counts is when a request begins: a busy machine may answer it late.
        var lastAccepted = revoked
        try await Polling.wait(for: "the refusal") {
            let begun = ContinuousClock.now
            guard try await status() != 401 else { return true }
            lastAccepted = begun
            return false
        }
        #expect(lastAccepted - revoked < .seconds(2))
        try await cluster.end(servers)
    }

    @Test("a server on SQLite moves to PostgreSQL with its devices, keys and credentials, and back")
    func move() async throws {
        let fixture = try await ServerFixture()
        let file = "sqlite:\(fixture.folder.path)/move.db"
        let first = try await fixture.startServer(["PEAL_STORE_URL": file])
        let app = try await fixture.makeApp(first)
        try await fixture.registerDevices(first, app: app, count: 300, topic: "all")
        #expect(try await first.program.stop() == 0)
        let server = try PostgresServer.shared()
        let name = try server.createDatabase()
        let key = "\(fixture.folder.path)/move.db.key"
        var stores = [file, server.url(name), "sqlite:\(fixture.folder.path)/back.db"]
        while stores.count > 1 {
            let from = stores.removeFirst()
            let log = fixture.folder.appendingPathComponent("copy.log")
            let copy = try RunningProgram(
                "peal", arguments: ["store", "copy", "--from", from, "--to", stores[0]], log: log)
            let exitCode = try await copy.end()
            let printed = try String(contentsOf: log, encoding: .utf8)
            #expect(exitCode == 0, "\(printed)")
            let next = try await fixture.startServer(["PEAL_STORE_URL": stores[0], "PEAL_MASTER_KEY_FILE": key])
            let message = try await next.call(
                "POST", "\(app)/messages", ["audience": ["topics": ["all"]], "content": ["body": "moved"]], expect: 202)
            let ended = try await next.waitForEnd("\(app)/messages/\(try #require(message["id"]?.stringValue))")
            #expect(ended["counts"]?["accepted"]?.integerValue == 300)
            #expect(try await next.program.stop() == 0)
        }
        server.dropDatabase(name)
    }

    @Test("announcements are read as they are written, and unknown ones are ignored")
    func announcements() throws {
        let all: [Announcement] = [
            .interrupt(MessageID(high: 1, low: 2)),
            .credentials(CredentialSlot(app: 7, provider: .apns, environment: .sandbox)),
        ]
        for announcement in all { #expect(Announcement(announcement.text) == announcement) }
        for text in ["", "interrupt", "interrupt x", "credentials 7 apns", "later 1"] {
            #expect(Announcement(text) == nil)
        }
    }
}
