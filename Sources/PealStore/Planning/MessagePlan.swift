internal import PealCore

extension StoreSession {
    func plan(app: AppKey, id: MessageID, owner: String?, now: Timestamp) throws -> Plan {
        guard let message = try message(app: app, id: id), let draft = try draft(of: message) else {
            throw PealError.notFound("message")
        }
        return try plan(message, draft, owner: owner, now: now)
    }

    func plan(_ draft: MessageDraft, owner: String?, now: Timestamp) throws -> Plan {
        try plan(Message(draft), draft, owner: owner, now: now)
    }

    private func plan(_ message: Message, _ draft: MessageDraft, owner: String?, now: Timestamp) throws -> Plan {
        guard message.state == .planning else { return Plan(state: message.state, leasedSlices: []) }
        let (app, id) = (message.app, message.id)
        let environment = draft.options.resolved(for: .ios, in: draft.content).environment
        let resolved = try resolve(app: app, draft.audience, environment: environment, now: now)
        let slices = try cut(resolved, app: app, message: id)
        guard !slices.isEmpty else { return try endUnsent(message, now: now) }

        let isDirect = draft.audience.isExplicit && resolved.namedCount <= Limits.directDevicesMax
        let lease = isDirect ? owner : nil
        let planned = slices.map { slice, rank in
            var slice = slice
            slice.lane = isDirect ? .direct : .bulk
            slice.term = lease == nil ? 0 : 1
            return (slice: slice, rank: rank)
        }
        try store(resolved, app: app, message: id)
        let leaseUntil = now + .seconds(Limits.leaseSeconds)
        try connection.execute(
            SliceRow.insert,
            rows: planned.map { SliceRow.values($0.slice, rank: $0.rank, owner: lease, leaseUntil: leaseUntil) })
        try connection.execute(
            "UPDATE message SET state = 3, cutoff_at = $3, slices_open = $4 WHERE app = $1 AND message = $2",
            [.int(app), .id(id), .time(now), .int(planned.count)])
        return Plan(state: .sending, leasedSlices: lease == nil ? [] : planned.map(\.slice))
    }

    /// Nobody is in the audience: the message is over before it began.
    private func endUnsent(_ message: Message, now: Timestamp) throws -> Plan {
        let state: Message.State = message.expiresAt <= now ? .expired : .sent
        try connection.execute(
            """
            UPDATE message SET state = $3, cutoff_at = $4, ended_at = $4, counts = $5
            WHERE app = $1 AND message = $2
            """,
            [
                .int(message.app), .id(message.id), .int(state.rawValue), .time(now),
                .bytes(CountsCoding.encode([Route: OutcomeCounts]())),
            ])
        try reportEnd(message, state: state, at: now)
        return Plan(state: state, leasedSlices: [])
    }

    /// The slices of every route with somebody in it, each with its rank: its position in the message.
    private func cut(
        _ resolved: ResolvedAudience, app: AppKey, message: MessageID
    ) throws -> [(slice: Slice, rank: Int)] {
        let lastKey = try lastDeviceKey(app: app)
        return try resolved.routes.flatMap { route -> [(slice: Slice, rank: Int)] in
            let place = Slice.ID(app: app, message: message, route: route, window: 0, part: 0)
            var slices: [Slice] = []
            if resolved.predicate.isList {
                slices = ListPlan.cut(resolved.keys[route] ?? []).map { Self.listSlice($0, place) }
            } else {
                let named = resolved.addresses[route]?.count ?? 0
                let estimate = try estimate(app: app, resolved, route) - named
                if estimate > 0 { slices = Self.windowSlices(estimate, lastKey, place) }
            }
            if let addresses = resolved.addresses[route], !addresses.isEmpty {
                slices.append(Self.addressSlice(addresses.count, place))
            }
            return slices.enumerated().map { (slice: $1, rank: $0) }
        }
    }

    private static func windowSlices(_ estimate: Int, _ lastKey: DeviceKey, _ place: Slice.ID) -> [Slice] {
        let windows = WindowPlan(lastKey: lastKey, audience: estimate)
        return (0..<windows.count).map { index in
            slice(windows.range(index), keys: nil, estimate: windows.estimate(index, of: estimate), place)
        }
    }

