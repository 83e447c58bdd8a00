internal import CPostgreSQL
internal import PealCore
internal import PealStore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// One connection to the database, used by one thread. It stays in libpq's pipeline mode: a batch takes one round trip,
/// and BEGIN is sent together with the first statement of its transaction.
final class PostgresConnection: SQLConnection {
    private let handle: OpaquePointer
    private let settings: PostgresSettings
    private let numbers: PostgresNumbers?
    private var prepared = PreparedStatements()
    private var parameters = BinaryParameters()
    /// Numbers from blocks that the transaction uses.
    private var taken: [(series: String, number: Int64)] = []
    /// Statements that begin the transaction, not sent yet.
    private var opening: [String] = []
    /// Statements that are sent together with the next one.
    private var posted: [SQL] = []
    private var isOpen = false
    /// How long the current transaction waits for an answer.
    private var patience = PostgresConnection.patience(seconds: nil)
    /// Whether the server did not answer in time.
    private var hangs = false
    /// The first failure of the transaction, which rolls it back however the caller handles the error.
    private(set) var failure: PostgresFailure?

    /// Statements of a batch that are sent before their answers are read.
    private static let statementsInFlightMax = 256

    /// Connects.
    /// - Parameter numbers: issues the numbers of series; nil takes them inside the transaction.
    /// - Throws: `PostgresFailure`; `StoreStartFailure` when the server is unsuitable.
    init(_ settings: PostgresSettings, numbers: PostgresNumbers?) throws {
        self.settings = settings
        self.numbers = numbers
        handle = try settings.connect()
        guard settings.preparesStatements else { return }
        // Behind a pooler, other clients would inherit the session's settings, so each transaction sets them.
        var statements = settings.sessionSettings.map { "SET \($0)" }
        statements.append(PostgresSettings.durability(isLocal: false))
        guard PostgresSettings.run(statements.joined(separator: "; "), on: handle), PQenterPipelineMode(handle) == 1
        else {
            throw PostgresFailure.lost(handle)
        }
    }

    deinit { PQfinish(handle) }

    var isLost: Bool { hangs || PQstatus(handle) != CONNECTION_OK }

    /// The socket, for waiting.
    var socket: Int32 { PQsocket(handle) }
}

/// Transactions.
extension PostgresConnection {
    enum Isolation: String {
        /// The transaction sees one consistent state.
        case read = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        /// The transaction runs as if there were no other one; otherwise it fails with 40001 and is repeated.
        case write = "BEGIN ISOLATION LEVEL SERIALIZABLE"
        /// For statements that are safe by themselves, and for migrations.
        case plain = "BEGIN"
    }

    /// Begins a transaction with the next statement.
    func begin(_ isolation: Isolation, statementSecondsMax: Int? = nil) {
        failure = nil
        posted = []
        taken = []
        patience = Self.patience(seconds: statementSecondsMax)
        opening = [isolation.rawValue]
        if !settings.preparesStatements {
            opening += settings.sessionSettings.map { "SET LOCAL \($0)" }
            // Reads need not be durable.
            if isolation != .read { opening.append(PostgresSettings.durability(isLocal: true)) }
        }
        if let statementSecondsMax { opening.append("SET LOCAL statement_timeout = \(statementSecondsMax * 1000)") }
    }

    /// - Throws: `CommitUnknown` when the answer was lost: the transaction may be durable or not.
    func commit() throws {
        if let failure { throw failure }
        guard isOpen || !posted.isEmpty else {
            opening = []
            return
        }
        do {
            try run(CollectionOfOne("COMMIT"), isPrepared: false) { _, _ in }
            isOpen = false
        } catch let failure as PostgresFailure where failure.hidesCommit {
            throw CommitUnknown(failure: failure)
        }
    }

    func rollback() {
        // One that is in use already would be refused each time, and a lost connection's may be issued again.
        let areUsable = failure.map { $0.remedy != .retryAfterDuplicate && $0.remedy != .reconnect } ?? true
        if areUsable, !isLost { numbers?.giveBack(taken) }
        taken = []
        opening = []
        posted = []
        failure = nil
        guard isOpen else { return }
        isOpen = false
        guard !isLost else { return }
        try? run(CollectionOfOne("ROLLBACK"), isPrepared: false) { _, _ in }
    }

