internal import PealCore

/// The review of what waits for a reason that may no longer hold: it becomes due and is judged again. After a change of
/// an app's rules, this is what waits because of rules; after a credential changed or was found to work, it is what
/// waits for another attempt with it.
enum WaitReview {
    /// The delay of a review. By then, every server has read the new rules, or heard of the new credential.
    static let delaySeconds: Int64 = 2
    /// When a review of rules is repeated, because devices to which the former rules were applied before the change may
    /// have been settled since.
    static let watchSeconds: Int64 = 60
    /// How long after the change the former rules may still have been applied, by a server that had read them just
    /// before the change was committed.
    private static let graceSeconds: Int64 = 5

    /// Slices that wait because of rules, or would if their message were not paused. If rules seem to have been applied
    /// far in the future, the clock was set back since.
    static func ruledSlices(_ app: AppKey, changedAt: Timestamp, _ now: Timestamp) -> SQL {
        """
        \(slices(app, now)) AND ruled_at IS NOT NULL
            AND (ruled_at <= \(changedAt + .seconds(graceSeconds)) OR ruled_at > \(AheadOfTime.horizon(now)))
        ORDER BY ready_at
        """
    }

    /// Slices on a route that wait for anything else.
    static func retries(_ app: AppKey, route: Int64, _ now: Timestamp) -> SQL {
        "\(slices(app, now)) AND route = \(route) AND ruled_at IS NULL ORDER BY ready_at"
    }

    private static func slices(_ app: AppKey, _ now: Timestamp) -> SQL {
        """
        app = \(app) AND state IN (\(code: Slice.State.waiting), \(code: Slice.State.held)) AND ready_at > \(now)
        """
    }

    /// Moments that wait for the end of quiet hours.
    static func moments(_ app: AppKey, _ now: Timestamp) -> SQL {
        """
        app = \(app) AND state = \(code: Moment.State.open)
            AND reason = \(name: "'\(HoldReason.quietHours.rawValue)'") AND due_at > \(now) ORDER BY due_at
        """
    }
}

extension StoreSession {
    func reviewWaits(app: AppKey, now: Timestamp) throws {
        try leave(.rules, app: app, now: now, dueAt: now + .seconds(WaitReview.delaySeconds))
    }

    func reviewRetries(at slot: CredentialSlot, now: Timestamp) throws {
        for route in slot.routes.map(\.route) {
            try leave(
                .retries, app: slot.app, object: route.rawValue, now: now,
                dueAt: now + .seconds(WaitReview.delaySeconds))
        }
    }

    /// - Parameter changedAt: when the rules changed.
    func reviewWaits(app: AppKey, changedAt: Timestamp, limit: Int, now: Timestamp) throws -> Piece {
        let slices = WaitReview.ruledSlices(app, changedAt: changedAt, now)
        let count = try TablePiece.slice.set(["ready_at"], to: now.stored, where: slices, limit: limit, connection)
        let room = limit - count
        let rest = try TablePiece.moment.set(
            ["fallback_at", "due_at"], to: now.stored, where: WaitReview.moments(app, now), limit: room, connection)
        return Piece(rows: count + rest, isComplete: count + rest < limit)
    }

    func reviewRetries(app: AppKey, route: Int64, limit: Int, now: Timestamp) throws -> Piece {
        let slices = WaitReview.retries(app, route: route, now)
        let count = try TablePiece.slice.set(["ready_at"], to: now.stored, where: slices, limit: limit, connection)
        return Piece(rows: count, isComplete: count < limit)
    }
}
