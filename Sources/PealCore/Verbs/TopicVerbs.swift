/// Creates and deletes topics.
package struct TopicVerbs: Sendable {
    package let store: any Store

    package init(store: any Store) { self.store = store }

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
