internal import GRDB
internal import GRDBSQLite
internal import PealCore
internal import PealStore

/// Adapts one of GRDB's connections to the store's port. Prepared statements are kept by their text; values are bound
/// and columns read through SQLite's C interface. Used only on the connection's queue.
final class SQLiteConnection: SQLConnection {
    private struct Prepared {
        let statement: GRDB.Statement
        let parameters: SQLiteParameters
    }

    private static let preparedMax = 1000

    private let database: Database
    private var prepared: [String: Prepared] = [:]
    /// The statement that ran last, which often runs again.
    private var last: (sql: String, prepared: Prepared)?
    /// nil for a connection that only reads.
    let commitWork: CommitWork?

    init(_ database: Database, _ commitWork: CommitWork? = nil) {
        self.database = database
        self.commitWork = commitWork
    }

    func query(_ sql: String, _ parameters: [SQLValue], _ row: (any SQLRow) throws -> Void) throws {
        try run(sql, CollectionOfOne(parameters), row)
    }

    func query(_ sql: String, each sets: [[SQLValue]], _ row: (any SQLRow) throws -> Void) throws {
        try run(sql, sets, row)
    }

    private func run(
        _ sql: String, _ sets: some Collection<[SQLValue]>, _ row: (any SQLRow) throws -> Void
    ) throws {
        try withStatement(sql) { statement, parameters in
            let current: any SQLRow = SQLiteRow(statement: statement)
            for set in sets {
                try parameters.bind(set, to: statement)
                while try step(statement) { try row(current) }
                sqlite3_reset(statement)
            }
        }
    }

    @discardableResult
    func execute(_ sql: String, _ parameters: [SQLValue]) throws -> Int {
        try withStatement(sql) { statement, names in
            try names.bind(parameters, to: statement)
            return try run(statement)
        }
    }

    @discardableResult
    func execute(_ sql: String, rows: [[SQLValue]]) throws -> [Int] {
        guard !rows.isEmpty else { return [] }
        return try withStatement(sql) { statement, names in
            try rows.map { row in
                try names.bind(row, to: statement)
                defer { sqlite3_reset(statement) }
                return try run(statement)
            }
        }
    }

    private func run(_ statement: OpaquePointer) throws -> Int {
        let before = changeCount
        while try step(statement) {}
        // A statement that changes no table leaves `sqlite3_changes` at the value of the previous statement.
        guard changeCount != before else { return 0 }
        return Int(sqlite3_changes(database.sqliteConnection))
    }

    private func step(_ statement: OpaquePointer) throws -> Bool {
        switch sqlite3_step(statement) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw SQLiteFailure(database.sqliteConnection)
        }
    }

    /// Passes the prepared statement of `sql` to the body, and afterwards resets it and clears its values.
    private func withStatement<R>(_ sql: String, _ body: (OpaquePointer, SQLiteParameters) throws -> R) throws -> R {
        let prepared = try prepared(sql)
        let statement = prepared.statement.sqliteStatement
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        return try withExtendedLifetime(prepared.statement) { try body(statement, prepared.parameters) }
    }

    private func prepared(_ sql: String) throws -> Prepared {
        if let last, last.sql == sql, sqlite3_stmt_busy(last.prepared.statement.sqliteStatement) == 0 {
            return last.prepared
        }
        let found = try find(sql)
        last = (sql, found)
        return found
    }

    private func find(_ sql: String) throws -> Prepared {
        if let known = prepared[sql] {
            guard sqlite3_stmt_busy(known.statement.sqliteStatement) != 0 else { return known }
            // A caller is still stepping the same statement, so this run needs another one.
            return Prepared(statement: try database.makeStatement(sql: sql), parameters: known.parameters)
        }
        let statement = try database.makeStatement(sql: sql)
        let made = Prepared(statement: statement, parameters: SQLiteParameters(of: statement.sqliteStatement))
        if prepared.count >= Self.preparedMax { prepared = [:] }
        prepared[sql] = made
        return made
    }

    /// The rows changed since the connection was opened. It wraps around.
    var changeCount: Int32 { sqlite3_total_changes(database.sqliteConnection) }

    var isInTransaction: Bool { sqlite3_get_autocommit(database.sqliteConnection) == 0 }

    /// Ends all prepared statements, so that the connection can be closed.
    func finish() {
        prepared = [:]
        last = nil
    }
}

/// The current row of a statement that is being stepped.
struct SQLiteRow: SQLRow {
    let statement: OpaquePointer

    func isNull(_ column: Int) -> Bool { sqlite3_column_type(statement, Int32(column)) == SQLITE_NULL }

    func int(_ column: Int) -> Int64 { sqlite3_column_int64(statement, Int32(column)) }

    func text(_ column: Int) -> String {
        guard let text = sqlite3_column_text(statement, Int32(column)) else { return "" }
        let count = Int(sqlite3_column_bytes(statement, Int32(column)))
        return String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
    }

