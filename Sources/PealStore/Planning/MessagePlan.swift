internal import PealCore

extension StoreSession {
    func plan(app: AppKey, id: MessageID, owner: String?, now: Timestamp) throws -> Plan {
        guard let message = try message(app: app, id: id), let draft = try draft(of: message) else {
            throw PealError.notFound("message")
        }
        guard message.state == .planning else { return Plan(state: message.state, leasedSlices: []) }
        let outline = try outline(message, draft, owner: owner, now: now)
        try connection.post(
            "UPDATE message SET \(set: outline.start.columns) WHERE \(MessageTable.matching(app, id))")
        return try store(
            outline, of: message, owner: owner, leaseUntil: now + .seconds(Limits.leaseSeconds), now: now)
    }

    func insertPlanned(_ draft: MessageDraft, under offer: LeaseOffer?, now: Timestamp) throws -> Plan {
        let message = Message(draft)
        let outline = try outline(message, draft, owner: offer?.owner, now: now)
        try insertMessage(draft, outline.start)
        return try store(outline, of: message, owner: offer?.owner, leaseUntil: offer?.leaseUntil ?? now, now: now)
    }

    /// What planning decided about a message: its audience, its slices and its first state.
    private struct Outline {
        let resolved: ResolvedAudience
        /// Slices with term 1 are leased to the owner.
        let slices: [(slice: Slice, rank: Int)]
        let start: MessageStart
    }

    private func outline(
        _ message: Message, _ draft: MessageDraft, owner: String?, now: Timestamp
    ) throws -> Outline {
        let resolved = try resolve(
            app: message.app, draft.audience, environment: draft.audienceEnvironment, now: now)
        let isDirect = draft.audience.isExplicit && resolved.namedCount <= Limits.directDevicesMax
        var slices = try cut(resolved, app: message.app, message: message.id, now: now)
        for index in slices.indices {
            slices[index].slice.lane = isDirect ? .direct : .bulk
            let isLeased = try isDirect && owner != nil && !isClosed(slices[index].slice.id.route, app: message.app)
            slices[index].slice.term = isLeased ? 1 : 0
        }
        if slices.count == 1 { slices[0].slice.isOnly = true }
        return Outline(resolved: resolved, slices: slices, start: Self.start(of: message, slices.count, now: now))
    }

    /// A message without slices ends at once.
    private static func start(of message: Message, _ slices: Int, now: Timestamp) -> MessageStart {
        var start = MessageStart(slices > 0 ? .sending : message.expiresAt <= now ? .expired : .sent)
        start.cutoffAt = now
        start.slicesOpen = slices
        if slices == 0 { (start.endedAt, start.counts) = (now, [:]) }
        return start
    }

    private func store(
        _ outline: Outline, of message: Message, owner: String?, leaseUntil: Timestamp, now: Timestamp
    ) throws -> Plan {
        guard !outline.slices.isEmpty else {
            try reportEnd(message, state: outline.start.state, at: now)
            return Plan(state: outline.start.state, leasedSlices: [])
        }
        try store(outline.resolved, app: message.app, message: message.id)
        let leased = outline.slices.filter { $0.slice.term == 1 }
        try insertSlices(leased, owner: owner, leaseUntil: leaseUntil)
        try insertSlices(outline.slices.filter { $0.slice.term == 0 }, owner: nil, leaseUntil: leaseUntil)
        let slices = leased.map(\.slice)
        return Plan(
            state: .sending, leasedSlices: slices, pages: pages(of: slices, outline.resolved, now: now),
            audienceEstimate: outline.slices.reduce(0) { $0 + $1.slice.estimate })
    }

    /// The devices of slices, if they were read when the audience was resolved.
    private func pages(of slices: [Slice], _ resolved: ResolvedAudience, now: Timestamp) -> [Slice.ID: DevicePage] {
        guard let devices = resolved.devices else { return [:] }
        var pages: [Slice.ID: DevicePage] = [:]
        for slice in slices {
            var page = DevicePage(through: slice.keyTo, isLast: true, readAt: now, capacity: slice.estimate)
            for key in slice.keys ?? [] {
                guard let device = devices[key] else { continue }
                device.address.withUnsafeBytes {
                    page.append(key: key, address: $0, revision: device.revision, locale: device.locale)
                }
            }
            // Devices that the audience names by address were not read.
            if page.count == slice.keys?.count { pages[slice.id] = page }
        }
        return pages
    }

    /// Slices of a closed route wait for it; leasing them would only write them twice.
    private func isClosed(_ route: Route, app: AppKey) throws -> Bool {
        try closedRoutes(app: app).contains(route)
    }

