internal import Crypto
package import PealCore

/// The chain of the audit log: each row's hash covers the row and the hash of the row before.
package enum AuditChain {
    /// - Parameters:
    ///   - previous: the hash of the row before; empty for the first one.
    ///   - content: the row without its hash.
    /// - Returns: hexadecimal.
    package static func hash(after previous: String, _ content: JSON) -> String {
        Hex.encode(SHA256.hash(data: Array(previous.utf8) + [0x0A] + content.bytes))
    }
}

/// `audit`: the rows of the log, in a chain. `audit_pending`: entries that are not in the chain yet. `audit_mark`: the
/// last row, and the last one that was pruned, each with a proof that only the holder of the master key can make.
enum AuditTable {
    static let content: Columns = "at, app_id, actor, actor_name, address, request_id, action, object, outcome"

    static func entry(_ row: inout RowReader) throws -> AuditEntry {
        let (at, app): (Timestamp, AppID?) = (try row.next(), try row.next())
        let actor = Actor(try row.next(), name: try row.next())
        return AuditEntry(
            at: at, actor: actor, address: try row.next(), requestID: try row.next(), app: app, action: try row.next(),
            object: try row.next(), outcome: try row.next())
    }

    static func row(_ row: inout RowReader) throws -> AuditRow {
        let number: Int64 = try row.next()
        let hash: [UInt8] = try row.next()
        return AuditRow(number: number, entry: try entry(&row), hash: Hex.encode(hash))
    }

    static func values(_ entry: AuditEntry) -> [ColumnValue] {
        [
            ("at", entry.at), ("app_id", entry.app), ("actor", entry.actor.id), ("actor_name", entry.actor.name),
            ("address", entry.address), ("request_id", entry.requestID), ("action", entry.action),
            ("object", entry.object), ("outcome", entry.outcome),
        ]
    }

    /// Adds a row, whose number and hash the mark has. Its text is built once, because almost every request writes one.
    static let insert = Statement<(mark: AuditMark, entry: AuditEntry)>(
        "INSERT INTO audit (number, hash, \(content.text)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
    ) { mark, entry in
        [.int(mark.number), .bytes(Hex.decode(mark.hash) ?? [])] + values(entry).map(\.value.stored)
    }

    /// The numbers of entries that are not chained yet. They are taken in blocks, so that transactions do not wait for
    /// each other.
    static let pendingNumbers = StoreSession.counter("audit", blockSize: 256)

    static let hasPending: SQL = "SELECT number FROM audit_pending ORDER BY number LIMIT \(1)"

    /// Deletes the first entries and returns them, in any order.
    static func takePending(limit: Int) -> SQL {
        """
        DELETE FROM audit_pending WHERE number IN (SELECT number FROM audit_pending ORDER BY number LIMIT \(limit))
        RETURNING number, \(content)
        """
    }

    static func rows(_ condition: SQL, limit: Int) -> SQL {
        "SELECT number, hash, \(content) FROM audit WHERE \(condition) LIMIT \(limit)"
    }

    static func time(ofNumberFrom number: Int64) -> SQL {
        "SELECT at FROM audit WHERE number >= \(number) ORDER BY number LIMIT 1"
    }

    static func ends(_ earliest: Bool) -> SQL {
        earliest
            ? "SELECT number FROM audit ORDER BY number LIMIT 1"
            : "SELECT number FROM audit ORDER BY number DESC LIMIT 1"
    }

    /// Entries from about the same time may be written in another order.
    static let disorder = Duration.seconds(300)
}

extension AuditEntry.Outcome: SQLStorable {}

/// A fixed point of the chain: a row with its hash.
struct AuditMark: Sendable, Hashable {
    enum Name: String, Sendable, SQLStorable {
        /// The last row.
        case head
        /// The last row that was pruned.
        case base
    }

    var number: Int64 = 0
    var hash = ""

    func proof(_ name: Name, _ key: MasterKey) -> [UInt8] { key.hash("audit \(name.rawValue) \(number) \(hash)") }
}

