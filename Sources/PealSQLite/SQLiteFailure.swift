internal import GRDB
internal import GRDBSQLite
internal import PealCore

/// What SQLite said when a statement failed. It never carries parameters.
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

    /// Whether the database itself is in trouble, and not one statement: nothing else of the transaction can be
    /// trusted.
    var concernsDatabase: Bool {
        switch code & 0xFF {
        case SQLITE_IOERR, SQLITE_FULL, SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_BUSY, SQLITE_LOCKED, SQLITE_CANTOPEN,
            SQLITE_READONLY, SQLITE_NOMEM, SQLITE_PROTOCOL, SQLITE_MISUSE:
            true
        default: false
        }
    }

    /// What a caller is told.
    static func refusal(_ error: any Error) -> any Error {
        let failure = error as? SQLiteFailure ?? (error as? DatabaseError).map(SQLiteFailure.init)
        guard let failure else { return error }
        if failure.concernsDatabase { return unavailable }
        return PealError(.internal, "the database refused a statement: \(failure)")
    }

    static let unavailable = PealError(.unavailable, "the database is not available", retryAfterSeconds: 1)
}
