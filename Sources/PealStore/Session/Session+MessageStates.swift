internal import PealCore

extension StoreSession {
    /// A resumed message lands where it was paused: one that has no slices yet is planned, or waits for its start.
    func moveMessage(
        app: AppKey, id: MessageID, from: Set<Message.State>, to state: Message.State, now: Timestamp
    ) throws -> Message.State? {
        guard let message = try message(app: app, id: id), from.contains(message.state) else { return nil }
        let target = message.state == .paused ? Self.resumed(message, state, now) : state
        let ended: Timestamp? = target.isFinal ? now : nil
        let count = try connection.execute(
            "UPDATE message SET state = $3, ended_at = $5 WHERE app = $1 AND message = $2 AND state = $4",
            [.int(app), .id(id), .int(target.rawValue), .int(message.state.rawValue), .time(ended)])
        guard count == 1 else { return nil }
        try moveSlices(app: app, id: id, to: target, now: now)
        if target.isFinal, try hasNoSlices(app: app, id: id) { try reportEnd(message, state: target, at: now) }
        return message.state
    }

    /// One that has some ends for its reports when the last of them is settled.
    private func hasNoSlices(app: AppKey, id: MessageID) throws -> Bool {
        try connection.int(
            "SELECT slices_open FROM message WHERE app = $1 AND message = $2", [.int(app), .id(id)]) == 0
    }

    private static func resumed(_ message: Message, _ state: Message.State, _ now: Timestamp) -> Message.State {
        guard !state.isFinal, state != .paused else { return state }
        if message.cutoffAt != nil { return .sending }
        if let start = message.startAt, start > now { return .scheduled }
        return .planning
    }

    /// Leased slices are left to their workers, who give them back when they see the new state.
    private func moveSlices(app: AppKey, id: MessageID, to state: Message.State, now: Timestamp) throws {
        let place: [SQLValue] = [.int(app), .id(id)]
        switch state {
        case .paused:
            try connection.execute(
                "UPDATE slice SET state = 3 WHERE app = $1 AND message = $2 AND state IN (0, 1)", place)
        case .sending:
            try connection.execute(
                """
                UPDATE slice SET state = CASE WHEN ready_at > $3 THEN 0 ELSE 1 END
                WHERE app = $1 AND message = $2 AND state = 3
                """, place + [.time(now)])
        case .cancelled, .expired, .failed:
            // Nothing waits any longer: the workers settle what is left without sending.
            try connection.execute(
                "UPDATE slice SET state = 1 WHERE app = $1 AND message = $2 AND state IN (0, 3)", place)
        default: break
        }
    }

    func endPausedMessages(now: Timestamp, limit: Int) throws -> Int {
        let over = try connection.all(HotSQL.overPausedMessages, [.time(now), .int(limit)]) { row in
            (app: row.int(0), id: try row.id(1) as MessageID, wasTried: !row.isNull(2))
        }
        for (app, id, wasTried) in over {
            _ = try moveMessage(app: app, id: id, from: [.paused], to: wasTried ? .sending : .expired, now: now)
        }
        return over.count
    }

    func dueMessages(now: Timestamp, limit: Int) throws -> [(app: AppKey, id: MessageID)] {
        let due = try connection.all(HotSQL.dueMessages, [.time(now), .int(limit)]) { row -> [SQLValue] in
            [.int(row.int(0)), .bytes(row.bytes(1))]
        }
        try connection.execute("UPDATE message SET state = 2 WHERE app = $1 AND message = $2 AND state = 1", rows: due)
        return try connection.all(HotSQL.planningMessages, [.int(limit)]) { (app: $0.int(0), id: try $0.id(1)) }
    }
}
