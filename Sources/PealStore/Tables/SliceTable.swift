internal import PealCore

/// `slice`: the leased ranges of messages' audiences.
enum SliceTable {
    /// The columns that `slice(_:app:route:)` reads; the last one is the rank.
    static let columns: Columns = """
        message, window_no, part, attempt, key_from, key_to, keys, cursor, pages, estimate, counts, term, lane,
        doubt, rank
        """

    static func slice(_ row: inout RowReader, app: AppKey, route: Route) throws -> (slice: Slice, rank: Int64) {
        let id = Slice.ID(
            app: app, message: try row.next(), route: route, rangeStart: try row.next(), part: try row.next())
        let slice = Slice(
            id: id, attempt: try row.next(), keyFrom: try row.next(), keyTo: try row.next(),
            keys: try row.next([UInt8]?.self).map(KeyListCoding.decode), cursor: try row.next(),
            pageCount: try row.next(), estimate: try row.next(), counts: try CountsCoding.decode(row.next()),
            term: try row.next(), lane: try row.next(), doubt: try row.next())
        guard isPlausible(slice) else { throw PealError.damaged("a slice's numbers") }
        return (slice, try row.next())
    }

    /// Whether work on the slice can neither overflow a number nor need a bitmap that does not fit into memory.
    private static func isPlausible(_ slice: Slice) -> Bool {
        let numbers = [slice.keyFrom, slice.keyTo, slice.cursor, slice.term]
        let counts = [slice.attempt, slice.pageCount, slice.estimate, slice.doubt]
        return numbers.allSatisfy { $0.magnitude <= numberMax }
            && counts.allSatisfy { $0.magnitude <= CountsCoding.devicesMax }
            && (0...rangeKeysMax).contains(slice.keyTo - slice.keyFrom)
    }

    /// The devices of a slice that are not settled, by its estimate; added up without a check of the slice.
    static func pending(estimate: Int, settled: Int) -> Int {
        max(0, min(max(0, estimate), CountsCoding.devicesMax) - settled)
    }

    private static let numberMax: UInt64 = 1 << 53
    /// A bitmap of 512 MiB. Slices are far narrower.
    private static let rangeKeysMax: Int64 = 1 << 32

    static func matching(_ id: Slice.ID) -> SQL {
        """
        app = \(id.app) AND message = \(id.message) AND route = \(id.route) AND window_no = \(id.rangeStart) \
        AND part = \(id.part)
        """
    }

    /// Ready, or leased to `owner`.
    static let insert = Statement<(slice: Slice, rank: Int, owner: String?, leaseUntil: Timestamp)>(
        insertInto: "slice",
        [
            ("app", { $0.slice.id.app }), ("message", { $0.slice.id.message }), ("route", { $0.slice.id.route }),
            ("window_no", { $0.slice.id.rangeStart }), ("part", { $0.slice.id.part }),
            ("state", { $0.owner == nil ? Slice.State.ready : .leased }), ("lane", { $0.slice.lane }),
            ("rank", { $0.rank }), ("ready_at", { _ in 0 }), ("attempt", { $0.slice.attempt }),
            ("key_from", { $0.slice.keyFrom }), ("key_to", { $0.slice.keyTo }),
            ("keys", { $0.slice.keys.map(KeyListCoding.encode) }), ("cursor", { $0.slice.cursor }),
            ("pages", { _ in 0 }),
            ("estimate", { $0.slice.estimate }), ("counts", { CountsCoding.encode($0.slice.counts) }),
            ("owner", { $0.owner }), ("term", { $0.slice.term }),
            ("lease_until", { $0.owner == nil ? Timestamp(milliseconds: 0) : $0.leaseUntil }),
        ])

    /// The next message of the app that has slices.
    static func nextMessage(after message: MessageID?, app: AppKey) -> SQL {
        """
        SELECT message FROM slice WHERE app = \(app) AND message > \(message?.bytes ?? [])
        ORDER BY app, message LIMIT 1
        """
    }

    /// Whether a slice waits because of rules, or was never tried.
    static let isHeld: SQL = """
        (slice.state = \(code: Slice.State.waiting) AND (slice.attempt = 0 OR slice.ruled_at IS NOT NULL))
        """

    static func ofApp(_ app: AppKey, limit: Int) -> SQL {
        """
        SELECT message, route, state, CASE WHEN \(isHeld) THEN 1 ELSE 0 END, estimate, counts
        FROM slice WHERE app = \(app)
        ORDER BY app, message, route, window_no, part LIMIT \(limit)
        """
    }

