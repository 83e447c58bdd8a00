/// A connection inside one transaction. Statements name their parameters `$1`, `$2`, …; a name may appear more than
/// once and in any order.
package protocol SQLConnection {
    /// Runs a statement and hands every row of its answer to `row`.
    func query(_ sql: String, _ parameters: [SQLValue], _ row: (any SQLRow) throws -> Void) throws

    /// Runs one statement for each set of parameters, in order, as for look-ups by key.
    func query(_ sql: String, each sets: [[SQLValue]], _ row: (any SQLRow) throws -> Void) throws

    /// Runs a statement and tells how many rows it changed.
    @discardableResult
    func execute(_ sql: String, _ parameters: [SQLValue]) throws -> Int

    /// Runs one statement for each row of parameters, in order, and tells how many rows each changed.
    @discardableResult
    func execute(_ sql: String, rows: [[SQLValue]]) throws -> [Int]
}

extension SQLConnection {
    /// The first row of the answer, made into a value; nil when there is none.
    package func first<R>(_ sql: String, _ parameters: [SQLValue], _ make: (any SQLRow) throws -> R) throws -> R? {
        var result: R?
        try query(sql, parameters) { if result == nil { result = try make($0) } }
        return result
    }

    /// Every row of the answer, made into values.
    package func all<R>(_ sql: String, _ parameters: [SQLValue], _ make: (any SQLRow) throws -> R) throws -> [R] {
        var result: [R] = []
        try query(sql, parameters) { result.append(try make($0)) }
        return result
    }

    /// The first column of the first row; nil for none or NULL.
    package func int(_ sql: String, _ parameters: [SQLValue]) throws -> Int64? {
        try first(sql, parameters) { $0.intIfPresent(0) } ?? nil
    }
}
