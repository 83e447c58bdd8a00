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
        }
    }

    /// Called between two commits. A writer that rests lets the log be cut, one that goes on is not held up.
    func checkpointIfDue(writerRests: Bool) {
        let mode = state.withLock { state -> Database.CheckpointMode? in
            guard !state.isRunning, state.pages - state.pagesAtLast >= Self.pagesBetween else { return nil }
            state.isRunning = true
            return writerRests || state.pages > Self.pagesMax ? .truncate : .passive
        }
        if let mode { start(mode) }
    }

    private func start(_ mode: Database.CheckpointMode) {
        connection.asyncWriteWithoutTransaction { [self] database in
            let isDone = (try? database.checkpoint(mode)) != nil
            state.withLock { state in
                state.isRunning = false
                state.pagesAtLast = state.pages
                if isDone, mode == .truncate { (state.pages, state.pagesAtLast) = (0, 0) }
            }
        }
    }

    func close() throws { try connection.close() }
}
