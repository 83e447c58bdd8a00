internal import CPostgreSQL
internal import PealStore

/// The answer to one statement, in binary format.
final class PostgresResult {
    private let handle: OpaquePointer

    /// Takes ownership of the result.
    init(_ handle: OpaquePointer) { self.handle = handle }

    deinit { PQclear(handle) }

    /// How many rows the statement inserted, updated or deleted; 0 for any other.
    var changedCount: Int {
        guard let tag = PQcmdStatus(handle), let text = PQcmdTuples(handle) else { return 0 }
        return String(cString: tag).hasPrefix("SELECT") ? 0 : Int(String(cString: text)) ?? 0
    }

    func forEachRow(_ body: (any SQLRow) throws -> Void) throws {
        try withExtendedLifetime(self) {
            for row in 0..<PQntuples(handle) { try body(PostgresRow(result: handle, row: row)) }
        }
    }
}

/// One row of a result.
struct PostgresRow: SQLRow {
    let result: OpaquePointer
    let row: Int32

    func isNull(_ column: Int) -> Bool { PQgetisnull(result, row, Int32(column)) == 1 }

    func int(_ column: Int) -> Int64 {
        guard !isNull(column), let start = PQgetvalue(result, row, Int32(column)) else { return 0 }
        let bytes = UnsafeRawPointer(start)
        switch PQftype(result, Int32(column)) {
        case PostgresType.int8: return Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
        case PostgresType.int4: return Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
        case PostgresType.int2: return Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self)))
        case PostgresType.bool: return Int64(bytes.load(as: UInt8.self))
        // Statements read numbers only as these types; `numeric`, the type of a sum of bigints, must be cast in the
        // statement.
        default: preconditionFailure("a column that is read as a number has another type")
        }
    }

    func text(_ column: Int) -> String { withBytes(column) { String(decoding: $0, as: UTF8.self) } }

    func withBytes<R>(_ column: Int, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        let count = Int(PQgetlength(result, row, Int32(column)))
        return try body(UnsafeRawBufferPointer(start: PQgetvalue(result, row, Int32(column)), count: count))
    }
}
