internal import PealCore

/// `webhook`: where an app's events are sent, with the sealed secret that authenticates the sender.
enum WebhookTable {
    static let columns: Columns = "app, webhook, name, url, kind, sealed, created_at, changed_at, disabled_at"

    static func webhook(_ row: inout RowReader, _ masterKey: MasterKey) throws -> Webhook {
        let reference = WebhookReference(app: try row.next(), key: try row.next())
        let (name, url, kind): (String, String, Webhook.Kind) = (try row.next(), try row.next(), try row.next())
        let secret = try masterKey.unseal(row.next(), label: sealLabel(reference))
        return Webhook(
            key: reference.key, app: reference.app, name: name, url: url, kind: kind,
            authentication: try WebhookAuthenticationCoding.decode(secret), createdAt: try row.next(),
            changedAt: try row.next(), disabledAt: try row.next())
    }

    /// What a sealed secret is bound to.
    static func sealLabel(_ reference: WebhookReference) -> String {
        sealLabel(["\(reference.app)", "\(reference.key)"])
    }

    /// - Parameter key: the row's primary key as text.
    static func sealLabel(_ key: [String]) -> String { "webhook \(key[0]) \(key[1])" }

    static func matching(_ reference: WebhookReference) -> SQL {
        "app = \(reference.app) AND webhook = \(reference.key)"
    }
}

/// A table with rows that wait for webhooks, and its index on `app`, `webhook` and `order`.
struct WebhookQueue {
    let table: String
    /// What the rows in the index have in common, for a partial index.
    var rows: SQL?
    let order: String

    /// The rows of one webhook, which is `queue` in `webhooks(where:)`.
    private func pick(_ columns: String, _ matching: SQL) -> SQL {
        let rows: SQL = rows.map { " AND \($0)" } ?? ""
        return "SELECT \(name: columns) FROM \(name: table) AS pick WHERE \(matching)\(rows)"
    }

    private func first(_ column: String, _ matching: SQL) -> SQL {
        "(\(pick(column, matching)) ORDER BY app, webhook, \(name: order) LIMIT 1)"
    }

    /// The webhooks with rows for which `condition` holds. It skips through the index from one webhook to the next,
    /// however many rows lie between.
    func webhooks(where condition: SQL) -> SQL {
        """
        WITH RECURSIVE
            apps(app) AS (
                SELECT \(first("app", "pick.app > 0"))
                UNION ALL SELECT \(first("app", "pick.app > apps.app")) FROM apps WHERE app IS NOT NULL),
            queue(app, webhook) AS (
                SELECT app, \(first("webhook", "pick.app = apps.app")) FROM apps WHERE app IS NOT NULL
                UNION ALL SELECT app, \(first("webhook", "pick.app = queue.app AND pick.webhook > queue.webhook"))
                FROM queue WHERE webhook IS NOT NULL)
        SELECT app, webhook FROM queue WHERE webhook IS NOT NULL AND \(condition)
        """
    }

    /// Whether the webhook has such rows, at least `count`. PostgreSQL would turn EXISTS into a join, which reads the
    /// rows of all webhooks.
    func has(_ condition: SQL? = nil, count: Int = 1) -> SQL {
        let more: SQL = condition.map { " AND \($0)" } ?? ""
        return "(\(pick("1", Self.isOfWebhook))\(more) LIMIT 1 OFFSET \(count - 1)) = 1"
    }

    /// A column of the webhook's first row.
    func first(_ column: String) -> SQL { first(column, Self.isOfWebhook) }

    /// Whether the webhook still exists. Its rows remain for a while.
    static let isKnown: SQL =
        "(SELECT 1 FROM webhook WHERE webhook.app = queue.app AND webhook.webhook = queue.webhook) = 1"

    private static let isOfWebhook: SQL = "pick.app = queue.app AND pick.webhook = queue.webhook"
}

extension StoreSession {
    private func webhook(_ row: inout RowReader) throws -> Webhook {
        try WebhookTable.webhook(&row, context.masterKey)
    }

