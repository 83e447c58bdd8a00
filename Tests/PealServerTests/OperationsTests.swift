import Foundation
import PealCore
import PealTesting
import Testing

/// Follows docs/operations.md as a newcomer does.
@Suite("The commands of the operations page", .serialized)
struct OperationsTests {
    /// The lines of the shell blocks from "Several servers" to "Upgrade", without comments.
    private static func commands() throws -> [String] {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("docs/operations.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let section = text.components(separatedBy: "\n## Several servers\n").dropFirst().first ?? ""
        let part = section.components(separatedBy: "\n## ").first ?? ""
        return part.components(separatedBy: "```sh\n").dropFirst()
            .flatMap { ($0.components(separatedBy: "```").first ?? "").split(separator: "\n") }
            .map { $0.components(separatedBy: "  #")[0].trimmingCharacters(in: .whitespaces) }
    }

    /// This test's values for the names on the page.
    private struct OperationsFixture {
        let fixture: ServerFixture
        let server: PostgresServer
        let database = "operations"

        var folder: String { fixture.folder.path }
        var url: String { server.url(database) }

        func inFolder(_ command: String) -> String {
            let pattern = "'postgres://peal:secret@db\\.example\\.com/peal[^']*'"
            return command.replacingOccurrences(of: pattern, with: "'\(url)'", options: .regularExpression)
                .replacing("/var/lib/peal", with: folder).replacing(
                    "/etc/peal/master.key", with: "\(folder)/peal.db.key"
                )
                .replacing("template0 peal", with: "template0 \(database)")
        }

        /// Runs a line of the page.
        func run(_ command: String, _ exported: [String: String]) async throws {
            let log = "\(folder)/command.log"
            var environment = try fixture.variables(exported)
            environment["PATH"] = "\(BuiltPrograms.folder):\(try PostgresServer.programs()):/usr/bin:/bin"
            environment["PGHOST"] = server.host
            environment["PGUSER"] = "peal"
            let shell = try ChildProgram(
                "/bin/sh", ["-c", inFolder(command)], environment: environment, outputFile: log,
                errorFile: "\(log).errors")
            let status = try await shell.waitForExit()
            let output = [log, "\(log).errors"].compactMap { try? String(contentsOfFile: $0, encoding: .utf8) }
            #expect(status == 0, "\(command): \(output.joined())")
        }
    }

    @Test("say why the database does not answer")
    func unanswered() async throws {
        let test = try await StoreUnderTest.postgres.open()
        try PostgresServer.shared().delaySchemaVersion(in: test.databaseName)
        let errors = FileManager.default.temporaryDirectory.appendingPathComponent("peal-\(UUID().uuidString).errors")
        defer { try? FileManager.default.removeItem(at: errors) }
        let program = try RunningProgram(
            "peal", arguments: ["migrate", "--dry-run"],
            environment: [
                "PEAL_STORE_URL": test.url, "PEAL_MASTER_KEY": Data([UInt8](1...32)).base64EncodedString(),
            ], log: errors)
        #expect(try await program.end() == 1)
        let text = try String(contentsOf: errors, encoding: .utf8)
        #expect(text.contains("the database refused a transaction: PostgreSQL error 57014"), "\(text)")
    }

    @Test("lead from one server to three on PostgreSQL, and back to one")
    func oneToThree() async throws {
        let commands = try Self.commands()
        let operations = OperationsFixture(fixture: try await ServerFixture(), server: try PostgresServer.shared())
        let fixture = operations.fixture
        var exported: [String: String] = [:]
        for command in commands where command.hasPrefix("export ") {
            let parts = operations.inFolder(String(command.dropFirst(7))).split(separator: "=", maxSplits: 1).map(
                String.init)
            exported[parts[0]] = parts[1].trimmingCharacters(in: ["'"])
        }
        #expect(Set(exported.keys) == ["PEAL_STORE_URL", "PEAL_MASTER_KEY_FILE"])
        let expected = [
            "createdb", "export", "export", "peal doctor && peal serve", "peal migrate", "peal store copy",
            "peal store copy", "cp", "PEAL_STORE_URL",
        ]
        #expect(commands.count == expected.count && zip(commands, expected).allSatisfy { $0.hasPrefix($1) })

        // Without a configured key file, SQLite creates one next to the database.
        let file = ["PEAL_STORE_URL": "sqlite:\(operations.folder)/peal.db", "PEAL_MASTER_KEY": ""]
        let first = try await fixture.startServer(file)
        let app = try await fixture.makeApp(first)
        try await fixture.registerDevices(first, app: app, count: 200, topic: "all")
        #expect(try await first.program.stop() == 0)

        try await operations.run(commands[0], [:])
        for command in commands[4...5] { try await operations.run(command, file) }
        exported["PEAL_MASTER_KEY"] = ""
        try await operations.run("peal doctor", exported)
        var servers: [RunningServer] = []
        for _ in 0..<3 { servers.append(try await fixture.startServer(exported)) }
        for server in servers { try await Self.send(server, app) }
        for server in servers { #expect(try await server.program.stop() == 0) }

        for command in commands[6...7] { try await operations.run(command, exported) }
        let last = try await fixture.startServer(
            ["PEAL_STORE_URL": "sqlite:\(operations.folder)/back.db", "PEAL_MASTER_KEY": ""])
        try await Self.send(last, app)
        #expect(try await last.program.stop() == 0)
        let summary = try await fixture.inboxSummary()
        #expect(summary["received"]?.integerValue == 800 && summary["duplicates"]?.integerValue == 0)
        operations.server.dropDatabase(operations.database)
    }

    private static func send(_ server: RunningServer, _ app: String) async throws {
        let message = try await server.call(
            "POST", "\(app)/messages", ["audience": ["topics": ["all"]], "content": ["body": "moved"]], expect: 202)
        let ended = try await server.waitForEnd("\(app)/messages/\(try #require(message["id"]?.stringValue))")
        #expect(ended["counts"]?["accepted"]?.integerValue == 200)
    }
}
