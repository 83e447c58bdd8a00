internal import CSQLite
internal import GRDB
package import PealCore
package import PealStore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// The embedded database: GRDB's connections on one file for reads, one writer that groups commits, and a checkpointer.
/// Only one process may open a file; a second one is refused.
package final class SQLiteEngine: SQLEngine {
    private let pool: DatabasePool
    private let readers: Readers
    private let writer: Writer
    private let checkpointer: Checkpointer
    private let lock: FileLock
    private let file: OpenFile

    /// Set once for the process, before its first connection.
    private static let countsNoMemory = peal_sqlite_count_no_memory()

    package let dialect = SQLDialect.sqlite

    /// Opens the database at `path`, or creates it.
    /// - Parameter report: receives a line when the database no longer accepts writes, and when it does again.
    /// - Throws: `StoreStartFailure` when another process has it open or it cannot be opened.
    package init(
        path: String, checkpoints: CheckpointLimits = .init(), report: @escaping @Sendable (String) -> Void = { _ in }
    ) throws {
        lock = try FileLock(besideDatabase: path)
        _ = Self.countsNoMemory
        do {
            let pool = try SQLiteFile.open(path)
            let checkpointer = try Checkpointer(path: path, limits: checkpoints)
            pool.writeWithoutTransaction { checkpointer.watch($0) }
            self.pool = pool
            readers = try Readers(path: path, SQLiteFile.configuration)
            self.checkpointer = checkpointer
            file = try OpenFile(path)
            writer = Writer(pool: pool, checkpointer: checkpointer, file: file, report: report)
        } catch let error as DatabaseError {
            let isRefused = [.SQLITE_READONLY, .SQLITE_CANTOPEN].contains(error.resultCode)
            let advice = isRefused ? "; this user needs write access to its folder and the files \(path)*" : ""
            throw StoreStartFailure(
                "the database \(path) cannot be opened: \(error.message ?? "\(error.resultCode)")\(advice)",
                mayPass: [.SQLITE_FULL, .SQLITE_IOERR, .SQLITE_BUSY, .SQLITE_NOMEM].contains(error.resultCode))
        }
    }

    package func read<R: Sendable>(
        _ lane: ReadLane, _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws -> R {
        try await readers.read(lane, body)
    }

    package func write<R: Sendable>(
        _ lane: WriteLane, _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws -> R {
        try await writer.write(lane, body)
    }

    /// The file lock keeps other processes away.
    package func migrate(_ body: @escaping @Sendable (any SQLConnection) throws -> Void) async throws {
        try await write(.control, body)
    }

    /// All writes follow one another.
    package func exclusively<R: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws -> R {
        try await write(.control, body)
    }

    package func close() throws {
        writer.close()
        try readers.close()
        try pool.close()
        try checkpointer.close()
        file.release()
        lock.release()
    }
}

/// Creates and opens the database file.
enum SQLiteFile {
    /// The configuration of every connection for the store's reads and writes.
    static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "peal.store"
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .timeout(10)
        configuration.prepareDatabase { database in
            if !database.configuration.readonly {
                // These two take effect only before the first table exists.
                try database.execute(sql: "PRAGMA page_size = 4096")
                try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
            }
            // Mapped pages would count as resident memory.
            try database.execute(sql: "PRAGMA mmap_size = 0")
            try database.execute(sql: "PRAGMA cache_size = -2048")
        }
        return configuration
    }

    /// Opens the file for writing, in write-ahead mode.
    static func open(_ path: String) throws -> DatabasePool {
        let pool = try DatabasePool(path: path, configuration: configuration)
        try pool.writeWithoutTransaction { try makeDurable($0, path: path) }
        return pool
    }

    /// Sets durability on the open writer, because GRDB sets it differently while opening, and reads it back: an
    /// acknowledged write must be on disk.
    private static func makeDurable(_ database: Database, path: String) throws {
        try database.execute(sql: "PRAGMA wal_autocheckpoint = 0")
        // A batch of 1,000 devices changes some 2,000 pages. A cache without room for them writes pages to the log
        // before the commit, reads them again, and writes them again.
        try database.execute(sql: "PRAGMA cache_size = -8192")
        try database.execute(sql: "PRAGMA synchronous = FULL")
        let synchronous = try Int.fetchOne(database, sql: "PRAGMA synchronous")
        let journal = try String.fetchOne(database, sql: "PRAGMA journal_mode")
        guard synchronous == 2, journal == "wal" else {
            throw StoreStartFailure("the database \(path) cannot be made durable (journal \(journal ?? "none"))")
        }
    }
}

/// Prevents a second process from using a database: an exclusive advisory lock (`flock`) on a file next to it. The
/// system releases the lock when the process ends, even if it is killed.
package final class FileLock: Sendable {
    private let descriptor: Int32

    /// - Throws: `StoreStartFailure` when another process holds the lock or the file cannot be created.
    package init(besideDatabase path: String) throws {
        let file = Self.resolved(path) + ".lock"
        descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw StoreStartFailure("cannot open the database's lock file \(file): \(reason)")
        }
        Self.give(descriptor, toOwnerOf: path)
        // Throwing here runs `deinit`, which closes the descriptor. Closing it here too would close whatever file or
        // socket another thread opened in between.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw FileLock.inUse(path)
        }
    }

    /// A command that root runs must not leave a file that the server's user cannot open. SQLite does the same with its
    /// own files.
    private static func give(_ descriptor: Int32, toOwnerOf database: String) {
        var (own, model) = (stat(), stat())
        guard geteuid() == 0, fstat(descriptor, &own) == 0, own.st_uid == 0, stat(database, &model) == 0 else { return }
        _ = fchown(descriptor, model.st_uid, model.st_gid)
    }

    fileprivate static func inUse(_ path: String) -> StoreStartFailure {
        StoreStartFailure("the database \(path) is in use by another process; stop it first", isInUse: true)
    }

    /// The resolved path: a database opened through a link must use the same lock.
    fileprivate static func resolved(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }

    /// Lets another process open the database.
    package func release() { flock(descriptor, LOCK_UN) }

    deinit { close(descriptor) }
}

