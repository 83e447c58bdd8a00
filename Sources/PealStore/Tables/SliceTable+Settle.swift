internal import PealCore

/// The statements of a settlement.
extension SliceTable {
    /// Moves the cursor, if the lease and the cursor are still what the worker knows. A slice of a paused message that
    /// is released becomes held.
    static func settle(_ settlement: Settlement, now: Timestamp) -> SQL {
        let (state, leaseUntil, readyAt) = after(settlement.next, now: now)
        return """
            UPDATE slice SET \(answers(of: settlement)), ready_at = \(readyAt), lease_until = \(leaseUntil),
                pages = pages + \(settlement.logRow == nil ? 0 : 1), state = \(effective(after: state))
            WHERE \(isCurrent(settlement))
            """
    }

    /// Deletes the only slice of a message, which ends with it, if the lease and the cursor are still what the worker
    /// knows.
    static func end(_ settlement: Settlement) -> SQL { "DELETE FROM slice WHERE \(isCurrent(settlement))" }

    /// The lease and the cursor are what the worker knows.
    private static func isCurrent(_ settlement: Settlement) -> SQL {
        "\(leased(settlement)) AND cursor = \(settlement.cursorBefore)"
    }

    private static func after(
        _ next: Settlement.Next, now: Timestamp
    ) -> (state: Slice.State, leaseUntil: SQL, readyAt: Timestamp) {
        let never = Timestamp(milliseconds: 0)
        switch next {
        case .keep(let end): return (.leased, extended(to: fresh(end, now)), never)
        case .done: return (.done, "\(never)", never)
        case .release(let instant):
            let readyAt = instant ?? never
            return (readyAt > now ? .waiting : .ready, "\(never)", readyAt)
        }
    }

    /// The end of a lease that is written now. Otherwise a write that had to wait for the store would extend the lease
    /// to an instant in the past, and another server would take it back.
    private static func fresh(_ end: Timestamp, _ now: Timestamp) -> Timestamp {
        max(end, now + .seconds(Limits.leaseSeconds))
    }

    /// `state`, or if the message is paused or has ended and the slice would wait or be ready, the state that follows
    /// from that.
    private static func effective(after state: Slice.State) -> SQL {
        state == .waiting || state == .ready ? effective(state) : "\(state)"
    }

    /// The slice, if an earlier write of the same settlement was committed although its answer was lost. Under one term
    /// only the holder of the lease moves the cursor, so a cursor behind the settlement is its own work.
    static func applied(_ settlement: Settlement) -> SQL {
        let isAt: SQL =
            switch settlement.next {
            case .keep:
                """
                cursor = \(settlement.cursorAfter) AND state = \(code: Slice.State.leased)
                    AND owner = \(settlement.owner)
                """
            case .done, .release:
                "cursor = \(settlement.cursorAfter) AND state <> \(code: Slice.State.leased)"
            }
        return """
            SELECT term FROM slice WHERE \(matching(settlement.slice)) AND term = \(settlement.term)
                AND state <> \(code: Slice.State.quarantined)
                AND (cursor > \(settlement.cursorAfter) OR (\(isAt)))
            """
    }

    /// The final state of the settlement's message, if all its slices are deleted because they have ended.
    static func stateOfEnded(_ settlement: Settlement) -> SQL {
        let (app, message) = (settlement.slice.app, settlement.slice.message)
        return """
            SELECT state FROM message WHERE \(MessageTable.matching(app, message)) AND slices_open = 0
                AND NOT EXISTS (SELECT 1 FROM slice WHERE \(matching(settlement.slice)))
            """
    }

    /// How often the log has the page, with its time.
    static func countPages(_ row: Settlement.LogRow, of settlement: Settlement) -> SQL {
        """
        SELECT COUNT(*) FROM delivery_page WHERE \(matching(settlement.slice)) AND first_key = \(row.firstKey)
            AND last_key = \(row.lastKey) AND n = \(row.deviceCount) AND sent_at = \(row.sentAt)
        """
    }

