internal import PealCore

extension StoreSession {
    /// In waves in which each slice comes once, because a page's row in the log is placed by where its slice then
    /// stands; within a wave in order of place, so that nodes lock rows alike.
    func settle(_ settlements: [Settlement], now: Timestamp) throws -> [Settlement.Result] {
        var results = settlements.map { _ in Settlement.Result(isApplied: false) }
        var changes = MessageChanges()
        for wave in Self.waves(settlements) {
            let counts = try connection.execute(
                HotSQL.settle, rows: wave.map { Self.progress(settlements[$0], now: now) })
            for (index, count) in zip(wave, counts) where count == 1 {
                results[index].isApplied = true
                changes.note(settlements[index], at: index)
            }
            let applied = wave.filter { results[$0].isApplied }
            try log(applied.map { settlements[$0] })
            for index in applied {
                let parts = try insertParts(settlements[index])
                results[index].leasedSlices = parts.leased
                changes.added(parts.count, settlements[index].slice)
            }
        }
        for settlement in settlements {
            try retire(settlement, now: now)
            try move(settlement, now: now)
        }
        for (settlement, result) in zip(settlements, results) where result.isApplied && settlement.slice.isMoment {
            try settleMoments(settlement, now: now)
        }
        for (place, change) in changes.byMessage.sorted(by: { $0.key < $1.key }) {
            let ended = try settleMessage(place, change, now: now)
            if let ended { results[change.lastIndex].messageState = ended }
        }
        return results
    }

    private static func waves(_ settlements: [Settlement]) -> [[Int]] {
        var seen: [Slice.ID: Int] = [:]
        var waves: [[Int]] = []
        for (index, settlement) in settlements.enumerated() {
            let wave = seen[settlement.slice, default: 0]
            seen[settlement.slice] = wave + 1
            if waves.count == wave { waves.append([]) }
            waves[wave].append(index)
        }
        return waves.map { wave in wave.sorted { precedes(settlements[$0].slice, settlements[$1].slice) } }
    }

    private static func precedes(_ left: Slice.ID, _ right: Slice.ID) -> Bool {
        if left.app != right.app { return left.app < right.app }
        if left.message != right.message { return left.message < right.message }
        return (left.route.rawValue, left.window, left.part) < (right.route.rawValue, right.window, right.part)
    }

    /// The values of `HotSQL.settle`.
    private static func progress(_ settlement: Settlement, now: Timestamp) -> [SQLValue] {
        let state: Int64
        var leaseUntil: Int64 = 0
        var readyAt: Int64 = 0
        switch settlement.next {
        case .keep(let end):
            state = Slice.State.leased.rawValue
            leaseUntil = end.milliseconds
        case .done:
            state = SliceRow.stateDone
        case .release(let instant):
            readyAt = instant?.milliseconds ?? 0
            state = (readyAt > now.milliseconds ? Slice.State.waiting : .ready).rawValue
        }
        let deferred = settlement.deferrals.reduce(0) { $0 + $1.keys.count }
        return guarded(settlement) + [
            .int(settlement.cursorBefore), .int(settlement.cursorAfter), .int(settlement.logRow == nil ? 0 : 1),
            .bytes(CountsCoding.encode(settlement.counts)), .int(deferred), .int(leaseUntil), .int(state),
            .int(readyAt),
        ]
    }

    /// The place of the slice, its owner and its term.
    private static func guarded(_ settlement: Settlement) -> [SQLValue] {
        SliceRow.place(settlement.slice) + [.text(settlement.owner), .int(settlement.term)]
    }

    /// The place of the slice, its term, and where its cursor now must be.
    private static func settled(_ settlement: Settlement) -> [SQLValue] {
        SliceRow.place(settlement.slice) + [.int(settlement.term), .int(settlement.cursorAfter)]
    }

    private func log(_ settlements: [Settlement]) throws {
        try connection.execute(
            HotSQL.insertPage,
            rows: settlements.compactMap { settlement in
                guard let row = settlement.logRow else { return nil }
                return Self.settled(settlement) + [
                    .int(row.firstKey), .int(row.lastKey), .int(row.deviceCount), .time(row.sentAt),
                    .int(row.tookMilliseconds), .bytes(row.data),
                ]
            })
    }

    /// Makes the deferred keys slices of their own; gives back their number, and those that stay with the worker.
    private func insertParts(_ settlement: Settlement) throws -> (count: Int, leased: [Slice]) {
        let deferrals = settlement.deferrals.filter { !$0.keys.isEmpty }
        let counts = try connection.execute(
            HotSQL.insertPart, rows: deferrals.map { Self.settled(settlement) + Self.part($0, settlement) })
        let leased = try deferrals.filter { $0.leasedUntil != nil }.compactMap { deferral in
            let id = Self.partID(deferral, settlement)
            return try connection.first(
                "SELECT \(HotSQL.sliceColumns) FROM slice WHERE \(HotSQL.slicePlace)", SliceRow.place(id)
            ) { try SliceRow.slice($0, app: id.app, route: id.route).slice }
        }
        return (counts.reduce(0, +), leased)
    }

