internal import Crypto
internal import PealCore

/// Applies the transitions of moments: one compare-and-set, and its consequences.
extension StoreSession {
    func apply(_ event: MomentEvent, to moment: Moment, now: Timestamp) throws -> MomentStep? {
        guard let step = try change(moment, by: event, now: now) else { return nil }
        var groups = AlertGroups()
        for alert in step.alerts { groups.add(alert, of: moment.id) }
        try insertAlerts(groups)
        return step
    }

    /// Like `apply`, but without inserting the alert's slice.
    private func change(_ moment: Moment, by event: MomentEvent, now: Timestamp) throws -> MomentStep? {
        let step = moment.after(event, at: now)
        let dueAt = MomentTable.dueAt(step.moment, now: now)
        let isClaimEnd = if case .claimEnded = event { true } else { false }
        if step.moment == moment, !isClaimEnd {
            for notice in step.notices { try report(notice, of: moment, now: now) }
            return step
        }
        let count = try connection.execute(MomentTable.change(moment, to: step.moment, dueAt: dueAt))
        guard count == 1 else { return nil }
        if Self.mayBeLate(step.moment, after: moment, now) { try extendLife(of: step.moment, now: now) }
        if moment.state == .open, step.moment.state != .open {
            try connection.post(MomentTable.begin(moment.message, app: moment.app, now: now))
        }
        try countDisplays(of: step, after: moment, now: now)
        for notice in step.notices { try report(notice, of: step.moment, now: now) }
        if moment.state.isUnfinished, !step.moment.state.isUnfinished {
            let key = MessageChanges.MessageKey(app: moment.app, message: moment.message)
            _ = try settleMessages(MessageChanges(.init(slicesOpen: -1), of: key), now: now)
            var counts = OutcomeCounts()
            counts.count(step.moment.outcome ?? .accepted)
            try addStatistics([(app: moment.app, item: Statistics(at: now, counts))])
        }
        return step
    }

    /// Counts a message for the devices that may show it now. A cap delays no message with a delivery window, but it
    /// delays others after one.
    private func countDisplays(of step: MomentStep, after former: Moment, now: Timestamp) throws {
        let isClaimed = former.state == .open && step.moment.state == .claimed
        let devices = isClaimed ? [step.moment.device].compactMap(\.self) : step.alerts.map(\.device)
        guard !devices.isEmpty, try countsForCap(former.message, app: former.app) else { return }
        try count(devices, app: former.app, message: former.message, now: now)
    }

    /// Whether an alert begins that must be tried although its message may have ended with the window: to a claimant
    /// that did not confirm, or after quiet hours that lasted until the end of the window.
    private static func mayBeLate(_ moment: Moment, after former: Moment, _ now: Timestamp) -> Bool {
        switch (former.state, moment.state) {
        case (.claimed, .recovering): true
        case (.open, .sending): now >= former.deadline && former.reason == HoldReason.quietHours.rawValue
        default: false
        }
    }

    /// An expiry that the author stated stays.
    private func extendLife(of moment: Moment, now: Timestamp) throws {
        let end = min(now + .seconds(Limits.recoveryAlertSeconds), moment.givenUpAt)
        // The first of many moments extends it for the others, which then need not read the options.
        guard let message = try message(app: moment.app, id: moment.message), message.expiresAt < end,
            try alertTerms(app: moment.app, message: moment.message).life == nil
        else { return }
        try connection.post(
            """
            UPDATE message SET expires_at = \(end)
            WHERE \(MessageTable.matching(moment.app, moment.message)) AND expires_at < \(end)
            """)
    }

    private func insertAlerts(_ groups: AlertGroups) throws {
        for group in groups.all { try insertAlerts(to: group.devices, on: group.route, of: group.id) }
    }

