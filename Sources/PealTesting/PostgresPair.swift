internal import CPostgreSQL
internal import Foundation
internal import Synchronization

/// A PostgreSQL primary and its synchronous standby, which takes over when the primary dies. Both end with the test
/// process.
package final class PostgresPair: Sendable {
    private static let database = "peal"
    private static let count = Mutex(0)

    private let directory: String
    private let programs: String
    private let user: [String]
    private let servers: [ChildProgram]

    /// - Throws: `PostgresServer.Failure`.
    package init() throws {
        let number = Self.count.withLock { count in
            count += 1
            return count
        }
        let directory = "/tmp/peal-pair-\(ProcessInfo.processInfo.processIdentifier)-\(number)"
        self.directory = directory
        programs = try PostgresServer.programs()
        try? FileManager.default.removeItem(atPath: directory)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        user = try PostgresServer.user(of: directory)
        let (programs, user) = (programs, user)
        let log = "\(directory).log"
        func run(_ command: [String]) throws {
            guard try ChildProgram.run("/usr/bin/env", user + command, outputFile: log) == 0 else {
                throw PostgresServer.Failure(description: "\(command[0]) failed: see \(log)")
            }
        }
        func start(_ name: String) throws -> ChildProgram {
            let options = [
                "listen_addresses=", "unix_socket_directories=\(directory)/\(name)", "fsync=off", "max_connections=200",
                "wal_level=replica", "max_wal_senders=4", "hot_standby=on", "max_pred_locks_per_transaction=256",
            ]
            let command = user + ["\(programs)/postgres", "-D", "\(directory)/\(name)"]
            let server = try PostgresServer.guarded(
                command + options.flatMap { ["-c", $0] }, log: "\(log).\(name)",
                deleting: ["\(directory)/\(name)", "\(log).\(name)"])
            try Self.awaitStart(Self.url(directory, name, "postgres"))
            return server
        }
        try run(
            ["\(programs)/initdb", "-D", "\(directory)/a", "-A", "trust", "-U", "peal", "-E", "UTF8", "--locale=C"]
                + ["--no-sync"])
        let primary = try start("a")
        let first = Self.url(directory, "a", "postgres")
        try PostgresServer.execute("CREATE DATABASE \(Self.database)", on: first)
        try run(
            ["\(programs)/pg_basebackup", "-D", "\(directory)/b", "-R", "-X", "stream", "-c", "fast", "--no-sync"]
                + ["-h", "\(directory)/a", "-U", "peal"])
        // The lock of the primary's socket, which is in its data directory, was copied too.
        try FileManager.default.removeItem(atPath: "\(directory)/b/.s.PGSQL.5432.lock")
        servers = [primary, try start("b")]
        // Only once there is a standby, and only on the primary: otherwise a commit would wait forever.
        try PostgresServer.execute("ALTER SYSTEM SET synchronous_standby_names = '*'", on: first)
        try PostgresServer.execute("SELECT pg_reload_conf()", on: first)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: directory)
        try? FileManager.default.removeItem(atPath: "\(directory).log")
    }

    /// Names both servers; clients use the one that accepts writes.
    package var url: String {
        "postgresql:///\(Self.database)?host=\(directory)/a,\(directory)/b&user=peal&target_session_attrs=read-write"
    }

    /// Ends the primary at once, as a crash does, and makes the standby the primary.
    package func failOver() throws {
        try control(["stop", "-D", "\(directory)/a", "-m", "immediate", "-W"])
        try control(["promote", "-D", "\(directory)/b", "-w", "-t", "30"])
    }

    private func control(_ arguments: [String]) throws {
        let status = try ChildProgram.run("/usr/bin/env", user + ["\(programs)/pg_ctl"] + arguments)
        guard status == 0 else { throw PostgresServer.Failure(description: "pg_ctl \(arguments[0]) failed") }
    }

    private static func url(_ directory: String, _ name: String, _ database: String) -> String {
        "postgresql:///\(database)?host=\(directory)/\(name)&user=peal"
    }

    private static func awaitStart(_ url: String) throws {
        for _ in 0..<600 {
            if (try? PostgresServer.execute("SELECT 1", on: url)) != nil { return }
            usleep(50_000)
        }
        throw PostgresServer.Failure(description: "postgres did not start: \(url)")
    }
}
