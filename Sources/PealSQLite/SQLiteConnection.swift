internal import GRDB
internal import GRDBSQLite
internal import PealStore

/// One of GRDB's connections as the store's port: prepared statements are kept by their text, values are bound and
/// columns read without a detour through Swift's general types.
struct SQLiteConnection: SQLConnection {
    private let database: Database

    init(_ database: Database) { self.database = database }

    func query(_ sql: String, _ parameters: [SQLValue], _ row: (any SQLRow) throws -> Void) throws {
        try run(sql, CollectionOfOne(parameters), row)
    }

    func query(_ sql: String, each sets: [[SQLValue]], _ row: (any SQLRow) throws -> Void) throws {
        try run(sql, sets, row)
    }

    private func run(
        _ sql: String, _ sets: some Collection<[SQLValue]>, _ row: (any SQLRow) throws -> Void
    ) throws {
        try withStatement(sql) { statement in
            let names = SQLiteParameters(of: statement)
            let current: any SQLRow = SQLiteRow(statement: statement)
            for set in sets {
                try names.bind(set, to: statement)
                while try step(statement) { try row(current) }
                sqlite3_reset(statement)
            }
        }
    }

    func execute(_ sql: String, _ parameters: [SQLValue]) throws -> Int {
        try withStatement(sql) { statement in
            try SQLiteParameters(of: statement).bind(parameters, to: statement)
            return try run(statement)
        }
    }

    func execute(_ sql: String, rows: [[SQLValue]]) throws -> [Int] {
        guard !rows.isEmpty else { return [] }
        return try withStatement(sql) { statement in
            let names = SQLiteParameters(of: statement)
            return try rows.map { row in
                try names.bind(row, to: statement)
                defer { sqlite3_reset(statement) }
                return try run(statement)
            }
        }
    }

    private func run(_ statement: OpaquePointer) throws -> Int {
        let before = sqlite3_total_changes(database.sqliteConnection)
        while try step(statement) {}
        // A statement that changes no table leaves `sqlite3_changes` at its predecessor's figure.
        guard sqlite3_total_changes(database.sqliteConnection) != before else { return 0 }
        return Int(sqlite3_changes(database.sqliteConnection))
    }

    private func step(_ statement: OpaquePointer) throws -> Bool {
        switch sqlite3_step(statement) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw SQLiteFailure(database.sqliteConnection)
        }
    }

    /// Lends the prepared statement of `sql`, reset and without values afterwards.
    private func withStatement<R>(_ sql: String, _ body: (OpaquePointer) throws -> R) throws -> R {
        var prepared = try database.cachedStatement(sql: sql)
        // The same text is being stepped further up: it needs a statement of its own.
        if sqlite3_stmt_busy(prepared.sqliteStatement) != 0 { prepared = try database.makeStatement(sql: sql) }
        let statement = prepared.sqliteStatement
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        return try withExtendedLifetime(prepared) { try body(statement) }
    }
}
