package import PealCore

/// A database that runs the store's one text of SQL.
package protocol SQLEngine: Sendable {
    /// How this engine spells what data definitions cannot say alike.
    var dialect: SQLDialect { get }

    /// Runs `body` on one consistent state. It is not ended by the calling task's cancellation.
    func read<R: Sendable>(_ body: @escaping @Sendable (any SQLConnection) throws -> R) async throws -> R

    /// Runs `body` in a transaction that is durable when the call returns; whatever it throws undoes all of it. Writes
    /// share commits, go in order of lane, and are not ended by the calling task's cancellation.
    /// - Throws: what `body` throws; `rate_limited` when too many writes wait; `unavailable` when the database failed.
    func write<R: Sendable>(
        _ lane: WriteLane, _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws -> R

    /// Finishes what waits and lets go of the database. No call may follow.
    func close() throws
}
