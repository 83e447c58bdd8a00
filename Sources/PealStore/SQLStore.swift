package import PealCore
internal import Synchronization

/// The durable store: translates the core's verbs into SQL, and leaves transactions, durability and ordering to an
/// engine.
package final class SQLStore: Store {
    private let engine: any SQLEngine
    private let context: StoreSession.Context
    private let damage: DamageReport
    private let setupChanges = Atomic(0)

    /// - Parameters:
    ///   - retention: how long finished and retired data is kept.
    ///   - composers: compose what is sent to each webhook.
    ///   - clock: shows the local times of devices.
    ///   - report: receives a line about each row that lists omit because it cannot be read.
    package init(
        engine: any SQLEngine, masterKey: MasterKey, retention: StoreRetention = StoreRetention(),
        composers: ReportComposers = ReportComposers([]), clock: LocalClock = .utc,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.engine = engine
        damage = DamageReport(report)
        context = StoreSession.Context(
            masterKey, retention: retention, dialect: engine.dialect, composers: composers, clock: clock)
    }

    package func read<R: Sendable>(
        _ lane: ReadLane, _ body: @escaping @Sendable (any StoreReading) throws -> R
    ) async throws -> R {
        try await engine.read(lane) { [context] in try body(StoreSession($0, context)) }
    }

    package func checkedList<R: Sendable>(
        _ lane: ReadLane, _ body: @escaping @Sendable (any StoreReading, _ more: Int) throws -> R
    ) async throws -> (items: R, isComplete: Bool) {
        try await engine.read(lane) { [context, damage] connection in
            var more = 0
            while more <= Limits.listRowsSkippedMax {
                let skipping = SkippingConnection(connection, damage)
                let result = try body(StoreSession(skipping, context), more)
                if skipping.skippedCount <= more { return (result, skipping.skippedCount == 0) }
                more = skipping.skippedCount
            }
            throw PealError.damaged("a list with more than \(Limits.listRowsSkippedMax) rows")
        }
    }

    package func write<R: Sendable>(
        _ lane: WriteLane, _ body: @escaping @Sendable (any StoreWriting) throws -> R
    ) async throws -> R {
        do {
            let (result, changesSetup) = try await engine.write(lane) { [context] connection in
                let session = StoreSession(connection, context)
                return (try body(session), session.memo.changesSetup)
            }
            if changesSetup { noteSetupChange() }
            return result
        } catch {
            // It may have been committed although its answer was lost.
            noteSetupChange()
            throw error
        }
    }

    package var setupVersion: Int { setupChanges.load(ordering: .acquiring) }

    private func noteSetupChange() { setupChanges.add(1, ordering: .releasing) }

    /// Entries chained in one transaction.
    private static let chainedAtOnce = 500

    package func chainAudit() async throws {
        var count = Self.chainedAtOnce
        while count == Self.chainedAtOnce {
            let hasPending = try await engine.read(.request) { try $0.exists(AuditTable.hasPending) }
            guard hasPending else { return }
            count = try await engine.exclusively { [context] connection in
                try StoreSession(connection, context).chainPending(limit: Self.chainedAtOnce)
            }
        }
    }

    /// - Throws: `StoreStartFailure` if the database is an interrupted copy; `unavailable` if it does not answer.
    package func checkFinished() async throws { try await StoreCopy.checkFinished(engine) }

    /// Migrates the database to this program's schema, and checks that it was created with this master key.
    /// - Throws: `StoreStartFailure` when the database is newer than the program or belongs to another key.
    package func migrate() async throws {
        let migrator = Migrator(dialect: engine.dialect)
        let isMigrated = Atomic(false)
        do {
            try await engine.migrate { [context] connection in
                try migrator.migrate(connection)
                isMigrated.store(true, ordering: .releasing)
                context.masterKey = try context.masterKey.unlock(connection)
            }
        } catch let error as PealError where error.code == .internal && !isMigrated.load(ordering: .acquiring) {
            throw StoreStartFailure(
                "it cannot be migrated to this program's schema (\(error.message)); does it belong to another program?")
        }
    }

    /// The schema version that this program migrates a database to.
    package static var newestSchemaVersion: Int { Migrator.newestVersion }

    /// The tables of this program's schema.
    package static var tableNames: [String] { SchemaTable.all.map(\.name) }

    /// Hashes secrets in the same way as the database's keys. Valid once the database is migrated.
    package var hasher: any KeyHasher { context.masterKey }

    /// Completes the key with what the database stores about it, for callers that do not migrate the database.
    package func learnKey() async throws {
        guard try await masterKeyMatches() == true else { return }
        context.masterKey = try await engine.read { [context] in try context.masterKey.unlock($0) }
    }

    /// Whether the database was created with this master key; nil when it is not marked yet.
    package func masterKeyMatches() async throws -> Bool? {
        try await engine.read { [context] in try context.masterKey.matches($0) }
    }

    /// Checks that `migrate` would accept the database, and changes nothing.
    /// - Returns: the version of its schema; 0 for a new database.
    /// - Throws: as `migrate`.
    package func checkMigratable() async throws -> Int {
        guard let version = try await knownSchemaVersion(), version > 0 else { return 0 }
        guard version <= Migrator.newestVersion else { throw Migrator.failure(of: "the database", version) }
        guard try await masterKeyMatches() != false else { throw MasterKey.foreign }
        return version
    }

    /// The schema version of the database; 0 before the first migration.
    package func schemaVersion() async throws -> Int {
        try await engine.read { try Migrator.version($0) }
    }

    /// The schema version of the database; nil if it is not a Peal database.
    /// - Throws: `unavailable` when the database does not answer.
    package func knownSchemaVersion() async throws -> Int? {
        try await engine.readIfPresent { try Migrator.version($0) }
    }

    /// Whether the database has this program's schema. Does not wait for reads of requests.
    package func hasNewestSchema() async throws -> Bool {
        try await engine.read(.brief) { try Migrator.version($0) } == Migrator.newestVersion
    }

    /// Finishes waiting writes and closes the database. No call may follow.
    package func close() throws { try engine.close() }
}

/// Why a store cannot be opened, in one line for the operator.
package struct StoreStartFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
    /// Whether the cause is only that another process has the store open.
    package let isInUse: Bool
    /// Whether another attempt may succeed without a change of the configuration.
    package let mayPass: Bool

    package init(_ description: String, isInUse: Bool = false, mayPass: Bool = false) {
        self.description = description
        self.isInUse = isInUse
        self.mayPass = mayPass || isInUse
    }
}
