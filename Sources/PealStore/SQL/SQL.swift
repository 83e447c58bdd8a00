package import PealCore

/// One statement with its parameters. An interpolated value becomes the next parameter (`$1`, `$2`, …) and never text:
/// `"SELECT name FROM topic WHERE app = \(app)"`. Column lists, state codes and table names become text.
package struct SQL: ExpressibleByStringInterpolation, Sendable, Hashable {
    package let text: String
    package let values: [SQLValue]

    package init(stringLiteral text: String) {
        self.text = text
        values = []
    }

    package init(stringInterpolation: StringInterpolation) {
        text = stringInterpolation.text
        values = stringInterpolation.values
    }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate(set) var text = ""
        fileprivate(set) var values: [SQLValue] = []

        package init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + 8 * interpolationCount)
            values.reserveCapacity(interpolationCount)
        }

        package mutating func appendLiteral(_ literal: String) { text += literal }

        /// A parameter.
        package mutating func appendInterpolation(_ value: some SQLStorable) { bind(value.stored) }

        package mutating func appendInterpolation(_ columns: Columns) { text += columns.text }

        /// A stored number as text. The condition of a partial index must be met by text: a parameter does not do.
        package mutating func appendInterpolation<Code: RawRepresentable>(code: Code) where Code.RawValue == Int64 {
            text += String(code.rawValue)
        }

        /// The name of a table or a column.
        package mutating func appendInterpolation(name: String) { text += name }

        /// A part of a statement with parameters of its own, which are renumbered.
        package mutating func appendInterpolation(_ part: SQL) {
            for (index, piece) in part.text.split(separator: "$", omittingEmptySubsequences: false).enumerated() {
                guard index > 0 else {
                    text += piece
                    continue
                }
                let digits = piece.prefix { $0.isNumber }
                text += "$\((Int(digits) ?? 0) + values.count)\(piece.dropFirst(digits.count))"
            }
            values += part.values
        }

        /// What an INSERT writes, each column beside its value: `(a, b) VALUES ($1, $2)`.
        package mutating func appendInterpolation(row: KeyValuePairs<String, any SQLStorable>) {
            text += "("
            for (index, column) in row.enumerated() { text += index == 0 ? column.key : ", \(column.key)" }
            text += ") VALUES ("
            for (index, column) in row.enumerated() {
                if index > 0 { text += ", " }
                bind(column.value.stored)
            }
            text += ")"
        }

        /// What an UPDATE sets, each column beside its value: `a = $1, b = $2`.
        package mutating func appendInterpolation(set: KeyValuePairs<String, any SQLStorable>) {
            for (index, column) in set.enumerated() {
                text += index == 0 ? "\(column.key) = " : ", \(column.key) = "
                bind(column.value.stored)
            }
        }

        private mutating func bind(_ value: SQLValue) {
            values.append(value)
            text += "$"
            text += String(values.count)
        }
    }
}

/// The columns of a table in the order in which its rows are read.
package struct Columns: ExpressibleByStringLiteral, Sendable, Hashable {
    package let text: String

    package init(stringLiteral text: String) { self.text = text }

    private init(text: String) { self.text = text }

    /// The same columns of the table that a join calls `alias`.
    package func of(_ alias: String) -> Columns {
        Columns(text: text.split(separator: ", ").map { "\(alias).\($0)" }.joined(separator: ", "))
    }
}

/// Reads the columns of one row, each once, in the order in which the statement names them. Their types follow from
/// where they go.
package struct RowReader {
    private let row: any SQLRow
    private var column = 0

    package init(_ row: any SQLRow) { self.row = row }

    /// - Throws: `internal` when the column holds what its type cannot be.
    package mutating func next<Value: SQLStorable>(_ type: Value.Type = Value.self) throws -> Value {
        defer { column += 1 }
        return try Value(row, column)
    }
}

extension SQLConnection {
    @discardableResult
    package func execute(_ sql: SQL) throws -> Int { try execute(sql.text, sql.values) }

    /// Runs statements of one text, as made by one function, in order.
    /// - Returns: how many rows each changed.
    @discardableResult
    package func execute(_ batch: [SQL]) throws -> [Int] {
        guard let text = batch.first?.text else { return [] }
        guard batch.allSatisfy({ $0.text == text }) else {
            throw PealError(.internal, "a batch mixes statements")
        }
        return try execute(text, rows: batch.map(\.values))
    }

    /// Hands every row to `read`.
    package func query(_ sql: SQL, _ read: (inout RowReader) throws -> Void) throws {
        try query(sql.text, sql.values) { row in
            var reader = RowReader(row)
            try read(&reader)
        }
    }

    /// Hands every row to `row`, which names its columns by number: for statements that answer thousands of rows.
    package func scan(_ sql: SQL, _ row: (any SQLRow) throws -> Void) throws {
        try query(sql.text, sql.values, row)
    }

    /// The first row, made into a value; nil when there is none.
    package func first<R>(_ sql: SQL, _ read: (inout RowReader) throws -> R) throws -> R? {
        var result: R?
        try query(sql) { if result == nil { result = try read(&$0) } }
        return result
    }

    /// Every row, made into a value.
    package func all<R>(_ sql: SQL, _ read: (inout RowReader) throws -> R) throws -> [R] {
        var result: [R] = []
        try query(sql) { result.append(try read(&$0)) }
        return result
    }

    /// The first column of the first row; nil for none or NULL.
    package func value<Value: SQLStorable>(_ sql: SQL, _ type: Value.Type = Value.self) throws -> Value? {
        try first(sql) { try $0.next(Value?.self) } ?? nil
    }

    /// The first column of every row.
    package func values<Value: SQLStorable>(_ sql: SQL, _ type: Value.Type = Value.self) throws -> [Value] {
        try all(sql) { try $0.next() }
    }

    /// The number that a `SELECT COUNT(*)` answers.
    package func count(_ sql: SQL) throws -> Int { try value(sql) ?? 0 }
}
