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

/// Reads `{url, kind, authentication}` into what the webhook verbs take.
enum WebhookReader {
    /// - Parameter name: from the path.
    static func draft(_ body: JSON, name: String, app: AppKey) throws(PealError) -> WebhookVerbs.Draft {
        let fields = try Fields(body)
        let url = try fields.requiredText("url", charactersMax: Limits.webhookURLBytesMax)
        let kinds = reportComposers.all.map(\.form.kind.rawValue)
        guard let kind = try fields.choice("kind", of: kinds).map({ Webhook.Kind(rawValue: $0) }) else {
            throw .missing("kind")
        }
        let authentication = try authentication(try fields.requiredObject("authentication"))
        if case .secret = authentication, reportComposers[kind]?.form.secretHeader == nil {
            throw .invalid("authentication.type", "secret is ContextPush's; give basic, bearer, header or signature")
        }
        return WebhookVerbs.Draft(app: app, name: name, url: url, kind: kind, authentication: authentication)
    }

    private static func authentication(_ fields: Fields) throws(PealError) -> Webhook.Authentication {
        switch try fields.requiredText("type") {
        case "basic":
            let username = try fields.requiredText("username")
            guard !username.contains(":") else {
                // RFC 7617 §2: the first colon ends the user name.
                throw .invalid(fields.path("username"), "username must not hold a colon")
            }
            let password = try fields.requiredText("password", charactersMax: Limits.webhookSecretBytesMax)
            return .basic(username: username, password: password)
        case "bearer": return .bearer(accessToken: try headerText(fields, "token", allowsBlanks: false))
        case "header":
            return .header(name: try headerName(fields), value: try headerText(fields, "value", allowsBlanks: true))
        case "signature": return .signature(key: try signingKey(fields))
        case "secret": return .secret(try headerText(fields, "secret", allowsBlanks: true))
        default:
            throw .invalid(fields.path("type"), "type must be one of basic, bearer, header, signature, secret")
        }
    }

    /// A text that stands in a header as it is: printable ASCII (RFC 9110 §5.5), no blanks around it.
    private static func headerText(
        _ fields: Fields, _ name: String, allowsBlanks: Bool
    ) throws(PealError) -> String {
        let text = try fields.requiredText(name, charactersMax: Limits.webhookSecretBytesMax)
        let isPlain = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F || allowsBlanks && $0 == 0x20 }
        guard isPlain, text.utf8.first != 0x20, text.utf8.last != 0x20 else {
            throw .invalid(fields.path(name), "\(name) must be printable ASCII that can stand in a header")
        }
        return text
    }

    /// What a request is framed by, and what Peal says itself.
    private static let reservedNames: Set<String> = [
        "host", "content-length", "content-type", "content-encoding", "transfer-encoding", "connection", "upgrade",
        "te", "trailer", "expect", "keep-alive", "proxy-authorization", "webhook-id", "webhook-timestamp",
        "webhook-signature", "x-ctx-event-type", "x-idempotency-key",
    ]

    private static func headerName(_ fields: Fields) throws(PealError) -> String {
        let name = try fields.requiredText("name")
        // `tchar` of RFC 9110 §5.6.2.
        let isName = name.utf8.allSatisfy { $0.isASCIIAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains($0) }
        guard isName, !reservedNames.contains(name.lowercased()) else {
            throw .invalid(fields.path("name"), "name must be the name of a header that Peal does not set itself")
        }
        return name
    }

    /// `whsec_` and base64, as Standard Webhooks writes keys, or the base64 alone.
    private static func signingKey(_ fields: Fields) throws(PealError) -> [UInt8] {
        let text = try fields.requiredText("secret", charactersMax: Limits.webhookSecretBytesMax)
        let range = Limits.webhookSigningKeyBytesMin...Limits.webhookSigningKeyBytesMax
        guard let key = Base64URL.decode(text.trimmingPrefix("whsec_")), range.contains(key.count) else {
            throw .invalid(
                fields.path("secret"),
                "secret must be whsec_ and base64 of \(range.lowerBound) to \(range.upperBound) bytes")
        }
        return key
    }
}

extension NativeDocument {
    private static let webhook = "\(app)/webhooks/:name"

    static let webhooks: [APIOperation] = [
        APIOperation(
            id: "listWebhooks", method: .get, path: "\(app)/webhooks", summary: "List webhooks",
            parameters: page(.name), answers: [list(of: "NativeWebhook")]),
        APIOperation(
            id: "getWebhook", method: .get, path: webhook, summary: "Show a webhook",
            answers: [APIAnswer(200, "The webhook.", .named("NativeWebhook"))]),
        APIOperation(
            id: "putWebhook", method: .put, path: webhook, summary: "Make or change a webhook",
            body: APIBody(schema: .named("NativeWebhookDraft"), examples: [("signed", example)]),
            answers: [
                APIAnswer(200, "The webhook, in service again.", .named("NativeWebhook")),
                APIAnswer(201, "The webhook, which is new.", .named("NativeWebhook")),
            ], refusals: [.conflict]),
        APIOperation(
            id: "deleteWebhook", method: .delete, path: webhook, summary: "Delete a webhook with what waits for it",
            answers: [APIAnswer(204, "It is gone.")]),
        APIOperation(
            id: "listWebhookDeliveries", method: .get, path: "\(webhook)/deliveries",
            summary: "What was and will be sent to a webhook, the newest first", parameters: page(.id),
            answers: [list(of: "NativeWebhookDelivery")]),
        APIOperation(
            id: "retryWebhookDelivery", method: .post, path: "\(webhook)/deliveries/:id/retry",
            summary: "Try a delivery again",
            answers: [APIAnswer(200, "The delivery.", .named("NativeWebhookDelivery"))]),
    ]

