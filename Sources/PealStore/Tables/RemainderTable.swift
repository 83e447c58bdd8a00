internal import PealCore

/// `remainder`: changes that a request began and that may affect any number of rows. The request makes them effective,
/// for example by deleting an app's own row; the Pruner removes or changes the other rows in pieces.
struct Remainder: Sendable, Hashable {
    /// In the order in which they are completed: an app is the largest.
    enum Kind: Int64, CaseIterable, SQLStorable {
        /// What a deleted device (`object`) reported.
        case device = 1
        /// Devices, moments and arms of an erased user (`name`).
        case user = 2
        /// Moments of a user (`name`) who registered a device.
        case moments = 3
        /// The slices of a message (`name`) that was paused, resumed or ended.
        case slices = 4
        /// What waits because of an app's rules, which have changed (`WaitReview.Stage`).
        case rules = 10
        /// What waits for another attempt on a route (`object`) whose credential changed or was found to work.
        case retries = 11
        /// Events and deliveries of a deleted webhook (`object`).
        case webhook = 5
        /// Waiting events and deliveries of a disabled webhook (`object`).
        case silence = 6
        /// Members of a deleted topic (`object`).
        case topic = 7
        /// Arms of an experiment whose campaign (`name`) has no message any more.
        case experiment = 8
        case app = 9
    }

    let kind: Kind
    let number: Int64
    let app: AppKey
    let object: Int64
    let name: String
    let beganAt: Timestamp

    init(_ row: inout RowReader) throws {
        kind = try row.next()
        number = try row.next()
        app = try row.next()
        object = try row.next()
        name = try row.next()
        beganAt = try row.next()
    }
}

/// The statements on `remainder`.
enum RemainderTable {
    /// The first one of a kind. Those that wait for a last look, such as every user erased in the last hour, are not
    /// read.
    static func next(_ kind: Remainder.Kind, _ now: Timestamp) -> SQL {
        """
        SELECT kind, number, app, object, name, began_at FROM remainder WHERE kind = \(kind) AND due_at <= \(now)
        ORDER BY due_at, number LIMIT 1
        """
    }

    static func deleteErasure(of userID: String, app: AppKey) -> SQL {
        "DELETE FROM remainder WHERE app = \(app) AND kind = \(Remainder.Kind.user) AND name = \(userID)"
    }

    /// Begins one without a name again.
    static func restart(
        _ kind: Remainder.Kind, app: AppKey, object: Int64, _ now: Timestamp, dueAt: Timestamp
    ) -> SQL {
        """
        UPDATE remainder SET began_at = \(now), due_at = \(dueAt)
        WHERE app = \(app) AND kind = \(kind) AND name = '' AND object = \(object)
        """
    }

    static func matching(_ remainder: Remainder) -> SQL {
        "kind = \(remainder.kind) AND number = \(remainder.number)"
    }
}

extension StoreSession {
    func hasRemainders(now: Timestamp) throws -> Bool { try nextRemainder(now: now) != nil }

    func postponeRemainder(to later: Timestamp, now: Timestamp) throws -> String? {
        guard let remainder = try nextRemainder(now: now) else { return nil }
        try connection.execute("UPDATE remainder SET due_at = \(later) WHERE \(RemainderTable.matching(remainder))")
        return "\(remainder.kind) \(remainder.number) of app \(remainder.app)"
    }

    private func nextRemainder(
        _ kinds: [Remainder.Kind] = Remainder.Kind.allCases, now: Timestamp
    ) throws -> Remainder? {
        var next: Remainder?
        try connection.query(kinds.map { RemainderTable.next($0, now) }) { _, row in
            guard next == nil else { return }
            var row = RowReader(row)
            next = try Remainder(&row)
        }
        return next
    }

    /// Leaves the rest of a change to the Pruner.
    /// - Parameter dueAt: when the Pruner begins; nil for now.
    func leave(
        _ kind: Remainder.Kind, app: AppKey, object: Int64 = 0, name: String = "", now: Timestamp,
        dueAt: Timestamp? = nil
    ) throws {
        try connection.execute(
            """
            INSERT INTO remainder \(row: [
                "kind": kind, "number": try nextNumber("remainder"), "app": app, "object": object, "name": name,
                "began_at": now, "due_at": dueAt ?? now,
            ])
            """)
    }

    /// Like `leave`, but one that was left before for the same object begins again instead, so that there is never more
    /// than one, however often requests repeat the change.
    func leaveOnce(_ kind: Remainder.Kind, app: AppKey, object: Int64 = 0, now: Timestamp, dueAt: Timestamp) throws {
        let count = try connection.execute(RemainderTable.restart(kind, app: app, object: object, now, dueAt: dueAt))
        if count == 0 { try leave(kind, app: app, object: object, now: now, dueAt: dueAt) }
    }

