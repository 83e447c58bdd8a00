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
    /// - Throws: `StoreStartFailure` when it is damaged.
    package static func check(_ path: String) throws {
        do {
            let database = try queue(path)
            let results = try database.inDatabase { try String.fetchAll($0, sql: "PRAGMA quick_check") }
            try database.close()
            guard results == ["ok"] else { throw StoreStartFailure("\(path) is damaged: \(results.first ?? "")") }
        } catch let error as DatabaseError {
            throw StoreStartFailure("\(path) is not a usable database: \(error.message ?? "\(error.resultCode)")")
        }
    }

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
