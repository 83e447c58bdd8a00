import Foundation
import PealCore
import PealTesting
import Testing

/// The main job with the real programs: `peal serve`, `peal-sim`, HTTP, TLS and SQLite between them.
@Suite("A message to many devices", .serialized)
struct FanOutTests {
    @Test("40,000 devices of a topic get it exactly once, in memory that does not grow with them")
    func exactlyOnce() async throws {
        let (some, all): (Int64, Int64) = (5000, 40_000)
        let fixture = try await ServerFixture(mode: "fast")
        let server = try await fixture.startServer()
        let app = try await fixture.makeApp(server)
        try await fixture.registerDevices(server, app: app, count: Int(some), topic: "some")
        try await push(server, app, topic: "some", count: some)
        let peakOfSome = try server.program.memoryMegabytes("VmHWM")
        try await fixture.registerDevices(server, app: app, count: Int(all), topic: "all")
        let before = try await fixture.inboxSummary()
        let message = try await push(server, app, topic: "all", count: all)
        let after = try await fixture.inboxSummary()
        #expect(after["received"]?.integerValue == (before["received"]?.integerValue ?? 0) + all)
        #expect(after["devices"]?.integerValue == all)
        // The server counts what it sent again because answers were lost, and logs why they were.
        let resent = message["resent"]?.integerValue ?? -1
        #expect(after["duplicates"]?.integerValue == 0, "\(resent) resent; \(fixture.warnings)")
        #expect(message["audience"]?["devices"]?.integerValue == all)
        let peakOfAll = try server.program.memoryMegabytes("VmHWM")
        #expect(peakOfAll < 150)
        #expect(peakOfAll < peakOfSome + 40, "eight times the audience took \(peakOfAll - peakOfSome) MB more")
        #expect(try await server.program.stop() == 0)
    }

    @Test("a message answered with 2xx is delivered even if the server is killed right after the answer")
    func survivesKill() async throws {
        let fixture = try await ServerFixture()
        let server = try await fixture.startServer()
        let app = try await fixture.makeApp(server)
        try await fixture.registerDevices(server, app: app, count: 300, topic: "news")
        let message = try await server.call(
            "POST", "\(app)/messages", ["audience": ["topics": ["news"]], "content": ["body": "after the storm"]],
            expect: 202)
        try await server.program.kill()
        let again = try await fixture.startServer()
        let path = "\(app)/messages/\(try #require(message["id"]?.stringValue))"
        let ended = try await again.waitForEnd(path)
        #expect(ended["counts"]?["accepted"]?.integerValue == 300)
        let summary = try await fixture.inboxSummary()
        #expect(summary["devices"]?.integerValue == 300)
        try await again.program.stop()
    }

    @Test("killed in the middle, at most the pages in flight are sent twice, and no device is left out")
    func killedInTheMiddle() async throws {
        let repeated = try await interrupted { try await $0.kill() }
        #expect(repeated <= 2 * Int64(Limits.pageDevicesPerSlot), "\(repeated) notifications came twice")
    }

    @Test("stopped in the middle, every device still gets it exactly once")
    func stoppedInTheMiddle() async throws {
        let repeated = try await interrupted { program in
            let exitCode = try await program.stop()
            #expect(exitCode == 0)
        }
        #expect(repeated == 0)
    }

    /// Ends the server while it sends to 20,000 devices, starts another, and checks that every device got the message.
    /// Returns how many notifications came more often than once.
    private func interrupted(by end: (RunningProgram) async throws -> Void) async throws -> Int64 {
        let count: Int64 = 20_000
        let fixture = try await ServerFixture(mode: "fast")
        let server = try await fixture.startServer(["PEAL_DELIVERY_PAGES_IN_FLIGHT": "2"])
        let app = try await fixture.makeApp(server)
        try await fixture.registerDevices(server, app: app, count: Int(count), topic: "all")
        let message = try await server.call(
            "POST", "\(app)/messages", ["audience": ["all": true], "content": ["body": "once"]], expect: 202)
        try await Polling.wait(for: "the first 2,000 notifications") {
            try #require(server.program.isRunning)
            return try await fixture.inboxSummary()["received"]?.integerValue ?? 0 >= 2000
        }
        try await end(server.program)
        let again = try await fixture.startServer()
        let id = try #require(message["id"]?.stringValue)
        let ended = try await again.waitForEnd("\(app)/messages/\(id)")
        #expect(ended["counts"]?["accepted"]?.integerValue == count)
        let summary = try await fixture.inboxSummary()
        #expect(summary["devices"]?.integerValue == count)
        try await again.program.stop()
        let repeated = (summary["received"]?.integerValue ?? 0) - count
        #expect(summary["duplicates"]?.integerValue == repeated, "a repetition carries the same apns-id")
        return repeated
    }

    @discardableResult
    private func push(_ server: RunningServer, _ app: String, topic: String, count: Int64) async throws -> JSON {
        let message = try await server.call(
            "POST", "\(app)/messages",
            ["audience": ["topics": [.string(topic)]], "content": ["title": "Hello", "body": "to all of you"]],
            expect: 202)
        let ended = try await server.waitForEnd("\(app)/messages/\(try #require(message["id"]?.stringValue))")
        #expect(ended["state"] == "sent")
        #expect(ended["counts"]?["accepted"]?.integerValue == count)
        return ended
    }
}
