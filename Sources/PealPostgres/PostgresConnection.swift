internal import CPostgreSQL
internal import PealCore
internal import PealStore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// One connection to the database, used by one thread. It stays in libpq's pipeline mode: a batch takes one round trip,
/// and BEGIN is sent together with the first statement of its transaction.
final class PostgresConnection: SQLConnection {
    private let handle: OpaquePointer
    private let settings: PostgresSettings
    private let numbers: PostgresNumbers?
    private var statements = PreparedStatements()
    private var parameters = BinaryParameters()
    /// Numbers from blocks that the transaction uses.
    private var taken: [(series: String, number: Int64)] = []
    /// Statements that begin the transaction, not sent yet.
    private var opening: [String] = []
    /// Statements that are sent together with the next one.
    private var posted: [(sql: String, values: [SQLValue])] = []
    private var isOpen = false
    /// How long the present transaction waits for an answer.
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
        let result = PQexec(handle, settings.sessionSettings.map { "SET \($0)" }.joined(separator: "; "))
        defer { PQclear(result) }
        guard PQresultStatus(result) == PGRES_COMMAND_OK, PQenterPipelineMode(handle) == 1 else {
            throw PostgresFailure.lost(handle)
        }
    }

    deinit { PQfinish(handle) }

    var isLost: Bool { hangs || PQstatus(handle) != CONNECTION_OK }

    /// The socket, for waiting.
    var socket: Int32 { PQsocket(handle) }

    /// Calls `body` for every notification that has arrived.
    func takeNotifications(_ body: (String) -> Void) {
        guard PQconsumeInput(handle) == 1 else { return }
        while let notification = PQnotifies(handle) {
            body(String(cString: notification.pointee.extra))
            PQfreemem(notification)
        }
    }
}

/// Transactions.
extension PostgresConnection {
    enum Isolation: String {
        /// Sees one consistent state.
        case read = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        /// Runs as if there were no other transaction; otherwise it fails with 40001 and is repeated.
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
        if !settings.preparesStatements { opening += settings.sessionSettings.map { "SET LOCAL \($0)" } }
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
            try run("COMMIT", CollectionOfOne([]), isPrepared: false) { _ in }
            isOpen = false
        } catch let failure as PostgresFailure where failure.hidesCommit {
            throw CommitUnknown(failure: failure)
        }
    }

    func rollback() {
        numbers?.giveBack(taken)
        taken = []
        opening = []
        posted = []
        failure = nil
        guard isOpen else { return }
        isOpen = false
        guard !isLost else { return }
        try? run("ROLLBACK", CollectionOfOne([]), isPrepared: false) { _ in }
    }

    /// The connection ended between COMMIT and its answer.
    struct CommitUnknown: Error {
        let failure: PostgresFailure
    }
}

/// Statements.
extension PostgresConnection {
    func query(_ sql: String, _ parameters: [SQLValue], _ row: (any SQLRow) throws -> Void) throws {
        try run(sql, CollectionOfOne(parameters)) { try $0.forEachRow(row) }
    }

    func query(_ sql: String, each sets: [[SQLValue]], _ row: (any SQLRow) throws -> Void) throws {
        try run(sql, sets) { try $0.forEachRow(row) }
    }

    @discardableResult
    func execute(_ sql: String, _ parameters: [SQLValue]) throws -> Int {
        var count = 0
        try run(sql, CollectionOfOne(parameters)) { count = $0.changedCount }
        return count
    }

    @discardableResult
    func execute(_ sql: String, rows: [[SQLValue]]) throws -> [Int] {
        var counts: [Int] = []
        counts.reserveCapacity(rows.count)
        try run(sql, rows) { counts.append($0.changedCount) }
        return counts
    }

    func post(_ sql: String, _ parameters: [SQLValue]) throws {
        posted.append((sql, parameters))
        guard posted.count >= Self.statementsInFlightMax else { return }
        let last = posted.removeLast()
        _ = try execute(last.sql, last.values)
    }

