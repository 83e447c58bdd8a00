internal import HTTPTypes
internal import PealCore

/// Webhooks and what was delivered to them; their secrets are never told.
struct NativeWebhooks: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func endpoints(_ app: String) -> [Endpoint] {
        let webhook = "\(app)/webhooks/:name"
        return [
            Endpoint(.get, "\(app)/webhooks", .app(.manage), list),
            Endpoint(.get, webhook, .app(.manage)) { call in Answer(.ok, Self.json(try await known(call))) },
            Endpoint(.put, webhook, .app(.manage), put),
            Endpoint(.delete, webhook, .app(.manage), delete),
            Endpoint(.get, "\(webhook)/deliveries", .app(.manage), deliveries),
            Endpoint(.post, "\(webhook)/deliveries/:id/retry", .app(.manage), retry),
        ]
    }

    private static func name(_ call: Call) throws(PealError) -> String {
        try Fields.text(.string(call.parameter("name")), "name")
    }

    private func known(_ call: Call) async throws -> Webhook {
        let (app, name) = (try call.app().key, try Self.name(call))
        guard let webhook = try await services.store.read({ try $0.webhook(app: app, name: name) }) else {
            throw PealError.notFound("webhook")
        }
        return webhook
    }

    private func list(_ call: Call) async throws -> Answer {
        let list = try NativeList(call.query, by: .name)
        let app = try call.app().key
        let webhooks = try await services.store.read {
            try $0.webhooks(app: app, after: list.name, limit: list.fetchCount)
        }
        return list.answer(webhooks, cursor: { Array($0.name.utf8) }, json: Self.json)
    }

    private func put(_ call: Call) async throws -> Answer {
        let draft = try WebhookReader.draft(
            try call.object(), name: try Self.name(call), app: try call.app().key)
        let put = try await services.webhooks.put(draft, call.verb)
        return Answer(put.isNew ? .created : .ok, Self.json(put.webhook))
    }

    private func delete(_ call: Call) async throws -> Answer {
        try await services.webhooks.delete(try Self.name(call), app: try call.app().key, call.verb)
        return Answer(.noContent)
    }

    private func deliveries(_ call: Call) async throws -> Answer {
        let list = try NativeList(call.query, by: .id)
        let place = try await known(call).place
        let deliveries = try await services.store.read {
            try $0.deliveries(of: place, before: list.id(), limit: list.fetchCount)
        }
        return list.answer(deliveries, cursor: \.id.bytes, json: Self.json)
    }

    private func retry(_ call: Call) async throws -> Answer {
        let id: WebhookDeliveryID = try call.id("id", of: "delivery")
        return Answer(
            try await services.webhooks.retry(id, of: try Self.name(call), app: try call.app().key, call.verb) {
                Reply(status: 200, Self.json($0))
            })
    }

    private static func json(_ webhook: Webhook) -> JSON {
        .compact([
            ("name", .string(webhook.name)), ("url", .string(webhook.url)), ("kind", .string(webhook.kind.rawValue)),
            ("authentication", json(webhook.authentication)),
            ("state", webhook.disabledAt == nil ? "active" : "disabled"),
            ("created_at", .string(webhook.createdAt.description)),
            ("changed_at", .string(webhook.changedAt.description)),
            ("disabled_at", webhook.disabledAt.map { .string($0.description) }),
        ])
    }

    /// What of it is no secret.
    private static func json(_ authentication: Webhook.Authentication) -> JSON {
        switch authentication {
        case .basic(let username, _): ["type": "basic", "username": .string(username)]
        case .header(let name, _): ["type": "header", "name": .string(name)]
        case .bearer, .signature, .secret: ["type": .string(authentication.type)]
        }
    }

    private static func json(_ delivery: WebhookDelivery) -> JSON {
        let next: JSON? = delivery.state == .pending ? .string(delivery.nextAttemptAt.description) : nil
        return [
            "id": .string(delivery.id.description), "type": .string(delivery.type),
            "state": .string(delivery.state.name), "items": .integer(delivery.itemCount),
            "attempts": .integer(delivery.attempts), "last_status": delivery.lastStatus.map { .integer($0) } ?? .null,
            "last_error": delivery.lastError.map(JSON.string) ?? .null,
            "created_at": .string(delivery.createdAt.description), "next_attempt_at": next ?? .null,
            "ended_at": delivery.endedAt.map { .string($0.description) } ?? .null,
        ]
    }
}