/// The files that the engine opened: the database and its write-ahead log. The database is locked too, because the file
/// that `FileLock` locks may be deleted.
final class OpenFile: Sendable {
    private let path: String
    private let logPath: String
    private let descriptor: Int32
    private let database: Identity
    private let log: Identity?

    private struct Identity: Equatable {
        let device: UInt64
        let number: UInt64

        init(_ status: stat) {
            device = UInt64(truncatingIfNeeded: status.st_dev)
            number = UInt64(truncatingIfNeeded: status.st_ino)
        }
    }

    /// The descriptor stays open until the connections are closed: closing any descriptor of the file releases the
    /// locks that SQLite holds on it (fcntl(2)).
    /// - Parameter path: of a database that a connection has opened in write-ahead mode, which creates the log.
    /// - Throws: `StoreStartFailure` when another process has it open as its database.
    init(_ path: String) throws {
        self.path = path
        logPath = FileLock.resolved(path) + "-wal"
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            throw StoreStartFailure("the database \(path) cannot be read: \(String(cString: strerror(errno)))")
        }
        database = Identity(status)
        log = stat(logPath, &status) == 0 ? Identity(status) : nil
        #if os(Linux)
            // Elsewhere, this lock and those of SQLite exclude each other.
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                throw FileLock.inUse(path)
            }
        #endif
    }

    /// Whether the database is still at its path. What is written to another one would be lost after the next start.
    var isUnmoved: Bool { Self.isUnmoved(path, database) }

    /// Whether the write-ahead log is still at its path. What only it contains would be lost after a crash.
    var hasLog: Bool { log.map { Self.isUnmoved(logPath, $0) } ?? true }

    private static func isUnmoved(_ path: String, _ identity: Identity) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 ? Identity(status) == identity : errno != ENOENT
    }

    func release() { flock(descriptor, LOCK_UN) }

    deinit { close(descriptor) }
}
