import Foundation
import PealCore
import PealTesting
import Testing

/// `peal-sim phones` in front of a server: the SDK in a process of its own, over HTTP.
@Suite("Simulated phones", .serialized, .timeLimit(.minutes(10)))
struct SimulatedPhonesTests {
    @Test(
        "see every message once and none that was cancelled, although the server is killed",
        .enabled(if: MovedTime.isPossible))
    func day() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("peal-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let clock = try await MovedTime(in: folder)
        let fixture = try await ServerFixture(environment: clock.environment)
        let server = try await fixture.startServer(clock.environment)
        let app = try await fixture.makeApp(server)
        try await fixture.addServiceAccount(server, app: app)
        // Ledgers are made durable at every change; in memory that costs nothing.
        let memory = URL(fileURLWithPath: "/dev/shm")
        let ledgers = (FileManager.default.fileExists(atPath: memory.path) ? memory : folder)
            .appendingPathComponent("peal-ledgers-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: ledgers) }
        let output = folder.appendingPathComponent("report.json")
        let program = try ChildProgram(
            "\(BuiltPrograms.folder)/peal-sim",
            [
                "phones", "--count", "40", "--days", "1", "--step-minutes", "60", "--settle-milliseconds", "1150",
                "--cancelled", "0.25", "--android", "0.4", "--json", "--server", server.address, "--app",
                Self.lastPart(app), "--key",
                ServerFixture.adminToken, "--simulator", fixture.folder.appendingPathComponent("sim").path, "--clock",
                clock.path, "--directory", ledgers.path,
            ], outputFile: output.path, errorFile: folder.appendingPathComponent("errors").path)
        try await Polling.wait(for: "the first messages") {
            // When the clock jumps, the server closes connections that were idle meanwhile.
            let answer = try? await server.call("GET", "\(app)/messages?limit=1", expect: 200)
            return answer?["items"]?.arrayValue?.isEmpty == false
        }
        try await server.program.kill()
        let port = server.address.split(separator: ":").last.map(String.init) ?? ""
        let again = try await fixture.startServer(clock.environment.merging(["PEAL_HTTP_PORT": port]) { $1 })
        let code = try await program.waitForExit()
        let report = try JSONParser.parse(try String(contentsOf: output, encoding: .utf8))
        #expect(code == 0, "\(report.text)")
        for invariant in ["shown_twice", "shown_after_cancel", "unattempted"] {
            #expect(report[invariant] == 0, "\(report.text)")
        }
        let (messages, cancelled) = (report["messages"]?.integerValue, report["cancelled"]?.integerValue ?? 0)
        #expect(messages == 40 && cancelled > 0, "\(report.text)")
        let (chosen, pushed) = (report["shown_by_phone"]?.integerValue ?? 0, report["shown_by_push"]?.integerValue ?? 0)
        #expect(chosen > 0 && pushed > 0 && chosen + pushed + cancelled == 40, "\(report.text)")
        var phones = 0
        for platform in ["ios", "android"] {
            let share = report["platforms"]?[platform]
            for figure in ["phones", "messages", "shown_by_phone", "shown_by_push", "wakes"] {
                #expect(share?[figure]?.integerValue ?? 0 > 0, "\(platform) \(figure): \(report.text)")
            }
            phones += share?["phones"]?.integerValue.map(Int.init) ?? 0
        }
        #expect(phones == 40)
        try await again.program.stop()
    }

    private static func lastPart(_ path: String) -> String { String(path.split(separator: "/").last ?? "") }
}