extension StoreSession {
    /// A process that has the store to itself chains the entry at once; others leave this to `chainAudit`.
    func audit(_ entry: AuditEntry) throws {
        guard context.dialect.isShared else { return try chain([entry]) }
        let number = try nextNumber(in: AuditTable.pendingNumbers)
        try connection.post("INSERT INTO audit_pending \(row: ["number": number], AuditTable.values(entry))")
    }

    /// Adds rows to the end of the chain.
    private func chain(_ entries: [AuditEntry]) throws {
        var mark = try connection.commitWork?.value("audit") ?? mark(.head)?.mark ?? AuditMark()
        for entry in entries {
            mark.number += 1
            mark.hash = AuditChain.hash(after: mark.hash, AuditRow.content(mark.number, entry))
            try connection.post(AuditTable.insert.sql((mark, entry)))
        }
        guard let work = connection.commitWork else { return try set(mark, .head) }
        work.set("audit", mark) { try set($0, .head) }
    }

    /// Chains at most `limit` entries that are not chained yet. No other transaction may do so at the same time.
    /// - Returns: how many.
    func chainPending(limit: Int) throws -> Int {
        let taken = try connection.all(AuditTable.takePending(limit: limit)) { row in
            (number: try row.next(Int64.self), entry: try AuditTable.entry(&row))
        }
        guard !taken.isEmpty else { return 0 }
        try chain(taken.sorted { $0.number < $1.number }.map(\.entry))
        return taken.count
    }

    private func mark(_ name: AuditMark.Name) throws -> (mark: AuditMark, proof: [UInt8])? {
        try connection.first("SELECT number, hash, proof FROM audit_mark WHERE name = \(name)") { row in
            (AuditMark(number: try row.next(), hash: try row.next()), try row.next())
        }
    }

    private func set(_ mark: AuditMark, _ name: AuditMark.Name) throws {
        try connection.post(
            """
            INSERT INTO audit_mark \(row: [
                "name": name, "number": mark.number, "hash": mark.hash, "proof": mark.proof(name, context.masterKey),
            ])
            ON CONFLICT (name) DO UPDATE SET number = excluded.number, hash = excluded.hash, proof = excluded.proof
            """)
    }

    /// Deletes rows from the old end of the chain.
    func pruneAudit(_ now: Timestamp, _ limit: Int) throws -> Int {
        let earliest = now - .seconds(context.retention.auditSeconds)
        let over = try connection.all(Pruning.audit(limit: limit)) { row in
            (
                mark: AuditMark(number: try row.next(), hash: Hex.encode(try row.next([UInt8].self))),
                at: try row.next(Timestamp.self)
            )
        }.prefix { $0.at <= earliest }
        guard let last = over.last else { return 0 }
        try connection.post("DELETE FROM audit WHERE number <= \(last.mark.number)")
        try set(last.mark, .base)
        return over.count
    }
}

extension StoreSession {
    func auditRows(
        _ filter: AuditFilter, before cursor: Int64?, limit: Int, among numbersMax: Int64
    ) throws -> AuditPart {
        let (condition, first, end) = try search(filter, among: numbersMax)
        let stop = min(cursor ?? .max, end)
        let start = max(first, stop > numbersMax ? stop - numbersMax : first)
        let rows = try connection.all(
            AuditTable.rows(
                "\(condition) AND number >= \(start) AND number < \(stop) ORDER BY number DESC", limit: limit),
            AuditTable.row)
        return AuditPart(rows: rows, next: start > first ? start : nil)
    }

    func auditRows(
        _ filter: AuditFilter, after cursor: Int64, limit: Int, among numbersMax: Int64
    ) throws -> AuditPart {
        let (condition, first, end) = try search(filter, among: numbersMax)
        let start = max(first, cursor + 1)
        let stop = end - start > numbersMax ? start + numbersMax : end
        let rows = try connection.all(
            AuditTable.rows("\(condition) AND number >= \(start) AND number < \(stop) ORDER BY number", limit: limit),
            AuditTable.row)
        return AuditPart(rows: rows, next: stop < end ? stop - 1 : nil)
    }

