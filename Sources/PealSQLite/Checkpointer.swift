internal import GRDB
internal import GRDBSQLite
internal import Synchronization

/// Moves pages from the write-ahead log into the database, on a connection of its own, so that no commit waits for it.
final class Checkpointer: Sendable {
    /// Pages of 4 KiB between two checkpoints.
    private static let pagesBetween: Int32 = 4000
    /// 256 MiB. Above this the log is truncated even if writers must wait.
    private static let pagesMax: Int32 = 65_536

    private struct State {
        var pages: Int32 = 0
        var pagesAtLast: Int32 = 0
        /// The length of the file, which restarting the log does not shorten.
        var pagesHighest: Int32 = 0
        var isRunning = false
    }

    private let connection: DatabaseQueue
    private let state = Mutex(State())

    init(path: String) throws {
        var configuration = Configuration()
        // It does not wait for readers: pages that a reader still needs are moved next time.
        configuration.busyMode = .immediateError
        configuration.label = "peal.checkpointer"
        connection = try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Observes the log's length after each of `database`'s commits.
    func watch(_ database: Database) {
        sqlite3_wal_hook(
            database.sqliteConnection,
            { context, _, _, pages in
                guard let context else { return SQLITE_OK }
                Unmanaged<Checkpointer>.fromOpaque(context).takeUnretainedValue().committed(pages)
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    private func committed(_ pages: Int32) {
        state.withLock { state in
            // A log that is shorter than before was restarted.
            if pages < state.pagesAtLast { state.pagesAtLast = 0 }
            state.pages = pages
            state.pagesHighest = max(state.pagesHighest, pages)
        }
    }

    /// Called by the writer between two commits. An idle writer lets the file be truncated; a busy one is not delayed
    /// until the log reaches its limit. Then it waits here, because a truncation needs a gap between commits: right
    /// after a checkpoint, when few pages are left to move.
    func checkpointIfDue(writerRests: Bool) {
        let (isFull, isDue) = state.withLock { state in
            let isLong = state.pages - state.pagesAtLast >= Self.pagesBetween
            let isFull = state.pages > Self.pagesMax && !isLong
            let isDue =
                !state.isRunning && (isLong || isFull || writerRests && state.pagesHighest >= Self.pagesBetween)
            if isDue { state.isRunning = true }
            return (isFull, isDue)
        }
        guard isDue else { return }
        if isFull {
            connection.writeWithoutTransaction { checkpoint(.truncate, $0) }
        } else {
            connection.asyncWriteWithoutTransaction { [self] in checkpoint(writerRests ? .truncate : .passive, $0) }
        }
    }

    /// Empties the log into the database and truncates it, because the disk is full. Called by the writer outside a
    /// transaction.
    func makeRoom() { connection.writeWithoutTransaction { checkpoint(.truncate, $0) } }

    private func checkpoint(_ mode: Database.CheckpointMode, _ database: Database) {
        let pagesBefore = state.withLock(\.pages)
        // A truncation makes writers wait while it moves pages, so almost all are moved before it.
        if mode == .truncate { _ = try? database.checkpoint(.passive) }
        let isDone = (try? database.checkpoint(mode)) != nil
        state.withLock { state in
            state.isRunning = false
            // A truncation that was blocked is retried when the writer is idle next.
            switch (mode, isDone) {
            case (.truncate, true): (state.pages, state.pagesAtLast, state.pagesHighest) = (0, 0, 0)
            default: state.pagesAtLast = min(pagesBefore, state.pages)
            }
        }
    }

    func close() throws { try connection.close() }
}
