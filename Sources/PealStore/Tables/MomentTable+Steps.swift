internal import Crypto
internal import PealCore

/// Moving moments on: the one compare-and-set, and what goes with it.
extension StoreSession {
    func apply(_ event: MomentEvent, to moment: Moment, now: Timestamp) throws -> MomentStep? {
        guard let step = try change(moment, by: event, now: now) else { return nil }
        if let alert = step.alert { try insertAlerts(to: [alert.device], on: alert.route, of: moment.place) }
        return step
    }

    /// As `apply`, but for the alert's slice.
    private func change(_ moment: Moment, by event: MomentEvent, now: Timestamp) throws -> MomentStep? {
        let step = moment.after(event, at: now)
        let dueAt = MomentRow.dueAt(step.moment, now: now)
        if step.moment == moment, event != .claimEnded { return step }
        let count = try connection.execute(
            MomentSQL.change,
            MomentRow.values(step.moment) + [
                .time(dueAt), .int(moment.state.rawValue), .int(moment.rev), .time(moment.fallbackAt),
            ])
        guard count == 1 else { return nil }
        if moment.state == .open, step.moment.state != .open {
            try connection.execute(MomentSQL.begin, [.int(moment.app), .id(moment.message), .time(now)])
        }
        for notice in step.notices { try report(notice, of: step.moment, now: now) }
        if moment.state.isUnfinished, !step.moment.state.isUnfinished {
            _ = try settleMessage(
                .init(app: moment.app, message: moment.message), .init(slicesOpen: -1), now: now)
        }
        return step
    }

    /// One slice for alerts of a message that go out together, before all bulk.
    private func insertAlerts(to devices: [DeviceKey], on route: Route, of place: Moment.Place) throws {
        let keys = devices.sorted()
        guard let first = keys.first, let last = keys.last else { return }
        let id = Slice.ID(
            app: place.app, message: place.message, route: route, window: Slice.ID.momentWindow,
            part: try nextNumber("moment"))
        let slice = Slice(
            id: id, keyFrom: first, keyTo: last, keys: keys, cursor: first - 1, estimate: keys.count, lane: .direct)
        try connection.execute(
            SliceRow.insert, SliceRow.values(slice, rank: 0, owner: nil, leaseUntil: Timestamp(milliseconds: 0)))
        try connection.execute(
            "UPDATE message SET slices_open = slices_open + 1 WHERE app = $1 AND message = $2",
            [.int(place.app), .id(place.message)])
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
        var groups = AlertGroups()
        for moment in due {
            let allowed = try routes[moment.message] ?? momentRoutes(app: moment.app, message: moment.message)
            routes[moment.message] = allowed
            let target = try target(app: moment.app, userID: moment.userID, routes: allowed)
            let alert = try change(moment, by: .fallback(to: target), now: now)?.alert
            if let alert { groups.add(alert, of: moment.place) }
        }
        for group in groups.all { try insertAlerts(to: group.devices, on: group.route, of: group.place) }
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

    /// Carries the ends of alerts into their moments.
    func settleMoments(_ settlement: Settlement, now: Timestamp) throws {
        let slice = settlement.slice
        let entries = settlement.alerts
        let ends = entries.filter { $0.outcome != .moved }
        let moments = try alertedMoments(slice, among: ends.map(\.key))
        for end in ends {
            if let moment = moments[end.key] { try settle(moment, slice, end.outcome, end.reason, now: now) }
        }
        guard settlement.next == .done else { return }
        try settleGone(slice, known: Set(entries.map(\.key) + settlement.deferrals.flatMap(\.keys)), now: now)
    }

    /// Moments whose alerts are under way, by their devices: at least those of `devices`.
    private func alertedMoments(_ slice: Slice.ID, among devices: [DeviceKey]) throws -> [DeviceKey: Moment] {
        guard let first = devices.first else { return [:] }
        let place: [SQLValue] = [.int(slice.app), .id(slice.message)]
        let moments =
            devices.count == 1
            ? try connection.all(MomentSQL.ofDevice, place + [.int(first)], MomentRow.moment)
            : try connection.all(MomentSQL.underWay, place, MomentRow.moment)
        let alerted = moments.filter { $0.state == .sending || $0.state == .recovering }
        return Dictionary(alerted.compactMap { moment in moment.device.map { ($0, moment) } }) { first, _ in first }
    }

    /// Ends alerts to devices that were gone before their addresses were read: of all that the slice held, those that
    /// are neither `known` nor in another slice.
    private func settleGone(_ slice: Slice.ID, known: Set<DeviceKey>, now: Timestamp) throws {
        let left =
            try connection.first(
                "SELECT key_from, keys FROM slice WHERE \(HotSQL.slicePlace)", SliceRow.place(slice), Self.keys
            )?.filter { !known.contains($0) } ?? []
        guard !left.isEmpty else { return }
        let elsewhere = try connection.all(
            """
            SELECT key_from, keys FROM slice
            WHERE app = $1 AND message = $2 AND route = $3 AND window_no = $4 AND state <> $5
            """, SliceRow.place(slice).dropLast() + [.int(SliceRow.stateDone)], Self.keys)
        let moments = try alertedMoments(slice, among: left)
        for key in Set(left).subtracting(elsewhere.joined()).sorted() {
            if let moment = moments[key] { try settle(moment, slice, .retired, "DeviceGone", now: now) }
        }
    }

    private static func keys(_ row: any SQLRow) throws -> [DeviceKey] {
        try row.bytesIfPresent(1).map(KeyListCoding.decode) ?? [row.int(0)]
    }

    private func settle(
        _ moment: Moment, _ slice: Slice.ID, _ outcome: Outcome, _ reason: String, now: Timestamp
    ) throws {
        let next =
            outcome == .retired
            ? try target(
                app: slice.app, userID: moment.userID,
                routes: try momentRoutes(app: slice.app, message: slice.message), but: moment.tried) : nil
        _ = try apply(.settled(outcome, reason: reason, next: next), to: moment, now: now)
    }
}

/// Alerts of one round, by message and route: those of one message go out together.
private struct AlertGroups {
    struct Group {
        let place: Moment.Place
        let route: Route
        var devices: [DeviceKey] = []
    }

