internal import PealCore

extension StoreSession {
    /// First records of requests, then messages past their retention with all that is theirs, a part of a long log at a
    /// time.
    func prune(now: Timestamp, limit: Int) throws -> Int {
        var count = try pruneAnswers(now: now, limit: limit)
        if count < limit { count += try pruneWebhooks(now: now, limit: limit - count) }
        if count < limit { count += try pruneGeofences(now: now, limit: limit - count) }
        if count < limit { count += try pruneMessages(now: now, limit: limit - count) }
        return count
    }

    /// Deliveries past their retention, and events that could not even be made into a request in time.
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

    /// Memories of deleted geofences that every device has dropped by itself, and old crossings.
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
