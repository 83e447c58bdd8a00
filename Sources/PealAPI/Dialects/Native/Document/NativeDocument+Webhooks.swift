internal import HTTPTypes
internal import PealCore

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

    private static let draft = Schema.any(of: [
        .object([
            .required("url", url), .required("kind", .words(Webhook.Kind.self)),
            .required("authentication", .one(of: [basic, bearer, header, signature])),
        ]),
        .object([
            .required("url", url), .required("kind", .word(Webhook.Kind.contextpush.rawValue)),
            .required("authentication", secret),
        ]),
    ])

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
        .required("name", .text), .required("url", .text), .required("kind", .words(Webhook.Kind.self)),
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
