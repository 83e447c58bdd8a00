internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// Webhooks and their deliveries. Secrets are never returned.
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
            Endpoint(.post, "\(webhook)/test", .app(.manage), test),
            Endpoint(.get, "\(webhook)/deliveries", .app(.manage), deliveries),
            Endpoint(.post, "\(webhook)/deliveries/:id/retry", .app(.manage), retry),
        ]
    }

    private func known(_ call: Call) async throws -> Webhook {
        let (app, name) = (try call.app().key, try call.text("name"))
        guard let webhook = try await services.store.read({ try $0.webhook(app: app, name: name) }) else {
            throw PealError.notFound("webhook")
        }
        return webhook
    }

    private func list(_ call: Call) async throws -> Answer {
        let list = try NativeList(call.query, by: .name)
        let app = try call.app().key
        let (webhooks, isComplete) = try await services.store.checkedList {
            try $0.webhooks(app: app, after: list.name, limit: list.fetchCount + $1)
        }
        return list.answer(webhooks, isComplete: isComplete, cursor: { Array($0.name.utf8) }, json: Self.json)
    }

    private func put(_ call: Call) async throws -> Answer {
        let given = try call.body(NativeWebhookShapes.draft.shape, .native)
        let draft = WebhookVerbs.Draft(
            app: try call.app().key, name: try call.text("name"), url: given.url, kind: given.kind,
            authentication: given.authentication)
        let put = try await services.verbs.webhooks.put(draft, call.verb)
        return Answer(put.isNew ? .created : .ok, Self.json(put.webhook))
    }

    private func delete(_ call: Call) async throws -> Answer {
        try await services.verbs.webhooks.delete(try call.text("name"), app: try call.app().key, call.verb)
        return Answer(.noContent)
    }

    private func test(_ call: Call) async throws -> Answer {
        Answer(
            try await services.verbs.webhooks.test(
                try call.text("name"), id: services.randomness.timeOrderedIdentifier(at: call.now),
                app: try call.app().key, call.verb
            ) { Reply(status: 202, ["type": .string($0.type)]) })
    }

    private func deliveries(_ call: Call) async throws -> Answer {
        let list = try NativeList(call.query, by: .id)
        let reference = try await known(call).reference
        let (deliveries, isComplete) = try await services.store.checkedList {
            try $0.deliveries(of: reference, before: list.id(), limit: list.fetchCount + $1)
        }
        return list.answer(deliveries, isComplete: isComplete, cursor: \.id.bytes, json: Self.json)
    }

    private func retry(_ call: Call) async throws -> Answer {
        let id: WebhookDeliveryID = try call.id("id", of: "delivery")
        return Answer(
            try await services.verbs.webhooks.retry(id, of: try call.text("name"), app: try call.app().key, call.verb) {
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

    /// The members that are not secret.
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

/// `{url, kind, authentication}`.
struct NativeWebhookDraft: Sendable {
    var url = ""
    var kind: Webhook.Kind = ""
    var authentication = Webhook.Authentication.bearer(accessToken: "")
}

/// The shape of a request to put a webhook.
enum NativeWebhookShapes {
    static let draft = ObjectShape("NativeWebhookDraft", NativeWebhookDraft(), rules: [ownSecret]) {
        Entry(required: "url", url) { $0.url = $1 }
        Entry(required: "kind", kind) { $0.kind = $1 }
        Entry(required: "authentication", authentication) { $0.authentication = $1 }
    }

    static let kind = Shape<Webhook.Kind>.words(
        "NativeWebhookKind", reportComposers.all.map { ($0.form.kind.rawValue, $0.form.kind) })

    private static let ownSecret = Rule<NativeWebhookDraft>(
        "Type `secret` is only for kind `contextpush`.",
        violation: { _ in
            let kinds = reportComposers.all.filter { $0.form.secretHeader != nil }.map(\.form.kind.rawValue)
            return [
                "required": ["kind", "authentication"],
                "properties": [
                    "kind": ["not": ["enum": .array(kinds.map(JSON.string))]],
                    "authentication": ["required": ["type"], "properties": ["type": ["const": "secret"]]],
                ],
            ]
        }
    ) { draft, _, reading throws(PealError) in
        if case .secret = draft.authentication, reportComposers[draft.kind]?.form.secretHeader == nil {
            throw .invalid(
                reading.path("authentication.type"),
                "type secret is only for kind contextpush; use basic, bearer, header or signature")
        }
    }

    /// The verb checks the URL; the schema states the URLs that it accepts.
    private static let url = Shape.text(characters: Limits.webhookURLBytesMax).stating(
        (
            "pattern",
            .string(
                #"^[Hh][Tt][Tt][Pp][Ss]://([A-Za-z0-9-]{1,63}\.)+[A-Za-z][A-Za-z0-9-]{0,62}(:[1-9][0-9]{0,3})?"#
                    + #"([/?][A-Za-z0-9._~:/?@!$&'()*+,;=%\[\]-]*)?$"#)
        )
    ).described("https, without user name and fragment. Hosts in PEAL_WEBHOOKS_ALLOWED_HOSTS may be private.")

    static let authentication = Shape<Webhook.Authentication>.tagged(
        "NativeWebhookAuthentication", by: "type",
        [
            ("basic", basic.shape.map { .basic(username: $0.name, password: $0.secret) }),
            ("bearer", bearer.shape.map { .bearer(accessToken: $0.secret) }),
            ("header", header.shape.map { .header(name: $0.name, value: $0.secret) }),
            ("signature", signature.shape.map { .signature(key: $0.key) }),
            ("secret", secret.shape.map { .secret($0.secret) }),
        ])

    private struct Given: Sendable {
        var name = ""
        var secret = ""
        var key: [UInt8] = []
    }

    private static let basic = ObjectShape("NativeBasicAuthentication", Given()) {
        Entry(tag: "type", "basic")
        // RFC 7617 §2: the first colon ends the user name.
        Entry(
            required: "username",
            Shape.text().matching(#"[^\u0000-\u001f\u007f:]+"#, "must not contain a colon") {
                !$0.utf8.contains(UInt8(ascii: ":"))
            }
        ) { $0.name = $1 }
        Entry(required: "password", .text(characters: Limits.webhookSecretBytesMax)) { $0.secret = $1 }
    }

    private static let bearer = ObjectShape("NativeBearerAuthentication", Given()) {
        Entry(tag: "type", "bearer")
        Entry(required: "token", headerText("[!-~]+")) { $0.secret = $1 }
    }

    private static let header = ObjectShape("NativeHeaderAuthentication", Given()) {
        Entry(tag: "type", "header")
        Entry(required: "name", headerName) { $0.name = $1 }
        Entry(required: "value", headerText(textWithBlanks)) { $0.secret = $1 }
    }

    private static let signature = ObjectShape("NativeSignatureAuthentication", Given()) {
        Entry(tag: "type", "signature")
        Entry(required: "secret", signingKey) { $0.key = $1 }
    }

    private static let secret = ObjectShape("NativeSecretAuthentication", Given()) {
        Entry(tag: "type", "secret")
        Entry(required: "secret", headerText(textWithBlanks)) { $0.secret = $1 }
    }

    private static let textWithBlanks = "[!-~]([ -~]*[!-~])?"

    /// Text that a header can contain unchanged: printable ASCII without surrounding blanks (RFC 9110 §5.5).
    private static func headerText(_ pattern: String) -> Shape<String> {
        let allowsBlanks = pattern == textWithBlanks
        return Shape.text(characters: Limits.webhookSecretBytesMax).matching(
            pattern, "must be printable ASCII that is valid in a header"
        ) { text in
            text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F || allowsBlanks && $0 == 0x20 } && text.utf8.first != 0x20
                && text.utf8.last != 0x20
        }
    }

    /// Headers that frame the request, and headers that Peal sets itself.
    private static let reservedNames: Set<String> = [
        "host", "content-length", "content-type", "content-encoding", "transfer-encoding", "connection", "upgrade",
        "te", "trailer", "expect", "keep-alive", "proxy-authorization", "webhook-id", "webhook-timestamp",
        "webhook-signature", "x-ctx-event-type", "x-idempotency-key",
    ]

    /// `tchar` of RFC 9110 §5.6.2.
    private static let headerName = Shape.text().matching(
        "[A-Za-z0-9!#$%&'*+.^_`|~-]+", "must be a header that Peal does not set itself"
    ) { name in
        name.utf8.allSatisfy { $0.isASCIIAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains($0) }
            && !reservedNames.contains(name.lowercased())
    }.described("A header that Peal does not set itself.")

    private static let keyBytes = Limits.webhookSigningKeyBytesMin...Limits.webhookSigningKeyBytesMax

    /// `whsec_` and base64, as Standard Webhooks writes keys, or only the base64.
    private static let signingKey = Shape.text(characters: Limits.webhookSecretBytesMax).checked {
        text, reading throws(PealError) in
        guard let key = Base64URL.decode(text.trimmingPrefix("whsec_")), keyBytes.contains(key.count) else {
            throw reading.refusal("must be whsec_ and base64 of \(keyBytes.lowerBound) to \(keyBytes.upperBound) bytes")
        }
        return key
    }.described { _ in
        let letter = "[A-Za-z0-9+/_-]"
        let four = "(\(letter){4})"
        return Schema.text(
            pattern: "(whsec_)?(\(four){8,21}|\(four){8,20}\(letter){3}=?|\(four){8,21}\(letter){2}(==)?)"
        ).described("`whsec_` and base64 of \(keyBytes.lowerBound) to \(keyBytes.upperBound) bytes.")
    }
}

extension NativeDocument {
    private static let webhook = "\(app)/webhooks/:name"

    static let webhooks: [APIOperation] = [
        APIOperation(
            id: "listWebhooks", method: .get, path: "\(app)/webhooks", summary: "List webhooks",
            parameters: page(.name), answers: [list(of: "NativeWebhook", shown)]),
        APIOperation(
            id: "getWebhook", method: .get, path: webhook, summary: "Show a webhook",
            answers: [APIAnswer(200, "The webhook.", shown)]),
        APIOperation(
            id: "putWebhook", method: .put, path: webhook, summary: "Create or change a webhook",
            body: APIBody(schema: NativeWebhookShapes.draft.schema(strict), examples: [("signed", example)]),
            answers: [
                APIAnswer(200, "The webhook, enabled again.", shown),
                APIAnswer(201, "The new webhook.", shown),
            ], refusals: [.conflict]),
        APIOperation(
            id: "deleteWebhook", method: .delete, path: webhook, summary: "Delete a webhook and its pending deliveries",
            answers: [APIAnswer(204, "Deleted.")]),
        APIOperation(
            id: "testWebhook", method: .post, path: "\(webhook)/test", summary: "Send a test event to a webhook",
            text: "Its type is `test`, its data `{\"test\":true}`. The deliveries show what became of it.",
            answers: [
                APIAnswer(
                    202, "The event is queued.",
                    .component("NativeTestEvent", .object([.required("type", .word("test"))])))
            ], refusals: [.conflict]),
        APIOperation(
            id: "listWebhookDeliveries", method: .get, path: "\(webhook)/deliveries",
            summary: "List the deliveries to a webhook, newest first", parameters: page(.id),
            answers: [list(of: "NativeWebhookDelivery", delivery)]),
        APIOperation(
            id: "retryWebhookDelivery", method: .post, path: "\(webhook)/deliveries/:id/retry",
            summary: "Retry a delivery",
            answers: [APIAnswer(200, "The delivery.", delivery)]),
    ]

    private static let example: JSON = [
        "url": "https://example.com/peal", "kind": "events",
        "authentication": ["type": "signature", "secret": "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="],
    ]

    private static let shown = Schema.component(
        "NativeWebhook",
        .object([
            .required("name", .text), .required("url", .text),
            .required("kind", NativeWebhookShapes.kind.describe(strict)),
            .required(
                "authentication",
                .component(
                    "NativeShownAuthentication",
                    .object([
                        .required("type", .text), .optional("username", .text), .optional("name", .text),
                    ]))),
            .required("state", .component("NativeWebhookState", .words(["active", "disabled"]))),
            .required("created_at", .time), .required("changed_at", .time), .optional("disabled_at", .time),
        ]))

    private static let delivery = Schema.component(
        "NativeWebhookDelivery",
        .object([
            .required("id", .uuid), .required("type", .text),
            .required(
                "state",
                .component("NativeWebhookDeliveryState", .words(WebhookDelivery.State.allCases.map(\.name)))),
            .required("items", .count), .required("attempts", .count),
            .required("last_status", Schema.integer.orNull), .required("last_error", Schema.text.orNull),
            .required("created_at", .time), .required("next_attempt_at", Schema.time.orNull),
            .required("ended_at", Schema.time.orNull),
        ]))

    private static let messageEvent = Schema.component(
        "NativeMessageEvent",
        .object([
            .required("type", .words(["message.sent", "message.expired", "message.cancelled", "message.failed"])),
            .required("timestamp", .time), .required("data", NativeReportSchema.message),
        ]))

    static let event = APIWebhook(
        id: "messageEvent", summary: "A message has ended and every device has its outcome",
        text: "Sent to webhooks of kind `events`, with the webhook's authentication.",
        headers: [
            .header("webhook-id", .uuid, "The same in every retry."),
            .header("webhook-timestamp", .text(pattern: "[0-9]+"), "Seconds since 1970."),
            .header("webhook-signature", .text, "With `signature`: Standard Webhooks 1.0."),
        ], body: APIBody(schema: messageEvent))
}
