internal import PealCore

extension StoreSession {
    /// Carries a group's progress into its message. Returns the final state when this ended the message.
    func settleMessage(
        _ place: MessageChanges.Place, _ change: MessageChanges.Change, now: Timestamp
    ) throws -> Message.State? {
        let values: [SQLValue] = [.int(place.app), .id(place.message)]
        if let sentAt = change.firstSentAt { try connection.execute(HotSQL.firstSent, values + [.time(sentAt)]) }
        guard change.slicesOpen != 0 else { return nil }
        let open = try connection.int(HotSQL.closeSlices, values + [.int(change.slicesOpen)])
        guard open == 0 else { return nil }
        return try end(place, now: now)
    }

    /// The last slice is settled: folds the slices' counts into the message and deletes them, and tells of
    /// the end. The log stays.
    private func end(_ place: MessageChanges.Place, now: Timestamp) throws -> Message.State? {
        guard let message = try message(app: place.app, id: place.message) else { return nil }
        let routes = try openCounts(message)
        let total = routes.values.reduce(into: OutcomeCounts()) { $0.add($1) }
        let wasTried = message.firstSentAt != nil || total.accepted + total.rejected + total.retired > 0
        var state = message.state
        if !state.isFinal { state = !wasTried && total.expired > 0 ? .expired : .sent }
        let values: [SQLValue] = [.int(place.app), .id(place.message)]
        try connection.execute(
            "UPDATE message SET state = $3, ended_at = $4, counts = $5 WHERE app = $1 AND message = $2",
            values + [
                .int(state.rawValue), .time(message.endedAt ?? now), .bytes(CountsCoding.encode(routes)),
            ])
        try connection.execute("DELETE FROM slice WHERE app = $1 AND message = $2", values)
        try reportEnd(message, state: state, at: message.endedAt ?? now)
        return state
    }
}
