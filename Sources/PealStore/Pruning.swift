internal import PealCore

/// How long the store keeps finished and retired data.
package struct StoreRetention: Sendable, Hashable {
    /// Finished messages and their logs.
    package var messageSeconds: Int64 = 30 * day
    /// Retired devices with their subscriptions.
    package var deviceSeconds: Int64 = 90 * day
    /// Entries of the audit log.
    package var auditSeconds: Int64 = 365 * day

    package init() {}

    package init(messageDays: Int, deviceDays: Int, auditDays: Int) {
        messageSeconds = Int64(messageDays) * Self.day
        deviceSeconds = Int64(deviceDays) * Self.day
        auditSeconds = Int64(auditDays) * Self.day
    }

    private static let day: Int64 = 24 * 3600
}

extension StoreSession {
    /// Half of the limit is reserved for what requests began, so that neither a large deletion nor a backlog of old
    /// rows delays the other.
    func prune(
        _ steps: [PruneStep], now: Timestamp, limit: Int, after skipped: [PruneStep: PruneCursor]
    ) throws -> Int {
        let completes = steps.contains(.remainders)
        var count = completes ? try completeRemainders(now: now, limit: max(1, limit / 2)) : 0
        for step in steps where count < limit && step != .remainders {
            count += try work(step, now, limit - count, after: skipped[step])
        }
        if completes, count < limit { count += try completeRemainders(now: now, limit: limit - count) }
        return count
    }

    private func work(_ step: PruneStep, _ now: Timestamp, _ limit: Int, after skipped: PruneCursor?) throws -> Int {
        func delete(_ table: TablePiece, _ over: SQL) throws -> Int {
            try table.delete(where: over, limit: limit, connection)
        }
        return switch step {
        case .remainders: try completeRemainders(now: now, limit: limit)
        case .answers: try delete(.answer, Pruning.answers(now))
        case .outcomes: try sumOutcomes(now, limit, after: skipped)
        case .messages: try pruneMessages(now, limit, after: skipped)
        case .devices: try pruneDevices(now, limit)
        case .topics: try pruneTopics(now, limit)
        case .geofences: try pruneGeofences(now, limit)
        case .audit: try pruneAudit(now, limit)
        case .webhooks: try pruneWebhooks(now, limit)
        case .statistics: try pruneStatistics(now, limit)
        case .frequency: try delete(.frequency, FrequencyTable.over(now))
        case .events: try pruneEvents(now, limit)
        case .settings: try delete(.setting, Pruning.settings(now))
        case .models: try delete(.momentModel, Pruning.models(now))
        case .figures: try pruneFigures(now, limit)
        case .spentWakes: try delete(.spentWake, SpentWakeTable.over(now))
        case .aheadOfTime: try bringForward(now, limit)
        }
    }

    func nextToPrune(_ step: PruneStep, after skipped: PruneCursor?, now: Timestamp) throws -> PruneCursor? {
        switch step {
        case .outcomes:
            return try connection.first(ExperimentTable.final(by: now, limit: 1, after: skipped), PruneCursor.init)
        case .messages: return try connection.first(messagesOver(now, limit: 1, after: skipped), PruneCursor.init)
        default: return nil
        }
    }

    private func messagesOver(_ now: Timestamp, limit: Int, after skipped: PruneCursor?) -> SQL {
        Pruning.messages(now - .seconds(context.retention.messageSeconds), now, limit: limit, after: skipped)
    }

    /// Prunes messages whose retention has ended, with everything that belongs to them. Their campaign keeps their
    /// figures; with that they leave the campaign, so that each counts once although a long log is deleted in pieces.
    private func pruneMessages(_ now: Timestamp, _ limit: Int, after skipped: PruneCursor?) throws -> Int {
        var room = limit
        var over = try connection.all(messagesOver(now, limit: limit, after: skipped)) { row in
            (key: try PruneCursor(&row), campaign: try row.next(String?.self))
        }[...]
        while room > 0, !over.isEmpty {
            var messages: [PrunedMessage] = []
            for (key, campaign) in over.prefix(PrunedMessage.countAtOnce) where room > 0 {
                try naming(key.message) { id in
                    if let campaign { room -= try keepFigures(of: id, campaign, app: key.app, now: now) }
                    messages.append(PrunedMessage(app: key.app, id: id))
                }
            }
            over = over.dropFirst(PrunedMessage.countAtOnce)
            guard try delete(messages, &room) else { break }
        }
        return limit - room
    }

    /// Deletes messages in order, at most about `room` rows.
    /// - Returns: whether all of them were deleted.
    private func delete(_ messages: [PrunedMessage], _ room: inout Int) throws -> Bool {
        var deletions: [SQL] = []
        for (message, rows) in zip(messages, try rows(of: messages)) where room > 0 {
            if let rows, rows.count < room {
                deletions += rows
                room -= rows.count
            } else {
                let piece = try piece(of: TablePiece.ofMessage, room) { _ in message.matching }
                room -= piece.rows
                guard piece.isComplete else { break }
            }
            deletions.append("DELETE FROM message WHERE \(message.matching)")
            room -= 1
        }
        try connection.execute(deletions)
        return room > 0
    }

