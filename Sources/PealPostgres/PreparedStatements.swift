internal import CPostgreSQL
internal import PealStore

/// The statements that a connection has prepared, by their text.
struct PreparedStatements {
    struct Use {
        let name: String
        let isNew: Bool
    }

    private struct Entry {
        let name: String
        let types: [Oid]
    }

    private var entries: [String: Entry] = [:]
    private var count = 0
    private var runs = 0
    private var runsAtDiscard = 0

    /// The most runs between two plannings.
    private static let runsBetweenMax = 100_000

    /// Counts runs. True when statements should be planned again: PostgreSQL keeps a plan that it made for an empty
    /// table, with any of its indexes, until the table is analyzed.
    mutating func plansAreOld(after more: Int) -> Bool {
        runs += more
        guard count > 0, runs - runsAtDiscard >= min(max(100, runsAtDiscard), Self.runsBetweenMax) else { return false }
        runsAtDiscard = runs
        return true
    }

    /// A statement with other parameter types than before is prepared again.
    mutating func use(of sql: String, _ types: [Oid]) -> Use {
        if let entry = entries[sql], entry.types == types { return Use(name: entry.name, isNew: false) }
        count += 1
        let name = "peal\(count)"
        entries[sql] = Entry(name: name, types: types)
        return Use(name: name, isNew: true)
    }

    /// Its preparation failed.
    mutating func forget(_ sql: String) { entries[sql] = nil }
}

/// The parameters of one statement in PostgreSQL's binary format. Buffers are kept from one statement to the next.
struct BinaryParameters {
    private(set) var types: [Oid] = []
    private var bytes: [UInt8] = []
    /// nil for NULL.
    private var offsets: [Int?] = []
    private var lengths: [Int32] = []
    private var formats: [Int32] = []

    mutating func encode(_ values: [SQLValue]) {
        types.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
        offsets.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
        for value in values {
            let start = bytes.count
            switch value {
            case .int(let number):
                withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
                types.append(PostgresType.int8)
            case .text(let text):
                bytes.append(contentsOf: text.utf8)
                types.append(PostgresType.text)
            case .bytes(let value):
                bytes.append(contentsOf: value)
                types.append(PostgresType.bytea)
            case .null(let kind): types.append(PostgresType.of(kind))
            }
            if case .null = value { offsets.append(nil) } else { offsets.append(start) }
            lengths.append(Int32(bytes.count - start))
        }
        // An empty value also needs an address.
        bytes.append(0)
        while formats.count < values.count { formats.append(1) }
    }

    /// Sends the statement, by its name if it is prepared. Returns 1 when it was sent.
    func send(_ sql: String, prepared: String?, to handle: OpaquePointer) -> Int32 {
        bytes.withUnsafeBytes { buffer in
            let start = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            let values = offsets.map { offset in offset.flatMap { start?.advanced(by: $0) } }
            if let prepared {
                return PQsendQueryPrepared(handle, prepared, Int32(values.count), values, lengths, formats, 1)
            }
            return PQsendQueryParams(handle, sql, Int32(values.count), types, values, lengths, formats, 1)
        }
    }
}

/// The types that values have on the wire (PostgreSQL, `pg_type.dat`).
enum PostgresType {
    static let bool: Oid = 16
    static let bytea: Oid = 17
    static let int8: Oid = 20
    static let int2: Oid = 21
    static let int4: Oid = 23
    static let text: Oid = 25

    static func of(_ kind: SQLValue.Kind) -> Oid {
        switch kind {
        case .int: int8
        case .text: text
        case .bytes: bytea
        }
    }
}
