internal import PealCore

/// The review of what waits for a reason that may no longer hold: it becomes due and is judged again. After a change of
/// an app's rules, this is what waits because of rules; after a credential changed or was found to work, it is what
/// waits for another attempt with it.
enum WaitReview {
    /// When the one of a credential begins. Until then, every server has heard of the new one.
    static let credentialDelaySeconds: Int64 = 2
    /// When the one of rules begins. Until then, every server has read the new rules; what they are applied to later is
    /// not reviewed, so that nothing is reviewed twice.
    static let rulesDelaySeconds: Int64 = 5
    /// When the one of rules is repeated: devices to which the former rules were applied before the change may have
    /// been settled since.
    static let watchSeconds: Int64 = 60
    /// How long a change of rules is remembered. Each review writes what waits again, so if many changes follow each
    /// other, they are reviewed at growing intervals.
    static let memorySeconds: Int64 = 3600
    /// How many reviews are remembered before the intervals grow, so that a person who tries rules does not wait.
    static let promptReviewsMax: Int64 = 8

    /// What was done for the last change of an app's rules; stored as the remainder's name. Its object is the number of
    /// reviews that are remembered.
    enum Stage: String {
        case pending = ""
        /// It will be repeated.
        case reviewed
        /// It is only remembered.
        case done
    }

    /// The least time between two reviews.
    /// - Parameter count: how many reviews are remembered.
    static func interval(after count: Int64) -> Duration {
        let excess = count - promptReviewsMax
        return excess < 0 ? .zero : .seconds(min(watchSeconds << min(excess, 6), memorySeconds))
    }

    static func ofRules(_ app: AppKey) -> SQL {
        """
        SELECT number, object, name, due_at FROM remainder
        WHERE app = \(app) AND kind = \(Remainder.Kind.rules) LIMIT 1
        """
    }

    /// Slices that wait because of rules, or would if their message were not paused.
    static func ruledSlices(_ app: AppKey, changedAt: Timestamp) -> SQL {
        "\(slices(app)) AND ruled_at < \(changedAt + .seconds(rulesDelaySeconds)) ORDER BY ruled_at"
    }

    /// Those to which rules were applied before the clock was set back.
    static func ruledSlicesAhead(_ app: AppKey, _ now: Timestamp) -> SQL {
        "\(slices(app)) AND ruled_at > \(AheadOfTime.horizon(now)) ORDER BY ruled_at"
    }

    /// Slices on a route that wait for anything else.
    static func retries(_ app: AppKey, route: Int64, _ now: Timestamp) -> SQL {
        "\(slices(app)) AND route = \(route) AND ready_at > \(now) AND ruled_at IS NULL ORDER BY ready_at"
    }

    private static func slices(_ app: AppKey) -> SQL {
        "app = \(app) AND state IN (\(code: Slice.State.waiting), \(code: Slice.State.held))"
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
        let soon = now + .seconds(WaitReview.rulesDelaySeconds)
        let known = try connection.first(WaitReview.ofRules(app)) { row in
            (
                number: try row.next(Int64.self), count: try row.next(Int64.self), stage: try row.next(String.self),
                dueAt: try row.next(Timestamp.self)
            )
        }
        guard let known else { return try leave(.rules, app: app, now: now, dueAt: soon) }
        let stage = WaitReview.Stage(rawValue: known.stage)
        let count = stage == .pending ? known.count : known.count + 1
        let latest = now + WaitReview.interval(after: count)
        let dueAt =
            switch stage {
            case .pending: known.dueAt
            case .done: known.dueAt - .seconds(WaitReview.memorySeconds) + WaitReview.interval(after: count)
            case .reviewed, nil: latest
            }
        // If the clock was set back, the due time would be later than `latest`.
        try connection.execute(
            """
            UPDATE remainder SET \(set: [
                "began_at": now, "due_at": max(soon, min(dueAt, latest)), "object": count,
                "name": WaitReview.Stage.pending.rawValue,
            ])
            WHERE kind = \(Remainder.Kind.rules) AND number = \(known.number)
            """)
    }

    /// Ends a review of an app's rules: the review is repeated once, and then remembered for a while.
    func closeReview(_ review: Remainder, now: Timestamp) throws {
        let lastLook = review.beganAt + .seconds(WaitReview.watchSeconds)
        let stage = WaitReview.Stage(rawValue: review.name) ?? .done
        let next: (stage: WaitReview.Stage, dueAt: Timestamp)
        switch stage {
        // One that began far ahead began before the clock was set back.
        case .pending where now < lastLook && review.beganAt <= AheadOfTime.horizon(now): next = (.reviewed, lastLook)
        case .pending, .reviewed: next = (.done, now + .seconds(WaitReview.memorySeconds))
        case .done:
            try connection.execute("DELETE FROM remainder WHERE \(RemainderTable.matching(review))")
            return
        }
        try connection.execute(
            """
            UPDATE remainder SET name = \(next.stage.rawValue), due_at = \(next.dueAt)
            WHERE \(RemainderTable.matching(review))
            """)
    }

    func reviewRetries(at slot: CredentialSlot, now: Timestamp) throws {
        for route in slot.routes.map(\.route) {
            try leaveOnce(
                .retries, app: slot.app, object: route.rawValue, now: now,
                dueAt: now + .seconds(WaitReview.credentialDelaySeconds))
        }
    }

    /// A slice that is reviewed no longer waits because of rules, and so is not found again.
    /// - Parameter changedAt: when the rules changed.
    func reviewWaits(app: AppKey, changedAt: Timestamp, limit: Int, now: Timestamp) throws -> Piece {
        var room = limit
        for slices in [WaitReview.ruledSlices(app, changedAt: changedAt), WaitReview.ruledSlicesAhead(app, now)] {
            room -= try TablePiece.slice.set(
                ["ready_at": now.stored, "ruled_at": .null(.int)], where: slices, limit: room, connection)
        }
        room -= try TablePiece.moment.set(
            ["fallback_at": now.stored, "due_at": now.stored], where: WaitReview.moments(app, now), limit: room,
            connection)
        return Piece(rows: limit - room, isComplete: room > 0)
    }

    func reviewRetries(app: AppKey, route: Int64, limit: Int, now: Timestamp) throws -> Piece {
        let slices = WaitReview.retries(app, route: route, now)
        let count = try TablePiece.slice.set(["ready_at": now.stored], where: slices, limit: limit, connection)
        return Piece(rows: count, isComplete: count < limit)
    }
}
