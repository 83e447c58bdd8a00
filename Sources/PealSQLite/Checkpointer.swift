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

/// Decides when to checkpoint: receives the log's length after each commit and what became of earlier checkpoints.
package struct CheckpointPlan: Sendable {
    /// What to do between two commits: move pages concurrently; restart the log; restart it even if readers must be
    /// awaited; restart and truncate it.
    package enum Action: Sendable { case move, restart, force, truncate }

    private let limits: CheckpointLimits
    private var pages: Int32 = 0
    private var pagesAtLast: Int32 = 0
    /// The length of the file, which restarting the log does not shorten.
    private var pagesHighest: Int32 = 0
    /// From this length on the log is restarted even if the writer must wait.
    private var pagesAtRestart: Int32
    private var isRunning = false

    package init(_ limits: CheckpointLimits) {
        self.limits = limits
        pagesAtRestart = limits.pagesMax
    }

    /// The log has `pages` after a commit.
    package mutating func committed(_ pages: Int32) {
        // A log that is shorter than before was restarted.
        if pages < pagesAtLast { pagesAtLast = 0 }
        self.pages = pages
        pagesHighest = max(pagesHighest, pages)
    }

    /// What to do now; nil if nothing is due, or as long as an earlier action has not ended.
    package mutating func begin(writerRests: Bool) -> Action? {
        let left = pages - pagesAtLast
        let isLong = pages >= limits.pagesBetween || pagesHighest > limits.pagesKeptMax
        let action: Action? =
            if isRunning {
                nil
            } else if pages > pagesAtRestart && !writerRests {
                // First: a writer that never rests has always written enough to move.
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
        isRunning = action != nil || isRunning
        return action
    }

    /// Pages were moved; the log had `pages` then, or nil if moving failed. Pages that a reader still needs are moved
    /// next time.
    package mutating func moved(_ pages: Int32?) {
        isRunning = false
        pagesAtLast = pages ?? self.pages
    }

    /// The log was restarted, or readers prevented it. That is retried when the writer is idle next, or has written
    /// `pagesBetween` more.
    package mutating func restarted(isDone: Bool, isTruncated: Bool) {
        isRunning = false
        pagesAtRestart = isDone ? limits.pagesMax : max(pages, limits.pagesMax) + limits.pagesBetween
        guard isDone else { return }
        (pages, pagesAtLast) = (0, 0)
        if isTruncated { pagesHighest = 0 }
    }
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
    private let connection: DatabaseQueue
    private let limits: CheckpointLimits
    private let plan: Mutex<CheckpointPlan>

    init(path: String, limits: CheckpointLimits) throws {
        self.limits = limits
        plan = Mutex(CheckpointPlan(limits))
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
                Unmanaged<Checkpointer>.fromOpaque(context).takeUnretainedValue().plan.withLock { $0.committed(pages) }
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Called by the writer between two commits. A busy writer is delayed only when the log has reached its limit. When
    /// the writer is idle, pages are moved concurrently and then the log is restarted.
    /// - Parameter look: makes the writer call this again; called once pages have been moved.
    func checkpointIfDue(writerRests: Bool, thenLook look: @escaping @Sendable () -> Void) {
        switch plan.withLock({ $0.begin(writerRests: writerRests) }) {
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

    /// Empties the log into the database and truncates it, because the disk is full or the log's file is no longer at
    /// its path. Called by the writer outside a transaction.
    func emptyLog() { restart(.truncate) }

    private func move(_ database: Database) {
        let moved = try? database.checkpoint(.passive)
        plan.withLock { $0.moved(moved.map { Int32($0.walFrameCount) }) }
    }

    /// Called on the writer's thread: no commit can restart the log meanwhile.
    private func restart(_ mode: Database.CheckpointMode, waits: Bool = false) {
        let wait = waits ? limits.readersMillisecondsMax : 0
        let isDone = connection.writeWithoutTransaction { database in
            sqlite3_busy_timeout(database.sqliteConnection, wait)
            return (try? database.checkpoint(mode)) != nil
        }
        plan.withLock { $0.restarted(isDone: isDone, isTruncated: mode == .truncate) }
    }

    func close() throws { try connection.close() }
}
