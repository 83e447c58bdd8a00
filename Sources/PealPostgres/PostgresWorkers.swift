internal import Dispatch
internal import Foundation
internal import PealCore
internal import PealStore
internal import Synchronization

/// Threads that share a work queue, each with its own connection. libpq blocks, so none of its calls runs on Swift's
/// thread pool. A thread starts when work waits and no other one is idle.
final class PostgresWorkers: Sendable {
    /// Work for a thread's connection. It fails by itself when the database is not available.
    typealias Job = @Sendable (PostgresSession) -> Void

    private struct State {
        /// By kind.
        var queues: [[Job]]
        var waiting = 0
        var takenCount = 0
        var idle = 0
        var threads = 0
        var isClosed = false

        /// The next job: of the first kind that has one, except that every fourth is of the last one that has, so that
        /// a steady flow of one kind does not starve another.
        mutating func take() -> Job? {
            takenCount &+= 1
            let index =
                takenCount.isMultiple(of: PostgresWorkers.turns)
                ? queues.lastIndex { !$0.isEmpty } : queues.firstIndex { !$0.isEmpty }
            guard let index else { return nil }
            waiting -= 1
            return queues[index].removeFirst()
        }
    }

    /// Of this many jobs, one is of the last kind that has any.
    private static let turns = 4

    private let name: String
    private let threadsMax: Int
    private let waitingMax: Int
    private let makeSession: @Sendable () -> PostgresSession
    private let state: Mutex<State>
    private let signal = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - kinds: how many kinds of work there are. The first has the largest share of the threads.
    ///   - waitingMax: more waiting work of the first kind is refused.
    init(
        _ name: String, threads: Int, kinds: Int = 1, waitingMax: Int,
        _ makeSession: @escaping @Sendable () -> PostgresSession
    ) {
        self.name = name
        threadsMax = threads
        self.waitingMax = waitingMax
        self.makeSession = makeSession
        state = Mutex(State(queues: Array(repeating: [], count: kinds)))
    }

    /// - Throws: `rate_limited` when too much work of the first kind waits; `unavailable` when the store is closed.
    func put(_ job: @escaping Job, kind: Int = 0) throws {
        let starts = try state.withLock { state in
            guard !state.isClosed else { throw PostgresFailure.unavailable }
            guard kind > 0 || state.queues[0].count < waitingMax else {
                throw PealError(.rateLimited, "too many writes are waiting", retryAfterSeconds: 1)
            }
            state.queues[kind].append(job)
            state.waiting += 1
            let starts = state.waiting > state.idle && state.threads < threadsMax
            if starts { state.threads += 1 }
            return starts
        }
        if starts { startThread() }
        signal.signal()
    }

    private func startThread() {
        let thread = Thread { [self] in
            let session = makeSession()
            while let job = next() { job(session) }
            ended.signal()
        }
        thread.name = name
        thread.stackSize = 1 << 20
        thread.start()
    }

    /// Waits for work; nil when closed.
    private func next() -> Job? {
        state.withLock { $0.idle += 1 }
        signal.wait()
        return state.withLock { state in
            state.idle -= 1
            return state.take()
        }
    }

    /// Finishes waiting work, refuses later work and ends the threads.
    func close() {
        let threads = state.withLock { state in
            state.isClosed = true
            defer { state.threads = 0 }
            return state.threads
        }
        for _ in 0..<threads { signal.signal() }
        for _ in 0..<threads { ended.wait() }
    }
}

/// Lets the transactions of a process run concurrently, except one that has conflicted too often: it runs alone, so
/// that only other processes can make it fail. New transactions wait until it ends.
final class PostgresTurns: Sendable {
    private struct State {
        var beside = 0
        var isAlone = false
        var waitingAlone = 0
    }

    private let condition = NSCondition()
    /// Used only while `condition` is locked.
    nonisolated(unsafe) private var state = State()

    func enter(alone: Bool) {
        condition.lock()
        defer { condition.unlock() }
        if alone {
            state.waitingAlone += 1
            while state.isAlone || state.beside > 0 { condition.wait() }
            state.waitingAlone -= 1
            state.isAlone = true
        } else {
            while state.isAlone || state.waitingAlone > 0 { condition.wait() }
            state.beside += 1
        }
    }

    func leave(alone: Bool) {
        condition.lock()
        defer { condition.unlock() }
        if alone { state.isAlone = false } else { state.beside -= 1 }
        condition.broadcast()
    }
}

/// Logs for all threads of the process that the database fails, and why: when it begins, once a minute while it lasts,
/// and when it ends.
final class PostgresOutages: Sendable {
    private struct State {
        var isLost = false
        var reportedAt: [String: ContinuousClock.Instant] = [:]

        mutating func isDue(_ reason: String, after interval: Duration) -> Bool {
            let now = ContinuousClock.now
            if let last = reportedAt[reason], now - last < interval { return false }
            if reportedAt.count >= PostgresOutages.reasonsMax { reportedAt.removeAll() }
            reportedAt[reason] = now
            return true
        }
    }

    /// Between two lines for the same reason: every thread and every caller may meet it at once.
    private static let interval: Duration = .seconds(60)
    /// The same after the connection was restored. A server that ends each connection is not reported each time.
    private static let intervalAfterOutage: Duration = .seconds(10)
    private static let reasonsMax = 64

    private let report: @Sendable (String) -> Void
    private let state = Mutex(State())

    init(_ report: @escaping @Sendable (String) -> Void) { self.report = report }

