internal import PealCore

/// `route_gate`: one row for each route of an app that was ever closed. A route without a row is open.
enum RouteGateTable {
    static let columns: Columns = """
        app, route, gate, closed_until, probe_until, level, back_offs, reason, fingerprint, suspect, probed, change_no
        """

    static func gate(_ row: inout RowReader) throws -> RouteGate {
        RouteGate(
            ActiveRoute(app: try row.next(), route: try row.next()), try row.next(), closedUntil: try row.next(),
            probeUntil: try row.next(), level: try row.next(), backOffs: try row.next(), reason: try row.next(),
            fingerprint: try row.next(), suspect: try row.next(), probed: try row.next(), change: try row.next())
    }

    static func matching(_ route: ActiveRoute) -> SQL { "app = \(route.app) AND route = \(route.route)" }

    /// The routes of an app that are not open.
    static func closed(_ app: AppKey) -> SQL { "SELECT route FROM route_gate WHERE app = \(app) AND gate > 0" }

    static func find(_ route: ActiveRoute) -> SQL { "SELECT \(columns) FROM route_gate WHERE \(matching(route))" }

    /// A closed route keeps its row, which says where the next probe continues.
    static func put(_ gate: RouteGate, change: Int64) -> SQL {
        """
        INSERT INTO route_gate \(row: [
            "app": gate.route.app, "route": gate.route.route, "gate": gate.state, "closed_until": gate.closedUntil,
            "probe_until": gate.probeUntil, "level": gate.level, "back_offs": gate.backOffs, "reason": gate.reason,
            "fingerprint": gate.fingerprint, "suspect": gate.suspect, "probed": gate.probed, "change_no": change,
        ])
        ON CONFLICT (app, route) DO UPDATE SET gate = excluded.gate, closed_until = excluded.closed_until,
            probe_until = excluded.probe_until, level = excluded.level, back_offs = excluded.back_offs,
            reason = excluded.reason, fingerprint = excluded.fingerprint, suspect = excluded.suspect,
            probed = CASE WHEN route_gate.gate = 0 THEN excluded.probed ELSE route_gate.probed END,
            change_no = excluded.change_no
        """
    }

    static func open(_ route: ActiveRoute, change: Int64) -> SQL {
        """
        UPDATE route_gate SET \(set: [
            "gate": RouteGate.State.open, "closed_until": 0, "probe_until": 0, "level": 0, "back_offs": 0, "reason": "",
            "suspect": MessageID?.none, "change_no": change,
        ])
        WHERE \(matching(route))
        """
    }

    /// Changes the row; the process that succeeds may probe.
    static func beginProbe(_ route: ActiveRoute, until end: Timestamp, now: Timestamp) -> SQL {
        """
        UPDATE route_gate SET probe_until = \(end)
        WHERE \(matching(route)) AND gate > 0 AND closed_until <= \(now) AND probe_until <= \(now)
        """
    }

    static func setProbed(_ route: ActiveRoute, _ message: MessageID) -> SQL {
        "UPDATE route_gate SET probed = \(message) WHERE \(matching(route))"
    }

    static func changed(after change: Int64, limit: Int) -> SQL {
        "SELECT \(columns) FROM route_gate WHERE change_no > \(change) ORDER BY change_no LIMIT \(limit)"
    }

    static func closed(limit: Int) -> SQL {
        "SELECT \(columns) FROM route_gate WHERE gate > 0 ORDER BY change_no LIMIT \(limit)"
    }

    /// When slices of the `slice` row's route may be leased again; NULL while it is open.
    static let leasedFrom: SQL = """
        (SELECT CASE WHEN g.probe_until > g.closed_until THEN g.probe_until ELSE g.closed_until END
        FROM route_gate g WHERE g.app = slice.app AND g.route = slice.route AND g.gate > 0)
        """
}

extension StoreSession {
    func gate(of route: ActiveRoute) throws -> RouteGate? {
        try connection.first(RouteGateTable.find(route), RouteGateTable.gate)
    }

    /// The routes that were not open when this transaction looked first.
    func closedRoutes(app: AppKey) throws -> Set<Route> {
        if let known = memo.closedRoutes[app] { return known }
        let routes = try connection.values(RouteGateTable.closed(app), Int64.self).compactMap(Route.init(rawValue:))
        memo.closedRoutes[app] = Set(routes)
        return Set(routes)
    }

    func gates(changedAfter change: Int64, limit: Int) throws -> [RouteGate] {
        try gates(RouteGateTable.changed(after: change, limit: limit))
    }

    /// Skips gates that cannot be read, for example because a newer server on the database knows more networks.
    private func gates(_ statement: SQL) throws -> [RouteGate] {
        try connection.all(statement) { row in try? RouteGateTable.gate(&row) }.compactMap(\.self)
    }

    func gates(app: AppKey) throws -> [RouteGate] {
        try gates("SELECT \(RouteGateTable.columns) FROM route_gate WHERE app = \(app) ORDER BY route")
    }

    func setGate(_ gate: RouteGate) throws -> Int64? {
        if gate.state != .open, let slot = CredentialSlot(of: gate.route), let fingerprint = gate.fingerprint {
            let current: String? = try connection.value(
                "SELECT fingerprint FROM credential WHERE \(CredentialTable.matching(slot))")
            guard current == fingerprint else { return nil }
        }
        let change = try nextChange()
        try connection.execute(RouteGateTable.put(gate, change: change))
        return change
    }

