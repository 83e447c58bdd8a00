internal import DequeModule
internal import GRDB
internal import GRDBSQLite
internal import PealCore
internal import PealStore
internal import Synchronization

/// The only writer: runs all waiting writes in one transaction, makes them durable with one fsync, and wakes the
/// callers. The next batch collects while a commit is being written to disk. It works on the connection's own thread,
/// so that cancelling a task cannot undo a write.
final class Writer: Sendable {
    private let pool: DatabasePool
    private let queue = WriteQueue()
    private let checkpointer: Checkpointer
    private let file: OpenFile
    private let report: @Sendable (String) -> Void
    /// Used only on the pool's queue for writes.
    nonisolated(unsafe) private var connection: SQLiteConnection?
    /// Whether a write of the last batch failed. Used only on the pool's queue for writes.
    nonisolated(unsafe) private var expectsFailures = false
    /// Whether the database did not accept the last transaction. Used only on the pool's queue for writes.
    nonisolated(unsafe) private var isRefused = false

    /// - Parameter report: receives a line when the database no longer accepts writes, and when it does again.
    init(
        pool: DatabasePool, checkpointer: Checkpointer, file: OpenFile, report: @escaping @Sendable (String) -> Void
    ) {
        self.pool = pool
        self.checkpointer = checkpointer
        self.file = file
        self.report = report
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
    func close() {
        queue.close()
        pool.writeWithoutTransaction { [self] _ in
            connection?.finish()
            connection = nil
        }
    }

    private func drain(_ database: Database) {
        while true {
            let batch = queue.takeBatch()
            // A drain that was requested before the store closed may run afterwards, when the checkpointer's connection
            // is closed too.
            if database.sqliteConnection == nil {
                guard !batch.isEmpty else { return }
                batch.forEach { $0.fail(SQLiteFailure.unavailable) }
                continue
            }
            checkpointer.checkpointIfDue(writerRests: batch.isEmpty) { [self] in
                pool.asyncWriteWithoutTransaction { self.drain($0) }
            }
            guard !batch.isEmpty else { return }
            commit(batch, database)
        }
    }

    private func commit(_ batch: [WriteItem], _ database: Database) {
        let connection = connection ?? SQLiteConnection(database, CommitWork())
        self.connection = connection
        commit(batch, connection)
        if batch.contains(where: { $0.lane == .rest }) { Self.giveBackPages(connection) }
    }

    private func commit(_ batch: [WriteItem], _ connection: SQLiteConnection) {
        do {
            finish(batch, try outcomes(of: batch, connection))
        } catch {
            handle(error, of: batch, connection)
        }
    }

    /// Nothing of the batch is in the database, whichever write failed.
    private func handle(_ error: any Error, of batch: [WriteItem], _ connection: SQLiteConnection) {
        let failure = SQLiteFailure.of(error)
        if failure?.isFull == true {
            checkpointer.emptyLog()
            if let outcomes = try? outcomes(of: batch, connection) { return finish(batch, outcomes) }
        }
        // What was acknowledged before must survive a crash.
        if failure?.isMoved == true, file.isUnmoved { checkpointer.emptyLog() }
        // Only writes that need the damaged page fail, so each is tried alone.
        if failure?.isDamage == true, batch.count > 1 {
            for item in batch { commit([item], connection) }
            return
        }
        if let failure, !failure.isDamage { note(failure) }
        for item in batch { item.fail(failure.map(SQLiteFailure.refusal) ?? SQLiteFailure.unavailable) }
    }

    /// Reports once why the database accepts no writes. Requests get only a refusal, and the log must have the reason.
    private func note(_ failure: SQLiteFailure) {
        guard !isRefused else { return }
        isRefused = true
        report("the database does not accept writes: \(failure)")
    }

    /// Reports that the database accepts writes again. A batch whose items all failed proves nothing.
    private func note(_ outcomes: [Outcome?]) {
        guard isRefused, outcomes.contains(where: { (try? $0?.get()) != nil }) else { return }
        isRefused = false
        report("the database accepts writes again")
    }

    private typealias Outcome = Result<@Sendable () -> Void, any Error>

    /// Runs the writes of a batch for which the transaction has room. All others wait for the whole transaction, so
    /// once it has changed many rows, it takes only one more from each lane of large writes.
    /// - Returns: an outcome for each write; nil for one that must wait for the next transaction.
    private func runs(
        _ batch: [WriteItem], _ connection: SQLiteConnection, _ run: (WriteItem) throws -> Outcome
    ) throws -> [Outcome?] {
        let before = connection.changeCount
        var lastLane: WriteLane?
        return try batch.map { item in
            let isFull = connection.changeCount &- before > Limits.writerChangesPerCommitMax
            if isFull, item.lane == lastLane, [.batch, .rest].contains(item.lane) { return nil }
            lastLane = item.lane
            return try run(item)
        }
    }

    /// Runs a batch as one transaction and makes it durable. Writes rarely fail, and savepoints are expensive, so a
    /// batch first runs without them; if a write fails, the batch starts again, with a savepoint for each write.
    /// - Throws: when the database itself failed; then nothing was written.
    private func outcomes(of batch: [WriteItem], _ connection: SQLiteConnection) throws -> [Outcome?] {
        if !expectsFailures || batch.count == 1 {
            do {
                return try transaction(connection) {
                    try runs(batch, connection) { .success(try $0.run(connection)) }
                }
            } catch {
                if let failure = SQLiteFailure.of(error), failure.concernsDatabase { throw failure }
                if batch.count == 1 { return [.failure(error)] }
            }
        }
        let outcomes = try transaction(connection) { try runs(batch, connection) { try run($0, connection) } }
        expectsFailures = outcomes.contains { if case .failure = $0 { true } else { false } }
        return outcomes
    }

    private func transaction(
        _ connection: SQLiteConnection, _ body: () throws -> [Outcome?]
    ) throws -> [Outcome?] {
        do {
            try connection.execute("BEGIN IMMEDIATE", [])
            let outcomes = try body()
            try connection.commitWork?.run()
            guard file.isUnmoved else { throw SQLiteFailure.moved }
            guard file.hasLog else { throw SQLiteFailure.logMoved }
            try connection.execute("COMMIT", [])
            return outcomes
        } catch {
            connection.commitWork?.discard()
            if connection.isInTransaction { _ = try? connection.execute("ROLLBACK", []) }
            throw error
        }
    }

    private func finish(_ batch: [WriteItem], _ outcomes: [Outcome?]) {
        note(outcomes)
        queue.putBack(zip(batch, outcomes).filter { $0.1 == nil }.map(\.0))
        for (item, outcome) in zip(batch, outcomes) {
            switch outcome {
            case .success(let wake): wake()
            case .failure(let error): item.fail(SQLiteFailure.refusal(error))
            case nil: break
            }
        }
    }

    /// Pages returned to the file system at a time, a few milliseconds of work.
    private static let pagesGivenBack = 500

    /// After many rows were deleted, shrinks the file step by step. A failure here must not fail the writes that wait.
    private static func giveBackPages(_ connection: SQLiteConnection) {
        guard let free = try? connection.value("PRAGMA freelist_count", Int.self), free > pagesGivenBack else { return }
        _ = try? connection.execute("PRAGMA incremental_vacuum(\(pagesGivenBack))", [])
    }

    /// Runs one item. If it fails, only its own changes are undone.
    /// - Throws: when the database itself failed, which ends the whole batch.
    private func run(_ item: WriteItem, _ connection: SQLiteConnection) throws -> Outcome {
        try connection.execute("SAVEPOINT item", [])
        do {
            let wake = try item.run(connection)
            try connection.commitWork?.run()
            try connection.execute("RELEASE item", [])
            return .success(wake)
        } catch {
            connection.commitWork?.discard()
            if let failure = SQLiteFailure.of(error), failure.concernsDatabase { throw failure }
            try connection.execute("ROLLBACK TO item", [])
            try connection.execute("RELEASE item", [])
            return .failure(error)
        }
    }
}

/// The writes that wait, by lane. Each lane has its own limit, so that none can fill the queue for another.
final class WriteQueue: Sendable {
    private struct State {
        var lanes: [Deque<WriteItem>] = WriteLane.allCases.map { _ in [] }
        var isDraining = false
        var isClosed = false
    }

