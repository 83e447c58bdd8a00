package import PealCore
package import PealStore

/// A PostgreSQL database that any number of processes share. Transactions run on threads that each have a connection;
/// the server commits concurrent ones together.
package final class PostgresEngine: SQLEngine {
    package let settings: PostgresSettings
    private let numbers: PostgresNumbers
    private let briefReaders: PostgresWorkers
    private let deliveryReaders: PostgresWorkers
    private let requestReaders: PostgresWorkers
    private let heavyReaders: PostgresWorkers
    private let writers: PostgresWorkers
    private let settlers: PostgresWorkers
    private let batches: PostgresWorkers
    private let background: PostgresWorkers

    private static let readersPerLaneMax = 2
    private static let writersMax = 4
    /// The most connections that one process has open, including those for settling, batches, background work, numbers
    /// and signals.
    package static let connectionsMax = ReadLane.allCases.count * readersPerLaneMax + writersMax + 5

    package let dialect = SQLDialect.postgres

    /// Does not connect yet.
    package init(_ settings: PostgresSettings) {
        self.settings = settings
        let numbers = PostgresNumbers(settings)
        self.numbers = numbers
        let turns = PostgresTurns()
        let outages = PostgresOutages(settings.report)
        func workers(
            _ name: String, _ threads: Int, kinds: Int = 1, waitingMax: Int = .max, turns: PostgresTurns? = nil
        ) -> PostgresWorkers {
            PostgresWorkers("peal.store.\(name)", threads: threads, kinds: kinds, waitingMax: waitingMax) {
                PostgresSession(settings, numbers: numbers, turns: turns, outages: outages)
            }
        }
        briefReaders = workers("read.brief", Self.readersPerLaneMax)
        deliveryReaders = workers("read.delivery", Self.readersPerLaneMax)
        requestReaders = workers("read.request", Self.readersPerLaneMax)
        heavyReaders = workers("read.heavy", Self.readersPerLaneMax)
        // Intake and control. Many new messages delay the server's own work by at most a few jobs, and make none of it
        // fail.
        writers = workers(
            "write", Self.writersMax, kinds: 2, waitingMax: Limits.writerItemsWaitingMax, turns: turns)
        // One, because the settlements of a slice must be applied in order. Each write contains many.
        settlers = workers("settle", 1)
        // One, because two batches touch so many pages of the same indexes that they would make each other fail.
        batches = workers("batch", 1, waitingMax: Limits.writerItemsWaitingMax, turns: turns)
        background = workers("rest", 1, waitingMax: Limits.writerItemsWaitingMax)
    }

    /// Connects once, to detect problems early.
    /// - Throws: `StoreStartFailure`.
    package func check() throws {
        do {
            _ = try PostgresConnection(settings, numbers: nil)
        } catch let failure as PostgresFailure {
            throw StoreStartFailure(failure.description)
        }
    }

    /// The server's clock, which all processes share.
    package func serverTime() async throws -> Timestamp {
        let now: Timestamp? = try await read(.brief) {
            try $0.value("SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT")
        }
        guard let now else { throw PostgresFailure.unavailable }
        return now
    }

    /// Settings of the server that are off although a crash can then damage the database, so that what was confirmed
    /// is lost.
    package func unsafeSettings() async throws -> [String] {
        try await read(.brief) {
            try $0.values(
                """
                SELECT name FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off'
                ORDER BY name
                """, String.self)
        }
    }

    /// Which of these tables this user may not read and change.
    package func tablesWithoutRights(among names: [String]) async throws -> [String] {
        let lacking = try await read(.brief) {
            try $0.values(
                """
                SELECT relname::TEXT FROM pg_class WHERE relkind IN ('r', 'p') AND pg_table_is_visible(oid) AND NOT (
                    has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT')
                    AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE'))
                ORDER BY 1
                """, String.self)
        }
        return lacking.filter(names.contains)
    }

    package func read<R: Sendable>(
        _ lane: ReadLane, _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws -> R {
        let workers =
            switch lane {
            case .brief: briefReaders
            case .delivery: deliveryReaders
            case .request: requestReaders
            case .heavy: heavyReaders
            }
        return try await run(workers) { try $0.transact(.read, body) }
    }

    package func write<R: Sendable>(
        _ lane: WriteLane, _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws -> R {
        let workers =
            switch lane {
            case .intake, .control: writers
            case .settle: settlers
            case .batch: batches
            case .rest: background
            }
        return try await run(workers, kind: lane == .control ? 1 : 0) { try $0.transact(.write, body) }
    }

    /// An arbitrary number of 63 bits that no other program on the database uses.
    private static let migrationLock: Int64 = 0x7065_616C_6D69_6772
    /// An index on a large table may take long, and another process may be building it.
    private static let migrationSecondsMax = 24 * 3600

    package func migrate(_ body: @escaping @Sendable (any SQLConnection) throws -> Void) async throws {
        try await run(background) { session in
            // Each statement sees what was committed before it, especially by another process while this one waited.
            try session.transact(.plain, statementSecondsMax: Self.migrationSecondsMax) { connection in
                try connection.query("SELECT pg_advisory_xact_lock($1)", [.int(Self.migrationLock)]) { _ in }
                try body(connection)
            }
        }
    }

    /// Like `migrationLock`.
    private static let exclusiveLock: Int64 = 0x7065_616C_6368_6169

    package func exclusively<R: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws -> R {
        try await run(background) { session in
            // Not serializable: a serializable transaction that reads new rows could make the transactions that add
            // them fail.
            try session.transact(.plain) { connection in
                try connection.query("SELECT pg_advisory_xact_lock($1)", [.int(Self.exclusiveLock)]) { _ in }
                return try body(connection)
            }
        }
    }

    private func run<R: Sendable>(
        _ workers: PostgresWorkers, kind: Int = 0, _ work: @escaping @Sendable (PostgresSession) throws -> R
    ) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            do {
                try workers.put(
                    { session in continuation.resume(with: Result { try work(session) }) }, kind: kind)
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    package func close() throws {
        let readers = [briefReaders, deliveryReaders, requestReaders, heavyReaders]
        for workers in readers + [writers, settlers, batches, background] { workers.close() }
        numbers.close()
    }
}