    private static let example: JSON = [
        "url": "https://example.com/peal", "kind": "events",
        "authentication": ["type": "signature", "secret": "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="],
    ]

    static let webhookSchemas: [(name: String, schema: Schema)] = [
        ("NativeWebhookDraft", draft), ("NativeWebhook", shown), ("NativeWebhookDelivery", delivery),
        ("NativeMessageEvent", messageEvent),
    ]

    private static let url = Schema.text(
        1...Limits.webhookURLBytesMax,
        pattern: #"[Hh][Tt][Tt][Pp][Ss]://([A-Za-z0-9-]{1,63}\.)+[A-Za-z][A-Za-z0-9-]{0,62}(:[1-9][0-9]{0,3})?"#
            + #"([/?][A-Za-z0-9._~:/?@!$&'()*+,;=%\[\]-]*)?"#
    ).described("https, without user name and fragment; what PEAL_WEBHOOKS_ALLOWED_HOSTS lists may be private.")

    private static let kinds = reportComposers.all.map(\.form.kind.rawValue)

    private static let draft = Schema.any(
        of: [
            .object([
                .required("url", url), .required("kind", .words(kinds)),
                .required("authentication", .one(of: [basic, bearer, header, signature])),
            ])
        ]
            + reportComposers.all.filter { $0.form.secretHeader != nil }.map { composer in
                .object([
                    .required("url", url), .required("kind", .word(composer.form.kind.rawValue)),
                    .required("authentication", secret),
                ])
            })

    private static let blackInk = "[!-~]([ -~]*[!-~])?"
    private static let characters = 1...Limits.webhookSecretBytesMax

    private static let basic = Schema.object([
        .required("type", .word("basic")),
        .required("username", .text(1...Limits.nameCharactersMax, pattern: #"[^\u0000-\u001f\u007f:]+"#)),
        .required("password", .printable(characters)),
    ])

    private static let bearer = Schema.object([
        .required("type", .word("bearer")), .required("token", .text(characters, pattern: "[!-~]+")),
    ])

    private static let header = Schema.object([
        .required("type", .word("header")),
        .required(
            "name",
            Schema.text(1...Limits.nameCharactersMax, pattern: "[A-Za-z0-9!#$%&'*+.^_`|~-]+").described(
                "A header that Peal does not set itself.")),
        .required("value", .text(characters, pattern: blackInk)),
    ])

    private static let signature = Schema.object([
        .required("type", .word("signature")),
        .required(
            "secret",
            Schema.text(
                pattern: "(whsec_)?(\(quartet){8,21}|\(quartet){8,20}\(letter){3}=?|\(quartet){8,21}\(letter){2}(==)?)"
            )
            .described(
                "`whsec_` and base64 of \(keyBytes) bytes."
            )),
    ])

    private static let keyBytes = "\(Limits.webhookSigningKeyBytesMin) to \(Limits.webhookSigningKeyBytesMax)"
    private static let letter = "[A-Za-z0-9+/]"
    private static let quartet = "(\(letter){4})"

    private static let secret = Schema.object([
        .required("type", .word("secret")), .required("secret", .text(characters, pattern: blackInk)),
    ])

    private static let shown = Schema.object([
        .required("name", .text), .required("url", .text), .required("kind", .words(kinds)),
        .required("authentication", .object([.required("type", .text)])),
        .required("state", .words(["active", "disabled"])), .required("created_at", .time),
        .required("changed_at", .time), .optional("disabled_at", .time),
    ])

    private static let delivery = Schema.object([
        .required("id", .uuid), .required("type", .text),
        .required("state", .words(WebhookDelivery.State.allCases.map(\.name))), .required("items", .count),
        .required("attempts", .count), .required("last_status", Schema.integer.orNull),
        .required("last_error", Schema.text.orNull), .required("created_at", .time),
        .required("next_attempt_at", Schema.time.orNull), .required("ended_at", Schema.time.orNull),
    ])

    private static let messageEvent = Schema.object([
        .required("type", .words(["message.sent", "message.expired", "message.cancelled", "message.failed"])),
        .required("timestamp", .time), .required("data", .named("NativeMessage")),
    ])

    static let event = APIWebhook(
        id: "messageEvent", summary: "A message has ended and every device has its outcome",
        text: "To a webhook of kind `events`, authenticated as it asks.",
        headers: [
            .header("webhook-id", .uuid, "The same in every repetition."),
            .header("webhook-timestamp", .text(pattern: "[0-9]+"), "Seconds since 1970."),
            .header("webhook-signature", .text, "With `signature`: Standard Webhooks 1.0."),
        ], body: APIBody(schema: .named("NativeMessageEvent")))
}