    /// The slices of every route that has devices, each with its rank: its position in the message.
    private func cut(
        _ resolved: ResolvedAudience, app: AppKey, message: MessageID, now: Timestamp
    ) throws -> [(slice: Slice, rank: Int)] {
        let lastKey = try lastDeviceKey(app: app)
        let keysMax = resolved.rangeKeysMax
        return try resolved.routes.flatMap { route -> [(slice: Slice, rank: Int)] in
            let template = Slice.ID(app: app, message: message, route: route, rangeStart: 0, part: 0)
            var slices: [Slice] = []
            if resolved.predicate.isList {
                slices = ListPlan.cut(resolved.keys[route] ?? []).map { Self.listSlice($0, template) }
            } else {
                let estimate = try keyEstimate(app: app, resolved, route, now: now)
                let ranges = KeyRangePlan(lastKey: lastKey, audience: estimate, keysMax: keysMax)
                if estimate > 0 { slices = Self.rangeSlices(estimate, ranges, template) }
            }
            if let addresses = resolved.addresses[route], !addresses.isEmpty {
                slices.append(Self.addressSlice(addresses.count, template))
            }
            return slices.enumerated().map { (slice: $1, rank: $0) }
        }
    }

    private static func rangeSlices(_ estimate: Int, _ ranges: KeyRangePlan, _ template: Slice.ID) -> [Slice] {
        (0..<ranges.count).map { index in
            slice(ranges.range(index), keys: nil, estimate: ranges.estimate(index, of: estimate), template)
        }
    }

    private static func listSlice(_ keys: [DeviceKey], _ template: Slice.ID) -> Slice {
        let range = (keys.first ?? 0)...(keys.last ?? 0)
        return slice(range, keys: keys, estimate: keys.count, template)
    }

    private static func addressSlice(_ count: Int, _ template: Slice.ID) -> Slice {
        slice(1...DeviceKey(count), keys: nil, estimate: count, template, rangeStart: Slice.ID.addressRange)
    }

    private static func slice(
        _ range: ClosedRange<DeviceKey>, keys: [DeviceKey]?, estimate: Int, _ template: Slice.ID,
        rangeStart: Int64? = nil
    ) -> Slice {
        var id = template
        id.rangeStart = rangeStart ?? range.lowerBound
        return Slice(
            id: id, keyFrom: range.lowerBound, keyTo: range.upperBound, keys: keys, cursor: range.lowerBound - 1,
            estimate: estimate, lane: .bulk)
    }

    /// Stores what the slices are evaluated against.
    private func store(_ resolved: ResolvedAudience, app: AppKey, message: MessageID) throws {
        try insert(resolved.predicate, app: app, message: message)
        if resolved.predicate.hasKeys {
            try connection.post(
                resolved.keys.sorted { $0.key.rawValue < $1.key.rawValue }.map { route, keys in
                    """
                    INSERT INTO message_keys (app, message, route, keys)
                    VALUES (\(app), \(message), \(route), \(KeyListCoding.encode(keys)))
                    """
                } as [SQL])
        }
        for (route, addresses) in resolved.addresses.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            try connection.post(
                addresses.enumerated().map { index, address in
                    """
                    INSERT INTO message_address \(row: [
                        "app": app, "message": message, "route": route, "n": index + 1, "address": address.bytes,
                        "address_key": DeviceTable.addressKey(of: address),
                    ])
                    """
                } as [SQL])
        }
    }
}

/// How the keys of an app are cut into ranges. Ranges are wide for small audiences, so that pages are not nearly empty,
/// and narrow for small apps, so that several workers have work.
struct KeyRangePlan: Sendable, Hashable {
    /// A bitmap of 512 KiB.
    static let keysMax: Int64 = 1 << 22
    private static let slicesWanted: Int64 = 8

    let keys: Int64
    let lastKey: DeviceKey

    /// - Parameters:
    ///   - lastKey: the highest key assigned so far.
    ///   - audience: the approximate number of devices of one route among all keys.
    ///   - keysMax: the widest range.
    init(lastKey: DeviceKey, audience: Int, keysMax: Int64 = Self.keysMax) {
        self.lastKey = lastKey
        var keys = Limits.rangeKeys
        while keys > Limits.rangeKeysMin, keys * Self.slicesWanted > lastKey { keys /= 2 }
        // The expected number of devices in a range, which should be at least a page.
        while keys < keysMax, keys < lastKey,
            Double(audience) * Double(keys) / Double(max(1, lastKey)) < Double(Limits.pageDevicesMax)
        { keys *= 2 }
        self.keys = keys
    }

    var count: Int { Int((lastKey + keys - 1) / keys) }

    func range(_ index: Int) -> ClosedRange<DeviceKey> {
        let first = Int64(index) * keys + 1
        return first...min(lastKey, first + keys - 1)
    }

    /// The share of range `index` in `audience`. The shares add up to it.
    func estimate(_ index: Int, of audience: Int) -> Int {
        guard count > 0 else { return 0 }
        return audience * (index + 1) / count - audience * index / count
    }
}

/// Cuts a sorted list of keys into slices. Each has a bounded number of keys, and a bounded range so that its bitmap is
/// bounded too.
enum ListPlan {
    static func cut(_ keys: [DeviceKey]) -> [[DeviceKey]] {
        var lists: [[DeviceKey]] = []
        var start = 0
        for index in keys.indices {
            let isFull = index - start >= Limits.listSliceKeysMax
            if isFull || keys[index] - keys[start] >= KeyRangePlan.keysMax {
                lists.append(Array(keys[start..<index]))
                start = index
            }
        }
        if start < keys.count { lists.append(Array(keys[start...])) }
        return lists
    }
}