    /// Quarantines the slice, if the lease and the cursor are still what the worker knows. A slice whose message has
    /// ended becomes `ending` instead, if the cursor moves.
    /// - Parameter keepsAnswers: Whether what is known about its devices is stored too; otherwise they are in doubt.
    static func quarantine(_ settlement: Settlement, reason: String, keepsAnswers: Bool) -> SQL {
        let quarantined: SQL = "\(code: Slice.State.quarantined)"
        let ended: SQL = """
            CASE \(MessageTable.fateOfSlice) WHEN 2 THEN \(code: Slice.State.ending) ELSE \(quarantined) END
            """
        let mark: SQL = """
            UPDATE slice SET state = \(keepsAnswers ? ended : quarantined), fault = \(reason), owner = \(String?.none),
                lease_until = 0
            """
        let condition: SQL = "WHERE \(isCurrent(settlement))"
        guard keepsAnswers else {
            let devices = settlement.logRow?.deviceCount ?? 0
            return "\(mark), doubt = CASE WHEN doubt > \(devices) THEN doubt ELSE \(devices) END \(condition)"
        }
        return "\(mark), \(answers(of: settlement)) \(condition)"
    }

    /// Adds a page to a slice that this worker's earlier page quarantined, whether or not its message has ended.
    static func addToQuarantine(_ settlement: Settlement) -> SQL {
        """
        UPDATE slice SET \(answers(of: settlement))
        WHERE \(matching(settlement.slice))
            AND state IN (\(code: Slice.State.quarantined), \(code: Slice.State.ending))
            AND term = \(settlement.term) AND cursor = \(settlement.cursorBefore)
        """
    }

    /// Marks the devices of a page as in doubt that cannot be added to the quarantined slice. Changes nothing if an
    /// earlier write added them although its answer was lost.
    static func doubtInQuarantine(_ settlement: Settlement) -> SQL {
        """
        UPDATE slice SET doubt = doubt + \(settlement.logRow?.deviceCount ?? 0)
        WHERE \(matching(settlement.slice)) AND state = \(code: Slice.State.quarantined)
            AND term = \(settlement.term) AND cursor < \(settlement.cursorAfter)
        """
    }

    /// What a slice stores about a page, whether or not the log has its row.
    private static func answers(of settlement: Settlement) -> SQL {
        let deferred = settlement.deferrals.reduce(0) { $0 + $1.keys.count }
        return """
            cursor = \(settlement.cursorAfter), counts = \(CountsCoding.encode(settlement.counts)),
            doubt = \(settlement.doubt), estimate = estimate - \(deferred)
            """
    }

    /// The slice with its lease.
    private static func leased(_ settlement: Settlement) -> SQL {
        """
        \(matching(settlement.slice)) AND state = \(code: Slice.State.leased) AND owner = \(settlement.owner)
            AND term = \(settlement.term)
        """
    }

    /// The slice as `settle` left it.
    private static func settled(_ settlement: Settlement) -> SQL {
        "\(matching(settlement.slice)) AND term = \(settlement.term) AND cursor = \(settlement.cursorAfter)"
    }

    /// Runs after `settle`, or before `end`, which deletes the row that it reads.
    static func insertPage(_ row: Settlement.LogRow, of settlement: Settlement) -> SQL {
        let (page, condition): (SQL, SQL) =
            settlement.endsMessage ? ("pages", isCurrent(settlement)) : ("pages - 1", settled(settlement))
        return """
            INSERT INTO delivery_page
                (app, message, route, window_no, part, page, first_key, last_key, n, sent_at, took, data)
            SELECT app, message, route, window_no, part, \(page), \(row.firstKey), \(row.lastKey), \(row.deviceCount),
                \(row.sentAt), \(row.tookMilliseconds), \(row.data)
            FROM slice WHERE \(condition)
            ON CONFLICT DO NOTHING
            """
    }

    /// Inserts deferred keys as a separate slice, a part of the settled one.
    static func insertPart(_ deferral: Settlement.Deferral, of settlement: Settlement, now: Timestamp) -> SQL {
        let isLeased = deferral.leasedUntil != nil
        let first = deferral.keys.first ?? 0
        return """
            INSERT INTO slice (app, message, route, window_no, lane, rank, part, state, ready_at, attempt, key_from,
                key_to, keys, cursor, pages, estimate, counts, owner, term, lease_until, doubt, ruled_at)
            SELECT app, message, route, window_no, lane, rank,
                \(deferral.part), \(effective(after: isLeased ? .leased : .waiting)), \(deferral.readyAt),
                \(deferral.attempt), \(first), \(deferral.keys.last ?? 0), \(KeyListCoding.encode(deferral.keys)),
                \(first - 1), 0, \(deferral.keys.count), \(CountsCoding.encode(OutcomeCounts())),
                \(isLeased ? settlement.owner : nil), \(isLeased ? 1 : 0),
                \(deferral.leasedUntil.map { fresh($0, now) } ?? Timestamp(milliseconds: 0)),
                \(deferral.isDoubtful ? deferral.keys.count : 0), \(deferral.ruledAt)
            FROM slice WHERE \(settled(settlement))
            ON CONFLICT DO NOTHING
            """
    }
}

