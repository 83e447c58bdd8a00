import Foundation
import PealServer
import PealTesting
import Testing

@Suite("Replacing the master key of servers")
struct RotationTests {
    @Test("a running server is noticed although the database's clock is an hour behind this machine's")
    func clocks() async throws {
        let test = try await StoreUnderTest.postgres.open()
        let server = try PostgresServer.shared()
        for statement in [
            """
            CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql
            AS 'SELECT pg_catalog.clock_timestamp() - interval ''1 hour'''
            """,
            // Functions of the system come last.
            "ALTER DATABASE \(test.databaseName) SET search_path = public, pg_catalog",
            """
            INSERT INTO live_server (name, seen_at)
            VALUES ('running', (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)
            """,
        ] { try server.execute(statement, in: test.databaseName) }
        let file = NSTemporaryDirectory() + "peal-next-\(UUID().uuidString).key"
        defer { for path in [file, file + ".lock"] { try? FileManager.default.removeItem(atPath: path) } }
        let configuration = try await ServerConfiguration.load(
            arguments: [],
            environment: [
                "PEAL_STORE_URL": test.url, "PEAL_MASTER_KEY": Data([UInt8](1...32)).base64EncodedString(),
            ])
        let refusal = await #expect(throws: (any Error).self) {
            try await rotateMasterKey(configuration, to: file, prepares: false, isDry: false)
        }
        #expect("\(String(describing: refusal))".contains("servers use the database"))
    }
}