    /// Records why a transaction fails whose caller learns only that the database is not available. Errors without a
    /// state are those of the connection.
    func refused(_ failure: PostgresFailure) {
        guard let state = failure.state, ![.none, .retryAfterDuplicate].contains(failure.remedy) else { return }
        let isDue = self.state.withLock { $0.isDue(state, after: Self.interval) }
        if isDue { report("the database refused a transaction: \(failure)") }
    }

    /// Records that a connection was lost or cannot be opened.
    func lost(_ line: String) {
        let isDue = state.withLock { state in
            guard state.isDue(line, after: state.isLost ? Self.interval : Self.intervalAfterOutage) else {
                return false
            }
            state.isLost = true
            return true
        }
        if isDue { report(line) }
    }

    /// Records that a connection was opened.
    func connected() {
        let wasLost = state.withLock { state in
            defer { state.isLost = false }
            return state.isLost
        }
        if wasLost { report("the connection to the database is restored") }
    }
}

/// The connection of one thread, opened when it is needed and reopened after it was lost.
final class PostgresSession {
    private let settings: PostgresSettings
    private let numbers: PostgresNumbers?
    private let turns: PostgresTurns?
    private let outages: PostgresOutages
    private var connection: PostgresConnection?
    private var backOff = BackOff()

    /// How often a transaction that conflicted with others is repeated.
    private static let attemptsMax = 40
    /// How many of these attempts run concurrently with the process's other transactions.
    private static let concurrentAttemptsMax = 5
    /// How often a transaction is repeated after a unique violation. If it persists, the statement is wrong.
    private static let duplicatesMax = 12
    /// How often a transaction is repeated after a lost connection.
    private static let connectionsMax = 3

    /// - Parameters:
    ///   - turns: shared by the sessions of the process whose transactions may conflict.
    ///   - outages: shared by all sessions of the process.
    init(
        _ settings: PostgresSettings, numbers: PostgresNumbers?, turns: PostgresTurns?, outages: PostgresOutages
    ) {
        self.settings = settings
        self.numbers = numbers
        self.turns = turns
        self.outages = outages
    }

    /// Runs `body` in a transaction, and repeats it if that may help.
    /// - Throws: what `body` throws, or what callers may see of the database's failure.
    func transact<R>(
        _ isolation: PostgresConnection.Isolation, statementSecondsMax: Int? = nil,
        _ body: (PostgresConnection) throws -> R
    ) throws -> R {
        var attempts = 0
        var connections = 0
        var isAlone = false
        turns?.enter(alone: false)
        defer { turns?.leave(alone: isAlone) }
        while true {
            if attempts >= Self.concurrentAttemptsMax, !isAlone {
                turns?.leave(alone: false)
                turns?.enter(alone: true)
                isAlone = true
            }
            let connection = try open()
            connection.begin(isolation, statementSecondsMax: statementSecondsMax)
            do {
                let result = try body(connection)
                try connection.commit()
                return result
            } catch let unknown as PostgresConnection.CommitUnknown {
                drop(unknown.failure)
                throw PostgresFailure.unavailable
            } catch {
                // The body may have turned the failure into another error.
                let failure = connection.failure ?? error as? PostgresFailure
                connection.rollback()
                if connection.isLost { drop(failure) }
                attempts += 1
                switch failure?.remedy {
                case .retry? where attempts < Self.attemptsMax: Self.pause(attempts)
                case .retryAfterDuplicate? where attempts < Self.duplicatesMax: Self.pause(attempts)
                case .reconnect? where connections < Self.connectionsMax:
                    connections += 1
                    drop(nil)
                case .retry?, .retryAfterDuplicate?, .reconnect?, .wait?, PostgresFailure.Remedy.none?, nil:
                    if let failure { outages.refused(failure) }
                    throw PostgresFailure.refusal(failure ?? error)
                }
            }
        }
    }

    /// Waits for a random time that grows with each attempt, so that two transactions do not conflict again.
    private static func pause(_ attempt: Int) {
        let microseconds = UInt32.random(in: 0...(500 << UInt32(min(attempt, 10))))
        usleep(microseconds)
    }

    private func drop(_ failure: PostgresFailure?) {
        connection = nil
        numbers?.noteLoss()
        if let failure { outages.lost("the connection to the database was lost: \(failure)") }
    }

    /// - Throws: `unavailable` while the database cannot be reached.
    func open() throws -> PostgresConnection {
        if let connection, !connection.isLost { return connection }
        guard backOff.isOver else { throw PostgresFailure.unavailable }
        do {
            let connection = try connect()
            outages.connected()
            backOff = BackOff()
            self.connection = connection
            return connection
        } catch {
            outages.lost("\(error)")
            backOff.extend()
            throw PostgresFailure.unavailable
        }
    }

    /// The first failure may come from a server that is just shutting down. One that does not answer is not asked
    /// again: each attempt takes as long as the timeout.
    private func connect() throws -> PostgresConnection {
        let start = ContinuousClock.now
        do {
            return try PostgresConnection(settings, numbers: numbers)
        } catch  where !backOff.isRunning && ContinuousClock.now - start < .seconds(1) {
            return try PostgresConnection(settings, numbers: numbers)
        }
    }

    /// How long to wait before the next attempt to connect.
    private struct BackOff {
        private var duration = Duration.zero
        private var end = ContinuousClock.now

        var isRunning: Bool { duration > .zero }
        var isOver: Bool { ContinuousClock.now >= end }

        mutating func extend() {
            duration = min(max(duration * 2, .milliseconds(50)), .seconds(2))
            end = .now + duration * Double.random(in: 0.5...1)
        }
    }
}
