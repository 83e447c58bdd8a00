internal import PealCore

extension StoreSession {
    /// First records of requests, then messages past their retention with all that is theirs, a part of a long log at a
    /// time.
    func prune(now: Timestamp, limit: Int) throws -> Int {
        var count = try pruneRecords(now: now, limit: limit)
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
                WebhookSQL.pruneDeliveries,
                [.int(state.rawValue), .time(now - .seconds(seconds)), .int(room)])
        }
        let earliest = now - .seconds(Limits.webhookEventLifeSeconds)
        for place in try webhookQueues() where room > 0 {
            room -= try connection.execute(
                WebhookSQL.pruneEvents, Self.values(place) + [.time(earliest), .int(room)])
        }
        return limit - room
    }

    /// Memories of deleted geofences that every device has dropped by itself, and old crossings.
    private func pruneGeofences(now: Timestamp, limit: Int) throws -> Int {
        let count = try connection.execute(GeofenceSQL.pruneTombstones, [.time(now), .int(limit)])
        let earliest = now - .seconds(context.retentionSeconds)
        return try count
            + connection.execute(GeofenceSQL.pruneTriggers, [.time(earliest), .int(limit - count)])
    }

    private func pruneRecords(now: Timestamp, limit: Int) throws -> Int {
        let earliest = now - .seconds(Limits.idempotencyLifeSeconds)
        return try connection.execute(
            """
            DELETE FROM idempotency WHERE (scope, request_key) IN (
                SELECT scope, request_key FROM idempotency WHERE at <= $1 ORDER BY at LIMIT $2)
            """, [.time(earliest), .int(limit)])
    }

    private func pruneMessages(now: Timestamp, limit: Int) throws -> Int {
        let earliest = now - .seconds(context.retentionSeconds)
        let messages = try connection.all(
            """
            SELECT app, message FROM message WHERE ended_at <= $1 AND ended_at IS NOT NULL AND slices_open = 0
            ORDER BY ended_at LIMIT $2
            """, [.time(earliest), .int(limit)]
        ) { row -> [SQLValue] in [.int(row.int(0)), .bytes(row.bytes(1))] }
        var room = limit
        for place in messages where room > 0 {
            room -= try connection.execute(
                """
                DELETE FROM delivery_page WHERE (app, message, route, window_no, part, page) IN (
                    SELECT app, message, route, window_no, part, page FROM delivery_page
                    WHERE app = $1 AND message = $2 LIMIT $3)
                """, place + [.int(room)])
            guard room > 0 else { break }
            room -= try connection.execute(GeofenceSQL.pruneReceipts, place + [.int(room)])
            guard room > 0 else { break }
            for table in Self.tablesOfMessage {
                room -= try connection.execute("DELETE FROM \(table) WHERE app = $1 AND message = $2", place)
            }
        }
        return limit - room
    }

    private static let tablesOfMessage = [
        "receipt_count", "message_address", "message_keys", "message_predicate", "message_content", "moment", "message",
    ]
}
