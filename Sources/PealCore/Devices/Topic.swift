/// A label that devices subscribe to.
package struct Topic: Sendable, Hashable {
    package var name: String
    /// The topic's number within the app, for dialects that identify topics by number.
    package var number: Int64
    /// From this instant on, lists and audiences no longer contain it.
    package var expiresAt: Timestamp?
    package var deviceCount: Int

    package init(name: String, number: Int64, expiresAt: Timestamp?, deviceCount: Int) {
        self.name = name
        self.number = number
        self.expiresAt = expiresAt
        self.deviceCount = deviceCount
    }
}

/// Which current topics a paged list contains: those that meet all conditions given.
package struct TopicSearch: Sendable, Hashable {
    /// A part of the name, ignoring letter case. Searches at most `Limits.searchedRowsMax` topics.
    package var containing: String?
    /// Whether the topic has an expiry; nil for both.
    package var hasExpiry: Bool?

    package init(containing: String? = nil, hasExpiry: Bool? = nil) {
        self.containing = containing
        self.hasExpiry = hasExpiry
    }
}

/// A topic without its device count, which is expensive.
package struct TopicEntry: Sendable, Hashable {
    package let number: Int64
    package let name: String
    package let expiresAt: Timestamp?

    package init(number: Int64, name: String, expiresAt: Timestamp?) {
        self.number = number
        self.name = name
        self.expiresAt = expiresAt
    }
}

/// How a topic grew: its current subscribers by the day on which they joined.
package struct TopicGrowth: Sendable, Hashable {
    /// Ascending, one for each day, the last one today.
    package let days: [Day]

    package struct Day: Sendable, Hashable {
        /// The beginning of the day, UTC.
        package let at: Timestamp
        /// Current subscribers that joined on it.
        package let joined: Int
        /// Current subscribers that had joined by its end.
        package let devices: Int
    }

    package static let dayMilliseconds: Int64 = 86_400_000

    /// - Parameters:
    ///   - joined: by days since 1970.
    ///   - total: all current subscribers.
    package init(joined: [Int64: Int], total: Int, days count: Int, now: Timestamp) {
        let today = now.milliseconds / Self.dayMilliseconds
        var devices = total
        var days: [Day] = []
        for number in (0..<Int64(max(1, count))).map({ today - $0 }) {
            let own = joined[number] ?? 0
            days.append(
                Day(at: Timestamp(milliseconds: number * Self.dayMilliseconds), joined: own, devices: devices))
            devices -= own
        }
        self.days = days.reversed()
    }
}

/// Creates and deletes topics.
package struct TopicVerbs: Sendable {
    let store: any Store

    /// Creates the topic, or changes its expiry.
    package func put(_ name: String, expiresAt: Timestamp?, app: AppKey, _ call: VerbCall) async throws -> Topic {
        try await store.write(.control) { store in
            let topic = try store.putTopic(app: app, name: name, expiresAt: expiresAt, now: call.now)
            try store.audit(call, app: app, "topic.put", "topic \(name)")
            return topic
        }
    }

    /// Deletes a topic with its subscriptions.
    /// - Throws: `not_found`.
    package func delete(_ name: String, app: AppKey, _ call: VerbCall) async throws {
        try await store.write(.control) { store in
            guard try store.deleteTopic(app: app, name: name, now: call.now) else { throw PealError.notFound("topic") }
            try store.audit(call, app: app, "topic.delete", "topic \(name)")
        }
    }

    /// Creates each topic, unless there is one that has not expired, which remains unchanged.
    package func make(
        _ drafts: [(name: String, expiresAt: Timestamp?)], app: AppKey, _ call: VerbCall
    ) async throws -> [(topic: TopicEntry, isNew: Bool)] {
        try await store.write(.control) { store in
            try drafts.map { draft in
                let made = try store.makeTopic(
                    app: app, name: draft.name, expiresAt: draft.expiresAt, now: call.now)
                if made.isNew { try store.audit(call, app: app, "topic.put", "topic \(draft.name)") }
                return made
            }
        }
    }

    /// Deletes topics with their subscriptions. Ignores numbers of topics that do not exist.
    /// - Returns: How many topics were deleted.
    package func delete(_ numbers: [Int64], app: AppKey, _ call: VerbCall) async throws -> Int {
        try await store.write(.control) { store in
            var count = 0
            for number in Set(numbers).sorted() {
                guard let topic = try store.topicEntry(app: app, number: number, now: call.now),
                    try store.deleteTopic(app: app, name: topic.name, now: call.now)
                else { continue }
                try store.audit(call, app: app, "topic.delete", "topic \(topic.name)")
                count += 1
            }
            return count
        }
    }
}