    /// A condition, and the range of numbers of the rows that meet it: from `first`, and below `end`.
    private func search(
        _ filter: AuditFilter, among numbersMax: Int64
    ) throws -> (condition: SQL, first: Int64, end: Int64) {
        var condition: SQL = "number > 0"
        var (first, end): (Int64, Int64) = (1, .max)
        // Only a search in parts needs the ends of the log.
        if numbersMax < .max {
            first = try connection.value(AuditTable.ends(true)) ?? 1
            end = try connection.value(AuditTable.ends(false), Int64.self).map { $0 + 1 } ?? first
        }
        if let app = filter.app { condition = "\(condition) AND app_id = \(app)" }
        if let from = filter.from {
            condition = "\(condition) AND at >= \(from)"
            first = try number(atOrAfter: from - AuditTable.disorder)
        }
        if let to = filter.to {
            condition = "\(condition) AND at < \(to)"
            end = try number(atOrAfter: to + AuditTable.disorder)
        }
        if let actor = filter.actor { condition = "\(condition) AND (actor = \(actor) OR actor_name = \(actor))" }
        if let action = filter.action {
            // The character after the dot is the slash.
            let group: SQL = "action > \(action + ".") AND action < \(action + "/")"
            condition = "\(condition) AND (action = \(action) OR \(group))"
        }
        return (condition, first, end)
    }

    /// The number of approximately the first row at `time` or later, found by binary search: numbers increase with
    /// time.
    private func number(atOrAfter time: Timestamp) throws -> Int64 {
        guard let first: Int64 = try connection.value(AuditTable.ends(true)),
            let last: Int64 = try connection.value(AuditTable.ends(false))
        else { return 0 }
        var (low, high) = (first, last + 1)
        while low < high {
            let middle = low + (high - low) / 2
            let at: Timestamp? = try connection.value(AuditTable.time(ofNumberFrom: middle))
            if let at, at < time { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Whether there are apps, whose creation the log or the entries that wait for it must have.
    private func isEmptied() throws -> Bool {
        try connection.exists("SELECT 1 FROM app LIMIT 1") && !connection.exists(AuditTable.hasPending)
    }

    func checkAudit(_ earlier: AuditCheck, limit: Int) throws -> AuditCheck {
        guard case .incomplete(var last, var hash, var count) = earlier else { return earlier }
        let (head, base) = (try mark(.head), try mark(.base))
        let isGenuine =
            head.map { $0.proof == $0.mark.proof(.head, context.masterKey) } ?? true
            && base.map { $0.proof == $0.mark.proof(.base, context.masterKey) } ?? true
        guard isGenuine else {
            return .broken(number: last + 1, reason: "the stored end of the log was not written by this server")
        }
        // Rows may have been pruned since the last part was read.
        if let base = base?.mark, base.number > last { (last, hash) = (base.number, base.hash) }
        let rows = try connection.all(
            AuditTable.rows("number > \(last) ORDER BY number", limit: limit), AuditTable.row)
        for row in rows {
            guard row.number == last + 1 else {
                return .broken(number: last + 1, reason: "the row is missing")
            }
            guard row.hash == AuditChain.hash(after: hash, AuditRow.content(row.number, row.entry)) else {
                return .broken(number: row.number, reason: "the row was changed")
            }
            (last, hash, count) = (row.number, row.hash, count + 1)
        }
        if rows.count == limit { return .incomplete(after: last, hash: hash, rows: count) }
        let end = head?.mark ?? AuditMark()
        if end.number == 0, last == 0, try isEmptied() {
            return .broken(number: 1, reason: "the log is empty, but there are apps")
        }
        guard end.number == last else {
            let isShort = end.number > last
            return .broken(
                number: last + (isShort ? 1 : 0),
                reason: isShort ? "rows at the end are missing" : "the row was not written by this server")
        }
        guard end.hash == hash else { return .broken(number: last, reason: "the row was changed") }
        return .sound(rows: count)
    }
}