extension StoreSession {
    /// Settles in waves in which each slice occurs once, because a page's row in the log takes its number from its
    /// slice. Within a wave, slices are sorted by key, so that all nodes lock rows in the same order.
    func settle(_ settlements: [Settlement], now: Timestamp) throws -> [Settlement.Result] {
        var results = settlements.map { _ in Settlement.Result(isApplied: false) }
        var isNew = settlements.map { _ in false }
        var changes = MessageChanges()
        for wave in Self.waves(settlements) {
            var applied: [Int] = []
            for (index, isApplied) in zip(wave, try advance(wave.map { settlements[$0] }, now: now)) {
                if isApplied {
                    results[index].isApplied = true
                    changes.note(settlements[index], at: index)
                    applied.append(index)
                    isNew[index] = true
                } else {
                    results[index] = try resultOfEarlierWrite(settlements[index])
                }
            }
            for index in applied where !settlements[index].deferrals.isEmpty {
                let parts = try insertParts(settlements[index], now: now)
                results[index].leasedSlices = parts.leased
                changes.added(parts.count, settlements[index].slice)
            }
        }
        for settlement in settlements {
            try retire(settlement, now: now)
            try move(settlement, now: now)
        }
        for (settlement, isNew) in zip(settlements, isNew) where isNew && settlement.slice.isMoment {
            try settleMoments(settlement, now: now)
        }
        for (change, state) in try settleMessages(changes, now: now) {
            results[change.lastIndex].messageState = state
        }
        // What an earlier write applied was counted by that write.
        try addStatistics(zip(settlements, isNew).filter(\.1).compactMap { Self.counted($0.0, now: now) })
        return results
    }

    /// Moves the cursors of different slices, or ends them, and writes the rows of their pages in the log.
    /// - Returns: whether each settlement was applied.
    private func advance(_ settlements: [Settlement], now: Timestamp) throws -> [Bool] {
        var statements: [SQL] = []
        var deciding: [Int] = []
        for settlement in settlements {
            if settlement.endsMessage, let row = settlement.logRow {
                statements.append(SliceTable.insertPage(row, of: settlement))
            }
            deciding.append(statements.count)
            statements.append(
                settlement.endsMessage ? SliceTable.end(settlement) : SliceTable.settle(settlement, now: now))
        }
        let counts = try connection.execute(statements)
        let isApplied = deciding.map { counts[$0] == 1 }
        for (settlement, isApplied) in zip(settlements, isApplied) where isApplied && !settlement.endsMessage {
            if let row = settlement.logRow { try connection.post(SliceTable.insertPage(row, of: settlement)) }
        }
        return isApplied
    }

    func quarantine(
        _ settlement: Settlement, reason: String, keepsAnswers: Bool, now: Timestamp
    ) throws -> Settlement.Result {
        var result = Settlement.Result(isApplied: false)
        // Outcomes of alerts must reach their moments, so they are never skipped.
        let keepsAnswers = keepsAnswers && !settlement.slice.isMoment
        let statement = SliceTable.quarantine(settlement, reason: reason, keepsAnswers: keepsAnswers)
        guard try connection.execute(statement) == 1 else { return result }
        result.isApplied = true
        result.isQuarantined = true
        result.keepsAnswers = keepsAnswers
        return keepsAnswers ? try storeAnswers(of: settlement, result, now: now) : result
    }

    func addToQuarantine(_ settlement: Settlement, keepsAnswers: Bool, now: Timestamp) throws -> Bool {
        guard keepsAnswers, !settlement.slice.isMoment,
            try connection.execute(SliceTable.addToQuarantine(settlement)) == 1
        else {
            try connection.execute(SliceTable.doubtInQuarantine(settlement))
            return false
        }
        _ = try storeAnswers(of: settlement, Settlement.Result(isApplied: true), now: now)
        return true
    }