    func openGate(_ route: ActiveRoute) throws {
        guard try gate(of: route) != nil else { return }
        try connection.execute(RouteGateTable.open(route, change: try nextChange()))
    }

    /// The number of a change of gates. It is taken inside this transaction, so that changes commit in the order of
    /// their numbers and no reader of later ones misses an earlier one.
    private func nextChange() throws -> Int64 {
        guard let number: Int64 = try connection.value(Self.counter("route_gate").raising(1)) else {
            throw PealError.damaged("a counter")
        }
        return number
    }

    /// Opens the routes of a credential that was put or deleted.
    func openGates(at slot: CredentialSlot) throws {
        for route in slot.routes { try openGate(route) }
    }

    func endProbes() throws {
        try connection.execute("UPDATE route_gate SET probe_until = 0 WHERE gate > 0 AND probe_until > 0")
    }

    func routeLoads(app: AppKey) throws -> [Route: RouteLoad] {
        var loads: [Route: RouteLoad] = [:]
        var createdAt: (message: MessageID, at: Timestamp)?
        try connection.query(SliceTable.ofApp(app, limit: Limits.routeSlicesRead)) { row in
            let (message, code): (MessageID, Int64) = (try row.next(), try row.next())
            let (state, isHeld): (Slice.State, Int64) = (try row.next(), try row.next())
            let estimate: Int = try row.next()
            // If a slice cannot be read, its settled devices are unknown.
            let settled = (try? CountsCoding.decode(row.next()))?.settled ?? 0
            guard state != .done, let route = Route(rawValue: code) else { return }
            if createdAt?.message != message {
                createdAt = try self.message(app: app, id: message).map { (message, $0.createdAt) }
            }
            var load = loads[route] ?? RouteLoad()
            load.pending += SliceTable.pending(estimate: estimate, settled: settled)
            if let at = createdAt?.at, isHeld == 0 { load.oldestAt = min(load.oldestAt ?? at, at) }
            loads[route] = load
        }
        return loads
    }

    /// Slices that wait for closed routes, counted up to about `Limits.censusMax`.
    func parkedCount() throws -> Int {
        let closed = try gates(RouteGateTable.closed(limit: Limits.routeSlicesRead))
        var (count, rest) = (0, closed[...])
        while !rest.isEmpty, count < Limits.censusMax {
            let statements = rest.prefix(Self.gatesPerCount).map { SliceTable.parkedCount($0.route) }
            rest = rest.dropFirst(Self.gatesPerCount)
            try connection.query(statements[0].text, each: statements.map(\.values)) { count += Int($0.int(0)) }
        }
        return min(count, Limits.censusMax)
    }

    private static let gatesPerCount = 100

    func parkedRoutes(limit: Int) throws -> [ParkedRoute] {
        let closed = try gates(RouteGateTable.closed(limit: limit))
        return try closed.compactMap { gate in
            let route = gate.route
            let slices = try connection.count(SliceTable.parkedCount(route))
            guard slices > 0, let app = try app(key: route.app),
                let first: MessageID = try connection.value(SliceTable.firstReady(route)),
                let oldest = try message(app: route.app, id: first)
            else { return nil }
            return ParkedRoute(
                app: app.id, route: route.route, isStopped: gate.state == .stopped, slices: slices,
                oldestAt: oldest.createdAt)
        }
    }
}

/// Leasing for a probe.
extension StoreSession {
    /// The most messages that are examined for one probe.
    private static let probeStepsMax = 256

    /// One slice from each of a few messages after those of the last probe, if a probe is due.
    func leaseProbe(_ gate: RouteGate, owner: String, until: Timestamp, now: Timestamp) throws -> [Slice] {
        let end = now + .seconds(Limits.probeSeconds)
        guard try connection.execute(RouteGateTable.beginProbe(gate.route, until: end, now: now)) == 1 else {
            return []
        }
        let start = gate.probed ?? gate.suspect
        var slices: [Slice] = []
        var last = start
        var seen = start
        var steps = Self.probeStepsMax
        // The messages after the last one, then those from the beginning.
        let ranges: [(MessageID?, MessageID?)] = start == nil ? [(nil, nil)] : [(start, nil), (nil, start)]
        for range in ranges {
            var position = range.0
            while steps > 0, slices.count < Limits.probeMessagesMax {
                steps -= 1
                let next: MessageID? = try connection.value(
                    SliceTable.nextMessage(after: position, app: gate.route.app))
                guard let next else { break }
                if let end = range.1, next > end { break }
                (position, seen) = (next, next)
                guard var leased = try leaseOne(of: next, gate.route, owner: owner, until: until) else { continue }
                leased.isProbe = true
                slices.append(leased)
                last = next
            }
        }
        // If none of them had a slice, the next probe examines others.
        if slices.isEmpty { last = seen }
        if let last, last != gate.probed { try connection.execute(RouteGateTable.setProbed(gate.route, last)) }
        return slices
    }

    /// One ready slice of the message. Devices that were not tried come first: those that were refused before may be
    /// refused again, and keep the route closed.
    private func leaseOne(
        of message: MessageID, _ route: ActiveRoute, owner: String, until: Timestamp
    ) throws -> Slice? {
        for isUntried in [true, false] {
            let statement = SliceTable.leaseOne(
                of: message, route, isUntried: isUntried, owner: owner, until: until, context.dialect)
            let slice = try connection.first(statement) { row in
                try SliceTable.slice(&row, app: route.app, route: route.route).slice
            }
            if let slice { return slice }
        }
        return nil
    }
}
