internal import PealCore

extension StoreSession {
    /// Kept answers first, then webhook deliveries, geofences, and messages past their retention with everything that
    /// belongs to them. A long log is deleted in pieces.
    func prune(now: Timestamp, limit: Int) throws -> Int {
        var count = try pruneAnswers(now: now, limit: limit)
        if count < limit { count += try pruneWebhooks(now: now, limit: limit - count) }
        if count < limit { count += try pruneGeofences(now: now, limit: limit - count) }
        if count < limit { count += try pruneMessages(now: now, limit: limit - count) }
        return count
    }

    /// Deliveries past their retention, and events that never became a request.
    private func pruneWebhooks(now: Timestamp, limit: Int) throws -> Int {
        var room = limit
        let lives: [(WebhookDelivery.State, Int64)] = [
            (.delivered, Limits.webhookDeliveredLifeSeconds), (.failed, Limits.webhookFailedLifeSeconds),
        ]
        for (state, seconds) in lives where room > 0 {
            room -= try connection.execute(
                WebhookDeliveryTable.prune(state, before: now - .seconds(seconds), limit: room))
        }
        let earliest = now - .seconds(Limits.webhookEventLifeSeconds)
        for place in try webhookQueues() where room > 0 {
            room -= try connection.execute(OutboxTable.prune(place, before: earliest, limit: room))
        }
        return limit - room
    }

    /// Tombstones of geofences that no device can hold any more, and old triggers.
    private func pruneGeofences(now: Timestamp, limit: Int) throws -> Int {
        let count = try connection.execute(GeofenceTable.pruneTombstones(now, limit: limit))
        let earliest = now - .seconds(context.retentionSeconds)
        return try count + connection.execute(TriggerTable.prune(before: earliest, limit: limit - count))
    }

    private func pruneMessages(now: Timestamp, limit: Int) throws -> Int {
        let earliest = now - .seconds(context.retentionSeconds)
        let messages = try messagePlaces(
            """
            SELECT app, message FROM message
            WHERE ended_at <= \(earliest) AND ended_at IS NOT NULL AND slices_open = 0
            ORDER BY ended_at LIMIT \(limit)
            """)
        var room = limit
        for (app, message) in messages where room > 0 {
            room -= try pruneLog(app: app, message: message, limit: room)
            guard room > 0 else { break }
            room -= try connection.execute(ReceiptTable.prune(message, app: app, limit: room))
            guard room > 0 else { break }
            for table in Self.tablesOfMessage {
                room -= try connection.execute(
                    "DELETE FROM \(name: table) WHERE \(MessageTable.place(app, message))")
            }
        }
        return limit - room
    }

    private static let tablesOfMessage = [
        "receipt_count", "message_address", "message_keys", "message_predicate", "message_content", "moment", "message",
    ]
}
