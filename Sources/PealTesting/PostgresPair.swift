internal import CPostgreSQL
internal import Foundation
internal import Synchronization

/// A PostgreSQL primary and its synchronous standby, which takes over when the primary dies. Both end with the test
/// process.
package final class PostgresPair: Sendable {
    private static let database = "peal"
    private static let count = Mutex(0)

    private let cluster: Cluster
    private let servers: [ChildProgram]

    /// - Throws: `PostgresServer.Failure`.
    package init() throws {
        let number = Self.count.withLock { count in
            count += 1
            return count
        }
        let cluster = try Cluster("/tmp/peal-pair-\(ProcessInfo.processInfo.processIdentifier)-\(number)")
        self.cluster = cluster
        try cluster.initializePrimary()
        let primary = try cluster.start("a")
        let first = Self.url(cluster.directory, "a", "postgres")
        try PostgresServer.execute("CREATE DATABASE \(Self.database)", on: first)
        try cluster.copyStandby()
        servers = [primary, try cluster.start("b")]
        // Only once there is a standby, and only on the primary: otherwise a commit would wait forever.
        try PostgresServer.execute("ALTER SYSTEM SET synchronous_standby_names = '*'", on: first)
        try PostgresServer.execute("SELECT pg_reload_conf()", on: first)
    }

    /// Ends the servers itself: their guardians are killed with this object, before they can.
    deinit {
        for name in ["a", "b"] {
            try? cluster.control(["stop", "-D", "\(cluster.directory)/\(name)", "-m", "immediate", "-t", "60"])
            try? FileManager.default.removeItem(atPath: "\(cluster.directory).log.\(name)")
        }
        try? FileManager.default.removeItem(atPath: cluster.directory)
        try? FileManager.default.removeItem(atPath: "\(cluster.directory).log")
    }

    /// Names both servers; clients use the one that accepts writes.
    package var url: String {
        let folder = cluster.directory
        return "postgresql:///\(Self.database)?host=\(folder)/a,\(folder)/b&user=peal&target_session_attrs=read-write"
    }

    /// Ends the primary at once, as a crash does, and makes the standby the primary.
    package func failOver() throws {
        try cluster.control(["stop", "-D", "\(cluster.directory)/a", "-m", "immediate", "-W"])
        try cluster.control(["promote", "-D", "\(cluster.directory)/b", "-w", "-t", "120"])
    }

    fileprivate static func url(_ directory: String, _ name: String, _ database: String) -> String {
        "postgresql:///\(database)?host=\(directory)/\(name)&user=peal"
    }

    fileprivate static func awaitStart(_ url: String) throws {
        for _ in 0..<2400 {
            if (try? PostgresServer.execute("SELECT 1", on: url)) != nil { return }
            usleep(50_000)
        }
        throw PostgresServer.Failure(description: "postgres did not start: \(url)")
    }
}

/// The files and programs of a pair: data directories `a` and `b`.
private struct Cluster {
    let directory: String
    private let programs: String
    private let user: [String]

    init(_ directory: String) throws {
        self.directory = directory
        programs = try PostgresServer.programs()
        try? FileManager.default.removeItem(atPath: directory)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        user = try PostgresServer.user(of: directory)
    }

    func initializePrimary() throws {
        try run(
            ["\(programs)/initdb", "-D", "\(directory)/a", "-A", "trust", "-U", "peal", "-E", "UTF8", "--locale=C"]
                + ["--no-sync"])
    }

    func copyStandby() throws {
        try run(
            ["\(programs)/pg_basebackup", "-D", "\(directory)/b", "-R", "-X", "stream", "-c", "fast", "--no-sync"]
                + ["-h", "\(directory)/a", "-U", "peal"])
        // The lock of the primary's socket, which is in its data directory, was copied too.
        try FileManager.default.removeItem(atPath: "\(directory)/b/.s.PGSQL.5432.lock")
    }

    private func run(_ command: [String]) throws {
        let log = "\(directory).log"
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
        let log = "\(directory).log.\(name)"
        let server = try PostgresServer.guarded(
            command + options.flatMap { ["-c", $0] }, log: log, deleting: ["\(directory)/\(name)", log])
        try PostgresPair.awaitStart(PostgresPair.url(directory, name, "postgres"))
        return server
    }

    func control(_ arguments: [String]) throws {
        let status = try ChildProgram.run("/usr/bin/env", user + ["\(programs)/pg_ctl"] + arguments)
        guard status == 0 else { throw PostgresServer.Failure(description: "pg_ctl \(arguments[0]) failed") }
    }
}