    /// Inserts one slice for alerts of a message that are sent together. It goes before all bulk slices.
    private func insertAlerts(to devices: [DeviceKey], on route: Route, of id: Moment.ID) throws {
        let keys = devices.sorted()
        guard let first = keys.first, let last = keys.last else { return }
        let id = Slice.ID(
            app: id.app, message: id.message, route: route, rangeStart: Slice.ID.momentRange,
            part: try nextNumber("moment"))
        let slice = Slice(
            id: id, keyFrom: first, keyTo: last, keys: keys, cursor: first - 1, estimate: keys.count, lane: .direct)
        try insertSlices([(slice, rank: 0)], owner: nil, leaseUntil: Timestamp(milliseconds: 0))
        try connection.post(MessageTable.addOpenSlices(id.app, id.message, 1))
        // An alert after the message's expiry is found by the expiry too.
        try connection.post(
            "UPDATE message SET ending = 0 WHERE \(MessageTable.matching(id.app, id.message)) AND ending = 1")
    }

    func cancelMoments(app: AppKey, message: MessageID, now: Timestamp) throws -> Int {
        let moments = try moments(app: app, message: message)
        if moments.contains(where: { $0.state == .open }) {
            _ = try moveMessage(app: app, id: message, from: [.scheduled, .sending], to: .cancelled, now: now)
        }
        try connection.execute(MomentTable.rememberCancellation(message, app: app, now: now))
        return try moments.reduce(into: 0) { count, moment in
            guard moment.state == .open || moment.state == .claimed else { return }
            if try apply(.cancel, to: moment, now: now)?.moment.state == .cancelled { count += 1 }
        }
    }

    func fireDueMoments(now: Timestamp, limit: Int, quiet: QuietClock) throws -> Int {
        let due = try connection.all(MomentTable.due(.open, now, limit: limit), MomentTable.moment)
        var facts = DueFacts()
        var groups = AlertGroups()
        for moment in due {
            let event = try fallback(of: moment, &facts, quiet, now: now)
            for alert in try change(moment, by: event, now: now)?.alerts ?? [] {
                groups.add(alert, of: moment.id)
            }
        }
        try insertAlerts(groups)
        return due.count
    }

    func endDueClaims(now: Timestamp, limit: Int) throws -> Int {
        let due = try connection.all(MomentTable.due(.claimed, now, limit: limit), MomentTable.moment)
        for moment in due { _ = try apply(.claimEnded(try holder(of: moment)), to: moment, now: now) }
        return due.count
    }

    func postponeDueMoment(_ state: Moment.State, to later: Timestamp, now: Timestamp) throws -> String? {
        let first = try connection.first(MomentTable.firstDue(state, now)) { row in
            (app: try row.next(AppKey.self), message: try row.next([UInt8].self), user: try row.next(String.self))
        }
        guard let (app, message, user) = first else { return nil }
        try connection.execute(
            """
            UPDATE moment SET due_at = \(later)
            WHERE app = \(app) AND message = \(message) AND user_id = \(user) AND state = \(state)
            """)
        return MessageID(bytes: message).map { "\($0)" } ?? Hex.encode(message)
    }

    /// What one round has read of the messages and apps of due moments.
    private struct DueFacts {
        var terms: [MessageID: AlertTerms] = [:]
        var settings: [AppKey: AppSettings] = [:]
    }

    /// What happens to a moment that is due: its alert, or a wait for the end of quiet hours.
    private func fallback(
        of moment: Moment, _ facts: inout DueFacts, _ quiet: QuietClock, now: Timestamp
    ) throws -> MomentEvent {
        let terms = try facts.terms[moment.message] ?? alertTerms(app: moment.app, message: moment.message)
        facts.terms[moment.message] = terms
        let settings = try facts.settings[moment.app] ?? app(key: moment.app)?.settings ?? AppSettings()
        facts.settings[moment.app] = settings
        let targets = try targets(app: moment.app, userID: moment.userID, routes: terms.routes)
        let rules = settings.rules
        if let target = targets.first, now < moment.deadline, !terms.isTransactional, rules.quietHours != nil,
            let end = quiet.end(of: rules, zone: try timeZone(of: target.device, app: moment.app), at: now)
        {
            return .quiet(until: end)
        }
        return settings[.alertsAllDevices]
            ? .fallbackToAll(Array(targets.prefix(Limits.directDevicesMax))) : .fallback(to: targets.first)
    }

    /// The user of the claiming device now.
    private func holder(of moment: Moment) throws -> ClaimHolder {
        guard let key = moment.device, let row = try deviceRow(app: moment.app, key: key) else { return .gone }
        return row.userID.map(ExactText.init) == ExactText(moment.userID) ? .user : .another
    }

