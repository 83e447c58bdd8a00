internal import GRDB
package import PealCore
package import PealStore

/// The embedded database: a pool of GRDB's connections on one file, one writer that groups commits, and a checkpointer.
/// One process only: a second one on the same file is refused.
package final class SQLiteEngine: SQLEngine {
    private let pool: DatabasePool
    private let writer: Writer
    private let checkpointer: Checkpointer
    private let lock: FileLock

    package let dialect = SQLDialect.sqlite

    /// Opens the database at `path` and makes it when there is none.
    /// - Throws: `StoreStartFailure` when another process has it or it cannot be opened.
    package init(path: String) throws {
        lock = try FileLock(besideDatabase: path)
        do {
            let pool = try SQLiteFile.open(path)
            let checkpointer = try Checkpointer(path: path)
            pool.writeWithoutTransaction { checkpointer.watch($0) }
            self.pool = pool
            self.checkpointer = checkpointer
            writer = Writer(pool: pool, checkpointer: checkpointer)
        } catch let error as DatabaseError {
            throw StoreStartFailure("the database \(path) cannot be opened: \(error.message ?? "\(error.resultCode)")")
        }
    }

    package func read<R: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            pool.asyncRead { access in
                do {
                    let result = try body(SQLiteConnection(try access.get()))
                    continuation.resume(returning: result)
                } catch {
                    continuation.resume(throwing: SQLiteFailure.refusal(error))
                }
            }
        }
    }

    package func write<R: Sendable>(
        _ lane: WriteLane, _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws -> R {
        try await writer.write(lane, body)
    }

    package func close() throws {
        writer.close()
        try pool.close()
        try checkpointer.close()
        lock.release()
    }
}
