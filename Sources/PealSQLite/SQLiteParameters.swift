internal import GRDBSQLite
internal import PealCore
internal import PealStore

/// Which value goes where. To SQLite `$2` is a name, numbered by first appearance: binding by position would swap
/// the values of `… $2 … $1 …` without a word.
struct SQLiteParameters {
    /// Per position in the statement: index into the values.
    private let valueIndexes: [Int]

    init(of statement: OpaquePointer) {
        let count = sqlite3_bind_parameter_count(statement)
        valueIndexes = (0..<count).map { position in
            guard let name = sqlite3_bind_parameter_name(statement, position + 1) else { return -1 }
            return (Int(String(cString: name + 1)) ?? 0) - 1
        }
    }

    /// - Throws: `internal` when the statement names a value that is not there.
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

    /// Tells SQLite to copy what it is given.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    private static func bind(_ value: SQLValue, to statement: OpaquePointer, at position: Int32) -> Int32 {
        switch value {
        case .int(let number): return sqlite3_bind_int64(statement, position, number)
        case .null: return sqlite3_bind_null(statement, position)
        case .text(var text):
            // An empty string may have no address, and no address would mean NULL.
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
