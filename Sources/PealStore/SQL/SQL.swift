internal import PealCore

/// One statement with its parameters. An interpolated value becomes the next parameter (`$1`, `$2`, …) and never text:
/// `"SELECT name FROM topic WHERE app = \(app)"`. Column lists, state codes and table names become text.
package struct SQL: ExpressibleByStringInterpolation, Sendable, Hashable {
    package let text: String
    package let values: [SQLValue]

    package init(text: String, values: [SQLValue]) {
        self.text = text
        self.values = values
    }

    package init(stringLiteral text: String) { self.init(text: text, values: []) }

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

        /// A parameter that is NULL for nil.
        package mutating func appendInterpolation<Value: SQLStorable>(_ value: Value?) { bind(value.stored) }

        package mutating func appendInterpolation(_ columns: Columns) { text += columns.text }

        /// A state's number as text. SQLite uses a partial index only if the statement spells out its condition as a
        /// literal, not as a parameter.
        package mutating func appendInterpolation<Code: RawRepresentable>(code: Code) where Code.RawValue == Int64 {
            text += String(code.rawValue)
        }

        /// The name of a table or a column.
        package mutating func appendInterpolation(name: String) { text += name }

        /// A part of a statement. Its parameters are renumbered.
        package mutating func appendInterpolation(_ part: SQL) {
            let offset = values.count
            values += part.values
            guard offset > 0, !part.values.isEmpty else {
                text += part.text
                return
            }
            let dollar = UInt8(ascii: "$")
            for (number, piece) in part.text.utf8.split(separator: dollar, omittingEmptySubsequences: false)
                .enumerated()
            {
                guard number > 0 else {
                    text += Substring(piece)
                    continue
                }
                let digits = piece.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
                parameter(offset + (Int(Substring(digits)) ?? 0))
                text += Substring(piece[digits.endIndex...])
            }
        }

        /// What an INSERT writes, each column next to its value: `(a, b) VALUES ($1, $2)`.
        package mutating func appendInterpolation(
            row: KeyValuePairs<String, any SQLStorable>, _ rest: some Sequence<ColumnValue> = [ColumnValue]()
        ) {
            text.reserveCapacity(text.utf8.count + 24 * (row.count + rest.underestimatedCount) + 16)
            text += "("
            for (index, column) in row.enumerated() { name(column.key, isFirst: index == 0) }
            for column in rest { name(column.key, isFirst: false) }
            text += ") VALUES ("
            for (index, column) in row.enumerated() {
                if index > 0 { text += ", " }
                bind(column.value.stored)
            }
            for column in rest {
                text += ", "
                bind(column.value.stored)
            }
            text += ")"
        }

        private mutating func name(_ name: String, isFirst: Bool) {
            if !isFirst { text += ", " }
            text += name
        }

        /// What an UPDATE sets, each column next to its value: `a = $1, b = $2`.
        package mutating func appendInterpolation(set: KeyValuePairs<String, any SQLStorable>) {
            append(set: set)
        }

        package mutating func appendInterpolation(set: [ColumnValue]) { append(set: set) }

        private mutating func append(set: some Sequence<ColumnValue>) {
            for (index, column) in set.enumerated() {
                name(column.key, isFirst: index == 0)
                text += " = "
                bind(column.value.stored)
            }
        }

        private mutating func bind(_ value: SQLValue) {
            values.append(value)
            parameter(values.count)
        }

        private static let parameters = (0..<64).map { "$\($0)" }

        private mutating func parameter(_ number: Int) {
            text += number < Self.parameters.count ? Self.parameters[number] : "$\(number)"
        }
    }
}

/// A column and what is written into it; a dictionary literal makes several.
package typealias ColumnValue = (key: String, value: any SQLStorable)

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

/// A statement that runs for many inputs in succession. Its text is built only once, with the values of each input kept
/// separately.
package struct Statement<Input>: Sendable {
    package let text: String
    package let values: @Sendable (Input) -> [SQLValue]

    package init(_ text: String, _ values: @escaping @Sendable (Input) -> [SQLValue]) {
        self.text = text
        self.values = values
    }

    package func sql(_ input: Input) -> SQL { SQL(text: text, values: values(input)) }
}

