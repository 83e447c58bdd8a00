internal import PealCore

/// `slice`: the leased ranges of messages' audiences.
enum SliceTable {
    /// What `slice(_:app:route:)` reads; the last one is the rank.
    static let columns: Columns = """
        message, window_no, part, attempt, key_from, key_to, keys, cursor, pages, estimate, counts, term, lane, rank
        """

    static func slice(_ row: inout RowReader, app: AppKey, route: Route) throws -> (slice: Slice, rank: Int64) {
        let id = Slice.ID(
            app: app, message: try row.next(), route: route, rangeStart: try row.next(), part: try row.next())
        let slice = Slice(
            id: id, attempt: try row.next(), keyFrom: try row.next(), keyTo: try row.next(),
            keys: try row.next([UInt8]?.self).map(KeyListCoding.decode), cursor: try row.next(),
            pageCount: try row.next(), estimate: try row.next(), counts: try CountsCoding.decode(row.next()),
            term: try row.next(), lane: try row.next())
        return (slice, try row.next())
    }

    static func place(_ id: Slice.ID) -> SQL {
        """
        app = \(id.app) AND message = \(id.message) AND route = \(id.route) AND window_no = \(id.rangeStart) \
        AND part = \(id.part)
        """
    }

    /// Ready, or leased to `owner`.
    static func insert(_ slice: Slice, rank: Int, owner: String?, leaseUntil: Timestamp) -> SQL {
        """
        INSERT INTO slice \(row: [
            "app": slice.id.app, "message": slice.id.message, "route": slice.id.route, "window_no": slice.id.rangeStart,
            "part": slice.id.part, "state": owner == nil ? Slice.State.ready : .leased, "lane": slice.lane,
            "rank": rank, "ready_at": 0, "attempt": slice.attempt, "key_from": slice.keyFrom, "key_to": slice.keyTo,
            "keys": slice.keys.map(KeyListCoding.encode), "cursor": slice.cursor, "pages": 0,
            "estimate": slice.estimate, "counts": CountsCoding.encode(slice.counts), "owner": owner,
            "term": slice.term, "lease_until": owner == nil ? Timestamp(milliseconds: 0) : leaseUntil,
        ])
        """
    }

    static func lease(
        _ route: ActiveRoute, limit: Int, owner: String, until: Timestamp, _ dialect: SQLDialect
    ) -> SQL {
        """
        WITH pick AS MATERIALIZED (
            SELECT message, window_no, part FROM slice
            WHERE app = \(route.app) AND route = \(route.route) AND state = \(code: Slice.State.ready)
            ORDER BY lane, rank LIMIT \(limit) \(name: dialect.lock))
        UPDATE slice SET state = \(code: Slice.State.leased), owner = \(owner), term = term + 1, lease_until = \(until)
        WHERE app = \(route.app) AND route = \(route.route)
            AND (message, window_no, part) IN (SELECT message, window_no, part FROM pick)
        RETURNING \(columns)
        """
    }

    static func extendLease(_ id: Slice.ID, term: Int64, owner: String, until: Timestamp) -> SQL {
        """
        UPDATE slice SET lease_until = \(until)
        WHERE \(place(id)) AND state = \(code: Slice.State.leased) AND owner = \(owner) AND term = \(term)
        """
    }

    static func nextReadyRoute(after app: AppKey, _ route: Int64) -> SQL {
        """
        SELECT app, route FROM slice WHERE state = \(code: Slice.State.ready) AND (app, route) > (\(app), \(route))
        ORDER BY app, route LIMIT 1
        """
    }

    static func due(_ now: Timestamp, limit: Int) -> SQL {
        """
        SELECT app, message, route, window_no, part FROM slice
        WHERE state = \(code: Slice.State.waiting) AND ready_at <= \(now) ORDER BY ready_at LIMIT \(limit)
        """
    }

    static func dueNext() -> SQL {
        "SELECT ready_at FROM slice WHERE state = \(code: Slice.State.waiting) ORDER BY ready_at LIMIT 1"
    }
}

extension StoreSession {
    func insertSlices(_ slices: [(slice: Slice, rank: Int)], owner: String?, leaseUntil: Timestamp) throws {
        try connection.post(
            slices.map { SliceTable.insert($0.slice, rank: $0.rank, owner: owner, leaseUntil: leaseUntil) })
    }

    func readyRoutes() throws -> [ActiveRoute] {
        var routes: [ActiveRoute] = []
        // From one route to the next through the index, however many slices lie between.
        var next = SliceTable.nextReadyRoute(after: 0, 0)
        while let route = try connection.first(
            next, { row in ActiveRoute(app: try row.next(), route: try row.next()) })
        {
            routes.append(route)
            next = SliceTable.nextReadyRoute(after: route.app, route.route.rawValue)
        }
        return routes
    }

