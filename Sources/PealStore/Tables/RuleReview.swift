internal import PealCore

/// The review of what waits because of an app's rules, after these have changed: it is due now, and the rules are
/// applied to it again.
enum RuleReview {
    /// When it begins. Until then, every server has read the new rules.
    static let delaySeconds: Int64 = 2
    /// When it is repeated: devices to which the former rules were applied before the change may have been settled
    /// since.
    static let watchSeconds: Int64 = 60
    /// How long after the change the former rules may still have been applied, by a server that had read them just
    /// before the change was committed.
    private static let graceSeconds: Int64 = 5

    /// Slices that wait, or would wait if their message were not paused.
    static func slices(_ app: AppKey, changedAt: Timestamp, _ now: Timestamp) -> SQL {
        """
        app = \(app) AND state IN (\(code: Slice.State.waiting), \(code: Slice.State.held)) AND ready_at > \(now)
            AND ruled_at IS NOT NULL AND ruled_at <= \(changedAt + .seconds(graceSeconds)) ORDER BY ready_at
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
        try leave(.rules, app: app, now: now, dueAt: now + .seconds(RuleReview.delaySeconds))
    }

    /// - Parameter changedAt: when the rules changed.
    func reviewWaits(app: AppKey, changedAt: Timestamp, limit: Int, now: Timestamp) throws -> Piece {
        let slices = RuleReview.slices(app, changedAt: changedAt, now)
        let count = try TablePiece.slice.set(["ready_at"], to: now.stored, where: slices, limit: limit, connection)
        let room = limit - count
        let rest = try TablePiece.moment.set(
            ["fallback_at", "due_at"], to: now.stored, where: RuleReview.moments(app, now), limit: room, connection)
        return Piece(rows: count + rest, isComplete: count + rest < limit)
    }
}
