internal import GRDB
internal import GRDBSQLite
internal import Synchronization

/// Moves pages from the write-ahead log into the database, on a connection of its own, so that no commit waits for it.
final class Checkpointer: Sendable {
    /// Pages of 4 KiB between two checkpoints.
    private static let pagesBetween: Int32 = 4000
    /// 256 MiB: from here on the log is cut even if writers must wait for it.
    private static let pagesMax: Int32 = 65_536

    private struct State {
        var pages: Int32 = 0
        var pagesAtLast: Int32 = 0
        /// The file's length: a log that is begun anew does not shorten it.
        var pagesHighest: Int32 = 0
        var isRunning = false
    }

    private let connection: DatabaseQueue
    private let state = Mutex(State())

    init(path: String) throws {
        var configuration = Configuration()
        // It waits for nobody: what a reader keeps from being moved is moved the next time.
        configuration.busyMode = .immediateError
        configuration.label = "peal.checkpointer"
        connection = try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Has `database` tell the log's length after each of its commits.
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
            // A log that is shorter than before was begun anew.
            if pages < state.pagesAtLast { state.pagesAtLast = 0 }
            state.pages = pages
            state.pagesHighest = max(state.pagesHighest, pages)
        }
    }

    /// Called by the writer between two commits. A writer that rests lets the file be cut, one that goes on is not held
    /// up before the log has reached its limit: then it waits here, because in a running stream of commits nobody else
    /// finds the gap to cut it.
    func checkpointIfDue(writerRests: Bool) {
        let (isFull, isDue) = state.withLock { state in
            let isLong = state.pages - state.pagesAtLast >= Self.pagesBetween
            let isDue = !state.isRunning && (isLong || writerRests && state.pagesHighest >= Self.pagesBetween)
            if isDue { state.isRunning = true }
            return (state.pages > Self.pagesMax, isDue)
        }
        guard isDue else { return }
        if isFull {
            connection.writeWithoutTransaction { checkpoint(.truncate, $0) }
        } else {
            connection.asyncWriteWithoutTransaction { [self] in checkpoint(writerRests ? .truncate : .passive, $0) }
        }
    }

    private func checkpoint(_ mode: Database.CheckpointMode, _ database: Database) {
        let isDone = (try? database.checkpoint(mode)) != nil
        state.withLock { state in
            state.isRunning = false
            // A cut that somebody was in the way of is tried again at the next rest.
            switch (mode, isDone) {
            case (.truncate, true): (state.pages, state.pagesAtLast, state.pagesHighest) = (0, 0, 0)
            default: state.pagesAtLast = state.pages
            }
        }
    }

    func close() throws { try connection.close() }
}
