internal import PealCore

extension StoreSession {
    private static let columns = "app, webhook, name, url, kind, sealed, created_at, changed_at, disabled_at"

    private func webhook(_ row: any SQLRow) throws -> Webhook {
        let place = WebhookPlace(app: row.int(0), webhook: row.int(1))
        let secret = try context.masterKey.unseal(row.bytes(5), place: Self.seal(place))
        return Webhook(
            key: place.webhook, app: place.app, name: row.text(2), url: row.text(3),
            kind: Webhook.Kind(rawValue: row.text(4)), authentication: try WebhookAuthenticationCoding.decode(secret),
            createdAt: row.time(6),
            changedAt: row.time(7), disabledAt: row.timeIfPresent(8))
    }

    private static func seal(_ place: WebhookPlace) -> String { "webhook \(place.app) \(place.webhook)" }

    func webhook(app: AppKey, name: String) throws -> Webhook? {
        try connection.first(
            "SELECT \(Self.columns) FROM webhook WHERE app = $1 AND name = $2", [.int(app), .text(name)], webhook)
    }

    func webhook(_ place: WebhookPlace) throws -> Webhook? {
        try connection.first(
            "SELECT \(Self.columns) FROM webhook WHERE app = $1 AND webhook = $2", Self.values(place), webhook)
    }

    func webhooks(app: AppKey, after cursor: String?, limit: Int) throws -> [Webhook] {
        try connection.all(
            "SELECT \(Self.columns) FROM webhook WHERE app = $1 AND name > $2 ORDER BY name LIMIT $3",
            [.int(app), .text(cursor ?? ""), .int(limit)], webhook)
    }

    func putWebhook(_ webhook: Webhook) throws -> (webhook: Webhook, isNew: Bool) {
        var webhook = webhook
        var known = try self.webhook(app: webhook.app, name: webhook.name)
        if let former = known, former.kind != webhook.kind {
            _ = try deleteWebhook(app: former.app, name: former.name)
            known = nil
        }
        webhook.key = try known?.key ?? nextNumber("webhook")
        webhook.createdAt = known?.createdAt ?? webhook.createdAt
        let sealed = try context.masterKey.seal(
            WebhookAuthenticationCoding.encode(webhook.authentication), place: Self.seal(webhook.place))
        try connection.execute(
            """
            INSERT INTO webhook (\(Self.columns)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
            ON CONFLICT (app, webhook) DO UPDATE SET url = excluded.url, sealed = excluded.sealed,
                changed_at = excluded.changed_at, disabled_at = excluded.disabled_at
            """,
            Self.values(webhook.place) + [
                .text(webhook.name), .text(webhook.url), .text(webhook.kind.rawValue), .bytes(sealed),
                .time(webhook.createdAt), .time(webhook.changedAt), .null(.int),
            ])
        return (webhook, known == nil)
    }

    func deleteWebhook(app: AppKey, name: String) throws -> Bool {
        guard let webhook = try webhook(app: app, name: name) else { return false }
        for table in ["outbox", "webhook_delivery", "webhook"] {
            try connection.execute(
                "DELETE FROM \(table) WHERE app = $1 AND webhook = $2", Self.values(webhook.place))
        }
        return true
    }

    func disableWebhook(_ place: WebhookPlace, now: Timestamp) throws {
        let values = Self.values(place)
        try connection.execute(
            "UPDATE webhook SET disabled_at = $3 WHERE app = $1 AND webhook = $2 AND disabled_at IS NULL",
            values + [.time(now)])
        try connection.execute("DELETE FROM outbox WHERE app = $1 AND webhook = $2", values)
        try connection.execute(
            """
            UPDATE webhook_delivery SET state = 2, last_error = $3, ended_at = $4, lease_until = 0
            WHERE app = $1 AND webhook = $2 AND state = 0
            """, values + [.text(WebhookDelivery.Refusal.disabled.rawValue), .time(now)])
    }

    /// The values of `app = $1 AND webhook = $2`.
    static func values(_ place: WebhookPlace) -> [SQLValue] { [.int(place.app), .int(place.webhook)] }
}

/// A webhook's authentication as the bytes that are sealed: JSON, its `type` telling the members.
enum WebhookAuthenticationCoding {
    static func encode(_ authentication: Webhook.Authentication) -> [UInt8] {
        JSON.compact([("type", .string(authentication.type))] + members(authentication)).bytes
    }

    private static func members(_ authentication: Webhook.Authentication) -> [(String, JSON?)] {
        switch authentication {
        case .basic(let username, let password): [("name", .string(username)), ("secret", .string(password))]
        case .bearer(let accessToken): [("secret", .string(accessToken))]
        case .header(let name, let value): [("name", .string(name)), ("secret", .string(value))]
        case .signature(let key): [("secret", .string(Base64URL.encode(key)))]
        case .secret(let secret): [("secret", .string(secret))]
        }
    }

    /// - Throws: when the bytes are not what `encode` made.
    static func decode(_ bytes: [UInt8]) throws -> Webhook.Authentication {
        guard let json = try? JSONParser.parse(bytes), let secret = json["secret"]?.stringValue else {
            throw PealError.damaged("a webhook")
        }
        switch (json["type"]?.stringValue, json["name"]?.stringValue) {
        case ("basic", let name?): return .basic(username: name, password: secret)
        case ("bearer", nil): return .bearer(accessToken: secret)
        case ("header", let name?): return .header(name: name, value: secret)
        case ("signature", nil):
            guard let key = Base64URL.decode(secret) else { throw PealError.damaged("a webhook") }
            return .signature(key: key)
        case ("secret", nil): return .secret(secret)
        default: throw PealError.damaged("a webhook")
        }
    }
}
