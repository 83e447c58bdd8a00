internal import PealCore

extension StoreSession {
    func freeUntriedSlices(of route: ActiveRoute) throws {
        try connection.execute(
            "UPDATE slice SET state = 1 WHERE app = $1 AND route = $2 AND state = 0 AND attempt = 0",
            [.int(route.app), .route(route.route)])
    }

    func readyRoutes() throws -> [ActiveRoute] {
        var routes: [ActiveRoute] = []
        // From one route to the next through the index, however many slices lie between.
        var place: [SQLValue] = [.int(0), .int(0)]
        while let next = try connection.first(
            HotSQL.nextReadyRoute, place,
            { row in
                ActiveRoute(app: row.int(0), route: try row.route(1))
            })
        {
            routes.append(next)
            place = [.int(next.app), .route(next.route)]
        }
        return routes
    }

    func nextDueAt() throws -> Timestamp? {
        let due = [
            try connection.int(HotSQL.nextSliceDue, []), try connection.int(HotSQL.nextMessageDue, []),
            try connection.int(MomentSQL.nextDue, []), try connection.int(MomentSQL.nextLapsed, []),
        ].compactMap { $0 }
        return due.min().map { Timestamp(milliseconds: $0) }
    }

    func releaseDueSlices(now: Timestamp, limit: Int) throws -> Int {
        let due = try connection.all(HotSQL.dueSlices, [.time(now), .int(limit)]) { row -> [SQLValue] in
            [.int(row.int(0)), .bytes(row.bytes(1)), .int(row.int(2)), .int(row.int(3)), .int(row.int(4))]
        }
        return try connection.execute(
            "UPDATE slice SET state = 1 WHERE \(HotSQL.slicePlace) AND state = 0", rows: due
        ).reduce(0, +)
    }

    func lease(
        _ route: ActiveRoute, limit: Int, owner: String, until: Timestamp, now: Timestamp
    ) throws -> [Slice] {
        try connection.all(
            context.dialect.text(of: HotSQL.lease),
            [.int(route.app), .route(route.route), .int(limit), .text(owner), .time(until)]
        ) { try SliceRow.slice($0, app: route.app, route: route.route) }
        .sorted { ($0.slice.lane.rawValue, $0.rank) < ($1.slice.lane.rawValue, $1.rank) }
        .map(\.slice)
    }

    func extendLeases(_ slices: [(id: Slice.ID, term: Int64)], owner: String, until: Timestamp) throws -> [Slice.ID] {
        let counts = try connection.execute(
            HotSQL.extendLease,
            rows: slices.map { SliceRow.place($0.id) + [.text(owner), .int($0.term), .time(until)] })
        return zip(slices, counts).filter { $0.1 == 1 }.map(\.0.id)
    }

    func takeBackLeases(endedBefore now: Timestamp?) throws -> Int {
        try connection.execute(
            """
            UPDATE slice SET owner = $2, state = CASE WHEN (
                    SELECT message.state FROM message
                    WHERE message.app = slice.app AND message.message = slice.message) = 4 THEN 3 ELSE 1 END
            WHERE state = 2 AND lease_until < $1
            """, [.int(now?.milliseconds ?? .max), .null(.text)])
    }

    func census() throws -> StoreCensus {
        func count(_ what: String) throws -> Int { Int(try connection.int("SELECT COUNT(*) FROM \(what)", []) ?? 0) }
        var census = StoreCensus()
        census.messagesUnfinished = try count("message WHERE state < 5")
        census.slicesReady = try count("slice WHERE state = 1")
        census.slicesWaiting = try count("slice WHERE state = 0")
        census.slicesLeased = try count("slice WHERE state = 2")
        census.appsStopped = Int(
            try connection.int("SELECT COUNT(DISTINCT app) FROM credential WHERE health = 2", []) ?? 0)
        return census
    }
}

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