    private static func partID(_ deferral: Settlement.Deferral, _ settlement: Settlement) -> Slice.ID {
        let parent = settlement.slice
        return .init(
            app: parent.app, message: parent.message, route: parent.route, window: parent.window, part: deferral.part)
    }

    private static func part(_ deferral: Settlement.Deferral, _ settlement: Settlement) -> [SQLValue] {
        let isLeased = deferral.leasedUntil != nil
        let state: Slice.State = isLeased ? .leased : .waiting
        let first = deferral.keys.first ?? 0
        return [
            .int(deferral.part), .int(state.rawValue), .time(deferral.readyAt), .int(deferral.attempt), .int(first),
            .int(deferral.keys.last ?? 0), .bytes(KeyListCoding.encode(deferral.keys)), .int(first - 1),
            .int(deferral.keys.count), .bytes(CountsCoding.encode(OutcomeCounts())),
            .text(isLeased ? settlement.owner : nil), .int(isLeased ? 1 : 0),
            .int(deferral.leasedUntil?.milliseconds ?? 0),
        ]
    }

    /// Retires dead addresses, whoever has the lease by now: what the provider said stays true.
    private func retire(_ settlement: Settlement, now: Timestamp) throws {
        guard !settlement.slice.holdsAddresses, !settlement.retirements.isEmpty else { return }
        let app = settlement.slice.app
        let route = settlement.slice.route
        let retirements = settlement.retirements.sorted { $0.key < $1.key }
        let counts = try connection.execute(
            HotSQL.retire,
            rows: retirements.map {
                [
                    .int(app), .int($0.key), .int($0.revision), .time($0.notAfter), .time(now), .text($0.reason),
                    .route(route),
                ]
            })
        for (retirement, count) in zip(retirements, counts) where count == 1 {
            try leaveStreams(app: app, device: retirement.key, route: route)
        }
    }
}

/// What a group of settlements means to their messages.
struct MessageChanges {
    struct Place: Hashable, Comparable {
        let app: AppKey
        let message: MessageID

        static func < (left: Place, right: Place) -> Bool {
            left.app != right.app ? left.app < right.app : left.message < right.message
        }
    }

    struct Change {
        /// Slices added less slices ended.
        var slicesOpen = 0
        /// When the first page of the group that tried anything was sent.
        var firstSentAt: Timestamp?
        /// The last settlement of the message in the group.
        var lastIndex = 0

        init(slicesOpen: Int = 0) { self.slicesOpen = slicesOpen }
    }

    private(set) var byMessage: [Place: Change] = [:]

    /// Takes an applied settlement and its position in the group.
    mutating func note(_ settlement: Settlement, at index: Int) {
        let place = Place(app: settlement.slice.app, message: settlement.slice.message)
        var change = byMessage[place] ?? Change()
        change.lastIndex = max(change.lastIndex, index)
        if settlement.next == .done { change.slicesOpen -= 1 }
        let counts = settlement.counts
        let isTried = counts.accepted + counts.rejected + counts.retired > 0
        if let triedAt = settlement.triedAt ?? (isTried ? settlement.logRow?.sentAt : nil) {
            change.firstSentAt = min(change.firstSentAt ?? triedAt, triedAt)
        }
        byMessage[place] = change
    }

    /// Takes the number of slices that were made of a settlement.
    mutating func added(_ count: Int, _ slice: Slice.ID) {
        byMessage[Place(app: slice.app, message: slice.message)]?.slicesOpen += count
    }
}

extension StoreSession {
    /// Carries a group's progress into its message. Returns the final state when this ended the message.
    func settleMessage(
        _ place: MessageChanges.Place, _ change: MessageChanges.Change, now: Timestamp
    ) throws -> Message.State? {
        let values: [SQLValue] = [.int(place.app), .id(place.message)]
        if let sentAt = change.firstSentAt { try connection.execute(HotSQL.firstSent, values + [.time(sentAt)]) }
        guard change.slicesOpen != 0 else { return nil }
        let open = try connection.int(HotSQL.closeSlices, values + [.int(change.slicesOpen)])
        guard open == 0 else { return nil }
        return try end(place, now: now)
    }

    /// The last slice is settled: folds the slices' counts into the message and deletes them, and tells of
    /// the end. The log stays.
    private func end(_ place: MessageChanges.Place, now: Timestamp) throws -> Message.State? {
        guard let message = try message(app: place.app, id: place.message) else { return nil }
        let routes = try openCounts(message)
        let total = routes.values.reduce(into: OutcomeCounts()) { $0.add($1) }
        let wasTried = message.firstSentAt != nil || total.accepted + total.rejected + total.retired > 0
        var state = message.state
        if !state.isFinal { state = !wasTried && total.expired > 0 ? .expired : .sent }
        let values: [SQLValue] = [.int(place.app), .id(place.message)]
        try connection.execute(
            "UPDATE message SET state = $3, ended_at = $4, counts = $5 WHERE app = $1 AND message = $2",
            values + [
                .int(state.rawValue), .time(message.endedAt ?? now), .bytes(CountsCoding.encode(routes)),
            ])
        try connection.execute("DELETE FROM slice WHERE app = $1 AND message = $2", values)
        try reportEnd(message, state: state, at: message.endedAt ?? now)
        return state
    }
}
