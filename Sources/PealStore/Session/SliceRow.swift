internal import PealCore

/// How slices are written and read.
enum SliceRow {
    /// Settled to its end; kept until its message ends, because its counts are.
    static let stateDone: Int64 = 4

    /// Reads `HotSQL.sliceColumns`.
    static func slice(_ row: any SQLRow, app: AppKey, route: Route) throws -> (slice: Slice, rank: Int64) {
        guard let lane = Slice.Lane(rawValue: row.int(12)) else { throw PealError.damaged("a lane") }
        let slice = Slice(
            id: .init(app: app, message: try row.id(0), route: route, window: row.int(1), part: row.int(2)),
            attempt: Int(row.int(3)), keyFrom: row.int(4), keyTo: row.int(5),
            keys: try row.bytesIfPresent(6).map(KeyListCoding.decode), cursor: row.int(7),
            pageCount: Int(row.int(8)), estimate: Int(row.int(9)), counts: try CountsCoding.decode(row.bytes(10)),
            term: row.int(11), lane: lane)
        return (slice, row.int(13))
    }

    /// The values of `HotSQL.slicePlace`.
    static func place(_ id: Slice.ID) -> [SQLValue] {
        [.int(id.app), .id(id.message), .route(id.route), .int(id.window), .int(id.part)]
    }

    static let insert = """
        INSERT INTO slice (app, message, route, window_no, part, state, lane, rank, ready_at, attempt, key_from, key_to,
            keys, cursor, pages, estimate, counts, owner, term, lease_until)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, $10, $11, $12, $13, 0, $14, $15, $16, $17, $18)
        """

    /// The values of `insert`: ready, or leased to `owner`.
    static func values(_ slice: Slice, rank: Int, owner: String?, leaseUntil: Timestamp) -> [SQLValue] {
        let state: Slice.State = owner == nil ? .ready : .leased
        return place(slice.id) + [
            .int(state.rawValue), .int(slice.lane.rawValue), .int(rank), .int(slice.attempt), .int(slice.keyFrom),
            .int(slice.keyTo), .bytes(slice.keys.map(KeyListCoding.encode)), .int(slice.cursor),
            .int(slice.estimate), .bytes(CountsCoding.encode(slice.counts)), .text(owner), .int(slice.term),
            .int(owner == nil ? 0 : leaseUntil.milliseconds),
        ]
    }
}