    /// Cancels a user's open moments and deletes finished ones, with the arms of experiments. A moment that is being
    /// sent remains until it ends.
    /// - Parameter end: only those of messages that were accepted before; nil for all.
    func eraseMoments(
        app: AppKey, userID: String, before end: Timestamp?, limit: Int, now: Timestamp
    ) throws -> Piece {
        let mine = try connection.all(
            MomentTable.openOf(userID, app: app, before: end, limit: limit), MomentTable.moment)
        for moment in mine { _ = try apply(.cancel, to: moment, now: now) }
        guard mine.count < limit else { return Piece(rows: mine.count, isComplete: false) }
        let over: SQL = "\(MomentTable.over(of: userID, app: app))\(end.map(MomentTable.accepted) ?? "")"
        let early: SQL = end.map { " AND assigned_at <= \($0)" } ?? ""
        return try piece(of: [.moment, .experimentArm], limit) { table in
            table.table == TablePiece.moment.table ? over : "app = \(app) AND user_id = \(userID)\(early)"
        }
    }

    /// How many waiting moments a registration triggers at once.
    private static let wokenAtOnce = 100

    /// Triggers the moments that waited only for the user to register a device.
    func wakeMoments(app: AppKey, userID: String?, now: Timestamp) throws {
        guard let userID else { return }
        let piece = try wakeMoments(of: userID, app: app, limit: Self.wokenAtOnce, now: now)
        if !piece.isComplete { try leave(.moments, app: app, name: userID, now: now) }
    }

    func wakeMoments(of userID: String, app: AppKey, limit: Int, now: Timestamp) throws -> Piece {
        let waiting = try connection.all(
            MomentTable.awaitingDevice(of: userID, app: app, limit: limit), MomentTable.moment)
        for moment in waiting { _ = try apply(.registered, to: moment, now: now) }
        return Piece(rows: waiting.count, isComplete: waiting.count < limit)
    }

    /// Applies the outcomes of alerts to their moments.
    func settleMoments(_ settlement: Settlement, now: Timestamp) throws {
        let slice = settlement.slice
        let entries = settlement.alerts
        let ends = entries.filter { $0.outcome != .moved }
        let moments = try alertedMoments(slice, among: ends.map(\.key))
        for end in ends {
            if let moment = moments[end.key] {
                try settle(moment, end.key, slice, end.outcome, end.reason, now: now)
            }
        }
        guard settlement.next == .done else { return }
        try settleGone(slice, known: Set(entries.map(\.key) + settlement.deferrals.flatMap(\.keys)), now: now)
    }

    /// Moments whose alerts are in progress, by their devices: at least those of `devices`.
    private func alertedMoments(_ slice: Slice.ID, among devices: [DeviceKey]) throws -> [DeviceKey: Moment] {
        guard let first = devices.first else { return [:] }
        let moments = try connection.all(
            devices.count == 1
                ? MomentTable.of(slice.message, app: slice.app, device: first)
                : MomentTable.underWay(slice.message, app: slice.app), MomentTable.moment)
        let pairs = moments.flatMap { moment -> [(DeviceKey, Moment)] in
            if let waiting = moment.waiting { return waiting.map { ($0, moment) } }
            guard moment.state == .sending || moment.state == .recovering else { return [] }
            return moment.device.map { [($0, moment)] } ?? []
        }
        return Dictionary(pairs) { first, _ in first }
    }

    /// Ends alerts to devices that were gone before their addresses were read: of all that the slice held, those that
    /// are neither `known` nor in another slice.
    private func settleGone(_ slice: Slice.ID, known: Set<DeviceKey>, now: Timestamp) throws {
        let held = try connection.first(
            "SELECT key_from, keys FROM slice WHERE \(SliceTable.matching(slice))", Self.keys)
        let left = (held ?? []).filter { !known.contains($0) }
        guard !left.isEmpty else { return }
        let elsewhere = try connection.all(
            """
            SELECT key_from, keys FROM slice
            WHERE \(MessageTable.matching(slice.app, slice.message)) AND route = \(slice.route)
                AND window_no = \(slice.rangeStart) AND state <> \(code: Slice.State.done)
            """, Self.keys)
        let moments = try alertedMoments(slice, among: left)
        for key in Set(left).subtracting(elsewhere.joined()).sorted() {
            if let moment = moments[key] { try settle(moment, key, slice, .retired, Reason.deviceGone, now: now) }
        }
    }