    /// The deletions of what belongs to each message; nil for a message with many rows. They are found together: with
    /// PostgreSQL, waiting for the rows of each table of each message would take longer than everything else.
    private func rows(of messages: [PrunedMessage]) throws -> [[SQL]?] {
        let tables = TablePiece.ofMessage
        var deletions: [[SQL]] = messages.flatMap { _ in tables.map { _ in [] } }
        let statements = messages.flatMap { message in
            tables.map { $0.keys(where: message.matching, limit: PrunedMessage.rowsMax) }
        }
        try connection.query(statements) { index, row in
            deletions[index].append(tables[index % tables.count].deletion(of: row))
        }
        return messages.indices.map { index in
            let own = deletions[(index * tables.count)..<((index + 1) * tables.count)]
            return own.contains { $0.count == PrunedMessage.rowsMax } ? nil : Array(own.joined())
        }
    }

    /// Runs work on one message. If the message cannot be read, the error names it.
    func naming<R>(_ bytes: [UInt8], _ work: (MessageID) throws -> R) throws -> R {
        guard let id = MessageID(bytes: bytes) else { throw PealError.damaged("the message id \(Hex.encode(bytes))") }
        do {
            return try work(id)
        } catch let error as PealError where error.code == .internal {
            throw PealError(.internal, "message \(id): \(error.message)")
        }
    }

    /// An experiment, and what was learned of the campaign's displays, end with the last message of the campaign.
    func endCampaign(_ campaign: String, app: AppKey, now: Timestamp) throws {
        guard try !connection.exists(MessageTable.first(of: campaign, app: app)) else { return }
        try connection.execute("DELETE FROM learning WHERE app = \(app) AND campaign_id = \(campaign)")
        guard try connection.execute("DELETE FROM experiment WHERE app = \(app) AND campaign_id = \(campaign)") == 1
        else { return }
        try leave(.experiment, app: app, name: campaign, now: now)
    }

    private func pruneDevices(_ now: Timestamp, _ limit: Int) throws -> Int {
        var room = limit
        let over = try connection.all(
            Pruning.devices(now - .seconds(context.retention.deviceSeconds), limit: limit)
        ) { row -> (app: AppKey, key: DeviceKey, route: Int64) in
            (app: try row.next(), key: try row.next(), route: try row.next())
        }
        for (app, key, code) in over where room > 0 {
            guard let route = Route(rawValue: code) else { continue }
            room -= try erase(app: app, device: key, route: route, now: now)
        }
        return limit - room
    }

    /// A message that is being sent still reaches an expired topic, so it is kept for a while.
    private func pruneTopics(_ now: Timestamp, _ limit: Int) throws -> Int {
        let over = try connection.all(
            Pruning.topics(now - .seconds(Limits.expiredTopicLifeSeconds), limit: limit)
        ) { row -> (app: AppKey, name: String) in (app: try row.next(), name: try row.next()) }
        for (app, name) in over { _ = try deleteTopic(app: app, name: name, now: now) }
        return over.count
    }

    /// Prunes tombstones of geofences that no device can still have, and old triggers.
    private func pruneGeofences(_ now: Timestamp, _ limit: Int) throws -> Int {
        let count = try TablePiece.geofenceTombstone.delete(
            where: Pruning.geofenceTombstones(now), limit: limit, connection)
        let earliest = now - .seconds(context.retention.messageSeconds)
        return try count
            + TablePiece.trigger.delete(where: Pruning.triggers(earliest), limit: limit - count, connection)
    }

    /// Prunes what devices reported and shared.
    private func pruneEvents(_ now: Timestamp, _ limit: Int) throws -> Int {
        let count = try TablePiece.deviceEvent.delete(
            where: Pruning.deviceEvents(now - .seconds(Limits.deviceEventMemorySeconds)), limit: limit, connection)
        return try count
            + TablePiece.contextSample.delete(
                where: Pruning.contextSamples(now - .seconds(Limits.contextSampleSeconds)), limit: limit - count,
                connection)
    }

    /// Prunes figures of campaigns of which no message was pruned for years.
    private func pruneFigures(_ now: Timestamp, _ limit: Int) throws -> Int {
        let earliest = now - .seconds(Limits.statisticsDaysLifeSeconds)
        var count = 0
        for table in [TablePiece.campaignTotal, .experimentSum, .experimentCount] {
            count += try table.delete(where: Pruning.figures(earliest), limit: limit - count, connection)
        }
        return try count + TablePiece.shareChange.delete(where: "at <= \(earliest)", limit: limit - count, connection)
    }