    /// Completes changes that requests began, at most about `limit` rows. Returns how many rows it changed.
    func completeRemainders(now: Timestamp, limit: Int) throws -> Int {
        var room = limit
        var next = try nextRemainder(now: now)
        while room > 0, let remainder = next {
            let piece = try complete(remainder, limit: room, now: now)
            room -= piece.rows
            guard piece.isComplete else { break }
            try close(remainder, now: now)
            room -= 1
            next = try nextRemainder([remainder.kind], now: now) ?? nextRemainder(now: now)
        }
        return limit - room
    }

    /// A request that was authenticated before its app was deleted may still write a little later, a message that was
    /// claimed or being sent when its user was erased ends later, and a page to which former rules were applied may
    /// still be in flight. So all three are checked again.
    private func close(_ remainder: Remainder, now: Timestamp) throws {
        if remainder.kind == .rules { return try closeReview(remainder, now: now) }
        let watch: Int64 =
            switch remainder.kind {
            case .app: Limits.deletedAppWatchSeconds
            case .user: Limits.erasedUserWatchSeconds
            default: 0
            }
        let lastLook = remainder.beganAt + .seconds(watch)
        // One that began far ahead began before the clock was set back.
        if now < lastLook, remainder.beganAt <= AheadOfTime.horizon(now) {
            try connection.execute(
                "UPDATE remainder SET due_at = \(lastLook) WHERE \(RemainderTable.matching(remainder))")
        } else {
            try connection.execute("DELETE FROM remainder WHERE \(RemainderTable.matching(remainder))")
        }
    }

    private func complete(_ remainder: Remainder, limit: Int, now: Timestamp) throws -> Piece {
        let (app, object, name, beganAt) = (remainder.app, remainder.object, remainder.name, remainder.beganAt)
        switch remainder.kind {
        case .app: return try piece(of: TablePiece.ofApp, limit) { $0.rows(of: app) }
        case .device:
            return try piece(of: TablePiece.ofDevice, limit) { _ in "app = \(app) AND seq = \(object)" }
        case .user: return try eraseUser(name, app: app, before: beganAt, limit: limit, now: now)
        case .moments: return try wakeMoments(of: name, app: app, limit: limit, now: now)
        case .slices:
            guard let id = MessageID(name), let state = try message(app: app, id: id)?.state else { return .nothing }
            let isEnding = try connection.value(MessageTable.isEnding(app, id), Int64.self) == 1
            return try movePiece(app: app, id: id, to: isEnding ? .expired : state, limit: limit, now: now)
        case .rules:
            if name == WaitReview.Stage.done.rawValue { return .nothing }
            return try reviewWaits(app: app, changedAt: beganAt, limit: limit, now: now)
        case .retries: return try reviewRetries(app: app, route: object, limit: limit, now: now)
        case .webhook:
            let reference = WebhookReference(app: app, key: object)
            return try piece(of: [.outbox, .webhookDelivery], limit) { _ in WebhookTable.matching(reference) }
        case .silence:
            return try silence(WebhookReference(app: app, key: object), before: beganAt, limit: limit, now: now)
        case .topic: return try eraseMembers(of: object, app: app, limit: limit)
        case .experiment:
            return try piece(of: [.experimentArm], limit) { _ in
                "app = \(app) AND campaign_id = \(name) AND assigned_at <= \(beganAt)"
            }
        }
    }
}

/// What one piece of a long change did.
struct Piece: Hashable {
    var rows: Int
    /// Whether nothing is left.
    var isComplete: Bool

    static let nothing = Piece(rows: 0, isComplete: true)
}

extension StoreSession {
    /// Deletes at most `limit` rows, of one table after the other.
    func piece(of tables: [TablePiece], _ limit: Int, where condition: (TablePiece) -> SQL) throws -> Piece {
        var room = limit
        for table in tables {
            room -= try table.delete(where: condition(table), limit: room, connection)
            guard room > 0 else { return Piece(rows: limit, isComplete: false) }
        }
        return Piece(rows: limit - room, isComplete: true)
    }

    /// Deletes members of a topic, each from the order of devices and from that of sending.
    func eraseMembers(of topic: Int64, app: AppKey, limit: Int) throws -> Piece {
        let count = max(1, limit / 2)
        let members = try connection.all(
            TablePiece.member.keys(where: "app = \(app) AND topic = \(topic)", limit: count)
        ) { row -> (route: Int64, device: DeviceKey) in
            _ = (try row.next(AppKey.self), try row.next(Int64.self))
            return (route: try row.next(), device: try row.next())
        }
        try connection.execute(
            members.map { TablePiece.subscription.deletion([.int(app), .int($0.device), .int(topic)]) })
        try connection.execute(
            members.map { TablePiece.member.deletion([.int(app), .int(topic), .int($0.route), .int($0.device)]) })
        return Piece(rows: 2 * members.count, isComplete: members.count < count)
    }
}
