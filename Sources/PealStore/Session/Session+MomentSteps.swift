internal import Crypto
internal import PealCore

/// Moving moments on: the one compare-and-set, and what goes with it.
extension StoreSession {
    func apply(_ event: MomentEvent, to moment: Moment, now: Timestamp) throws -> MomentStep? {
        let step = moment.after(event, at: now)
        let dueAt = MomentRow.dueAt(step.moment, now: now)
        if step.moment == moment, event != .claimEnded { return step }
        let count = try connection.execute(
            MomentSQL.change,
            MomentRow.values(step.moment) + [
                .time(dueAt), .int(moment.state.rawValue), .int(moment.rev), .time(moment.fallbackAt),
            ])
        guard count == 1 else { return nil }
        let place: [SQLValue] = [.int(moment.app), .id(moment.message)]
        if moment.state == .open, step.moment.state != .open {
            try connection.execute(MomentSQL.begin, place + [.time(now)])
        }
        if let alert = step.alert { try insertAlert(alert, of: moment) }
        for notice in step.notices { try tell(notice, of: step.moment, now: now) }
        if moment.state.isUnfinished, !step.moment.state.isUnfinished {
            _ = try settleMessage(
                .init(app: moment.app, message: moment.message), .init(slicesOpen: -1), now: now)
        }
        return step
    }

    /// One slice for one alert, before all bulk.
    private func insertAlert(_ target: Moment.Target, of moment: Moment) throws {
        let id = Slice.ID(
            app: moment.app, message: moment.message, route: target.route, window: Slice.ID.momentWindow,
            part: try nextNumber("moment"))
        let slice = Slice(
            id: id, keyFrom: target.device, keyTo: target.device, keys: [target.device], cursor: target.device - 1,
            estimate: 1, lane: .direct)
        try connection.execute(
            SliceRow.insert, SliceRow.values(slice, rank: 0, owner: nil, leaseUntil: Timestamp(milliseconds: 0)))
        try connection.execute(
            "UPDATE message SET slices_open = slices_open + 1 WHERE app = $1 AND message = $2",
            [.int(moment.app), .id(moment.message)])
    }

    func cancelMoments(app: AppKey, message: MessageID, now: Timestamp) throws -> Int {
        let moments = try moments(app: app, message: message)
        if moments.contains(where: { $0.state == .open }) {
            _ = try moveMessage(app: app, id: message, from: [.scheduled, .sending], to: .cancelled, now: now)
        }
        return try moments.reduce(into: 0) { count, moment in
            guard moment.state == .open || moment.state == .claimed else { return }
            if try apply(.cancel, to: moment, now: now)?.moment.state == .cancelled { count += 1 }
        }
    }

    func fireDueMoments(now: Timestamp, limit: Int) throws -> Int {
        let due = try connection.all(MomentSQL.due, [.time(now), .int(limit)], MomentRow.moment)
        var routes: [MessageID: [Route]] = [:]
        for moment in due {
            let allowed = try routes[moment.message] ?? momentRoutes(app: moment.app, message: moment.message)
            routes[moment.message] = allowed
            let target = try target(app: moment.app, userID: moment.userID, routes: allowed)
            _ = try apply(.fallback(to: target), to: moment, now: now)
        }
        let lapsed = try connection.all(MomentSQL.lapsed, [.time(now), .int(limit)], MomentRow.moment)
        for moment in lapsed { _ = try apply(.claimEnded, to: moment, now: now) }
        return due.count + lapsed.count
    }

    func eraseMoments(app: AppKey, userID: String, now: Timestamp) throws {
        for moment in try openMoments(app: app, userID: userID, limit: .max) {
            _ = try apply(.cancel, to: moment, now: now)
        }
        let user: [SQLValue] = [.int(app), .text(userID)]
        try connection.execute("DELETE FROM moment WHERE app = $1 AND user_id = $2 AND state >= 5", user)
        try connection.execute("DELETE FROM experiment_arm WHERE app = $1 AND user_id = $2", user)
    }

    /// A device of the user registered: what waited only for one goes on.
    func wakeMoments(app: AppKey, userID: String?, now: Timestamp) throws {
        guard let userID else { return }
        let waiting = try connection.all(MomentSQL.awaiting, [.int(app), .text(userID)], MomentRow.moment)
        for moment in waiting { _ = try apply(.registered, to: moment, now: now) }
    }

    /// Carries the end of an alert into its moment.
    func settleMoment(_ settlement: Settlement, now: Timestamp) throws {
        let entries = try settlement.logRow.map { try DeliveryLog.decode($0.data).entries } ?? []
        for entry in entries where entry.outcome != .moved {
            try settleAlert(settlement.slice, entry.key, entry.outcome, entry.reason, now: now)
        }
        guard entries.isEmpty, settlement.next == .done, settlement.deferrals.isEmpty else { return }
        // The device was gone before its address was read.
        let key = try connection.int(
            "SELECT key_from FROM slice WHERE \(HotSQL.slicePlace)", SliceRow.place(settlement.slice))
        if let key { try settleAlert(settlement.slice, key, .retired, "DeviceGone", now: now) }
    }

    private func settleAlert(
        _ slice: Slice.ID, _ key: DeviceKey, _ outcome: Outcome, _ reason: String, now: Timestamp
    ) throws {
        let moments = try connection.all(
            MomentSQL.ofDevice, [.int(slice.app), .id(slice.message), .int(key)], MomentRow.moment)
        guard let moment = moments.first(where: { $0.state == .sending || $0.state == .recovering }) else { return }
        let next =
            outcome == .retired
            ? try target(
                app: slice.app, userID: moment.userID,
                routes: try momentRoutes(app: slice.app, message: slice.message), but: moment.tried) : nil
        _ = try apply(.settled(outcome, reason: reason, next: next), to: moment, now: now)
    }
}
