internal import Foundation
internal import GRDB
internal import PealStore

/// Copies a database, even while a server uses it.
package enum SQLiteBackup {
    /// Writes a consistent copy of the database at `path` to `target`, which must not exist. The copy has no
    /// write-ahead log.
    /// - Throws: `StoreStartFailure`.
    package static func write(_ path: String, to target: String) throws {
        do {
            let source = try queue(path)
            // As in the server: only its own checkpointer may move pages.
            try source.inDatabase { try $0.execute(sql: "PRAGMA wal_autocheckpoint = 0") }
            try source.inDatabase { try $0.execute(sql: "VACUUM INTO ?", arguments: [target]) }
            try source.close()
            try makeDurable(target)
        } catch let error as DatabaseError {
            throw StoreStartFailure("the database \(path) cannot be copied: \(error.message ?? "\(error.resultCode)")")
        }
    }

    /// Checks the structure of a database file.
    /// - Parameter name: what errors call the file, if it is a copy.
    /// - Returns: the version of its schema.
    /// - Throws: `StoreStartFailure` when it is damaged, or no database of Peal.
    package static func check(_ path: String, as name: String) throws -> Int {
        do {
            let database = try queue(path)
            defer { try? database.close() }
            let problem = try database.inDatabase { connection in
                // As many results as there are rows with a false alarm: with fewer, they would hide others.
                try String.fetchCursor(connection, sql: "PRAGMA quick_check(\(Int32.max))")
                    .first { $0 != "ok" && $0 != falseAlarm }
            }
            if let problem { throw StoreStartFailure("\(name) is damaged: \(problem)") }
            let version = try database.inDatabase { connection in
                try connection.tableExists("migration")
                    ? Int.fetchOne(connection, sql: "SELECT MAX(version) FROM migration") : nil
            }
            guard let version else { throw StoreStartFailure("\(name) is not a Peal database") }
            return version
        } catch let error as DatabaseError {
            throw StoreStartFailure("\(name) is not a usable database: \(error.message ?? "\(error.resultCode)")")
        }
    }

    /// SQLite 3.40 reports it for each row of the table, whose key has its columns in another order than the table.
    private static let falseAlarm = "NULL value in frequency.message"

    private static func queue(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.label = "peal.backup"
        configuration.busyMode = .timeout(10)
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Flushes a file to the disk.
    private static func makeDurable(_ path: String) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.synchronize()
        try file.close()
    }
}