    private struct Name: Hashable {
        let app: AppKey
        let message: MessageID
        let route: Route
    }

    /// In the order in which their first alerts came.
    private(set) var all: [Group] = []
    private var places: [Name: Int] = [:]

    mutating func add(_ alert: Moment.Target, of place: Moment.Place) {
        let name = Name(app: place.app, message: place.message, route: alert.route)
        if let group = places[name], all[group].devices.count < Limits.directDevicesMax {
            all[group].devices.append(alert.device)
        } else {
            places[name] = all.count
            all.append(Group(place: place, route: alert.route, devices: [alert.device]))
        }
    }
}

/// What webhooks hear of moments, and how messages count them.
extension StoreSession {
    func report(_ notice: MomentStep.Notice, of moment: Moment, now: Timestamp) throws {
        guard let message = try message(app: moment.app, id: moment.message) else { return }
        let composers = context.composers.all.filter { $0.reportsMoments(of: message.dialect) }
        guard !composers.isEmpty else { return }
        let source = try connection.first(
            "SELECT source FROM message_content WHERE app = $1 AND message = $2",
            [.int(moment.app), .id(moment.message)]
        ) { $0.bytesIfPresent(0) }
        let status = MomentStatus(
            moment: moment, status: notice.status, campaignID: message.campaignID,
            deviceAddress: try notice.device.flatMap { try addressText(app: moment.app, device: $0) },
            source: source ?? nil, at: now)
        for composer in composers {
            try enqueue(composer.notice(status), id: Self.noticeID(moment, notice), app: moment.app, composer, at: now)
        }
    }

    /// The same notice has the same id wherever it is written.
    private static func noticeID(_ moment: Moment, _ notice: MomentStep.Notice) -> OutboxEventID {
        let text =
            "\(moment.message) \(notice.status.rawValue) \(notice.device ?? 0) \(moment.state.name) \(moment.userID)"
        let bytes = Array(SHA256.hash(data: Array(text.utf8)).prefix(16))
        return OutboxEventID(bytes: bytes) ?? OutboxEventID(high: moment.message.high, low: moment.message.low)
    }

    func report(_ transition: DeviceTransition, id: OutboxEventID) throws {
        for composer in context.composers.all {
            try enqueue(
                composer.notice(transition, id: id), id: id, app: transition.app, composer, at: transition.at)
        }
    }

    private func enqueue(
        _ notice: ReportNotice?, id: OutboxEventID, app: AppKey, _ composer: any ReportComposer, at now: Timestamp
    ) throws {
        guard let notice else { return }
        let event = OutboxEvent(id: id, app: app, type: notice.type, payload: notice.item.bytes, createdAt: now)
        _ = try enqueue(event, for: [composer.form.kind])
    }

    /// In the letter case that the app sent.
    private func addressText(app: AppKey, device: DeviceKey) throws -> String? {
        let address = try connection.first(
            "SELECT route, address FROM device WHERE app = $1 AND seq = $2", [.int(app), .int(device)]
        ) { Address(route: try $0.route(0), bytes: $0.bytes(1)) }
        guard let address else { return nil }
        let detail = try DetailCoding.decode(try detail(app: app, device: device))
        return detail.addressAsSent ?? address.json.stringValue ?? address.json.text
    }

    /// One a user, by the route of the device that has or had it.
    func momentCounts(app: AppKey, id: MessageID) throws -> [Route: OutcomeCounts] {
        var routes: [Route: OutcomeCounts] = [:]
        try connection.query(MomentSQL.counts, [.int(app), .id(id)]) { row in
            guard let state = Moment.State(rawValue: row.int(0)) else { throw PealError.damaged("a moment") }
            let route = try row.route(1)
            let outcome = row.intIfPresent(2).flatMap { Outcome(rawValue: UInt8(truncatingIfNeeded: $0)) }
            let reason = row.text(3)
            if state.isUnfinished {
                routes[route, default: .init()].pending += 1
            } else {
                let isPlain = reason.isEmpty || outcome == .accepted && reason.contains(" ")
                routes[route, default: .init()].count(outcome ?? .accepted, reason: isPlain ? nil : reason)
            }
        }
        return routes
    }
}
