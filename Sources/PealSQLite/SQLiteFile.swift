internal import GRDB
internal import PealStore

/// How the database file is made and opened.
enum SQLiteFile {
    private static let readersMax = 4

    static func open(_ path: String) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.label = "peal.store"
        configuration.foreignKeysEnabled = false
        configuration.maximumReaderCount = readersMax
        configuration.busyMode = .timeout(10)
        configuration.prepareDatabase { database in
            if !database.configuration.readonly {
                // These two can only be set before the first table is made; later they change nothing.
                try database.execute(sql: "PRAGMA page_size = 4096")
                try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
            }
            // Mapped pages would count as resident memory.
            try database.execute(sql: "PRAGMA mmap_size = 0")
            try database.execute(sql: "PRAGMA cache_size = -2048")
        }
        let pool = try DatabasePool(path: path, configuration: configuration)
        try pool.writeWithoutTransaction { try makeDurable($0, path: path) }
        return pool
    }

    /// Sets on the open writer what GRDB sets otherwise while opening, and reads it back: an acknowledged write must
    /// be on the disk.
    private static func makeDurable(_ database: Database, path: String) throws {
        try database.execute(sql: "PRAGMA wal_autocheckpoint = 0")
        try database.execute(sql: "PRAGMA synchronous = FULL")
        let synchronous = try Int.fetchOne(database, sql: "PRAGMA synchronous")
        let journal = try String.fetchOne(database, sql: "PRAGMA journal_mode")
        guard synchronous == 2, journal == "wal" else {
            throw StoreStartFailure("the database \(path) cannot be made durable (journal \(journal ?? "none"))")
        }
    }
}
