internal import PealCore

extension SliceTable {
    /// Slices of a route in `state`, which is `ready` or `ending`, in the order in which they are leased: each key as
    /// it is stored, and the columns of `slice(_:app:route:)`.
    static func first(_ state: Slice.State, of route: ActiveRoute, limit: Int) -> SQL {
        """
        SELECT \(StoredSliceKey.columns), \(columns) FROM slice
        WHERE app = \(route.app) AND route = \(route.route) AND state = \(code: state)
        ORDER BY lane, rank LIMIT \(limit)
        """
    }

    /// - Parameter state: `ready` or `ending`.
    static func lease(
        _ state: Slice.State, of route: ActiveRoute, limit: Int, owner: String, until: Timestamp, _ dialect: SQLDialect
    ) -> SQL {
        """
        WITH pick AS MATERIALIZED (
            SELECT message, window_no, part FROM slice
            WHERE app = \(route.app) AND route = \(route.route) AND state = \(code: state)
            ORDER BY lane, rank LIMIT \(limit) \(name: dialect.lock))
        UPDATE slice SET state = \(code: Slice.State.leased), owner = \(owner), term = term + 1, lease_until = \(until)
        WHERE app = \(route.app) AND route = \(route.route)
            AND (message, window_no, part) IN (SELECT message, window_no, part FROM pick)
        RETURNING \(columns)
        """
    }

    /// One ready slice of the message.
    /// - Parameter isUntried: Only one whose devices were never tried.
    static func leaseOne(
        of message: MessageID, _ route: ActiveRoute, isUntried: Bool = false, owner: String, until: Timestamp,
        _ dialect: SQLDialect
    ) -> SQL {
        """
        WITH pick AS MATERIALIZED (
            SELECT window_no, part FROM slice
            WHERE app = \(route.app) AND message = \(message) AND route = \(route.route)
                AND state = \(code: Slice.State.ready)
                \(name: isUntried ? "AND attempt = 0" : "")
            LIMIT 1 \(name: dialect.lock))
        UPDATE slice SET state = \(code: Slice.State.leased), owner = \(owner), term = term + 1, lease_until = \(until)
        WHERE app = \(route.app) AND message = \(message) AND route = \(route.route)
            AND (window_no, part) IN (SELECT window_no, part FROM pick)
        RETURNING \(columns)
        """
    }

    static func extend(_ lease: Slice.Lease, owner: String, until: Timestamp) -> SQL {
        """
        UPDATE slice SET lease_until = \(extended(to: until))
        WHERE \(matching(lease.id)) AND state = \(code: Slice.State.leased) AND owner = \(owner)
            AND term = \(lease.term)
        """
    }

    /// The end of a lease that is extended. Settlements and heartbeats may overtake each other, so a later end stays:
    /// the holder relies on it. One that lies too far ahead was written before the clock was set back.
    static func extended(to until: Timestamp) -> SQL {
        """
        CASE WHEN lease_until BETWEEN \(until) AND \(until + .seconds(Limits.leaseSeconds)) THEN lease_until \
        ELSE \(until) END
        """
    }

    /// Ends leases whose holders are gone, and marks what they may have sent as in doubt. A slice of a paused message
    /// is held, and one of an ended message ends; any other is ready again.
    /// - Parameter process: leases of this process have sent nothing yet.
    static func takeBack(by process: String?) -> SQL {
        """
        UPDATE slice SET owner = \(String?.none),
            doubt = CASE WHEN owner = \(process) THEN doubt
                WHEN lane = \(code: Slice.Lane.direct) THEN \(Slice.Lane.direct.devicesInFlightMax)
                ELSE \(Slice.Lane.bulk.devicesInFlightMax) END,
            state = \(effective(.ready))
        """
    }

    static func abandoned(at now: Timestamp) -> SQL {
        "SELECT \(StoredSliceKey.columns), term FROM slice WHERE \(isAbandoned(at: now))"
    }