    private static func listSlice(_ keys: [DeviceKey], _ place: Slice.ID) -> Slice {
        let range = (keys.first ?? 0)...(keys.last ?? 0)
        return slice(range, keys: keys, estimate: keys.count, place)
    }

    private static func addressSlice(_ count: Int, _ place: Slice.ID) -> Slice {
        slice(1...DeviceKey(count), keys: nil, estimate: count, place, window: Slice.ID.addressWindow)
    }

    private static func slice(
        _ range: ClosedRange<DeviceKey>, keys: [DeviceKey]?, estimate: Int, _ place: Slice.ID, window: Int64? = nil
    ) -> Slice {
        Slice(
            id: .init(
                app: place.app, message: place.message, route: place.route, window: window ?? range.lowerBound,
                part: 0),
            keyFrom: range.lowerBound, keyTo: range.upperBound, keys: keys, cursor: range.lowerBound - 1,
            estimate: estimate, lane: .bulk)
    }

    /// What the slices are read against.
    private func store(_ resolved: ResolvedAudience, app: AppKey, message: MessageID) throws {
        let place: [SQLValue] = [.int(app), .id(message)]
        try connection.execute(
            "INSERT INTO message_predicate (app, message, predicate) VALUES ($1, $2, $3)",
            place + [.bytes(PredicateCoding.encode(resolved.predicate))])
        if resolved.predicate.hasKeys {
            try connection.execute(
                "INSERT INTO message_keys (app, message, route, keys) VALUES ($1, $2, $3, $4)",
                rows: resolved.keys.sorted { $0.key.rawValue < $1.key.rawValue }.map { route, keys in
                    place + [.route(route), .bytes(KeyListCoding.encode(keys))]
                })
        }
        for (route, addresses) in resolved.addresses.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            try connection.execute(
                """
                INSERT INTO message_address (app, message, route, n, address, address_key)
                VALUES ($1, $2, $3, $4, $5, $6)
                """,
                rows: addresses.enumerated().map { index, address in
                    place + [
                        .route(route), .int(index + 1), .bytes(address.bytes),
                        .bytes(DeviceRow.addressKey(of: address)),
                    ]
                })
        }
    }
}

/// How the keys of an app are cut into windows. Wide ones for small audiences, so that a page is not nearly empty;
/// narrow ones for small apps, so that several workers find something to do.
struct WindowPlan: Sendable, Hashable {
    /// A bitmap of 512 KiB.
    static let keysMax: Int64 = 1 << 22
    private static let slicesWanted: Int64 = 8

    let keys: Int64
    let lastKey: DeviceKey

    /// - Parameters:
    ///   - lastKey: the highest key given so far.
    ///   - audience: about how many devices of one route will be found among all keys.
    init(lastKey: DeviceKey, audience: Int) {
        self.lastKey = lastKey
        var keys = Limits.windowKeys
        while keys > Limits.windowKeysMin, keys * Self.slicesWanted > lastKey { keys /= 2 }
        // Devices in a window, by proportion; at least a page of them is wanted.
        while keys < Self.keysMax, keys < lastKey,
            Double(audience) * Double(keys) / Double(max(1, lastKey)) < Double(Limits.pageDevicesMax)
        { keys *= 2 }
        self.keys = keys
    }

    var count: Int { Int((lastKey + keys - 1) / keys) }

    func range(_ index: Int) -> ClosedRange<DeviceKey> {
        let first = Int64(index) * keys + 1
        return first...min(lastKey, first + keys - 1)
    }

    /// The share of window `index` in `audience`: the shares add up to it.
    func estimate(_ index: Int, of audience: Int) -> Int {
        guard count > 0 else { return 0 }
        return audience * (index + 1) / count - audience * index / count
    }
}

/// Cuts a sorted list of keys into slices: of a bounded number of keys, and of a bounded range so that its bitmap is.
enum ListPlan {
    static func cut(_ keys: [DeviceKey]) -> [[DeviceKey]] {
        var lists: [[DeviceKey]] = []
        var start = 0
        for index in keys.indices {
            let isFull = index - start >= Limits.listSliceKeysMax
            if isFull || keys[index] - keys[start] >= WindowPlan.keysMax {
                lists.append(Array(keys[start..<index]))
                start = index
            }
        }
        if start < keys.count { lists.append(Array(keys[start...])) }
        return lists
    }
}
