internal import PealCore

/// What a group of settlements changes in their messages.
struct MessageChanges {
    struct MessageKey: Hashable, Comparable {
        let app: AppKey
        let message: MessageID

        init(app: AppKey, message: MessageID) { (self.app, self.message) = (app, message) }

        init(_ slice: Slice.ID) { self.init(app: slice.app, message: slice.message) }

        static func < (left: MessageKey, right: MessageKey) -> Bool {
            left.app != right.app ? left.app < right.app : left.message < right.message
        }
    }

    struct Change {
        /// Slices added minus slices ended.
        var slicesOpen = 0
        /// When the first page of the group that sent anything was sent.
        var firstSentAt: Timestamp?
        /// The last settlement of the message in the group.
        var lastIndex = 0
        /// The settlement that ends the message.
        var ending: Settlement?
    }

    private(set) var byMessage: [MessageKey: Change] = [:]

    init() {}

    init(_ change: Change, of message: MessageKey) { byMessage = [message: change] }

    /// Adds an applied settlement and its position in the group.
    mutating func note(_ settlement: Settlement, at index: Int) {
        let key = MessageKey(settlement.slice)
        var change = byMessage[key] ?? Change()
        change.lastIndex = max(change.lastIndex, index)
        if settlement.next == .done { change.slicesOpen -= 1 }
        if settlement.endsMessage { change.ending = settlement }
        if let triedAt = settlement.triedAt ?? (settlement.counts.isTried ? settlement.logRow?.sentAt : nil) {
            change.firstSentAt = min(change.firstSentAt ?? triedAt, triedAt)
        }
        byMessage[key] = change
    }

    /// Adds the number of slices that a settlement created.
    mutating func added(_ count: Int, _ slice: Slice.ID) { byMessage[MessageKey(slice)]?.slicesOpen += count }
}

extension OutcomeCounts {
    /// Whether a request was made for a device.
    fileprivate var isTried: Bool { accepted + rejected + retired > 0 }
}

extension MessageTable {
    static func setFirstSent(_ app: AppKey, _ id: MessageID, _ sentAt: Timestamp) -> SQL {
        "UPDATE message SET first_sent_at = \(sentAt) WHERE \(matching(app, id)) AND first_sent_at IS NULL"
    }

    /// Returns how many slices are then open, and the columns of the message.
    static func addOpenSlices(_ app: AppKey, _ id: MessageID, _ count: Int, firstSentAt: Timestamp? = nil) -> SQL {
        """
        UPDATE message
        SET slices_open = slices_open + \(count), first_sent_at = COALESCE(first_sent_at, \(firstSentAt))
        WHERE \(matching(app, id)) RETURNING slices_open, \(columns)
        """
    }

    /// Returns what `addOpenSlices` does.
    static func openSlices(_ app: AppKey, _ id: MessageID) -> SQL {
        "SELECT slices_open, \(columns) FROM message WHERE \(matching(app, id))"
    }

    /// Ends a message whose slices have all ended.
    static func end(_ message: Message, _ counts: [Route: OutcomeCounts]) -> SQL {
        """
        UPDATE message SET \(set: [
            "state": message.state, "slices_open": 0, "first_sent_at": message.firstSentAt, "ended_at": message.endedAt,
            "counts": CountsCoding.encode(counts),
        ])
        WHERE \(matching(message.app, message.id))
        """
    }
}

extension StoreSession {
    /// Applies a group's progress to its messages, in the order of their keys.
    /// - Returns: the final states of those that it ended.
    func settleMessages(
        _ changes: MessageChanges, now: Timestamp
    ) throws -> [(change: MessageChanges.Change, state: Message.State)] {
        var ended: [(change: MessageChanges.Change, state: Message.State)] = []
        let steps = steps(changes)
        for (step, changed) in zip(steps, try messages(after: steps.map(\.statement))) {
            // Its slices stay, or it is being deleted.
            guard let (open, message) = changed else { continue }
            if let ending = step.change.ending {
                guard open == 1 else { throw PealError.damaged("a message's number of slices") }
                var (message, counts) = (message, ending.counts)
                message.firstSentAt = message.firstSentAt ?? step.change.firstSentAt
                counts.pending = 0
                ended.append((step.change, try end(message, [ending.slice.route: counts], now: now)))
            } else if open == 0 {
                let state = try end(message, openCounts(message), now: now)
                try connection.post("DELETE FROM slice WHERE \(MessageTable.matching(message.app, message.id))")
                ended.append((step.change, state))
            }
        }
        return ended
    }

    /// The statement for each message that changes. They are in the order of the keys, so that all servers lock rows in
    /// the same order.
    private func steps(_ changes: MessageChanges) -> [(change: MessageChanges.Change, statement: SQL)] {
        changes.byMessage.sorted { $0.key < $1.key }.compactMap { key, change in
            let sentAt = change.firstSentAt
            if change.ending != nil { return (change, MessageTable.openSlices(key.app, key.message)) }
            if change.slicesOpen != 0 {
                return (
                    change,
                    MessageTable.addOpenSlices(key.app, key.message, change.slicesOpen, firstSentAt: sentAt)
                )
            }
            return sentAt.map { (change, MessageTable.setFirstSent(key.app, key.message, $0)) }
        }
    }

    /// Runs statements that may return the open slices and the columns of one message each.
    private func messages(after statements: [SQL]) throws -> [(open: Int, message: Message)?] {
        var changed: [(open: Int, message: Message)?] = statements.map { _ in nil }
        try connection.query(statements) { index, row in
            var row = RowReader(row)
            changed[index] = (open: try row.next(), message: try MessageTable.message(&row))
        }
        return changed
    }

    /// The last slice is settled: folds the slices' counts into the message and reports the end. The log stays.
    private func end(
        _ message: Message, _ counts: [Route: OutcomeCounts], now: Timestamp
    ) throws -> Message.State {
        var message = message
        let total = counts.values.reduce(into: OutcomeCounts()) { $0.add($1) }
        let wasTried = message.firstSentAt != nil || total.isTried
        if !message.state.isFinal { message.state = !wasTried && total.expired > 0 ? .expired : .sent }
        message.endedAt = message.endedAt ?? now
        try connection.post(MessageTable.end(message, counts))
        try reportEnd(message, state: message.state, at: message.endedAt ?? now)
        return message.state
    }
}