    /// Prunes deliveries whose retention has ended, and events that never became a request.
    private func pruneWebhooks(_ now: Timestamp, _ limit: Int) throws -> Int {
        var room = limit
        let lives: [(WebhookDelivery.State, Int64)] = [
            (.delivered, Limits.webhookDeliveredLifeSeconds), (.failed, Limits.webhookFailedLifeSeconds),
        ]
        for (state, seconds) in lives {
            room -= try TablePiece.webhookDelivery.delete(
                where: Pruning.deliveries(state, now - .seconds(seconds)), limit: room, connection)
        }
        let earliest = now - .seconds(Limits.webhookEventLifeSeconds)
        for reference in try webhooks(OutboxTable.over(earliest)) where room > 0 {
            room -= try TablePiece.outbox.delete(where: Pruning.events(reference, earliest), limit: room, connection)
        }
        return limit - room
    }
}

/// A message that is deleted together with others.
private struct PrunedMessage {
    static let countAtOnce = 32
    /// A message with this many rows in one table is deleted separately.
    static let rowsMax = 16

    let app: AppKey
    let id: MessageID

    var matching: SQL { MessageTable.matching(app, id) }
}

extension PruneCursor {
    /// Reads the first three columns of a statement that finds messages.
    init(_ row: inout RowReader) throws {
        self.init(app: try row.next(), message: try row.next(), at: try row.next())
    }

    /// The condition of the rows after it, in the order of `column`, `app` and `message`.
    func isBefore(_ column: String) -> SQL { " AND (\(name: column), app, message) > (\(at), \(app), \(message))" }
}

/// The conditions under which rows can be deleted, and the statements that find them. Each uses an index.
enum Pruning {
    static func answers(_ now: Timestamp) -> SQL {
        "at <= \(now - .seconds(Limits.idempotencyLifeSeconds)) ORDER BY at"
    }

    /// Messages with a window also remain until opens no longer count in their experiment.
    static func messages(_ earliest: Timestamp, _ now: Timestamp, limit: Int, after skipped: PruneCursor?) -> SQL {
        let later: SQL = skipped?.isBefore("ended_at") ?? ""
        return """
            SELECT app, message, ended_at, campaign_id FROM message
            WHERE ended_at <= \(earliest) AND ended_at IS NOT NULL AND slices_open = 0
                AND (window_until IS NULL OR window_until <= \(now - ExperimentTable.maturity))\(later)
            ORDER BY ended_at, app, message LIMIT \(limit)
            """
    }

    /// Without those of routes that only a newer server on the same database knows.
    static func devices(_ earliest: Timestamp, limit: Int) -> SQL {
        let routes = Route.allCases.map { "\($0.rawValue)" }.joined(separator: ", ")
        return """
            SELECT app, seq, route FROM device
            WHERE retired_at <= \(earliest) AND retired_at IS NOT NULL AND route IN (\(name: routes))
            ORDER BY retired_at LIMIT \(limit)
            """
    }

    static func topics(_ earliest: Timestamp, limit: Int) -> SQL {
        """
        SELECT app, name FROM topic WHERE expires_at <= \(earliest) AND expires_at IS NOT NULL
        ORDER BY expires_at LIMIT \(limit)
        """
    }

    static func geofenceTombstones(_ now: Timestamp) -> SQL { "told_until <= \(now)" }

    /// What the console stored about ended sessions and unused links.
    static func settings(_ now: Timestamp) -> SQL {
        "expires_at <= \(now) AND expires_at IS NOT NULL ORDER BY expires_at"
    }

    static func deviceEvents(_ earliest: Timestamp) -> SQL { "stored_at <= \(earliest) ORDER BY stored_at" }

    static func contextSamples(_ earliest: Timestamp) -> SQL { "at <= \(earliest) ORDER BY at" }

    static func figures(_ earliest: Timestamp) -> SQL { "pruned_at <= \(earliest) ORDER BY pruned_at" }

    /// Models that no phone uses any more.
    static func models(_ now: Timestamp) -> SQL { "expires_at <= \(now) ORDER BY expires_at" }

    static func triggers(_ earliest: Timestamp) -> SQL { "at <= \(earliest)" }

    /// Rows are approximately in the order of time, so only the first ones are examined.
    static func audit(limit: Int) -> SQL { "SELECT number, hash, at FROM audit ORDER BY number LIMIT \(limit)" }

    static func deliveries(_ state: WebhookDelivery.State, _ earliest: Timestamp) -> SQL {
        "state = \(state) AND ended_at <= \(earliest) AND ended_at IS NOT NULL ORDER BY ended_at"
    }

    static func events(_ reference: WebhookReference, _ earliest: Timestamp) -> SQL {
        "\(WebhookTable.matching(reference)) AND created_at <= \(earliest)"
    }
}
