internal import GRDB
internal import GRDBSQLite
internal import Synchronization

/// When the write-ahead log is moved into the database, in pages of 4 KiB.
package struct CheckpointLimits: Sendable {
    /// Between two checkpoints.
    package var pagesBetween: Int32 = 4000
    /// 1 MiB. With more to move than this, an idle writer does not wait for the restart.
    package var pagesMovedAtRestMax: Int32 = 256
    /// 64 MiB. A longer file is truncated when the writer is idle.
    package var pagesKeptMax: Int32 = 16_384
    /// 256 MiB. Above this the log is restarted even if writers must wait.
    package var pagesMax: Int32 = 65_536
    /// How long such a restart waits for readers. Readers that begin meanwhile do not need the log.
    package var readersMillisecondsMax: Int32 = 50

    package init() {}
}

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
    private struct State {
        var pages: Int32 = 0
        var pagesAtLast: Int32 = 0
        /// The length of the file, which restarting the log does not shorten.
        var pagesHighest: Int32 = 0
        /// From this length on the log is restarted even if the writer must wait.
        var pagesAtRestart: Int32
        var isRunning = false

        /// What to do now; nil if nothing is due.
        mutating func begin(writerRests: Bool, _ limits: CheckpointLimits) -> Action? {
            let left = pages - pagesAtLast
            let isLong = pages >= limits.pagesBetween || pagesHighest > limits.pagesKeptMax
            let action: Action? =
                if isRunning {
                    nil
                } else if pages > pagesAtRestart && !writerRests {
                    // First: a writer that is always busy has always written enough to move.
                    .force
                } else if left >= limits.pagesBetween || writerRests && isLong && left > limits.pagesMovedAtRestMax {
                    .move
                } else if writerRests && pagesHighest > limits.pagesKeptMax {
                    .truncate
                } else if writerRests && isLong {
                    .restart
                } else {
                    nil
                }
            isRunning = isRunning || action != nil
            return action
        }
    }

    private let connection: DatabaseQueue
    private let limits: CheckpointLimits
    private let state: Mutex<State>

    init(path: String, limits: CheckpointLimits) throws {
        self.limits = limits
        state = Mutex(State(pagesAtRestart: limits.pagesMax))
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

    private enum Action { case move, restart, force, truncate }

    /// Called by the writer between two commits. A busy writer is delayed only when the log has reached its limit. When
    /// the writer is idle, pages are moved concurrently and then the log is restarted.
    /// - Parameter look: makes the writer call this again; called once pages have been moved.
    func checkpointIfDue(writerRests: Bool, thenLook look: @escaping @Sendable () -> Void) {
        switch state.withLock({ $0.begin(writerRests: writerRests, limits) }) {
        case .move?:
            connection.asyncWriteWithoutTransaction { [self] in
                move($0)
                look()
            }
        case .restart?: restart(.restart)
        case .force?: restart(.restart, waits: true)
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
    private func restart(_ mode: Database.CheckpointMode, waits: Bool = false) {
        let wait = waits ? limits.readersMillisecondsMax : 0
        let isDone = connection.writeWithoutTransaction { database in
            sqlite3_busy_timeout(database.sqliteConnection, wait)
            return (try? database.checkpoint(mode)) != nil
        }
        state.withLock { state in
            state.isRunning = false
            // What readers blocked is retried when the writer is idle next, or has written as much again.
            state.pagesAtRestart =
                isDone ? limits.pagesMax : max(state.pages, limits.pagesMax) + limits.pagesBetween
            guard isDone else { return }
            (state.pages, state.pagesAtLast) = (0, 0)
            if mode == .truncate { state.pagesHighest = 0 }
        }
    }

    func close() throws { try connection.close() }
}
