/// Makes and removes topics.
package struct TopicVerbs: Sendable {
    package let store: any Store

    package init(store: any Store) { self.store = store }

    /// Makes the topic or changes its expiry.
    package func put(_ name: String, expiresAt: Timestamp?, app: AppKey, _ call: VerbCall) async throws -> Topic {
        try await store.write(.control) { store in
            let topic = try store.putTopic(app: app, name: name, expiresAt: expiresAt, now: call.now)
            try store.audit(call, app: app, "topic.put", "topic \(name)")
            return topic
        }
    }

    /// Takes the subscriptions along.
    /// - Throws: `not_found`.
    package func delete(_ name: String, app: AppKey, _ call: VerbCall) async throws {
        try await store.write(.control) { store in
            guard try store.deleteTopic(app: app, name: name) else { throw PealError.notFound("topic") }
            try store.audit(call, app: app, "topic.delete", "topic \(name)")
        }
    }
}