    func number(in series: NumberSeries) throws -> Int64? {
        if let number = try numbers?.next(in: series) {
            if series.blockSize > 1 { taken.append((series.name, number)) }
            return number
        }
        return try value(series.raising(1))
    }

    /// Runs `sql` for each of `sets`, and passes the results in order. All results of a piece are read before the
    /// first is passed on, so that `take` may run statements too.
    private func run(
        _ sql: String, _ sets: some RandomAccessCollection<[SQLValue]>, isPrepared: Bool = true,
        _ take: (PostgresResult) throws -> Void
    ) throws {
        var start = sets.startIndex
        while start != sets.endIndex {
            let end = sets.index(start, offsetBy: Self.statementsInFlightMax, limitedBy: sets.endIndex) ?? sets.endIndex
            let results: ArraySlice<PostgresResult>
            do {
                results = try exchange(sql, sets[start..<end], isPrepared: isPrepared)
            } catch let error as PostgresFailure {
                failure = failure ?? error
                throw error
            }
            for result in results { try take(result) }
            start = end
        }
    }

    /// One round trip: the statements that open the transaction, the posted ones, and the statement for each set.
    /// - Returns: the results of the last.
    private func exchange(
        _ sql: String, _ sets: some Collection<[SQLValue]>, isPrepared: Bool
    ) throws -> ArraySlice<PostgresResult> {
        // After a hang, the answers of earlier statements would be read as those of these.
        guard !hangs, PQpipelineStatus(handle) != PQ_PIPELINE_OFF || PQenterPipelineMode(handle) == 1 else {
            throw PostgresFailure.lost(handle)
        }
        for statement in opening { try send(PQsendQueryParams(handle, statement, 0, nil, nil, nil, nil, 1)) }
        if !opening.isEmpty { isOpen = true }
        opening = []
        // Not before ROLLBACK: in a failed transaction every other statement fails, and ROLLBACK would not run.
        if isPrepared, failure == nil, statements.plansAreOld(after: sets.count + posted.count) {
            try send(PQsendQueryParams(handle, "DISCARD PLANS", 0, nil, nil, nil, nil, 1))
        }
        var new: [String] = []
        for post in posted { try send(post.sql, post.values, isPrepared: true, &new) }
        posted = []
        for set in sets { try send(sql, set, isPrepared: isPrepared, &new) }
        try send(PQpipelineSync(handle))
        do {
            return try results().suffix(sets.count)
        } catch {
            for text in new { statements.forget(text) }
            throw error
        }
    }

    /// Sends a statement, preceded by its preparation if it is `new`.
    private func send(_ sql: String, _ values: [SQLValue], isPrepared: Bool, _ new: inout [String]) throws {
        parameters.encode(values)
        guard isPrepared, settings.preparesStatements else {
            return try send(parameters.send(sql, prepared: nil, to: handle))
        }
        let use = statements.use(of: sql, parameters.types)
        if use.isNew {
            new.append(sql)
            try send(PQsendPrepare(handle, use.name, sql, Int32(parameters.types.count), parameters.types))
        }
        try send(parameters.send(sql, prepared: use.name, to: handle))
    }

    private func send(_ isSent: Int32) throws {
        guard isSent == 1 else { throw PostgresFailure.lost(handle) }
    }

    /// PostgreSQL ends long statements by itself, and the kernel a connection whose packets nobody acknowledges.
    /// Neither happens while the server hangs and its kernel does not.
    private static func patience(seconds: Int?) -> Duration {
        .milliseconds(seconds.map { $0 * 1000 } ?? PostgresSettings.statementMillisecondsMax) + .seconds(5)
    }

