import Foundation
import PealTesting
import Testing

/// Failed starts of the real program.
@Suite("A failed start")
struct StartTests {
    @Test(
        "ends with code 2 and one line that names the key",
        arguments: [
            (["PEAL_PROVIDERS_CA_FILE": "/nowhere/ca.pem"], "PEAL_PROVIDERS_CA_FILE: /nowhere/ca.pem does not exist"),
            (
                ["PEAL_PROVIDERS_CA_FILE": "/etc/passwd"],
                "PEAL_PROVIDERS_CA_FILE: /etc/passwd contains no PEM certificate"
            ),
            (
                ["PEAL_HTTP_TLS_CERTIFICATE": "/etc", "PEAL_HTTP_TLS_KEY": "/etc/passwd"],
                "PEAL_HTTP_TLS_CERTIFICATE: /etc is a directory"
            ),
            (["PEAL_HTTP_HOST": "999.1.1.1"], "PEAL_HTTP_HOST: 999.1.1.1 has no address"),
            (["PEAL_HTTP_PORT_FILE": "/nowhere/port"], "PEAL_HTTP_PORT_FILE: the directory /nowhere"),
            (["PEAL_STORE_URL": "sqlite:/nowhere/peal.db"], "PEAL_STORE_URL: the directory /nowhere does not exist"),
            (["PEAL_STORE_URL": "sqlite:/tmp"], "PEAL_STORE_URL: /tmp is a directory"),
            (["PEAL_STORE_URL": "sqlite:/etc/passwd"], "PEAL_STORE_URL: /etc/passwd is not an SQLite database"),
        ])
    func refused(environment: [String: String], message: String) async throws {
        let (code, lines, _) = try await start(environment)
        #expect(code == 2)
        #expect(lines.count == 1)
        #expect(lines.first?.contains(message) == true, "\(lines)")
    }

    @Test("because of a file that cannot be used leaves no database behind")
    func noDatabase() async throws {
        let (_, _, files) = try await start(["PEAL_PROVIDERS_CA_FILE": "/nowhere/ca.pem"])
        #expect(files == ["log"])
    }

    @Test("shows the admin token if the database may have stored it")
    func uncertainToken() async throws {
        let test = try await StoreUnderTest.postgres.open()
        try PostgresServer.shared().cutCommitsOfSettings(in: test.databaseName)
        let environment = [
            "PEAL_STORE_URL": test.url, "PEAL_MASTER_KEY": Data([UInt8](1...32)).base64EncodedString(),
        ]
        let (code, lines, _) = try await start(environment, adminToken: nil)
        #expect(code == 1)
        let text = "The admin token of this server, unless the next start shows another one: peal-admin-"
        #expect(lines.contains { $0.hasPrefix(text) }, "\(lines)")
    }

    /// The exit code, the lines of the log, and the files in the folder of the database.
    private func start(
        _ environment: [String: String], adminToken: String? = ServerFixture.adminToken
    ) async throws -> (Int32, [Substring], [String]) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("peal-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let log = folder.appendingPathComponent("log")
        var usual = [
            "PEAL_HTTP_PORT": "0", "PEAL_LOG_LEVEL": "warning", "PEAL_STORE_URL": "sqlite:\(folder.path)/peal.db",
        ]
        usual["PEAL_ADMIN_TOKEN"] = adminToken
        let program = try RunningProgram(
            "peal", arguments: ["serve"], environment: usual.merging(environment) { $1 }, log: log)
        let code = try await program.end()
        let lines = try String(contentsOf: log, encoding: .utf8).split(separator: "\n")
        return (code, lines, try FileManager.default.contentsOfDirectory(atPath: folder.path))
    }
}
