package import PealCore

/// A database that runs the store's SQL. All engines run the same statements.
package protocol SQLEngine: Sendable {
    /// How this engine spells the few constructs that differ between engines.
    var dialect: SQLDialect { get }

    /// Runs `body` on one consistent state. Cancelling the calling task does not stop it.
    /// - Parameter lane: Reads in one lane do not wait for reads in another.
    func read<R: Sendable>(
        _ lane: ReadLane, _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws -> R

    /// Runs `body` in a transaction that is durable when the call returns. An error undoes all of it. Writes share
    /// commits and run in order of lane. Cancelling the calling task does not stop them.
    /// - Throws: what `body` throws; `rate_limited` when too many writes wait; `unavailable` when the database failed.
    func write<R: Sendable>(
        _ lane: WriteLane, _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws -> R

    /// Runs `body` in a transaction without a time limit, while no other process runs one of this kind.
    func migrate(_ body: @escaping @Sendable (any SQLConnection) throws -> Void) async throws

    /// Runs `body` in a separate transaction while no other process runs one of this kind. It may read what others
    /// write at the same time without making them wait or fail.
    func exclusively<R: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws -> R

    /// Finishes waiting writes and closes the database. No call may follow.
    func close() throws
}

extension SQLEngine {
    /// Reads for a request.
    package func read<R: Sendable>(_ body: @escaping @Sendable (any SQLConnection) throws -> R) async throws -> R {
        try await read(.request, body)
    }
}

/// A connection inside one transaction. Statements name their parameters `$1`, `$2`, …; a name may appear more than
/// once and in any order.
package protocol SQLConnection {
    /// Runs a statement and passes every row of its result to `row`.
    func query(_ sql: String, _ parameters: [SQLValue], _ row: (any SQLRow) throws -> Void) throws

    /// Runs one statement for each set of parameters, in order, for example to look up many keys.
    func query(_ sql: String, each sets: [[SQLValue]], _ row: (any SQLRow) throws -> Void) throws

    /// Runs statements in order and passes every row with the index of its statement. An engine may send them together.
    func query(_ statements: [SQL], _ row: (Int, any SQLRow) throws -> Void) throws

    /// Runs a statement.
    /// - Returns: how many rows it changed.
    @discardableResult
    func execute(_ sql: String, _ parameters: [SQLValue]) throws -> Int

    /// Runs one statement for each row of parameters, in order.
    /// - Returns: how many rows each changed.
    @discardableResult
    func execute(_ sql: String, rows: [[SQLValue]]) throws -> [Int]

    /// Runs statements in order. An engine may send them together.
    /// - Returns: how many rows each changed.
    @discardableResult
    func execute(_ statements: [SQL]) throws -> [Int]

    /// Runs a statement before the next one, or before the commit. What it changes is not counted, so that an engine
    /// may send it together with others. If it fails, so does the transaction, perhaps only later.
    func post(_ sql: SQL) throws

    /// The next number of a series; nil when the row that counts it does not exist. An engine that takes numbers in
    /// blocks may skip some.
    func number(in series: NumberSeries) throws -> Int64?

    /// What is written once for all transactions that share a commit; nil if each has its own.
    var commitWork: CommitWork? { get }
}

extension SQLConnection {
    package func query(_ statements: [SQL], _ row: (Int, any SQLRow) throws -> Void) throws {
        for (index, sql) in statements.enumerated() {
            try query(sql.text, sql.values) { try row(index, $0) }
        }
    }

    @discardableResult
    package func execute(_ statements: [SQL]) throws -> [Int] {
        guard let text = statements.first?.text, statements.allSatisfy({ $0.text == text }) else {
            return try statements.map { try execute($0.text, $0.values) }
        }
        return try execute(text, rows: statements.map(\.values))
    }

    package func post(_ sql: SQL) throws { _ = try execute(sql.text, sql.values) }

    package func number(in series: NumberSeries) throws -> Int64? { try value(series.raising(1)) }

    package var commitWork: CommitWork? { nil }
}

/// A series of unique numbers. Some may never be used.
package struct NumberSeries: Sendable {
    /// Distinguishes the series from all others.
    package let name: String
    /// How many a process may take at a time: more than one if nothing depends on their order.
    package let blockSize: Int64
    /// Increments the row that counts the series, and returns its new value.
    package let raising: @Sendable (_ count: Int64) -> SQL

    package init(name: String, blockSize: Int64 = 1, raising: @escaping @Sendable (_ count: Int64) -> SQL) {
        self.name = name
        self.blockSize = blockSize
        self.raising = raising
    }
}

/// One row of a result, valid only inside the closure that receives it. Columns are numbered from 0.
package protocol SQLRow {
    func isNull(_ column: Int) -> Bool
    /// 0 for NULL.
    func int(_ column: Int) -> Int64
    /// Empty for NULL.
    func text(_ column: Int) -> String
    /// Passes the column's bytes to `body` without copying them. They are invalid after `body` returns.
    func withBytes<R>(_ column: Int, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R
}

/// A parameter of a statement. NULL carries its type, because PostgreSQL must know it before the statement runs.
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
    /// The value of a row's column.
    init(_ row: any SQLRow, _ column: Int, _ kind: Kind) {
        if row.isNull(column) {
            self = .null(kind)
            return
        }
        switch kind {
        case .int: self = .int(row.int(column))
        case .text: self = .text(row.text(column))
        case .bytes: self = .bytes(row.withBytes(column) { Array($0) })
        }
    }

    package static func int(_ value: Int) -> SQLValue { .int(Int64(value)) }
    package static func id<Of>(_ value: Identifier<Of>) -> SQLValue { value.stored }
    package static func time(_ value: Timestamp) -> SQLValue { value.stored }
    package static func route(_ value: Route) -> SQLValue { value.stored }
}

/// The constructs that engines spell differently. Everything else is the same for all.
package struct SQLDialect: Sendable, Hashable {
    /// The type of byte strings, in place of `{bytes}`.
    package let bytes: String
    /// The type of text that is compared by bytes, in place of `{text}`.
    package let text: String
    /// Comes after a table that is stored in the order of its primary key, in place of `{clustered}`.
    package let clustered: String
    /// Comes after a table whose rows change often, in place of `{updated}`.
    package let updated: String
    /// The end of a query that locks its rows against other nodes and skips rows that another node has locked.
    package let lock: String
    /// Comes after a table and before the name of the index to read it with. Empty if the engine chooses by statistics.
    let indexing: String
    /// Whether several processes use the database at once.
    package let isShared: Bool
    /// A query for the size of the database in bytes.
    package let size: String

    /// SQLite 3.38 or later.
    package static let sqlite = SQLDialect(
        bytes: "BLOB", text: "TEXT", clustered: "WITHOUT ROWID", updated: "", lock: "",
        indexing: "INDEXED BY", isShared: false,
        size: "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")

    /// PostgreSQL 15 or later.
    package static let postgres = SQLDialect(
        bytes: "BYTEA", text: "TEXT COLLATE \"C\"", clustered: "", updated: "WITH (fillfactor = 80)",
        lock: "FOR UPDATE SKIP LOCKED", indexing: "", isShared: true,
        size: "SELECT pg_database_size(current_database())")

    /// `table`, read with `index` on an engine without statistics, whose own choice may read every row of an app.
    func table(_ table: String, indexedBy index: String?) -> SQL {
        guard let index, !indexing.isEmpty else { return "\(name: table)" }
        return "\(name: table) \(name: indexing) \(name: index)"
    }

    /// `template` in this engine's spelling.
    package func text(of template: String) -> String {
        template.replacing("{bytes}", with: bytes).replacing("{text}", with: text)
            .replacing("{clustered}", with: clustered).replacing("{updated}", with: updated)
    }
}

/// Writes that all transactions of one commit share: each is done once, before the commit. An example is the last row
/// of the audit log. Confined to its connection.
package final class CommitWork {
    private struct Item {
        var value: Any
        let write: (Any) throws -> Void
    }

    private var items: [(name: String, item: Item)] = []

    package init() {}

    /// The value that was set under `name` since the last commit.
    func value<Value>(_ name: String, as type: Value.Type = Value.self) -> Value? {
        items.first { $0.name == name }?.item.value as? Value
    }

    /// Replaces the value of `name`, which `write` stores before the commit.
    func set<Value>(_ name: String, _ value: Value, write: @escaping (Value) throws -> Void) {
        if let index = items.firstIndex(where: { $0.name == name }) {
            items[index].item.value = value
        } else {
            items.append((name, Item(value: value) { if let value = $0 as? Value { try write(value) } }))
        }
    }

    /// Stores everything. The engine calls it before a commit, and before a part of the transaction that may be undone
    /// alone ends.
    package func run() throws {
        defer { items = [] }
        for (_, item) in items { try item.write(item.value) }
    }

    /// Drops everything, because the transaction was undone.
    package func discard() { items = [] }
}