    /// Waits until the next result can be read without waiting.
    private func awaitResult() throws {
        let end = ContinuousClock.now + patience
        while PQisBusy(handle) == 1 {
            let rest = (end - .now).components
            let milliseconds = rest.seconds * 1000 + rest.attoseconds / 1_000_000_000_000_000
            var descriptor = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            let ready = milliseconds > 0 ? poll(&descriptor, 1, Int32(clamping: milliseconds)) : 0
            if ready < 0, errno == EINTR { continue }
            guard ready > 0 else {
                hangs = true
                throw PostgresFailure.hang
            }
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

/// The statements that a connection has prepared, by their text.
struct PreparedStatements {
    struct Use {
        let name: String
        let isNew: Bool
    }

    private struct Entry {
        let name: String
        let types: [Oid]
    }

    private var entries: [String: Entry] = [:]
    private var count = 0
    private var runs = 0
    private var runsAtDiscard = 0

    /// The most runs between two plannings.
    private static let runsBetweenMax = 100_000

    /// Counts runs. True when statements should be planned again: PostgreSQL keeps a plan that it made for an empty
    /// table, with any of its indexes, until the table is analyzed.
    mutating func plansAreOld(after more: Int) -> Bool {
        runs += more
        guard count > 0, runs - runsAtDiscard >= min(max(100, runsAtDiscard), Self.runsBetweenMax) else { return false }
        runsAtDiscard = runs
        return true
    }

    /// A statement with other parameter types than before is prepared again.
    mutating func use(of sql: String, _ types: [Oid]) -> Use {
        if let entry = entries[sql], entry.types == types { return Use(name: entry.name, isNew: false) }
        count += 1
        let name = "peal\(count)"
        entries[sql] = Entry(name: name, types: types)
        return Use(name: name, isNew: true)
    }

    /// Its preparation failed.
    mutating func forget(_ sql: String) { entries[sql] = nil }
}

/// The parameters of one statement in PostgreSQL's binary format. Buffers are kept from one statement to the next.
struct BinaryParameters {
    private(set) var types: [Oid] = []
    private var bytes: [UInt8] = []
    /// nil for NULL.
    private var offsets: [Int?] = []
    private var lengths: [Int32] = []
    private var formats: [Int32] = []

    mutating func encode(_ values: [SQLValue]) {
        types.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
        offsets.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
        for value in values {
            let start = bytes.count
            switch value {
            case .int(let number):
                withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
                types.append(PostgresType.int8)
            case .text(let text):
                bytes.append(contentsOf: text.utf8)
                types.append(PostgresType.text)
            case .bytes(let value):
                bytes.append(contentsOf: value)
                types.append(PostgresType.bytea)
            case .null(let kind): types.append(PostgresType.of(kind))
            }
            if case .null = value { offsets.append(nil) } else { offsets.append(start) }
            lengths.append(Int32(bytes.count - start))
        }
        // An empty value also needs an address.
        bytes.append(0)
        while formats.count < values.count { formats.append(1) }
    }

    /// Sends the statement, by its name if it is prepared. Returns 1 when it was sent.
    func send(_ sql: String, prepared: String?, to handle: OpaquePointer) -> Int32 {
        bytes.withUnsafeBytes { buffer in
            let start = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            let values = offsets.map { offset in offset.flatMap { start?.advanced(by: $0) } }
            if let prepared {
                return PQsendQueryPrepared(handle, prepared, Int32(values.count), values, lengths, formats, 1)
            }
            return PQsendQueryParams(handle, sql, Int32(values.count), types, values, lengths, formats, 1)
        }
    }
}

/// The types that values have on the wire (PostgreSQL, `pg_type.dat`).
enum PostgresType {
    static let bool: Oid = 16
    static let bytea: Oid = 17
    static let int8: Oid = 20
    static let int2: Oid = 21
    static let int4: Oid = 23
    static let text: Oid = 25

    static func of(_ kind: SQLValue.Kind) -> Oid {
        switch kind {
        case .int: int8
        case .text: text
        case .bytes: bytea
        }
    }
}