    private let state = Mutex(State())

    /// Adds a write. Returns whether the caller must start the drain.
    /// - Throws: `rate_limited` when too many of the lane wait; `unavailable` when the store is closed.
    func put(_ item: WriteItem) throws(PealError) -> Bool {
        let result = state.withLock { state -> Result<Bool, PealError> in
            if state.isClosed { return .failure(SQLiteFailure.unavailable) }
            if let most = Self.waitingMax(item.lane), state.lanes[item.lane.rawValue].count >= most {
                return .failure(PealError(.rateLimited, "too many writes are waiting", retryAfterSeconds: 1))
            }
            state.lanes[item.lane.rawValue].append(item)
            defer { state.isDraining = true }
            return .success(!state.isDraining)
        }
        return try result.get()
    }

    /// The writes of the next commit; empty ends the drain.
    func takeBatch() -> [WriteItem] {
        state.withLock { state in
            var batch: [WriteItem] = []
            for lane in WriteLane.allCases {
                let room = min(Self.countMax(lane), Limits.writerItemsPerCommitMax - batch.count)
                let taken = state.lanes[lane.rawValue].prefix(room)
                batch += taken
                state.lanes[lane.rawValue].removeFirst(taken.count)
            }
            if batch.isEmpty { state.isDraining = false }
            return batch
        }
    }

    /// Returns writes of the last batch, which precede all that have been added since.
    func putBack(_ items: [WriteItem]) {
        state.withLock { state in
            for item in items.reversed() { state.lanes[item.lane.rawValue].prepend(item) }
        }
    }

    /// Refuses every later write.
    func close() { state.withLock { $0.isClosed = true } }

    /// The most items of a lane that may wait; nil for no limit, because what was sent must be settled.
    private static func waitingMax(_ lane: WriteLane) -> Int? {
        switch lane {
        case .intake, .batch, .rest: Limits.writerItemsWaitingMax
        case .control, .settle: nil
        }
    }

    /// The most items of a lane in one commit. A settlement or a batch contains up to a thousand devices and background
    /// work may read a lot, so a commit takes only a few of them; but it always leaves room for them, however busy the
    /// intake is.
    private static func countMax(_ lane: WriteLane) -> Int {
        switch lane {
        case .intake: Limits.writerItemsPerCommitMax - 64 - 32 - 4 - 4
        case .control: 64
        case .settle: 32
        case .batch, .rest: 4
        }
    }
}

/// A waiting write.
struct WriteItem: Sendable {
    let lane: WriteLane
    /// Runs inside the transaction and returns a closure that wakes the caller once the transaction is durable.
    let run: @Sendable (any SQLConnection) throws -> @Sendable () -> Void
    /// Reports the failure to the caller.
    let fail: @Sendable (any Error) -> Void
}

extension WriteItem {
    init<R: Sendable>(
        _ lane: WriteLane, _ body: @escaping @Sendable (any SQLConnection) throws -> R,
        _ continuation: CheckedContinuation<R, any Error>
    ) {
        self.lane = lane
        run = { connection in
            let result = try body(connection)
            return { continuation.resume(returning: result) }
        }
        fail = { continuation.resume(throwing: $0) }
    }
}