    /// Whether a slice is leased by a holder that is gone: its lease has ended, or its end lies so far ahead that the
    /// clock was set back since. Holders extend their leases by the new clock.
    static func isAbandoned(at now: Timestamp) -> SQL {
        """
        state = \(code: Slice.State.leased)
            AND (lease_until < \(now) OR lease_until - \(2000 * Limits.leaseSeconds) > \(now))
        """
    }
}

/// Leases, from the first to the last term.
extension StoreSession {
    func lease(
        _ route: ActiveRoute, limit: Int, owner: String, until: Timestamp, now: Timestamp
    ) throws -> [Slice] {
        let ending = try lease(.ending, of: route, limit: limit, owner: owner, until: until)
        let room = limit - ending.count
        guard room > 0 else { return ending }
        guard let gate = try gate(of: route), gate.state != .open else {
            return try ending + lease(.ready, of: route, limit: room, owner: owner, until: until)
        }
        return try ending + leaseProbe(gate, owner: owner, until: until, now: now)
    }

    private func lease(
        _ state: Slice.State, of route: ActiveRoute, limit: Int, owner: String, until: Timestamp
    ) throws -> [Slice] {
        try connection.all(
            SliceTable.lease(state, of: route, limit: limit, owner: owner, until: until, context.dialect)
        ) { row in try SliceTable.slice(&row, app: route.app, route: route.route) }
        .sorted { ($0.slice.lane.rawValue, $0.rank) < ($1.slice.lane.rawValue, $1.rank) }
        .map(\.slice)
    }

    func extendLeases(_ leases: [Slice.Lease], owner: String, until: Timestamp) throws -> [Slice.Lease] {
        let leases = leases.sorted { Self.precedes($0.id, $1.id) }
        let counts = try connection.execute(
            leases.map { SliceTable.extend($0, owner: owner, until: until) })
        return zip(leases, counts).filter { $0.1 == 1 }.map(\.0)
    }

    func takeBackLeases(
        endedBefore now: Timestamp?, keeping kept: Set<Slice.Lease>, by process: String?
    ) throws -> Int {
        // Leases of other processes end only by time.
        if now == nil, context.dialect.isShared { return 0 }
        let end = now ?? Timestamp(milliseconds: .max)
        guard !kept.isEmpty else {
            return try connection.execute(
                "\(SliceTable.takeBack(by: process)) WHERE \(SliceTable.isAbandoned(at: end))")
        }
        let ended = try connection.all(SliceTable.abandoned(at: end)) { row in
            (key: try StoredSliceKey(&row), term: try row.next(Int64.self))
        }
        return try connection.execute(
            ended.filter { ended in !(ended.key.id.map { kept.contains(.init(id: $0, term: ended.term)) } ?? false) }
                .map { key, term in
                    """
                    \(SliceTable.takeBack(by: process))
                    WHERE \(key.matching) AND state = \(code: Slice.State.leased) AND term = \(term)
                    """
                } as [SQL]
        ).reduce(0, +)
    }

    func quarantineUnreadable(on route: ActiveRoute, limit: Int) throws -> [UnreadableSlice] {
        try [Slice.State.ending, .ready].flatMap { state in
            var found: [(key: StoredSliceKey, reason: String)] = []
            try connection.query(SliceTable.first(state, of: route, limit: limit)) { row in
                let key = try StoredSliceKey(&row)
                do {
                    _ = try SliceTable.slice(&row, app: route.app, route: route.route)
                } catch {
                    found.append((key, PealError.message(of: error)))
                }
            }
            try connection.execute(
                found.map { key, reason in
                    """
                    UPDATE slice SET state = \(Slice.State.quarantined), fault = \(reason)
                    WHERE \(key.matching) AND state = \(code: state)
                    """
                } as [SQL])
            return found.map { key, reason in
                let message = MessageID(bytes: key.message).map { "\($0)" } ?? Hex.encode(key.message)
                return UnreadableSlice(message: message, rangeStart: key.rangeStart, reason: reason)
            }
        }
    }
}
