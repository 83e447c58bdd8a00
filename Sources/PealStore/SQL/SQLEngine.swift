package import PealCore

/// A database that runs the store's one text of SQL.
package protocol SQLEngine: Sendable {
    /// How this engine spells what data definitions cannot say alike.
    var dialect: SQLDialect { get }

    /// Runs `body` on one consistent state. It is not ended by the calling task's cancellation.
    func read<R: Sendable>(_ body: @escaping @Sendable (any SQLConnection) throws -> R) async throws -> R

    /// Runs `body` in a transaction that is durable when the call returns; whatever it throws undoes all of it. Writes
    /// share commits, go in order of lane, and are not ended by the calling task's cancellation.
    /// - Throws: what `body` throws; `rate_limited` when too many writes wait; `unavailable` when the database failed.
    func write<R: Sendable>(
        _ lane: WriteLane, _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws -> R

    /// Finishes what waits and lets go of the database. No call may follow.
    func close() throws
}

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

/// One row of an answer, valid only inside the closure that gets it. Columns count from 0.
package protocol SQLRow {
    func isNull(_ column: Int) -> Bool
    /// 0 for NULL.
    func int(_ column: Int) -> Int64
    /// Empty for NULL.
    func text(_ column: Int) -> String
    /// Lends the column's bytes without copying them; they are gone when `body` returns.
    func withBytes<R>(_ column: Int, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R
}

extension SQLRow {
    func bytes(_ column: Int) -> [UInt8] { withBytes(column) { Array($0) } }
    func flag(_ column: Int) -> Bool { int(column) != 0 }
    func time(_ column: Int) -> Timestamp { Timestamp(milliseconds: int(column)) }

    func intIfPresent(_ column: Int) -> Int64? { isNull(column) ? nil : int(column) }
    func textIfPresent(_ column: Int) -> String? { isNull(column) ? nil : text(column) }
    func bytesIfPresent(_ column: Int) -> [UInt8]? { isNull(column) ? nil : bytes(column) }
    func timeIfPresent(_ column: Int) -> Timestamp? { isNull(column) ? nil : time(column) }

    /// - Throws: `internal` when the column does not hold 16 bytes.
    func id<Of>(_ column: Int) throws -> Identifier<Of> {
        guard let id = withBytes(column, { Identifier<Of>(bytes: $0) }) else { throw PealError.damaged("an id") }
        return id
    }

    /// - Throws: `internal` for a number that names no route.
    func route(_ column: Int) throws -> Route {
        guard let route = Route(rawValue: int(column)) else { throw PealError.damaged("a route") }
        return route
    }
}

/// A parameter of a statement. NULL carries its type too: one engine needs to know it before the statement runs.
package enum SQLValue: Sendable, Hashable {
    case int(Int64)
    case text(String)
    case bytes([UInt8])
    case null(Kind)

    package enum Kind: Sendable, Hashable {
        case int, text, bytes
    }
}

extension SQLValue {
    package static func int(_ value: Int) -> SQLValue { .int(Int64(value)) }
    package static func int(_ value: Int64?) -> SQLValue { value.map { .int($0) } ?? .null(.int) }
    package static func text(_ value: String?) -> SQLValue { value.map { .text($0) } ?? .null(.text) }
    package static func bytes(_ value: [UInt8]?) -> SQLValue { value.map { .bytes($0) } ?? .null(.bytes) }
    package static func flag(_ value: Bool) -> SQLValue { .int(value ? 1 : 0) }
    /// 16 bytes, big-endian.
    package static func id<Of>(_ value: Identifier<Of>) -> SQLValue { .bytes(value.bytes) }
    /// Milliseconds since 1970.
    package static func time(_ value: Timestamp) -> SQLValue { .int(value.milliseconds) }
    package static func time(_ value: Timestamp?) -> SQLValue { .int(value?.milliseconds) }
    package static func route(_ value: Route) -> SQLValue { .int(value.rawValue) }
}

/// What data definitions must spell differently on each engine. Everything else is one text.
package struct SQLDialect: Sendable, Hashable {
    /// The type of byte strings, in place of `{bytes}`.
    package let bytes: String
    /// The type of text that is compared byte by byte, in place of `{text}`.
    package let text: String
    /// Follows a table whose rows lie in the order of its primary key, in place of `{clustered}`.
    package let clustered: String
    /// Follows a table whose rows are often updated, in place of `{updated}`.
    package let updated: String
    /// Follows a query whose rows are locked against other nodes, passing over locked ones, in place of `{lock}`.
    package let lock: String

    package init(bytes: String, text: String, clustered: String, updated: String, lock: String) {
        self.bytes = bytes
        self.text = text
        self.clustered = clustered
        self.updated = updated
        self.lock = lock
    }

    /// SQLite 3.38 or later.
    package static let sqlite = SQLDialect(
        bytes: "BLOB", text: "TEXT", clustered: "WITHOUT ROWID", updated: "", lock: "")

    /// `template` as this engine reads it.
    package func text(of template: String) -> String {
        template.replacing("{bytes}", with: bytes).replacing("{text}", with: text)
            .replacing("{clustered}", with: clustered).replacing("{updated}", with: updated)
            .replacing("{lock}", with: lock)
    }
}
