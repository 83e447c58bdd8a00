import Foundation
import PealCore
import PealTesting
import Testing

@testable import PealServer

/// The loss of the database's machine. `make failover` runs it for longer.
@Suite("A failover of the database", .serialized)
struct FailoverTests {
    private static let devices: Int64 = 400
    /// How long messages are accepted. The primary dies in the middle.
    private static let seconds = ProcessInfo.processInfo.environment["PEAL_FAILOVER_SECONDS"].flatMap(Double.init) ?? 6

    /// Sends until it is accepted, as a client with an idempotency key does. Returns the message's id.
    private static func insist(
        _ number: Int, _ app: String, _ servers: [RunningServer]
    ) async throws -> String {
        let audience: JSON = number.isMultiple(of: 5) ? ["all": true] : ["topics": ["all"]]
        let body: JSON = ["audience": audience, "content": ["body": .string("number \(number)")]]
        for attempt in 0..<600 {
            let server = servers[(number + attempt) % servers.count]
            let answer = try? await RunningServer.request(
                "POST", "\(server.address)\(app)/messages", body,
                headers: [
                    ("Authorization", "Bearer \(ServerFixture.adminToken)"), ("Idempotency-Key", "number-\(number)"),
                ])
            if let answer, answer.0 == 202, let id = answer.1["id"]?.stringValue { return id }
            try await Task.sleep(for: .milliseconds(200))
        }
        throw FixtureFailure("number \(number) was never accepted")
    }

    @Test("the primary dies, its standby takes over: what was acknowledged is sent, and the rest once it is accepted")
    func failover() async throws {
        let pair = try PostgresPair()
        let fixture = try await ServerFixture(mode: "fast")
        let environment = [
            "PEAL_STORE_URL": pair.url, "PEAL_MASTER_KEY": Data(repeating: 3, count: 32).base64EncodedString(),
            "PEAL_DELIVERY_PAGES_IN_FLIGHT": "2",
        ]
        var servers: [RunningServer] = []
        for _ in 0..<3 { servers.append(try await fixture.startServer(environment)) }
        let app = try await fixture.makeApp(servers[0])
        try await fixture.registerDevices(servers[0], app: app, count: Int(Self.devices), topic: "all")
        let start = ContinuousClock.now
        let count = Int(Self.seconds * 5)
        let ids = try await withThrowingTaskGroup(of: String?.self) { [servers] group in
            group.addTask {
                try await Task.sleep(for: .seconds(Self.seconds / 2))
                try pair.failOver()
                return nil
            }
            for number in 0..<count {
                group.addTask {
                    let at = start + .seconds(Self.seconds * Double(number) / Double(count))
                    try await ContinuousClock().sleep(until: at)
                    return try await Self.insist(number, app, servers)
                }
            }
            return try await group.reduce(into: Set<String>()) { if let id = $1 { $0.insert(id) } }
        }
        #expect(ids.count == count, "a repeated request must not become a second message")
        // Each server finds the new primary by itself, with its next request.
        for server in servers { try await server.waitUntilReady() }
        for id in ids {
            let ended = try await servers[0].waitForEnd("\(app)/messages/\(id)")
            #expect(ended["state"] == "sent")
            #expect(ended["counts"]?["accepted"]?.integerValue == Self.devices)
        }
        let summary = try await fixture.inboxSummary()
        let expected = Self.devices * Int64(count)
        let received = summary["received"]?.integerValue ?? 0
        #expect(received >= expected)
        // No server died: settlements whose commit was lost with the primary are written again.
        #expect(received - expected <= 3 * 2 * Int64(Limits.pageDevicesPerSlot), "\(received - expected) came twice")
        for server in servers {
            #expect(server.program.isRunning)
            #expect(try await server.program.stop() == 0)
        }
    }
}
