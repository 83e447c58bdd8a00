/// Puts, deletes and retries webhooks.
package struct WebhookVerbs: Sendable {
    package let store: any Store
    package let rules: WebhookRules

    package init(store: any Store, rules: WebhookRules) {
        self.store = store
        self.rules = rules
    }

    /// A checked request for a webhook.
    package struct Draft: Sendable {
        package var app: AppKey
        package var name: String
        package var url: String
        package var kind: Webhook.Kind
        package var authentication: Webhook.Authentication

        package init(
            app: AppKey, name: String, url: String, kind: Webhook.Kind, authentication: Webhook.Authentication
        ) {
            self.app = app
            self.name = name
            self.url = url
            self.kind = kind
            self.authentication = authentication
        }
    }

    /// Creates a webhook, or replaces the one with that name.
    /// - Throws: `invalid_field` for a URL that Peal must not connect to; `conflict` beyond
    ///   `Limits.webhooksPerAppMax`.
    package func put(_ draft: Draft, _ call: VerbCall) async throws -> (webhook: Webhook, isNew: Bool) {
        _ = try rules.target(draft.url)
        let webhook = Webhook(
            key: 0, app: draft.app, name: draft.name, url: draft.url, kind: draft.kind,
            authentication: draft.authentication, createdAt: call.now, changedAt: call.now)
        return try await store.write(.control) { store in
            let put = try store.putWebhook(webhook)
            let count = try store.webhooks(app: draft.app, after: nil, limit: Limits.webhooksPerAppMax + 1).count
            guard !put.isNew || count <= Limits.webhooksPerAppMax else {
                throw PealError(.conflict, "an app may have at most \(Limits.webhooksPerAppMax) webhooks")
            }
            try store.audit(call, app: draft.app, "webhook.put", "webhook \(draft.name)")
            return put
        }
    }

    /// - Throws: `not_found`.
    package func delete(_ name: String, app: AppKey, _ call: VerbCall) async throws {
        try await store.write(.control) { store in
            guard try store.deleteWebhook(app: app, name: name, now: call.now) else {
                throw PealError.notFound("webhook")
            }
            try store.audit(call, app: app, "webhook.delete", "webhook \(name)")
        }
    }

    /// Queues an event of type `test` for the webhook alone.
    /// - Throws: `not_found`; `conflict` when the webhook is disabled.
    package func test(
        _ name: String, id: OutboxEventID, app: AppKey, _ call: VerbCall,
        reply: @escaping @Sendable (OutboxEvent) throws -> Reply
    ) async throws -> Reply {
        try await store.commit(.control, call, reply: reply) { store in
            guard let webhook = try store.webhook(app: app, name: name) else { throw PealError.notFound("webhook") }
            guard webhook.disabledAt == nil else {
                throw PealError(.conflict, "the webhook is disabled; PUT it again to enable it")
            }
            let payload: JSON = ["test": true]
            let event = OutboxEvent(id: id, app: app, type: "test", payload: payload.bytes, createdAt: call.now)
            try store.enqueue(event, to: webhook.reference)
            try store.audit(call, app: app, "webhook.test", "webhook \(name)")
            return event
        }.reply
    }

    /// Retries a failed delivery for another day, and a pending one immediately.
    /// - Throws: `not_found`; `conflict` when it is delivered, has no request, or its webhook is disabled.
    package func retry(
        _ id: WebhookDeliveryID, of name: String, app: AppKey, _ call: VerbCall,
        reply: @escaping @Sendable (WebhookDelivery) throws -> Reply
    ) async throws -> Reply {
        try await store.commit(.control, call, reply: reply) { store in
            guard let webhook = try store.webhook(app: app, name: name) else { throw PealError.notFound("webhook") }
            guard let known = try store.delivery(of: webhook.reference, id: id) else {
                throw PealError.notFound("delivery")
            }
            guard webhook.disabledAt == nil else {
                throw PealError(.conflict, "the webhook is disabled; PUT it again to enable it")
            }
            guard known.state.successors.contains(.pending),
                let retried = try store.retryDelivery(of: webhook.reference, id: id, now: call.now)
            else { throw PealError(.conflict, "the delivery is \(known.state.name) and cannot be retried") }
            try store.audit(call, app: app, "webhook.retry", "delivery \(id) of webhook \(name)")
            return retried
        }.reply
    }
}