    func nextDueAt() throws -> Timestamp? {
        try [
            SliceTable.dueNext(), MessageTable.dueNext(), MomentTable.nextDueOpen(), MomentTable.nextDueClaimed(),
        ].compactMap { try connection.value($0, Timestamp.self) }.min()
    }

    func releaseDueSlices(now: Timestamp, limit: Int) throws -> Int {
        let due = try connection.all(SliceTable.due(now, limit: limit)) { row in
            Slice.ID(
                app: try row.next(), message: try row.next(), route: try row.next(), rangeStart: try row.next(),
                part: try row.next())
        }
        return try connection.execute(
            due.map {
                """
                UPDATE slice SET state = \(Slice.State.ready)
                WHERE \(SliceTable.place($0)) AND state = \(code: Slice.State.waiting)
                """
            } as [SQL]
        ).reduce(0, +)
    }

    func freeUntriedSlices(of route: ActiveRoute) throws {
        try connection.post(
            """
            UPDATE slice SET state = \(code: Slice.State.ready)
            WHERE app = \(route.app) AND route = \(route.route) AND state = \(code: Slice.State.waiting)
                AND attempt = 0
            """)
    }

    /// Leased slices are left to their workers, who release them when they see the new state.
    func moveSlices(app: AppKey, id: MessageID, to state: Message.State, now: Timestamp) throws {
        typealias State = Slice.State
        let place = MessageTable.place(app, id)
        switch state {
        case .paused:
            try connection.post(
                """
                UPDATE slice SET state = \(code: State.held)
                WHERE \(place) AND state IN (\(code: State.waiting), \(code: State.ready))
                """)
        case .sending:
            try connection.post(
                """
                UPDATE slice SET state =
                    CASE WHEN ready_at > \(now) THEN \(code: State.waiting) ELSE \(code: State.ready) END
                WHERE \(place) AND state = \(code: State.held)
                """)
        case .cancelled, .expired, .failed:
            // Nothing waits any longer: the workers settle what is left without sending.
            try connection.post(
                """
                UPDATE slice SET state = \(code: State.ready)
                WHERE \(place) AND state IN (\(code: State.waiting), \(code: State.held))
                """)
        case .scheduled, .planning, .sent: break
        }
    }

    func lease(
        _ route: ActiveRoute, limit: Int, owner: String, until: Timestamp, now: Timestamp
    ) throws -> [Slice] {
        try connection.all(
            SliceTable.lease(route, limit: limit, owner: owner, until: until, context.dialect)
        ) { row in try SliceTable.slice(&row, app: route.app, route: route.route) }
        .sorted { ($0.slice.lane.rawValue, $0.rank) < ($1.slice.lane.rawValue, $1.rank) }
        .map(\.slice)
    }

    func extendLeases(_ slices: [(id: Slice.ID, term: Int64)], owner: String, until: Timestamp) throws -> [Slice.ID] {
        let counts = try connection.execute(
            slices.map { SliceTable.extendLease($0.id, term: $0.term, owner: owner, until: until) })
        return zip(slices, counts).filter { $0.1 == 1 }.map(\.0.id)
    }

    /// A slice of a paused message is held, any other is ready again.
    func takeBackLeases(endedBefore now: Timestamp?) throws -> Int {
        // Leases of other processes end by time alone.
        if now == nil, context.dialect.isShared { return 0 }
        let end = now ?? Timestamp(milliseconds: .max)
        return try connection.execute(
            """
            UPDATE slice SET owner = \(String?.none), state =
                CASE WHEN \(MessageTable.stateOfSlice) = \(code: Message.State.paused)
                THEN \(code: Slice.State.held) ELSE \(code: Slice.State.ready) END
            WHERE state = \(code: Slice.State.leased) AND lease_until < \(end)
            """)
    }

    func census() throws -> StoreCensus {
        func slices(_ state: Slice.State) throws -> Int {
            try connection.count("SELECT COUNT(*) FROM slice WHERE state = \(code: state)")
        }
        var census = StoreCensus()
        census.messagesUnfinished = try connection.count(
            "SELECT COUNT(*) FROM message WHERE state < \(code: Message.State.sent)")
        census.slicesReady = try slices(.ready)
        census.slicesWaiting = try slices(.waiting)
        census.slicesLeased = try slices(.leased)
        census.appsStopped = try connection.count(
            """
            SELECT COUNT(DISTINCT app) FROM credential WHERE health = \(code: CredentialTable.HealthCode.stopped)
            """)
        return census
    }
}