    func webhook(app: AppKey, name: String) throws -> Webhook? {
        try connection.first("SELECT \(WebhookTable.columns) FROM webhook WHERE app = \(app) AND name = \(name)") {
            try webhook(&$0)
        }
    }

    func webhook(_ reference: WebhookReference) throws -> Webhook? {
        try connection.first("SELECT \(WebhookTable.columns) FROM webhook WHERE \(WebhookTable.matching(reference))") {
            try webhook(&$0)
        }
    }

    func webhooks(app: AppKey, after cursor: String?, limit: Int) throws -> [Webhook] {
        try connection.all(
            """
            SELECT \(WebhookTable.columns) FROM webhook WHERE app = \(app) AND name > \(cursor ?? "")
            ORDER BY name LIMIT \(limit)
            """
        ) { try webhook(&$0) }
    }

    func putWebhook(_ webhook: Webhook) throws -> (webhook: Webhook, isNew: Bool) {
        var webhook = webhook
        var known = try self.webhook(app: webhook.app, name: webhook.name)
        if let former = known, former.kind != webhook.kind {
            _ = try deleteWebhook(app: former.app, name: former.name, now: webhook.changedAt)
            known = nil
        }
        webhook.key = try known?.key ?? nextNumber("webhook")
        webhook.createdAt = known?.createdAt ?? webhook.createdAt
        let sealed = try context.masterKey.seal(
            WebhookAuthenticationCoding.encode(webhook.authentication), label: WebhookTable.sealLabel(webhook.reference)
        )
        try connection.post(
            """
            INSERT INTO webhook \(row: [
                "app": webhook.app, "webhook": webhook.key, "name": webhook.name, "url": webhook.url,
                "kind": webhook.kind, "sealed": sealed, "created_at": webhook.createdAt,
                "changed_at": webhook.changedAt,
            ])
            ON CONFLICT (app, webhook) DO UPDATE SET url = excluded.url, sealed = excluded.sealed,
                changed_at = excluded.changed_at, disabled_at = NULL
            """)
        return (webhook, known == nil)
    }

    func deleteWebhook(app: AppKey, name: String, now: Timestamp) throws -> Bool {
        // A webhook that cannot be read can still be deleted.
        let key = try connection.value(
            "SELECT webhook FROM webhook WHERE app = \(app) AND name = \(name)", WebhookKey.self)
        guard let key else { return false }
        try connection.post("DELETE FROM webhook WHERE \(WebhookTable.matching(.init(app: app, key: key)))")
        try leave(.webhook, app: app, object: key, now: now)
        return true
    }

    /// How many events and deliveries are dropped at once.
    private static let silencedAtOnce = 1000

    func disableWebhook(_ reference: WebhookReference, now: Timestamp) throws {
        try connection.post(
            "UPDATE webhook SET disabled_at = \(now) WHERE \(WebhookTable.matching(reference)) AND disabled_at IS NULL")
        let piece = try silence(reference, before: now, limit: Self.silencedAtOnce, now: now)
        if !piece.isComplete { try leave(.silence, app: reference.app, object: reference.key, now: now) }
    }

    /// Deletes events that wait for a disabled webhook, and fails its pending deliveries.
    func silence(_ reference: WebhookReference, before end: Timestamp, limit: Int, now: Timestamp) throws -> Piece {
        let events = try TablePiece.outbox.delete(
            where: "\(WebhookTable.matching(reference)) AND created_at <= \(end)", limit: limit, connection)
        let room = limit - events
        let pending: [[UInt8]] = try connection.values(
            WebhookDeliveryTable.pending(reference, createdBefore: end, limit: room))
        try connection.post(
            pending.map { WebhookDeliveryTable.disable($0, reference, now: now) })
        return Piece(rows: events + pending.count, isComplete: pending.count < room)
    }
}

/// A webhook's authentication as the bytes that are sealed: JSON whose `type` decides its members.
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

    /// - Throws: when `encode` did not write the bytes.
    static func decode(_ bytes: [UInt8]) throws -> Webhook.Authentication {
        guard let json = try? JSONParser.parse(bytes, isStored: true), let secret = json["secret"]?.stringValue
        else { throw PealError.damaged("a webhook") }
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
