internal import GRDB
internal import GRDBSQLite
internal import PealCore
internal import PealStore

/// The one writer: takes what waits, runs it in one transaction, makes it durable with one fsync, and wakes the
/// callers. While one commit is on its way to the disk the next batch gathers by itself. It works on the connection's
/// own thread, so that no task's cancellation can undo a write.
final class Writer: Sendable {
    private let pool: DatabasePool
    private let queue = WriteQueue()
    private let checkpointer: Checkpointer

    init(pool: DatabasePool, checkpointer: Checkpointer) {
        self.pool = pool
        self.checkpointer = checkpointer
    }

    func write<R: Sendable>(
        _ lane: WriteLane, _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            do {
                guard try queue.put(WriteItem(lane, body, continuation)) else { return }
                pool.asyncWriteWithoutTransaction { [self] in drain($0) }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    /// Lets waiting writes finish and refuses later ones.
    func close() { queue.close() }

    private func drain(_ database: Database) {
        while true {
            let batch = queue.takeBatch()
            checkpointer.checkpointIfDue(writerRests: batch.isEmpty)
            guard !batch.isEmpty else { return }
            commit(batch, database)
        }
    }

    private func commit(_ batch: [WriteItem], _ database: Database) {
        guard database.sqliteConnection != nil else {
            // The store was closed before this write's turn came.
            for item in batch { item.fail(SQLiteFailure.unavailable) }
            return
        }
        var outcomes: [Result<@Sendable () -> Void, any Error>] = []
        do {
            try Self.run("BEGIN IMMEDIATE", database)
            for item in batch {
                outcomes.append(try run(item, database))
            }
            try Self.run("COMMIT", database)
        } catch {
            // Nothing of the batch is in the database, whoever is at fault.
            if sqlite3_get_autocommit(database.sqliteConnection) == 0 { try? Self.run("ROLLBACK", database) }
            for item in batch { item.fail(SQLiteFailure.unavailable) }
            return
        }
        for (item, outcome) in zip(batch, outcomes) {
            switch outcome {
            case .success(let wake): wake()
            case .failure(let error): item.fail(SQLiteFailure.refusal(error))
            }
        }
        if batch.contains(where: { $0.lane == .rest }) { Self.giveBackPages(database) }
    }

    /// Pages given back to the file system at a time, a few milliseconds of work.
    private static let pagesGivenBack = 1000

    /// After a deletion of many rows the file shrinks by and by. That it does not is no fault of anybody who waits.
    private static func giveBackPages(_ database: Database) {
        let connection = SQLiteConnection(database)
        guard let free = try? connection.int("PRAGMA freelist_count", []), free > pagesGivenBack else { return }
        _ = try? connection.execute("PRAGMA incremental_vacuum(\(pagesGivenBack))", [])
    }

    /// Runs one item; its failure undoes only itself.
    /// - Throws: when the database itself is in trouble, which ends the whole batch.
    private func run(_ item: WriteItem, _ database: Database) throws -> Result<@Sendable () -> Void, any Error> {
        try Self.run("SAVEPOINT item", database)
        do {
            let wake = try item.run(SQLiteConnection(database))
            try Self.run("RELEASE item", database)
            return .success(wake)
        } catch {
            let failure = error as? SQLiteFailure ?? (error as? DatabaseError).map(SQLiteFailure.init)
            if let failure, failure.concernsDatabase { throw failure }
            try Self.run("ROLLBACK TO item", database)
            try Self.run("RELEASE item", database)
            return .failure(error)
        }
    }

    private static func run(_ sql: String, _ database: Database) throws {
        _ = try SQLiteConnection(database).execute(sql, [])
    }
}
