internal import PealCore
internal import Synchronization

/// The connection of a list: skips rows that cannot be read, so that one of them does not hide the others, and counts
/// them. Confined to its transaction.
final class SkippingConnection: SQLConnection {
    private let base: any SQLConnection
    private let damage: DamageReport
    private(set) var skippedCount = 0

    init(_ base: any SQLConnection, _ damage: DamageReport) {
        self.base = base
        self.damage = damage
    }

    func query(_ sql: String, _ parameters: [SQLValue], _ row: (any SQLRow) throws -> Void) throws {
        try base.query(sql, parameters) { found in try read(found, sql, parameters) { try row(found) } }
    }

    func query(_ sql: String, each sets: [[SQLValue]], _ row: (any SQLRow) throws -> Void) throws {
        try base.query(sql, each: sets) { found in try read(found, sql, []) { try row(found) } }
    }

    func query(_ statements: [SQL], _ row: (Int, any SQLRow) throws -> Void) throws {
        try base.query(statements) { index, found in
            try read(found, statements[index].text, statements[index].values) { try row(index, found) }
        }
    }

    private func read(_ row: any SQLRow, _ sql: String, _ parameters: [SQLValue], _ body: () throws -> Void) throws {
        do {
            try body()
        } catch {
            guard (error as? PealError).map({ $0.code == .internal }) ?? true else { throw error }
            skippedCount += 1
            damage.note(row, sql, parameters, error)
        }
    }

    func execute(_ sql: String, _ parameters: [SQLValue]) throws -> Int { try base.execute(sql, parameters) }
    func execute(_ sql: String, rows: [[SQLValue]]) throws -> [Int] { try base.execute(sql, rows: rows) }
    func execute(_ statements: [SQL]) throws -> [Int] { try base.execute(statements) }
    func post(_ sql: SQL) throws { try base.post(sql) }
    func number(in series: NumberSeries) throws -> Int64? { try base.number(in: series) }
    var commitWork: CommitWork? { base.commitWork }
}

/// Reports rows that lists skip, each once, in words for the operator: by their keys, without content.
final class DamageReport: Sendable {
    private static let rowsRememberedMax = 1000
    private static let keyBytesMax = 64

    private let report: @Sendable (String) -> Void
    private let known = Mutex<Set<String>>([])

    init(_ report: @escaping @Sendable (String) -> Void) { self.report = report }

    func note(_ row: any SQLRow, _ sql: String, _ parameters: [SQLValue], _ error: any Error) {
        // Rows of a list begin with their key, and the first parameter is their app. Others are looked up by their key.
        let isListed = parameters.isEmpty || sql.contains("ORDER BY")
        let keys =
            isListed
            ? [Self.key(row), parameters.first.flatMap(Self.number)]
            : parameters.map { Self.number($0) ?? Self.id($0) }
        let reason = PealError.message(of: error)
        let line =
            "lists omit a row of \(Self.table(sql)) (\(keys.compactMap(\.self).joined(separator: ", "))): \(reason)"
        let isNew = known.withLock { known in
            if known.count >= Self.rowsRememberedMax { known = [] }
            return known.insert(line).inserted
        }
        if isNew { report(line) }
    }

    private static func table(_ sql: String) -> Substring {
        guard let start = sql.firstRange(of: "FROM ")?.upperBound else { return "" }
        return sql[start...].drop { $0 == "(" }.prefix { $0.isLetter || $0 == "_" }
    }

    /// The first column.
    private static func key(_ row: any SQLRow) -> String? {
        row.withBytes(0) { bytes in
            guard (1...keyBytesMax).contains(bytes.count) else { return nil }
            let isText = bytes.allSatisfy { 0x20...0x7E ~= $0 }
            return isText ? String(decoding: bytes, as: UTF8.self) : Hex.encode(Array(bytes))
        }
    }

    private static func number(_ parameter: SQLValue) -> String? {
        if case .int(let number) = parameter { "\(number)" } else { nil }
    }

    private static func id(_ parameter: SQLValue) -> String? {
        if case .bytes(let bytes) = parameter, bytes.count <= keyBytesMax { Hex.encode(bytes) } else { nil }
    }
}
