internal import PealCore

/// Migrates a database from any earlier schema to this program's.
struct Migrator: Sendable {
    static let newestVersion = Migration.all.last?.version ?? 0

    let dialect: SQLDialect

    /// Runs the missing migrations.
    /// - Throws: `StoreStartFailure` when the database is newer than this program.
    func migrate(_ connection: any SQLConnection) throws {
        try connection.execute("CREATE TABLE IF NOT EXISTS migration (version BIGINT PRIMARY KEY)")
        let version = try Self.version(connection)
        guard version <= Self.newestVersion else {
            throw Self.failure(of: "the database", version)
        }
        for migration in Migration.all where migration.version > version {
            for statement in migration.statements {
                try connection.execute(dialect.text(of: statement), [])
            }
            try connection.execute("INSERT INTO migration (version) VALUES (\(migration.version))")
        }
    }

    /// Why a database that should have this program's schema cannot be used.
    static func failure(of database: String, _ version: Int) -> StoreStartFailure {
        StoreStartFailure(
            version > newestVersion
                ? "\(database) has schema \(version), but this program supports only schemas up to \(newestVersion); "
                    + "use a newer program"
                : "\(database) has schema \(version): run peal migrate on it first")
    }

    /// The version of a database that has the migration table; 0 if none has run.
    static func version(_ connection: any SQLConnection) throws -> Int {
        try connection.value("SELECT MAX(version) FROM migration") ?? 0
    }
}

extension SQLEngine {
    /// Reads tables of Peal that the database may not have.
    /// - Returns: nil if it does not have them.
    /// - Throws: `unavailable` when the database does not answer: then nothing is known about its tables.
    func readIfPresent<R: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws -> R? {
        do {
            return try await read(body)
        } catch let error as PealError where error.code == .internal {
            return nil
        }
    }
}

/// One step of the schema. Statements are templates of `SQLDialect`. A released migration never changes.
struct Migration: Sendable {
    let version: Int
    let statements: [String]
}

extension Migration {
    /// All migrations in ascending order.
    static let all: [Migration] = [
        Migration(version: 1, statements: Schema1.apps + Schema1.devices + Schema1.messages + Schema1.delivery),
        Migration(version: 2, statements: Schema2.webhooks),
        Migration(version: 3, statements: Schema3.identifiers),
        Migration(version: 4, statements: Schema4.geofences + Schema4.receipts),
        Migration(version: 5, statements: Schema5.moments),
        Migration(version: 6, statements: Schema6.routes + Schema6.expiries + Schema6.lists),
        Migration(version: 7, statements: SchemaPruning.statements),
        Migration(version: 8, statements: SchemaQuarantine.statements),
        Migration(version: 9, statements: SchemaTrust.audit + SchemaTrust.admins),
        Migration(version: 10, statements: SchemaSegments.statements),
        Migration(version: 11, statements: SchemaStatistics.statements),
        Migration(version: 12, statements: SchemaServers.statements),
        Migration(version: 13, statements: SchemaRules.statements),
        Migration(version: 14, statements: SchemaDialects.statements),
        Migration(version: 15, statements: SchemaDevices.statements),
        Migration(version: 16, statements: SchemaConsole.statements),
        Migration(version: 17, statements: SchemaModels.statements),
        Migration(version: 18, statements: SchemaFigures.statements),
        Migration(version: 19, statements: SchemaOffPolicy.statements),
        Migration(version: 20, statements: SchemaOutcomes.statements),
        Migration(version: 21, statements: SchemaSpentWakes.statements),
        Migration(version: 22, statements: SchemaOffPolicyNames.statements),
        Migration(version: 23, statements: SchemaContentOpens.statements),
        Migration(version: 24, statements: SchemaRuns.statements),
        Migration(version: 25, statements: SchemaPriors.statements),
        Migration(version: 26, statements: SchemaRemainders.statements),
        Migration(version: 27, statements: SchemaWaits.statements),
        Migration(version: 28, statements: SchemaCases.statements),
    ]
}
