internal import Crypto
internal import PealCore

/// Copies a store from one database to another, of either engine. To continue an interrupted copy, run it again: rows
/// that are already there stay. No server may use either database meanwhile.
package struct StoreCopy: Sendable {
    private let source: any SQLEngine
    private let target: any SQLEngine

    /// The most rows that are read and written at a time.
    private static let rowsMax = 200

    package init(from source: any SQLEngine, to target: any SQLEngine) {
        self.source = source
        self.target = target
    }

    /// A table that has been copied and compared.
    package struct Result: Sendable, Hashable {
        package let table: String
        package let rows: Int
        /// A checksum over all rows in order of key, in hexadecimal.
        package let sha256: String
    }

    /// - Parameter report: receives each table once it has been compared.
    /// - Throws: `StoreStartFailure` when the databases do not match each other, or differ afterwards.
    package func run(_ report: @Sendable (Result) -> Void) async throws {
        try await prepare()
        for table in SchemaTable.all { try await copy(table) }
        for table in SchemaTable.all {
            let (original, copied) = (try await digest(table, in: source), try await digest(table, in: target))
            guard original == copied else {
                throw StoreStartFailure(
                    "table \(table.name) differs after the copy: \(original.rows) rows, \(copied.rows) in the target; "
                        + "stop all servers, and copy again into an empty database if rows were added")
            }
            report(copied)
        }
        try await target.write(.control) {
            _ = try $0.execute("DELETE FROM migration WHERE version = \(Self.unfinished)")
        }
    }

    /// The version in the table of migrations until a copy has been compared. Copied tables cannot show that a copy is
    /// incomplete.
    private static let unfinished = -1

    private static func isUnfinished(_ connection: any SQLConnection) throws -> Bool {
        try connection.count("SELECT COUNT(*) FROM migration WHERE version = \(unfinished)") > 0
    }

    /// - Throws: `StoreStartFailure` if the database is an interrupted copy; `unavailable` if it does not answer.
    package static func checkFinished(_ engine: any SQLEngine) async throws {
        guard try await engine.readIfPresent(isUnfinished) == true else { return }
        throw StoreStartFailure("it is an unfinished copy: run peal store copy again")
    }

    /// Checks both databases. The source must have this program's schema. The target gets it and the mark in one
    /// transaction, so that no server starts with an interrupted copy. It must be empty or an interrupted copy, because
    /// rows that were deleted from a store in use would appear there again.
    private func prepare() async throws {
        try await Self.checkSource(source)
        try await Self.refuseServers(source, "source")
        let migrator = Migrator(dialect: target.dialect)
        let mark = try await source.read(Self.mark)
        if try await target.readIfPresent({ try Migrator.version($0) }) != nil {
            try await Self.refuseServers(target, "target")
        }
        try await target.migrate { connection in
            try migrator.migrate(connection)
            let other = try Self.mark(connection)
            guard other == nil || other == mark else {
                throw StoreStartFailure("the target contains a store with another master key")
            }
            guard try Self.isEmpty(connection) || Self.isUnfinished(connection) else {
                throw StoreStartFailure("the target contains a complete store: copy into an empty database")
            }
            try connection.execute("INSERT INTO migration (version) VALUES (\(Self.unfinished)) ON CONFLICT DO NOTHING")
        }
    }

    /// Whether no server has used the database, not even one without apps: rows that only the target has would be found
    /// when everything has been copied.
    private static func isEmpty(_ connection: any SQLConnection) throws -> Bool {
        try SchemaTable.all.allSatisfy { table in
            let others: SQL = table.name == "setting" ? " WHERE name <> \(MasterKey.markName)" : ""
            return try !connection.exists("SELECT 1 FROM \(name: table.name)\(others) LIMIT 1")
        }
    }

    /// - Throws: `StoreStartFailure`.
    package static func checkSource(_ source: any SQLEngine) async throws {
        guard let version = try await source.readIfPresent({ try Migrator.version($0) }) else {
            throw StoreStartFailure("the source is not a Peal database")
        }
        guard version == Migrator.newestVersion else { throw Migrator.failure(of: "the source", version) }
        guard try await source.readIfPresent(isUnfinished) != true else {
            throw StoreStartFailure("the source is an unfinished copy: finish that copy first")
        }
    }

    private static func refuseServers(_ engine: any SQLEngine, _ name: String) async throws {
        guard engine.dialect.isShared else { return }
        // Earlier schemas do not have the table.
        let running = try await engine.readIfPresent { connection in
            guard let now = try connection.value(clock, Timestamp.self) else { return 0 }
            return try connection.count("SELECT COUNT(*) FROM live_server WHERE \(ServerTable.running(now))")
        }
        guard running ?? 0 == 0 else {
            throw StoreStartFailure(
                "servers use the \(name): stop them all and wait for \(Limits.serverPresenceSeconds) seconds")
        }
    }

    /// The clock of the database, which servers use.
    private static let clock: SQL = "SELECT CAST(EXTRACT(EPOCH FROM now()) * 1000 AS BIGINT)"

    /// Identifies the master key; nil before the first start of a server.
    private static func mark(_ connection: any SQLConnection) throws -> [UInt8]? {
        try connection.value("SELECT value FROM setting WHERE name = \(MasterKey.markName)")
    }

    private func copy(_ table: SchemaTable) async throws {
        let names = table.columns.map(\.name).joined(separator: ", ")
        let parameters = (1...table.columns.count).map { "$\($0)" }.joined(separator: ", ")
        let insert = "INSERT INTO \(table.name) (\(names)) VALUES (\(parameters)) ON CONFLICT DO NOTHING"
        try await forEachBatch(of: table, in: source) { rows in
            do {
                _ = try await target.write(.rest) { try $0.execute(insert, rows: rows) }
            } catch let error as PealError where error.code == .unavailable {
                throw StoreStartFailure(
                    "the target cannot be written: check that it runs and has room, and run the command again")
            }
        }
    }

    private func digest(_ table: SchemaTable, in engine: any SQLEngine) async throws -> Result {
        var (hash, count) = (SHA256(), 0)
        try await forEachBatch(of: table, in: engine) { rows in
            count += rows.count
            for value in rows.joined() { hash.update(data: Self.bytes(of: value)) }
        }
        return Result(table: table.name, rows: count, sha256: Hex.encode(hash.finalize()))
    }

    /// Different values have different bytes.
    private static func bytes(of value: SQLValue) -> [UInt8] {
        var writer = ByteWriter()
        switch value {
        case .null: writer.byte(0)
        case .int(let number):
            writer.byte(1)
            writer.varint(UInt64(bitPattern: number))
        case .text(let text):
            writer.byte(2)
            writer.text(text)
        case .bytes(let bytes):
            writer.byte(3)
            writer.int(bytes.count)
            return writer.bytes + bytes
        }
        return writer.bytes
    }

    /// In order of key, which is the same on both engines: numbers, bytes, and text by its bytes.
    private func forEachBatch(
        of table: SchemaTable, in engine: any SQLEngine, _ body: ([[SQLValue]]) async throws -> Void
    ) async throws {
        let (columns, key) = (table.columns, table.key)
        let names = columns.map(\.name).joined(separator: ", ")
        let order = key.joined(separator: ", ")
        let parameters = key.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
        var last: [SQLValue] = []
        repeat {
            let condition = last.isEmpty ? "" : "WHERE (\(order)) > (\(parameters)) "
            let text = "SELECT \(names) FROM \(table.name) \(condition)ORDER BY \(order) LIMIT \(Self.rowsMax)"
            let parameters = last
            let rows = try await engine.read { connection in
                var rows: [[SQLValue]] = []
                try connection.query(text, parameters) { row in
                    rows.append(columns.indices.map { SQLValue(row, $0, columns[$0].kind) })
                }
                return rows
            }
            guard let end = rows.last else { return }
            try await body(rows)
            last = key.compactMap { name in columns.firstIndex { $0.name == name }.map { end[$0] } }
        } while true
    }
}
