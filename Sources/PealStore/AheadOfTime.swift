internal import PealCore

/// Times that were stored before the clock was set back, and that would only come once it has caught up. They are
/// recognized because they are further ahead than any wait lasts.
enum AheadOfTime {
    /// Later than anything that is stored at `now` for a wait of at most `seconds`.
    static func horizon(_ now: Timestamp, _ seconds: Int64 = 0) -> Timestamp {
        now + .seconds(seconds + ClockOffset.toleranceSeconds)
    }

    static func slices(_ now: Timestamp) -> SQL {
        "state = \(code: Slice.State.waiting) AND ready_at > \(horizon(now, Limits.holdSecondsMax))"
    }

    /// Slices that wait for another attempt, at most a fifth longer than a network may ask for. Of the rows in this
    /// range, those that wait because of rules are few.
    static func retries(_ now: Timestamp) -> SQL {
        """
        state = \(code: Slice.State.waiting) AND attempt > 0 AND ruled_at IS NULL
            AND ready_at > \(horizon(now, Limits.providerWaitSecondsMax * 6 / 5))
        """
    }

    /// The end of quiet hours may be a day ahead.
    static func wakes(_ now: Timestamp) -> SQL { "wake_at > \(horizon(now, 86_400)) AND wake_at IS NOT NULL" }

    /// Claims, by the time at which they are due. Of the rows in this range, those whose claim has ended already, which
    /// wait for a receipt, are few.
    static func claims(_ now: Timestamp) -> SQL {
        let horizon = horizon(now, Limits.claimSeconds)
        return "state = \(code: Moment.State.claimed) AND due_at > \(horizon) AND claim_until > \(horizon)"
    }

    static func remainders(_ kind: Remainder.Kind, _ now: Timestamp) -> SQL {
        "kind = \(kind) AND due_at > \(horizon(now, Limits.erasedUserWatchSeconds))"
    }

    /// Events are read in the order of `created_at`, which stays.
    private static func isEvent(_ now: Timestamp) -> SQL { "created_at > \(horizon(now)) AND due_at > \(now)" }

    private static func isDelivery(_ now: Timestamp) -> SQL {
        "next_at > \(horizon(now, Limits.webhookRetrySecondsMax))"
    }

    static func events(_ reference: WebhookReference, _ now: Timestamp) -> SQL {
        "\(WebhookTable.matching(reference)) AND \(isEvent(now))"
    }

    static func deliveries(_ reference: WebhookReference, _ now: Timestamp) -> SQL {
        """
        state = \(code: WebhookDelivery.State.pending) AND \(WebhookTable.matching(reference)) AND \(isDelivery(now))
        """
    }

    /// Webhooks with such events. One statement finds them, because there may be many webhooks.
    static func webhooksOfEvents(_ now: Timestamp) -> SQL {
        let queue = OutboxTable.queue
        return queue.webhooks(where: queue.has(isEvent(now)))
    }

    static func webhooksOfDeliveries(_ now: Timestamp) -> SQL {
        let queue = WebhookDeliveryTable.queue
        return queue.webhooks(where: queue.has(isDelivery(now)))
    }
}

extension StoreSession {
    /// Makes due what waits for a time from before the clock was set back.
    func bringForward(_ now: Timestamp, _ limit: Int) throws -> Int {
        var room = limit
        func set(_ values: KeyValuePairs<String, SQLValue>, in table: TablePiece, where condition: SQL) throws {
            room -= try table.set(values, where: condition, limit: room, connection)
        }
        for slices in [AheadOfTime.slices(now), AheadOfTime.retries(now)] {
            try set(["ready_at": now.stored], in: .slice, where: slices)
        }
        try set(["wake_at": now.stored], in: .installation, where: AheadOfTime.wakes(now))
        // Their devices may still be about to display the messages.
        let claimEnd = (now + .seconds(Limits.claimSeconds)).stored
        try set(["due_at": claimEnd, "claim_until": claimEnd], in: .moment, where: AheadOfTime.claims(now))
        for kind in Remainder.Kind.allCases {
            try set(["due_at": now.stored], in: .remainder, where: AheadOfTime.remainders(kind, now))
        }
        for reference in try webhooks(AheadOfTime.webhooksOfEvents(now)) {
            try set(["due_at": now.stored], in: .outbox, where: AheadOfTime.events(reference, now))
        }
        for reference in try webhooks(AheadOfTime.webhooksOfDeliveries(now)) {
            try set(["next_at": now.stored], in: .webhookDelivery, where: AheadOfTime.deliveries(reference, now))
        }
        return limit - room
    }
}
