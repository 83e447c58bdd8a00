package import PealCore

/// Replaces the master key of a database: seals every secret under the next key, in batches. If it is interrupted, both
/// keys open the database, and the next run continues.
package struct MasterKeyRotation: Sendable {
    private let engine: any SQLEngine
    private let configured: MasterKey

    /// Rows sealed in one transaction.
    private static let rowsAtOnce = 100

    /// - Parameter configured: the current key, or the next one of a replacement in progress.
    package init(_ engine: any SQLEngine, configured: MasterKey) {
        self.engine = engine
        self.configured = configured
    }

    /// Whether the configured key is already the next one, so that the replacement only has to be finished.
    package func isUnderWay() async throws -> Bool {
        guard let version = try await engine.readIfPresent({ try Migrator.version($0) }) else {
            throw StoreStartFailure("it is not a Peal database")
        }
        guard version == Migrator.newestVersion else { throw Migrator.failure(of: "the database", version) }
        try await StoreCopy.checkFinished(engine)
        return try await engine.read { [configured] in try configured.isNext($0) }
    }

    /// Whether servers that have started since accept both keys.
    package func isPrepared() async throws -> Bool {
        try await engine.read { try MasterKey.hasNext($0) }
    }

    /// How many servers that do not accept the next key use the database.
    package func serverCount(at now: Timestamp) async throws -> Int {
        try await engine.read { connection in
            let live = try connection.values(
                "SELECT name FROM live_server WHERE \(ServerTable.running(now))", String.self)
            guard try MasterKey.hasNext(connection) else { return live.count }
            return try MasterKey.formerServers(connection).intersection(live).count
        }
    }

    /// Makes both keys valid, without sealing anything: servers that start from now on accept both.
    package func prepare(next: MasterKey) async throws {
        guard try await !isUnderWay() else { return }
        try await engine.write(.control) { [configured] in try configured.begin(next: next, $0) }
    }

    /// Seals everything under `next`. Both keys open the database afterwards.
    /// - Returns: how many secrets were sealed.
    package func seal(next: MasterKey) async throws -> Int {
        try await prepare(next: next)
        var count = 0
        for table in SealedTable.all {
            var last: [SQLValue]?
            repeat {
                let start = last
                let piece = try await engine.write(.control) { connection in
                    try table.seal(after: start, limit: Self.rowsAtOnce, try next.unlock(connection), connection)
                }
                count += piece.sealed
                last = piece.last
            } while last != nil
        }
        return count
    }

    /// Makes `next` the only key. In the same transaction, seals what servers have sealed under the former key since
    /// `seal`.
    package func end(next: MasterKey) async throws {
        try await engine.write(.control) { connection in
            let key = try next.unlock(connection)
            for table in SealedTable.all {
                var last: [SQLValue]?
                repeat {
                    let piece = try table.seal(after: last, limit: Self.rowsAtOnce, key, connection)
                    last = piece.last
                } while last != nil
            }
            try next.end(connection)
        }
    }
}

/// A table with a sealed column.
struct SealedTable: Sendable {
    let name: String
    let key: [(name: String, kind: SQLValue.Kind)]
    let column: String
    /// What a row's secret is bound to, from the row's key as text.
    let label: @Sendable ([String]) -> String

    static let all: [SealedTable] = [
        SealedTable(
            name: "credential", key: [("app", .int), ("provider", .text), ("environment", .text)], column: "sealed",
            label: { CredentialTable.sealLabel($0) }),
        SealedTable(
            name: "webhook", key: [("app", .int), ("webhook", .int)], column: "sealed",
            label: { WebhookTable.sealLabel($0) }),
        SealedTable(
            name: "api_key", key: [("id", .bytes), ("app", .int), ("dialect", .text)], column: "shared_secret",
            label: { KeyTable.sealLabel($0) }),
        SealedTable(
            name: "provider_token", key: [("name", .text)], column: "sealed", label: { ServerTable.sealLabel($0[0]) }),
        SealedTable(
            name: "model_key", key: [("app", .int), ("kid", .text)], column: "sealed",
            label: { ModelTable.sealLabel($0) }),
    ]

    /// Seals the secrets of the next rows that are not sealed under the current key.
    /// - Returns: the key of the last row; nil when there are no more.
    func seal(
        after start: [SQLValue]?, limit: Int, _ master: MasterKey, _ connection: any SQLConnection
    ) throws -> (last: [SQLValue]?, sealed: Int) {
        let names = key.map(\.name).joined(separator: ", ")
        let parameters = key.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
        let condition = start == nil ? "" : " AND (\(names)) > (\(parameters))"
        let text = """
            SELECT \(names), \(column) FROM \(name) WHERE \(column) IS NOT NULL\(condition)
            ORDER BY \(names) LIMIT \(limit)
            """
        var rows: [(key: [SQLValue], sealed: [UInt8])] = []
        try connection.query(text, start ?? []) { row in
            let values = key.enumerated().map { column, part in SQLValue(row, column, part.kind) }
            rows.append((values, row.withBytes(key.count) { Array($0) }))
        }
        var count = 0
        let matching = key.enumerated().map { "\($1.name) = $\($0 + 2)" }.joined(separator: " AND ")
        for row in rows {
            let label = label(row.key.map(\.text))
            guard !master.isCurrent(row.sealed, label: label) else { continue }
            let sealed = try master.seal(try master.unseal(row.sealed, label: label), label: label)
            try connection.execute(
                "UPDATE \(name) SET \(column) = $1 WHERE \(matching)", [.bytes(sealed)] + row.key)
            count += 1
        }
        return (rows.count == limit ? rows.last?.key : nil, count)
    }
}

extension SQLValue {
    /// The value as it appears in the label that a secret is sealed with.
    fileprivate var text: String {
        switch self {
        case .int(let number): "\(number)"
        case .text(let text): text
        case .bytes(let bytes): Identifier<APIKey>(bytes: bytes)?.description ?? Hex.encode(bytes)
        case .null: ""
        }
    }
}
