import Foundation
import PealCommands
import PealCore
import Synchronization
import Testing

/// `peal doctor` while a server is running.
@Suite("The doctor next to a running server")
struct DoctorProgramTests {
    @Test("asks that server for the credentials, and says when it may not")
    func besideServer() async throws {
        let fixture = try await ServerFixture()
        let server = try await fixture.startServer()
        let app = try await fixture.makeApp(server)
        let environment = [
            "PEAL_STORE_URL": "sqlite:\(fixture.folder.path)/peal.db", "PEAL_SERVER_URL": server.address,
            "PEAL_ADMIN_TOKEN": ServerFixture.adminToken,
        ]
        let (code, report) = try await doctor(environment)
        #expect(code == 0, "\(report.text)")
        let checks = report["checks"]?.arrayValue ?? []
        #expect(report["state"] == "ok")
        let id = app.split(separator: "/").last ?? ""
        #expect(checks.contains { $0["subject"] == .string("credential apns production of Test (\(id))") })

        let stranger = try await doctor(environment.merging(["PEAL_API_KEY": "nobody"]) { $1 })
        #expect(stranger.code == 0)
        #expect(stranger.report["state"] == "warning", "\(stranger.report.text)")
        try await server.program.stop()
    }

    private func doctor(_ environment: [String: String]) async throws -> (code: Int32, report: JSON) {
        let printed = Printed()
        let surroundings = Surroundings(
            environment: environment, print: { text in printed.text.withLock { $0 += text } }, warn: { _ in },
            read: { _ in nil })
        let code = await PealProgram.run(["doctor", "--offline", "--json"], in: surroundings)
        return (code, try JSONParser.parse(printed.text.withLock { $0 }))
    }

    private final class Printed: Sendable {
        let text = Mutex("")
    }
}
