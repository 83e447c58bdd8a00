internal import CPostgreSQL
internal import Foundation
internal import Synchronization

/// A PostgreSQL server of this test process: a cluster in a temporary folder, reached through a socket in that folder.
/// It is stopped and deleted when the process ends, however it ends.
package final class PostgresServer: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private let directory: String
    private let guardian: ChildProgram
    private let databases = Mutex(0)

    private static let started = Mutex<Result<PostgresServer, any Error>?>(nil)

    /// Started by the first test that asks for it.
    /// - Throws: when PostgreSQL is not installed or does not start.
    package static func shared() throws -> PostgresServer {
        try started.withLock { started in
            let result = started ?? Result { try PostgresServer() }
            started = result
            return try result.get()
        }
    }

    private init() throws {
        let programs = try Self.programs()
        // A path of a socket is at most 107 bytes long.
        directory = "/tmp/peal-postgres-\(ProcessInfo.processInfo.processIdentifier)"
        try? FileManager.default.removeItem(atPath: directory)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let user = try Self.user(of: directory)
        let log = directory + ".log"
        let make =
            user + ["\(programs)/initdb", "-D", "\(directory)/data", "-A", "trust", "-U", "peal", "-E", "UTF8"]
            + ["--locale=C", "--no-sync"]
        guard try ChildProgram.run("/usr/bin/env", make, outputFile: log) == 0 else {
            throw Failure(description: "initdb failed: \((try? String(contentsOfFile: log, encoding: .utf8)) ?? "")")
        }
        let options = [
            "listen_addresses=", "unix_socket_directories=\(directory)", "fsync=off", "full_page_writes=off",
            "max_connections=1000", "max_pred_locks_per_transaction=256", "shared_buffers=64MB", "autovacuum=off",
            "wal_level=minimal", "max_wal_senders=0",
        ]
        let serve = user + ["\(programs)/postgres", "-D", "\(directory)/data"] + options.flatMap { ["-c", $0] }
        guardian = try Self.guarded(serve, log: log, deleting: [directory, log])
        try awaitStart(log)
    }

    /// What to put before a command line that PostgreSQL refuses to run as root, after `directory` was given to that
    /// user.
    static func user(of directory: String) throws -> [String] {
        guard getuid() == 0 else { return [] }
        guard try ChildProgram.run("/bin/chown", ["nobody:nogroup", directory]) == 0 else {
            throw Failure(description: "\(directory) cannot be given to nobody")
        }
        return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
    }

    /// Starts a server that stops a second after the test process is killed. Then its files are deleted.
    static func guarded(_ command: [String], log: String, deleting files: [String]) throws -> ChildProgram {
        let script = """
            "$@" & server=$!
            while kill -0 \(ProcessInfo.processInfo.processIdentifier) 2>/dev/null && kill -0 $server 2>/dev/null
            do sleep 1; done
            kill -QUIT $server 2>/dev/null; wait $server; rm -rf \(files.map { "'\($0)'" }.joined(separator: " "))
            """
        return try ChildProgram("/bin/sh", ["-c", script, "sh"] + command, errorFile: log)
    }

    private func awaitStart(_ log: String) throws {
        for _ in 0..<2400 {
            if (try? execute("SELECT 1", in: "postgres")) != nil { return }
            guard guardian.isRunning else { break }
            usleep(50_000)
        }
        throw Failure(
            description: "postgres did not start: \((try? String(contentsOfFile: log, encoding: .utf8)) ?? "")")
    }

    /// The location of the programs: those of Debian are not in the path.
    package static func programs() throws -> String {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let debian = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        let directories =
            debian.sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }.map { "/usr/lib/postgresql/\($0)/bin" }
            + path.split(separator: ":").map(String.init)
        for directory in directories
        where FileManager.default.isExecutableFile(atPath: directory + "/initdb")
            && FileManager.default.isExecutableFile(atPath: directory + "/postgres")
        {
            return directory
        }
        throw Failure(description: "PostgreSQL is not installed: run Scripts/setup.sh test, or install postgresql")
    }

    /// The folder of the socket, which libpq accepts as a host.
    package var host: String { directory }

    /// The URL of a database, for libpq.
    package func url(_ database: String) -> String { "postgresql:///\(database)?host=\(directory)&user=peal" }

    /// A separate database, a copy of `template` if that is given.
    package func createDatabase(from template: String? = nil) throws -> String {
        let number = databases.withLock { count in
            count += 1
            return count
        }
        let name = "peal\(number)"
        let copied = template.map { " TEMPLATE \($0)" } ?? ""
        try execute("CREATE DATABASE \(name)\(copied)", in: "postgres")
        return name
    }

    /// Creates it on a thread of its own: creating a database waits for every connection of the server, and the threads
    /// of Swift's concurrency must not wait.
    package func createDatabaseOnThread(from template: String? = nil) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try self.createDatabase(from: template) }) }
        }
    }

    /// Ends its connections too.
    package func dropDatabase(_ name: String) { try? execute("DROP DATABASE \(name) WITH (FORCE)", in: "postgres") }

    /// Drops it on a thread of its own, for the same reason.
    func dropDatabaseOnThread(_ name: String) { Thread.detachNewThread { self.dropDatabase(name) } }

    /// Runs a statement on a connection of its own, outside a transaction.
    package func execute(_ statement: String, in database: String) throws {
        try Self.execute(statement, on: url(database))
    }

    /// Makes whoever reads the version of the database's schema wait for a minute.
    package func delaySchemaVersion(in database: String) throws {
        try execute("ALTER TABLE migration RENAME TO renamed", in: database)
        try execute("CREATE VIEW migration AS SELECT version FROM renamed, pg_sleep(60)", in: database)
    }

    static func execute(_ statement: String, on url: String) throws {
        let connection = PQconnectdb(url)
        defer { PQfinish(connection) }
        let result = PQexec(connection, statement)
        defer { PQclear(result) }
        let status = PQresultStatus(result)
        guard status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK else {
            throw Failure(description: String(cString: PQerrorMessage(connection)))
        }
    }
}