    private static func keys(_ row: inout RowReader) throws -> [DeviceKey] {
        let first: DeviceKey = try row.next()
        return try row.next([UInt8]?.self).map(KeyListCoding.decode) ?? [first]
    }

    private func settle(
        _ moment: Moment, _ device: DeviceKey, _ slice: Slice.ID, _ outcome: Outcome, _ reason: String, now: Timestamp
    ) throws {
        if moment.waiting != nil {
            // Other devices of the same user may have settled meanwhile, even in this transaction.
            guard let current = try self.moment(moment.id) else { return }
            let target = Moment.Target(device: device, route: slice.route)
            _ = try apply(.settledOne(target, outcome, reason: reason), to: current, now: now)
            return
        }
        let next =
            Moment.mayFollow(outcome, reason)
            ? try target(
                app: slice.app, userID: moment.userID,
                routes: try momentRoutes(app: slice.app, message: slice.message), but: moment.tried) : nil
        _ = try apply(.settled(outcome, reason: reason, next: next), to: moment, now: now)
    }
}

/// The alerts of one round by message and route: those of one message are sent together.
private struct AlertGroups {
    struct Group {
        let id: Moment.ID
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
    private var indices: [Name: Int] = [:]

    mutating func add(_ alert: Moment.Target, of id: Moment.ID) {
        let name = Name(app: id.app, message: id.message, route: alert.route)
        if let group = indices[name], all[group].devices.count < Limits.directDevicesMax {
            all[group].devices.append(alert.device)
        } else {
            indices[name] = all.count
            all.append(Group(id: id, route: alert.route, devices: [alert.device]))
        }
    }
}

/// Webhook notices about moments, and the counts of a message with moments.
extension StoreSession {
    func report(_ notice: MomentStep.Notice, of moment: Moment, now: Timestamp) throws {
        guard let message = try message(app: moment.app, id: moment.message) else { return }
        let composers = context.composers.all.filter { $0.reportsMoments(of: message.dialect) }
        guard !composers.isEmpty else { return }
        let status = MomentStatus(
            moment: moment, status: notice.status, campaignID: message.campaignID,
            deviceAddress: try notice.device.flatMap { try addressText(app: moment.app, device: $0) },
            source: try source(app: moment.app, message: moment.message), at: now)
        for composer in composers {
            try enqueue(composer.notice(status), id: Self.noticeID(moment, notice), app: moment.app, composer, at: now)
        }
    }

    /// The same notice has the same id wherever it is written.
    private static func noticeID(_ moment: Moment, _ notice: MomentStep.Notice) -> OutboxEventID {
        // A replaced moment is pending again.
        let state = moment.state == .open ? "open \(moment.rev)" : moment.state.name
        let text = "\(moment.message) \(notice.status.rawValue) \(notice.device ?? 0) \(state) \(moment.userID)"
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

    /// nil if the device was deleted.
    private func addressText(app: AppKey, device: DeviceKey) throws -> String? {
        let address = try connection.first(
            "SELECT route, address FROM device WHERE app = \(app) AND seq = \(device)"
        ) { row in Address(route: try row.next(), bytes: try row.next()) }
        guard let address else { return nil }
        return try DetailCoding.decode(try detail(app: app, device: device)).text(of: address)
    }

    /// One count for each user, on the route of the device that has or had the moment.
    func momentCounts(app: AppKey, id: MessageID) throws -> [Route: OutcomeCounts] {
        var routes: [Route: OutcomeCounts] = [:]
        try connection.query(MomentTable.counts(id, app: app)) { row in
            let (state, route): (Moment.State, Route) = (try row.next(), try row.next())
            let code: Int64? = try row.next()
            let outcome = code.flatMap { Outcome(rawValue: UInt8(truncatingIfNeeded: $0)) } ?? .accepted
            let reason: String = try row.next()
            if state.isUnfinished {
                routes[route, default: .init()].pending += 1
            } else {
                routes[route, default: .init()].count(outcome, reason: outcome.counted(reason))
            }
        }
        return routes
    }
}
