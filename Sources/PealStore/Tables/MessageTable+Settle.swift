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

    /// Ends a message with its only slice. Returns what `addOpenSlices` does.
    static func end(with settlement: Settlement, firstSentAt: Timestamp?, now: Timestamp) -> SQL {
        var counts = settlement.counts
        counts.pending = 0
        let mayHaveExpired = firstSentAt == nil && !counts.isTried && counts.expired > 0
        let state: SQL =
            mayHaveExpired
            ? "CASE WHEN first_sent_at IS NULL THEN \(code: State.expired) ELSE \(code: State.sent) END"
            : "\(code: State.sent)"
        let slice = settlement.slice
        return """
            UPDATE message
            SET state = CASE WHEN state >= \(code: State.sent) THEN state ELSE \(state) END, slices_open = 0,
                ended_at = COALESCE(ended_at, \(now)), first_sent_at = COALESCE(first_sent_at, \(firstSentAt)),
                counts = \(CountsCoding.encode([slice.route: counts]))
            WHERE \(matching(slice.app, slice.message)) AND slices_open = 1 RETURNING slices_open, \(columns)
            """
    }

    private typealias State = Message.State
}

extension StoreSession {
    /// Applies a group's progress to its messages, in the order of their keys.
    /// - Returns: the final states of those that it ended.
    func settleMessages(
        _ changes: MessageChanges, now: Timestamp
    ) throws -> [(change: MessageChanges.Change, state: Message.State)] {
        var ended: [(change: MessageChanges.Change, state: Message.State)] = []
        let steps = try steps(changes, now: now)
        for (step, changed) in zip(steps, try messages(after: steps.map(\.statement))) {
            guard let (open, message) = changed else {
                // Only a message that is being deleted is gone.
                if step.change.ending != nil, try message(app: step.key.app, id: step.key.message) != nil {
                    throw PealError.damaged("a message's number of slices")
                }
                continue
            }
            if step.change.ending != nil {
                try reportEnd(message, state: message.state, at: message.endedAt ?? now)
                ended.append((step.change, message.state))
            } else if open == 0 {
                ended.append((step.change, try end(message, now: now)))
            }
        }
        return ended
    }

    /// The statements for messages whose number of slices changes. Those for others are posted.
    private func steps(
        _ changes: MessageChanges, now: Timestamp
    ) throws -> [(key: MessageChanges.MessageKey, change: MessageChanges.Change, statement: SQL)] {
        try changes.byMessage.sorted { $0.key < $1.key }.compactMap { key, change in
            let sentAt = change.firstSentAt
            if let ending = change.ending {
                return (key, change, MessageTable.end(with: ending, firstSentAt: sentAt, now: now))
            }
            if change.slicesOpen != 0 {
                let statement = MessageTable.addOpenSlices(
                    key.app, key.message, change.slicesOpen, firstSentAt: sentAt)
                return (key, change, statement)
            }
            if let sentAt { try connection.post(MessageTable.setFirstSent(key.app, key.message, sentAt)) }
            return nil
        }
    }

    /// Runs statements that each return the open slices and the columns of at most one message.
    private func messages(after statements: [SQL]) throws -> [(open: Int, message: Message)?] {
        var changed: [(open: Int, message: Message)?] = statements.map { _ in nil }
        try connection.query(statements) { index, row in
            var row = RowReader(row)
            changed[index] = (open: try row.next(), message: try MessageTable.message(&row))
        }
        return changed
    }

    /// The last slice is settled: folds the slices' counts into the message, deletes the slices and reports the end.
    /// The log stays.
    private func end(_ message: Message, now: Timestamp) throws -> Message.State {
        let routes = try openCounts(message)
        let total = routes.values.reduce(into: OutcomeCounts()) { $0.add($1) }
        let wasTried = message.firstSentAt != nil || total.isTried
        var state = message.state
        if !state.isFinal { state = !wasTried && total.expired > 0 ? .expired : .sent }
        let endedAt = message.endedAt ?? now
        try connection.post(
            """
            UPDATE message SET state = \(state), ended_at = \(endedAt), counts = \(CountsCoding.encode(routes))
            WHERE \(MessageTable.matching(message.app, message.id))
            """)
        try connection.post("DELETE FROM slice WHERE \(MessageTable.matching(message.app, message.id))")
        try reportEnd(message, state: state, at: endedAt)
        return state
    }
}