/// A column and how to derive what is written into it.
typealias ColumnOf<Input> = (key: String, value: @Sendable (Input) -> any SQLStorable)

extension Statement {
    /// Inserts one row, with each column next to what is written into it.
    init(insertInto table: String, _ columns: [ColumnOf<Input>]) {
        let names = columns.map(\.key).joined(separator: ", ")
        let parameters = (1...columns.count).map { "$\($0)" }.joined(separator: ", ")
        let contents = columns.map(\.value)
        self.init("INSERT INTO \(table) (\(names)) VALUES (\(parameters))") { input in
            contents.map { $0(input).stored }
        }
    }
}

/// Reads the columns of one row in the order in which the statement names them, each once. The type of a column is
/// inferred from its use.
package struct RowReader {
    private let row: any SQLRow
    private var column = 0

    package init(_ row: any SQLRow) { self.row = row }

    /// - Throws: `internal` when the column's value is not valid for its type.
    package mutating func next<Value: SQLStorable>(_ type: Value.Type = Value.self) throws -> Value {
        defer { column += 1 }
        return try Value(row, column)
    }
}

/// Inlined, because calls through `any SQLConnection` are not specialized for the types that they read.
extension SQLConnection {
    @discardableResult
    package func execute(_ sql: SQL) throws -> Int { try execute(sql.text, sql.values) }

    /// Runs statements whose counts do not matter, in order, before the next one or the commit.
    package func post(_ batch: [SQL]) throws {
        for sql in batch { try post(sql) }
    }

    /// Passes every row to `read`.
    @inline(__always)
    package func query(_ sql: SQL, _ read: (inout RowReader) throws -> Void) throws {
        try query(sql.text, sql.values) { row in
            var reader = RowReader(row)
            try read(&reader)
        }
    }

    /// Passes every row to `row`, which reads columns by number: for statements with thousands of rows.
    package func scan(_ sql: SQL, _ row: (any SQLRow) throws -> Void) throws {
        try query(sql.text, sql.values, row)
    }

    /// Runs `statement` for each of `inputs` and passes every row to `row`. Inlined so that the compiler specializes it
    /// for the caller's type of input.
    @inline(__always)
    package func scan<Input>(
        _ statement: Statement<Input>, _ inputs: some Sequence<Input>, _ row: (any SQLRow) throws -> Void
    ) throws {
        try query(statement.text, each: inputs.map(statement.values), row)
    }

    /// The first row, converted to a value; nil when there is none.
    @inline(__always)
    package func first<R>(_ sql: SQL, _ read: (inout RowReader) throws -> R) throws -> R? {
        var result: R?
        try query(sql) { if result == nil { result = try read(&$0) } }
        return result
    }

    /// Every row, converted to a value.
    @inline(__always)
    package func all<R>(_ sql: SQL, _ read: (inout RowReader) throws -> R) throws -> [R] {
        var result: [R] = []
        try query(sql) { result.append(try read(&$0)) }
        return result
    }

    /// The first column of the first row; nil for none or NULL.
    @inline(__always)
    package func value<Value: SQLStorable>(_ sql: SQL, _ type: Value.Type = Value.self) throws -> Value? {
        try first(sql) { try $0.next(Value?.self) } ?? nil
    }

    /// The first column of every row.
    @inline(__always)
    package func values<Value: SQLStorable>(_ sql: SQL, _ type: Value.Type = Value.self) throws -> [Value] {
        try all(sql) { try $0.next() }
    }

    /// Whether the statement returns a row.
    package func exists(_ sql: SQL) throws -> Bool { try first(sql) { _ in true } ?? false }

    /// The result of a `SELECT COUNT(*)`.
    package func count(_ sql: SQL) throws -> Int { try value(sql) ?? 0 }
}