    /// Counts at most `Limits.routeSlicesRead` ready slices. The order chooses the index: without it, SQLite would read
    /// every slice of the app.
    static func parkedCount(_ route: ActiveRoute) -> SQL {
        """
        SELECT COUNT(*) FROM (SELECT 1 FROM slice
            WHERE app = \(route.app) AND route = \(route.route) AND state = \(code: Slice.State.ready)
            ORDER BY lane, rank LIMIT \(Limits.routeSlicesRead)) AS counted
        """
    }

    static func firstReady(_ route: ActiveRoute) -> SQL {
        """
        SELECT message FROM slice
        WHERE app = \(route.app) AND route = \(route.route) AND state = \(code: Slice.State.ready)
        ORDER BY lane, rank LIMIT 1
        """
    }

    /// `state`, unless the slice's message is paused or has ended.
    static func effective(_ state: Slice.State) -> SQL {
        """
        CASE \(MessageTable.fateOfSlice) WHEN 1 THEN \(code: Slice.State.held) \
        WHEN 2 THEN \(code: Slice.State.ending) ELSE \(code: state) END
        """
    }

    /// The next route with slices in `state`, which is `ready` or `ending`, and when they may be leased.
    static func nextRoute(after app: AppKey, _ route: Int64, _ state: Slice.State) -> SQL {
        let leasedFrom: SQL = state == .ready ? RouteGateTable.leasedFrom : "CAST(NULL AS BIGINT)"
        return """
            SELECT app, route, \(leasedFrom) FROM slice
            WHERE state = \(code: state) AND (app, route) > (\(app), \(route)) ORDER BY app, route LIMIT 1
            """
    }

    static func due(_ now: Timestamp, limit: Int) -> SQL {
        """
        SELECT \(StoredSliceKey.columns) FROM slice
        WHERE state = \(code: Slice.State.waiting) AND ready_at <= \(now) ORDER BY ready_at LIMIT \(limit)
        """
    }

    /// Metrics stop counting at `Limits.censusMax`.
    static func census(_ state: Slice.State) -> SQL {
        """
        SELECT COUNT(*) FROM
            (SELECT 1 FROM slice WHERE state = \(code: state) LIMIT \(Limits.censusMax)) AS counted
        """
    }

    /// Messages that have ended although slices of them are quarantined.
    static func endedInQuarantine(limit: Int) -> SQL {
        """
        SELECT DISTINCT app, message FROM slice
        WHERE state = \(code: Slice.State.quarantined) AND \(MessageTable.fateOfSlice) = 2
        ORDER BY app, message LIMIT \(limit)
        """
    }

    static let nextDue: SQL =
        "SELECT ready_at FROM slice WHERE state = \(code: Slice.State.waiting) ORDER BY ready_at LIMIT 1"
}

/// The key of a slice as it is stored, for changes that need not read it: one that cannot be read stops no others.
struct StoredSliceKey {
    static let columns: Columns = "app, message, route, window_no, part"

    let app: Int64
    let message: [UInt8]
    let route: Int64
    let rangeStart: Int64
    let part: Int64

    init(_ row: inout RowReader) throws {
        app = try row.next()
        message = try row.next()
        route = try row.next()
        rangeStart = try row.next()
        part = try row.next()
    }

    /// nil if it cannot be read.
    var id: Slice.ID? {
        guard let message = MessageID(bytes: message), let route = Route(rawValue: route) else { return nil }
        return Slice.ID(app: app, message: message, route: route, rangeStart: rangeStart, part: part)
    }

    var matching: SQL {
        """
        app = \(app) AND message = \(message) AND route = \(route) AND window_no = \(rangeStart) AND part = \(part)
        """
    }
}

extension StoreSession {
    func insertSlices(_ slices: [(slice: Slice, rank: Int)], owner: String?, leaseUntil: Timestamp) throws {
        try connection.post(
            slices.map { SliceTable.insert.sql(($0.slice, $0.rank, owner, leaseUntil)) })
    }

    func readyRoutes(after start: ActiveRoute?, stepsMax: Int, now: Timestamp) throws -> ReadyRoutes {
        var found = ReadyRoutes()
        var seen: Set<ActiveRoute> = []
        for state in [Slice.State.ending, .ready] {
            var steps = stepsMax
            var last: ActiveRoute?
            for end in start == nil ? [nil] : [nil, start] {
                last = end == nil ? start : nil
                while steps > 0, let next = try nextRoute(after: last, state) {
                    if let end, (next.route.app, next.route.route.rawValue) > (end.app, end.route.rawValue) { break }
                    steps -= 1
                    last = next.route
                    let isLeasable = next.leasedFrom.map { $0 <= now } ?? true
                    guard isLeasable, try isLiving(next.route.app) else { continue }
                    if seen.insert(next.route).inserted { found.routes.append(next.route) }
                }
            }
            if steps == 0 { found.resumeAfter = last }
        }
        return found
    }