    func withBytes<R>(_ column: Int, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        // The pointer must be read before the length, because reading it may convert the value.
        let start = sqlite3_column_blob(statement, Int32(column))
        let count = Int(sqlite3_column_bytes(statement, Int32(column)))
        return try body(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
    }
}

/// Maps a statement's parameters to values. To SQLite `$2` is a name, numbered by first appearance: binding by position
/// would silently swap the values of `… $2 … $1 …`.
struct SQLiteParameters {
    /// For each position in the statement, the index of its value.
    private let valueIndexes: [Int]

    init(of statement: OpaquePointer) {
        let count = sqlite3_bind_parameter_count(statement)
        valueIndexes = (0..<count).map { position in
            guard let name = sqlite3_bind_parameter_name(statement, position + 1) else { return -1 }
            return (Int(String(cString: name + 1)) ?? 0) - 1
        }
    }

    /// - Throws: `internal` when the statement names a value that is missing.
    func bind(_ values: [SQLValue], to statement: OpaquePointer) throws {
        for (position, index) in valueIndexes.enumerated() {
            guard values.indices.contains(index) else {
                throw PealError(.internal, "a statement names a parameter that is not given")
            }
            guard Self.bind(values[index], to: statement, at: Int32(position + 1)) == SQLITE_OK else {
                throw SQLiteFailure(sqlite3_db_handle(statement))
            }
        }
    }

    /// Makes SQLite copy the bytes.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    private static func bind(_ value: SQLValue, to statement: OpaquePointer, at position: Int32) -> Int32 {
        switch value {
        case .int(let number): return sqlite3_bind_int64(statement, position, number)
        case .null: return sqlite3_bind_null(statement, position)
        case .text(var text):
            // An empty string may have no address, which SQLite would read as NULL.
            if text.isEmpty { return sqlite3_bind_text(statement, position, "", 0, copied) }
            return text.withUTF8 { bytes in
                bytes.withMemoryRebound(to: CChar.self) {
                    sqlite3_bind_text(statement, position, $0.baseAddress, Int32($0.count), copied)
                }
            }
        case .bytes(let bytes):
            if bytes.isEmpty { return sqlite3_bind_zeroblob(statement, position, 0) }
            return bytes.withUnsafeBytes {
                sqlite3_bind_blob(statement, position, $0.baseAddress, Int32($0.count), copied)
            }
        }
    }
}

/// SQLite's error for a failed statement. It never contains parameters.
struct SQLiteFailure: Error, CustomStringConvertible {
    /// Extended result code.
    let code: Int32
    let description: String

    init(_ connection: OpaquePointer?) {
        code = sqlite3_extended_errcode(connection)
        description = "SQLite error \(code): \(String(cString: sqlite3_errmsg(connection)))"
    }

    init(_ error: DatabaseError) {
        code = error.extendedResultCode.rawValue
        description = "SQLite error \(code): \(error.message ?? "no message")"
    }

    private init(code: Int32, description: String) {
        self.code = code
        self.description = description
    }

    /// The database file is no longer at its path.
    static let moved = SQLiteFailure(
        code: readOnlyMoved, description: "the database file was moved, deleted or replaced")
    /// The write-ahead log is no longer at its path.
    static let logMoved = SQLiteFailure(
        code: readOnlyMoved, description: "the database's write-ahead log was moved, deleted or replaced")
    /// `SQLITE_READONLY_DBMOVED`, which is an expression in C.
    private static let readOnlyMoved = SQLITE_READONLY | 4 << 8

    /// Whether the database itself failed, not only one statement: then nothing else in the transaction can be trusted.
    var concernsDatabase: Bool {
        switch code & 0xFF {
        case SQLITE_IOERR, SQLITE_FULL, SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_BUSY, SQLITE_LOCKED, SQLITE_CANTOPEN,
            SQLITE_READONLY, SQLITE_NOMEM, SQLITE_PROTOCOL, SQLITE_MISUSE:
            true
        default: false
        }
    }

    /// Whether a page that the statement needed is damaged. Statements that do not need it still work.
    var isDamage: Bool { code & 0xFF == SQLITE_CORRUPT }
    /// Whether the disk is full.
    var isFull: Bool { code & 0xFF == SQLITE_FULL }
    /// Whether a file of the database is no longer at its path.
    var isMoved: Bool { code == Self.readOnlyMoved }

    /// The failure behind an error; nil when the database is not at fault.
    static func of(_ error: any Error) -> SQLiteFailure? {
        error as? SQLiteFailure ?? (error as? DatabaseError).map(SQLiteFailure.init)
    }

    /// The error that a caller receives.
    static func refusal(_ error: any Error) -> any Error {
        guard let failure = of(error) else { return error }
        if failure.isDamage { return PealError(.internal, "the database is damaged: \(failure)") }
        if failure.isMoved {
            return PealError(
                .unavailable, "\(failure) while the server was using it; restart the server", retryAfterSeconds: 1)
        }
        if failure.isFull { return PealError(.unavailable, "the database's disk is full", retryAfterSeconds: 1) }
        if failure.concernsDatabase { return unavailable }
        return PealError(.internal, "the database rejected a statement: \(failure)")
    }

    static let unavailable = PealError(.unavailable, "the database is not available", retryAfterSeconds: 1)
}