    /// The connection ended between COMMIT and its answer.
    struct CommitUnknown: Error {
        let failure: PostgresFailure
    }
}

/// Statements.
extension PostgresConnection {
    func query(_ sql: String, _ parameters: [SQLValue], _ row: (any SQLRow) throws -> Void) throws {
        try run(CollectionOfOne(SQL(text: sql, values: parameters))) { _, result in try result.forEachRow(row) }
    }

    func query(_ sql: String, each sets: [[SQLValue]], _ row: (any SQLRow) throws -> Void) throws {
        try run(sets.map { SQL(text: sql, values: $0) }) { _, result in try result.forEachRow(row) }
    }

    func query(_ statements: [SQL], _ row: (Int, any SQLRow) throws -> Void) throws {
        try run(statements) { index, result in try result.forEachRow { try row(index, $0) } }
    }

    @discardableResult
    func execute(_ sql: String, _ parameters: [SQLValue]) throws -> Int {
        try execute([SQL(text: sql, values: parameters)])[0]
    }

    @discardableResult
    func execute(_ sql: String, rows: [[SQLValue]]) throws -> [Int] {
        try execute(rows.map { SQL(text: sql, values: $0) })
    }

    @discardableResult
    func execute(_ statements: [SQL]) throws -> [Int] {
        var counts: [Int] = []
        counts.reserveCapacity(statements.count)
        try run(statements) { counts.append($1.changedCount) }
        return counts
    }

    func post(_ sql: SQL) throws {
        posted.append(sql)
        guard posted.count >= Self.statementsInFlightMax else { return }
        _ = try execute([posted.removeLast()])
    }

    func number(in series: NumberSeries) throws -> Int64? {
        if let number = try numbers?.next(in: series) {
            if series.blockSize > 1 { taken.append((series.name, number)) }
            return number
        }
        return try value(series.raising(1))
    }

    /// Runs statements in order, and passes the result of each with its index. All results of a piece are read before
    /// the first is passed on, so that `take` may run statements too.
    private func run(
        _ statements: some RandomAccessCollection<SQL>, isPrepared: Bool = true,
        _ take: (Int, PostgresResult) throws -> Void
    ) throws {
        var start = statements.startIndex
        var index = 0
        while start != statements.endIndex {
            let end =
                statements.index(start, offsetBy: Self.statementsInFlightMax, limitedBy: statements.endIndex)
                ?? statements.endIndex
            let results: [PostgresResult]
            do {
                results = try exchange(statements[start..<end], isPrepared: isPrepared)
            } catch let error as PostgresFailure {
                failure = failure ?? error
                throw error
            }
            for result in results {
                try take(index, result)
                index += 1
            }
            start = end
        }
    }

    /// One round trip: the statements that open the transaction, the posted ones, and `statements`.
    /// - Returns: the results of the last.
    private func exchange(_ statements: some Collection<SQL>, isPrepared: Bool) throws -> [PostgresResult] {
        // After a hang, the answers of earlier statements would be read as those of these.
        guard !hangs, PQpipelineStatus(handle) != PQ_PIPELINE_OFF || PQenterPipelineMode(handle) == 1 else {
            throw PostgresFailure.lost(handle)
        }
        var sending = Sending()
        for statement in opening { try sendPlain(statement, &sending) }
        if !opening.isEmpty { isOpen = true }
        opening = []
        // Not before ROLLBACK: in a failed transaction every other statement fails, and ROLLBACK would not run.
        if isPrepared, failure == nil, prepared.plansAreOld(after: statements.count + posted.count) {
            try sendPlain("DISCARD PLANS", &sending)
        }
        for statement in posted { try send(statement, isPrepared: true, isAwaited: false, &sending) }
        posted = []
        for statement in statements { try send(statement, isPrepared: isPrepared, isAwaited: true, &sending) }
        try check(PQpipelineSync(handle))
        do {
            return zip(try results(), sending.isAwaited).filter(\.1).map(\.0)
        } catch {
            for text in sending.new { prepared.forget(text) }
            throw error
        }
    }

