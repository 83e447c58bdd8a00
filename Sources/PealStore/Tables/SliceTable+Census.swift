internal import PealCore

// What doctor, metrics and explanations read about slices.

extension StoreSession {
    /// Without those whose message or route cannot be read.
    func quarantinedSlices(limit: Int) throws -> [QuarantinedSlice] {
        let slices = try connection.all(
            """
            SELECT app, message, route, counts, estimate, fault FROM slice
            WHERE state = \(code: Slice.State.quarantined) ORDER BY app, message LIMIT \(limit)
            """
        ) { row in try? Self.quarantined(&row) }
        return try slices.compactMap(\.self).compactMap { slice in
            try app(key: slice.app).map {
                QuarantinedSlice(
                    app: $0.id, message: slice.message, route: slice.route, devices: slice.devices,
                    reason: slice.reason)
            }
        }
    }

    private static func quarantined(
        _ row: inout RowReader
    ) throws -> (app: AppKey, message: MessageID, route: Route, devices: Int, reason: String) {
        let (app, message, route): (AppKey, MessageID, Route) = (try row.next(), try row.next(), try row.next())
        let counts = try? CountsCoding.decode(row.next())
        let estimate: Int = try row.next()
        let devices = SliceTable.pending(estimate: estimate, settled: counts?.settled ?? 0)
        return (app, message, route, devices, try row.next(String?.self) ?? "")
    }

    func census() throws -> StoreCensus {
        func slices(_ state: Slice.State) throws -> Int { try connection.count(SliceTable.census(state)) }
        var census = StoreCensus()
        census.messagesUnfinished = try connection.count(MessageTable.census(scheduled: false))
        census.messagesScheduled = try connection.count(MessageTable.census(scheduled: true))
        census.oldestPendingAt = try connection.value(MessageTable.oldestPending())
        census.slicesParked = try parkedCount()
        census.slicesReady = max(0, try slices(.ready) - census.slicesParked)
        census.slicesEnding = try slices(.ending)
        census.slicesWaiting = try slices(.waiting)
        census.slicesLeased = try slices(.leased)
        census.slicesQuarantined = try slices(.quarantined)
        census.appsStopped = try connection.count(
            """
            SELECT COUNT(DISTINCT app) FROM credential WHERE health = \(code: CredentialTable.HealthCode.stopped)
            """)
        return census
    }
}

extension SliceTable {
    /// The lists of the message that may contain the key and that are not leased. Keys of devices and of addresses are
    /// counted separately.
    static func waiting(
        for key: DeviceKey, app: AppKey, message: MessageID, route: Route, inAddresses: Bool
    ) -> SQL {
        """
        SELECT ready_at, keys FROM slice
        WHERE app = \(app) AND message = \(message) AND route = \(route)
            AND state IN (\(code: Slice.State.waiting), \(code: Slice.State.ready), \(code: Slice.State.held))
            AND window_no \(ranges(inAddresses: inAddresses)) AND keys IS NOT NULL
            AND key_from <= \(key) AND key_to >= \(key) AND cursor < \(key) LIMIT \(Limits.routeSlicesRead)
        """
    }

    /// When the first list of the message is due; 0 if a slice can be worked on now.
    static func firstDue(of message: MessageID, app: AppKey) -> SQL {
        """
        SELECT MIN(CASE state WHEN \(code: Slice.State.waiting) THEN ready_at ELSE 0 END) FROM slice
        WHERE app = \(app) AND message = \(message) AND state <> \(code: Slice.State.done)
        """
    }

    static func ranges(inAddresses: Bool) -> SQL {
        inAddresses ? "= \(Slice.ID.addressRange)" : "<> \(Slice.ID.addressRange)"
    }
}

extension StoreSession {
    func continuesAt(app: AppKey, message: MessageID) throws -> Timestamp? {
        let due: Timestamp? = try connection.value(SliceTable.firstDue(of: message, app: app))
        return due.flatMap { $0.milliseconds > 0 ? $0 : nil }
    }

    func dueAt(
        app: AppKey, message: MessageID, route: Route, key: DeviceKey, inAddresses: Bool
    ) throws -> Timestamp? {
        let lists = SliceTable.waiting(
            for: key, app: app, message: message, route: route, inAddresses: inAddresses)
        return try connection.all(lists) { row in
            (readyAt: try row.next(Timestamp.self), keys: try KeyListCoding.decode(row.next()))
        }
        .first { $0.keys.contains(key) }?.readyAt
    }

    func quarantineReason(
        app: AppKey, message: MessageID, route: Route, key: DeviceKey, inAddresses: Bool
    ) throws -> String? {
        let slices = try connection.all(
            """
            SELECT keys, fault FROM slice
            WHERE app = \(app) AND message = \(message) AND state = \(code: Slice.State.quarantined)
                AND route = \(route) AND window_no \(SliceTable.ranges(inAddresses: inAddresses))
                AND key_from <= \(key) AND key_to >= \(key) AND cursor < \(key)
            """
        ) { row in
            let keys: [UInt8]? = try row.next()
            return (keys: keys.flatMap { try? KeyListCoding.decode($0) }, fault: try row.next(String?.self))
        }
        return slices.first { $0.keys?.contains(key) ?? true }.map { $0.fault ?? "" }
    }
}
