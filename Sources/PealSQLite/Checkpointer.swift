internal import GRDB
internal import GRDBSQLite
internal import Synchronization

/// Moves pages from the write-ahead log into the database, on its own connection, so that no commit waits for it.
///
/// SQLite before 3.51.3 can lose committed pages when a commit restarts the log while a checkpoint that has nothing to
/// move is running (https://sqlite.org/wal.html, "The WAL-Reset Bug"). So a checkpoint that runs concurrently with the
/// writer starts only when there are pages to move, which keeps the log from restarting until the checkpoint ends, and
/// the log is restarted between two commits on the writer's thread.
///
/// A restarted log is overwritten in place. Truncating it instead would delay the writer by 20 to 50 ms each time
/// (measured on ext4), and each commit that makes the file longer again by the file system's journal.
final class Checkpointer: Sendable {
    /// Pages of 4 KiB between two checkpoints.
    private static let pagesBetween: Int32 = 4000
    /// 1 MiB. With more to move than this, an idle writer does not wait for the restart.
    private static let pagesAtRestartMax: Int32 = 256
    /// 64 MiB. A longer file is truncated when the writer is idle.
    private static let pagesKeptMax: Int32 = 16_384
    /// 256 MiB. Above this the log is restarted even if writers must wait.
    private static let pagesMax: Int32 = 65_536

    private struct State {
        var pages: Int32 = 0
        var pagesAtLast: Int32 = 0
        /// The length of the file, which restarting the log does not shorten.
        var pagesHighest: Int32 = 0
        var isRunning = false

        /// What to do now; nil if nothing is due.
        mutating func begin(writerRests: Bool) -> Action? {
            let left = pages - pagesAtLast
            let isLong = pages >= Checkpointer.pagesBetween || pagesHighest > Checkpointer.pagesKeptMax
            let action: Action? =
                if isRunning {
                    nil
                } else if left >= Checkpointer.pagesBetween
                    || writerRests && isLong && left > Checkpointer.pagesAtRestartMax
                {
                    .move
                } else if writerRests && pagesHighest > Checkpointer.pagesKeptMax {
                    .truncate
                } else if pages > Checkpointer.pagesMax || writerRests && isLong {
                    .restart
                } else {
                    nil
                }
            isRunning = isRunning || action != nil
            return action
        }
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

    private enum Action { case move, restart, truncate }

    /// Called by the writer between two commits. A busy writer is delayed only when the log has reached its limit. When
    /// the writer is idle, pages are moved concurrently and then the log is restarted.
    /// - Parameter look: makes the writer call this again; called once pages have been moved.
    func checkpointIfDue(writerRests: Bool, thenLook look: @escaping @Sendable () -> Void) {
        switch state.withLock({ $0.begin(writerRests: writerRests) }) {
        case .move?:
            connection.asyncWriteWithoutTransaction { [self] in
                move($0)
                look()
            }
        case .restart?: restart(.restart)
        case .truncate?: restart(.truncate)
        case nil: break
        }
    }

    /// Empties the log into the database and truncates it, because the disk is full. Called by the writer outside a
    /// transaction.
    func makeRoom() { restart(.truncate) }

    private func move(_ database: Database) {
        let moved = try? database.checkpoint(.passive)
        state.withLock { state in
            state.isRunning = false
            // Pages that a reader still needs are moved next time.
            state.pagesAtLast = moved.map { Int32($0.walFrameCount) } ?? state.pages
        }
    }

    /// Called on the writer's thread: no commit can restart the log meanwhile.
    private func restart(_ mode: Database.CheckpointMode) {
        let isDone = connection.writeWithoutTransaction { (try? $0.checkpoint(mode)) != nil }
        state.withLock { state in
            state.isRunning = false
            // What readers blocked is retried when the writer is idle next.
            guard isDone else { return }
            (state.pages, state.pagesAtLast) = (0, 0)
            if mode == .truncate { state.pagesHighest = 0 }
        }
    }

    func close() throws { try connection.close() }
}