    /// What was sent for one round trip.
    private struct Sending {
        /// For each command, whether its result is awaited.
        var isAwaited: [Bool] = []
        /// The statements that it prepares.
        var new: [String] = []
    }

    private func sendPlain(_ text: String, _ sending: inout Sending) throws {
        try check(PQsendQueryParams(handle, text, 0, nil, nil, nil, nil, 1))
        sending.isAwaited.append(false)
    }

    /// Sends a statement, preceded by its preparation if it is new.
    private func send(_ sql: SQL, isPrepared: Bool, isAwaited: Bool, _ sending: inout Sending) throws {
        parameters.encode(sql.values)
        var name: String?
        if isPrepared, settings.preparesStatements {
            let use = prepared.use(of: sql.text, parameters.types)
            name = use.name
            if use.isNew {
                sending.new.append(sql.text)
                try check(
                    PQsendPrepare(handle, use.name, sql.text, Int32(parameters.types.count), parameters.types))
                sending.isAwaited.append(false)
            }
        }
        try check(parameters.send(sql.text, prepared: name, to: handle))
        sending.isAwaited.append(isAwaited)
    }

    private func check(_ isSent: Int32) throws {
        guard isSent == 1 else { throw PostgresFailure.lost(handle) }
    }

    /// PostgreSQL ends long statements by itself, and the kernel ends a connection whose packets are not acknowledged.
    /// Neither happens while the server process hangs and its kernel does not.
    private static func patience(seconds: Int?) -> Duration {
        .milliseconds(seconds.map { $0 * 1000 } ?? PostgresSettings.statementMillisecondsMax) + .seconds(5)
    }

    /// Sends what libpq has not sent yet, and waits until the next result can be read without waiting.
    private func awaitResult() throws {
        var end = ContinuousClock.now + patience
        while PQisBusy(handle) == 1 {
            let unsent = PQflush(handle)
            guard unsent >= 0 else { throw PostgresFailure.lost(handle) }
            let rest = (end - .now).components
            let milliseconds = rest.seconds * 1000 + rest.attoseconds / 1_000_000_000_000_000
            let events = Int16(POLLIN) | (unsent > 0 ? Int16(POLLOUT) : 0)
            var descriptor = pollfd(fd: socket, events: events, revents: 0)
            let ready = milliseconds > 0 ? poll(&descriptor, 1, Int32(clamping: milliseconds)) : 0
            if ready < 0, errno == EINTR { continue }
            guard ready > 0 else {
                hangs = true
                throw PostgresFailure.hang
            }
            // A server that reads does not hang, however much there is to send.
            if descriptor.revents & Int16(POLLOUT) != 0 { end = .now + patience }
            guard PQconsumeInput(handle) == 1 else { throw PostgresFailure.lost(handle) }
        }
    }

    /// The results up to the end of the pipeline.
    /// - Throws: the first error in it.
    private func results() throws -> [PostgresResult] {
        var results: [PostgresResult] = []
        var first: PostgresFailure?
        var ends = 0
        while true {
            try awaitResult()
            guard let result = PQgetResult(handle) else {
                // Each statement's results end with nil. Twice nil means that nothing more will come.
                ends += 1
                guard ends < 2, !isLost else { throw first ?? .lost(handle) }
                continue
            }
            ends = 0
            switch PQresultStatus(result) {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK: results.append(PostgresResult(result))
            case PGRES_PIPELINE_SYNC:
                PQclear(result)
                if let first { throw first }
                return results
            case PGRES_PIPELINE_ABORTED:
                PQclear(result)
                first = first ?? .aborted
            default:
                let failure = isLost ? PostgresFailure.lost(handle) : PostgresFailure(result)
                PQclear(result)
                first = first ?? failure
            }
        }
    }
}