    /// Stores everything except the row in the log.
    private func storeAnswers(
        of settlement: Settlement, _ result: Settlement.Result, now: Timestamp
    ) throws -> Settlement.Result {
        var result = result
        let parts = try insertParts(settlement, now: now)
        result.leasedSlices = parts.leased
        let change = MessageChanges.Change(slicesOpen: parts.count, firstSentAt: settlement.triedAt)
        _ = try settleMessages(MessageChanges(change, of: .init(settlement.slice)), now: now)
        try retire(settlement, now: now)
        try move(settlement, now: now)
        if let counted = Self.counted(settlement, now: now) { try addStatistics([counted]) }
        return result
    }

    private static func counted(_ settlement: Settlement, now: Timestamp) -> (app: AppKey, item: Statistics)? {
        settlement.added.map { (app: settlement.slice.app, item: Statistics(at: now, $0)) }
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

    /// The order in which settlements and heartbeats lock slices.
    static func precedes(_ left: Slice.ID, _ right: Slice.ID) -> Bool {
        if left.app != right.app { return left.app < right.app }
        if left.message != right.message { return left.message < right.message }
        return (left.route.rawValue, left.rangeStart, left.part) < (right.route.rawValue, right.rangeStart, right.part)
    }

    /// The result for a settlement that matches no lease: applied, if it is already in the database, because a commit
    /// whose answer was lost is repeated.
    private func resultOfEarlierWrite(_ settlement: Settlement) throws -> Settlement.Result {
        // Its stragglers prove it even if the slice was released with it and leased again.
        let stragglers = try leasedParts(settlement)
        guard try !stragglers.isEmpty || connection.exists(SliceTable.applied(settlement)) else {
            return try resultOfEarlierEnd(settlement)
        }
        return Settlement.Result(isApplied: true, leasedSlices: stragglers)
    }

    /// The result for a settlement whose slice is gone: applied, if the message has ended and the log has its page.
    private func resultOfEarlierEnd(_ settlement: Settlement) throws -> Settlement.Result {
        var result = Settlement.Result(isApplied: false)
        if case .release = settlement.next { return result }
        guard let state = try connection.value(SliceTable.stateOfEnded(settlement), Message.State.self), state.isFinal,
            try settlement.logRow.map({ try connection.count(SliceTable.countPages($0, of: settlement)) > 0 })
                ?? (settlement.next == .done)
        else { return result }
        result.isApplied = true
        result.messageState = state
        return result
    }

    /// Turns the deferred keys into separate slices.
    /// - Returns: how many there are now, and those that stay with the worker.
    private func insertParts(_ settlement: Settlement, now: Timestamp) throws -> (count: Int, leased: [Slice]) {
        let deferrals = settlement.deferrals.filter { !$0.keys.isEmpty }
        let count = try deferrals.reduce(0) { count, deferral in
            try count + connection.execute(SliceTable.insertPart(deferral, of: settlement, now: now))
        }
        return (count, try leasedParts(settlement))
    }

    /// The slices of deferred keys that stay with the worker, unless they were taken back meanwhile.
    private func leasedParts(_ settlement: Settlement) throws -> [Slice] {
        try settlement.deferrals.filter { $0.leasedUntil != nil && !$0.keys.isEmpty }.compactMap { deferral in
            var id = settlement.slice
            id.part = deferral.part
            return try connection.first(
                """
                SELECT \(SliceTable.columns) FROM slice WHERE \(SliceTable.matching(id))
                    AND state = \(code: Slice.State.leased) AND owner = \(settlement.owner) AND term = 1
                """
            ) { row in try SliceTable.slice(&row, app: id.app, route: id.route).slice }
        }
    }

    /// Retires dead addresses, whichever process holds the lease now: what the provider said remains true.
    private func retire(_ settlement: Settlement, now: Timestamp) throws {
        guard !settlement.slice.holdsAddresses, !settlement.retirements.isEmpty else { return }
        let (app, route) = (settlement.slice.app, settlement.slice.route)
        let retirements = settlement.retirements.sorted { $0.key < $1.key }
        let counts = try connection.execute(
            retirements.map { DeviceTable.retire($0, route, app: app, now: now) })
        for (retirement, count) in zip(retirements, counts) where count == 1 {
            try leaveStreams(app: app, device: retirement.key, route: route)
        }
    }
}