    /// Skips from one route to the next through the index, however many slices lie between. Another server may have
    /// stored slices for a network that this program does not know.
    private func nextRoute(
        after last: ActiveRoute?, _ state: Slice.State
    ) throws -> (route: ActiveRoute, leasedFrom: Timestamp?)? {
        var (app, code) = (last?.app ?? 0, last?.route.rawValue ?? 0)
        while true {
            let next = try connection.first(SliceTable.nextRoute(after: app, code, state)) { row in
                (app: try row.next(AppKey.self), code: try row.next(Int64.self), from: try row.next(Timestamp?.self))
            }
            guard let next else { return nil }
            if let route = Route(rawValue: next.code) { return (ActiveRoute(app: next.app, route: route), next.from) }
            (app, code) = (next.app, next.code)
        }
    }

    func nextDueAt() throws -> Timestamp? {
        try [
            SliceTable.nextDue, MessageTable.nextDue, MessageTable.expiringNext(.sending),
            MessageTable.expiringNext(.paused), MomentTable.nextDue(.open), MomentTable.nextDue(.claimed),
        ].compactMap { try connection.value($0, Timestamp.self) }.min()
    }

    func releaseDueSlices(now: Timestamp, limit: Int) throws -> Int {
        let due = try connection.all(SliceTable.due(now, limit: limit), StoredSliceKey.init)
        return try connection.execute(
            due.map {
                """
                UPDATE slice SET state = \(Slice.State.ready), ruled_at = NULL
                WHERE \($0.matching) AND state = \(code: Slice.State.waiting)
                """
            } as [SQL]
        ).reduce(0, +)
    }

    /// How many slices change state in their message's transaction; the Pruner moves the others.
    private static let movedAtOnce = 1000

    /// Leased slices are left to their workers, which release them when they see the new state. A worker that leases a
    /// slice that has not followed yet does the same.
    func moveSlices(app: AppKey, id: MessageID, to state: Message.State, now: Timestamp) throws {
        let piece = try movePiece(app: app, id: id, to: state, limit: Self.movedAtOnce, now: now)
        if !piece.isComplete { try leave(.slices, app: app, name: id.description, now: now) }
    }

    func movePiece(
        app: AppKey, id: MessageID, to state: Message.State, limit: Int, now: Timestamp
    ) throws -> Piece {
        typealias State = Slice.State
        let (from, target): ([State], SQL)
        switch state {
        case .paused: (from, target) = ([.waiting, .ready], "\(code: State.held)")
        case .sending:
            from = [.held, .quarantined]
            target = "CASE WHEN ready_at > \(now) THEN \(code: State.waiting) ELSE \(code: State.ready) END"
        case .cancelled, .expired, .failed:
            // Nothing waits any longer: the workers settle what is left without sending.
            (from, target) = ([.waiting, .ready, .held, .quarantined], "\(code: State.ending)")
        case .scheduled, .planning, .sent: return .nothing
        }
        return try movePiece(app: app, id: id, from: from, target, limit: limit)
    }

    private func movePiece(
        app: AppKey, id: MessageID, from states: [Slice.State], _ target: SQL, limit: Int
    ) throws -> Piece {
        let from: SQL = "(\(name: states.map { "\($0.rawValue)" }.joined(separator: ", ")))"
        let chosen = try connection.all(
            """
            SELECT \(StoredSliceKey.columns) FROM slice WHERE \(MessageTable.matching(app, id)) AND state IN \(from)
            LIMIT \(limit)
            """, StoredSliceKey.init)
        try connection.execute(
            chosen.map { "UPDATE slice SET state = \(target) WHERE \($0.matching) AND state IN \(from)" as SQL })
        return Piece(rows: chosen.count, isComplete: chosen.count < limit)
    }

    func resumeQuarantined(app: AppKey, id: MessageID) throws -> Int {
        try movePiece(
            app: app, id: id, from: [.quarantined], "\(code: Slice.State.ready)", limit: Self.movedAtOnce
        ).rows
    }

    func endQuarantined(limit: Int) throws -> Int {
        let over = try messageKeys(SliceTable.endedInQuarantine(limit: limit))
        var count = 0
        for (app, id) in over {
            count +=
                try movePiece(
                    app: app, id: id, from: [.quarantined], "\(code: Slice.State.ending)", limit: Self.movedAtOnce
                ).rows
        }
        return count
    }
}
