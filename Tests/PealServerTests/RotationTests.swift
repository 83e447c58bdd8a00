import Foundation
import PealCore
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

    @Test("the next key is kept if the answer to the commit that makes it valid is lost")
    func lostAnswer() async throws {
        let test = try await StoreUnderTest.postgres.open()
        let server = try PostgresServer.shared()
        try server.cutCommitsOfSettings(in: test.databaseName)
        let file = NSTemporaryDirectory() + "peal-next-\(UUID().uuidString).key"
        defer { for path in [file, file + ".lock"] { try? FileManager.default.removeItem(atPath: path) } }
        let configuration = try await ServerConfiguration.load(
            arguments: [],
            environment: [
                "PEAL_STORE_URL": test.url, "PEAL_MASTER_KEY": Data([UInt8](1...32)).base64EncodedString(),
            ])
        let error = await #expect(throws: PealError.self) {
            try await rotateMasterKey(configuration, to: file, prepares: true, isDry: false)
        }
        #expect(error?.code == .unavailable)
        let next = try Data(contentsOf: URL(fileURLWithPath: file))
        try server.execute("DROP TRIGGER cut ON setting", in: test.databaseName)
        let text = try await rotateMasterKey(configuration, to: file, prepares: true, isDry: false)
        #expect(text.contains("The next key is in \(file)."))
        #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == next)
    }
}

extension PostgresServer {
    /// From now on, the server ends a connection that commits a new row of `setting`: the client does not learn what
    /// became of the commit.
    func cutCommitsOfSettings(in database: String) throws {
        for statement in [
            """
            CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql
            AS 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END'
            """,
            """
            CREATE CONSTRAINT TRIGGER cut AFTER INSERT ON setting DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION cut()
            """,
        ] { try execute(statement, in: database) }
    }
}
