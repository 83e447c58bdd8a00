internal import HTTPTypes
internal import PealCore

/// The ContextPush API, told to the outside.
enum ContextPushDocument {
    static var document: DialectDocument {
        DialectDocument(
            name: "ContextPush", text: "One person's message, sent at a good moment.", envelope: .contextpush,
            refusal: refusal(), operations: [schedule, cancel],
            schemas: [
                ("ContextPushSchedule", scheduled), ("ContextPushCancel", cancelled),
                ("ContextPushContent", ContextPushSchema.content), ("ContextPushStatus", status),
                ("ContextPushTransition", transition),
            ],
            webhooks: [statusReport, transitionReport])
    }

    private static func refusal(_ more: [Property] = []) -> Schema {
        .object([
            .required(
                "error",
                .object(
                    [
                        .required("code", .words(PealError.Code.self)), .required("message", .text),
                        .optional("field", .text),
                    ] + more))
        ])
    }

    private static let unknownPlatform = APIAnswer(
        422, "`platform` is neither `ios` nor `android`.", refusal())

    private static let schedule = APIOperation(
        id: "contextpushSchedule", method: .post, path: "/v1/campaigns/schedule_message_for_user",
        summary: "Schedule one person's message",
        text: """
            The last request with an `idempotency_key` counts while its message is open; afterwards the answer tells \
            what became of it.
            """,
        body: APIBody(
            schema: .named("ContextPushSchedule"),
            examples: [("plain", plainExample), ("localized", localizedExample)]),
        answers: [
            APIAnswer(
                200, "The message is durable, or was before.",
                .object([
                    .required("status", .words(["scheduled"] + Moment.Status.allCases.map(\.rawValue))),
                    .required("idempotency_key", .text),
                    .required("delivery_method", .words(Arm.allCases.map(\.name))),
                    .required("deliver_until", .time),
                ])),
            unknownPlatform,
        ],
        refusals: [.conflict, .payloadTooLarge])

    private static let cancel = APIOperation(
        id: "contextpushCancel", method: .post, path: "/v1/campaigns/cancel_message_for_user",
        summary: "Cancel one person's message", text: "After 200 it is never shown.",
        body: APIBody(schema: .named("ContextPushCancel"), examples: [("named", cancelExample)]),
        answers: [
            APIAnswer(
                200, "It is cancelled, now or before.",
                .object([.required("status", .word("cancelled")), .required("idempotency_key", .text)])),
            APIAnswer(
                409, "It is too late: `state` tells who has it.",
                refusal([.required("state", .words(["claimed", "sent", "shown", "failed"]))])),
            unknownPlatform,
        ],
        refusals: [.notFound])

    private static let scheduled = Schema.all(of: [
        .object([
            .required("bundle_id", ContextPushSchema.bundleID), .required("platform", ContextPushSchema.platform),
            .required("user_id", ContextPushSchema.userID), .required("campaign_id", ContextPushSchema.campaignID),
            .optional("idempotency_key", ContextPushSchema.optionalKey),
            .optional("delivery_method", ContextPushSchema.method),
            .required("content", .named("ContextPushContent")),
        ]),
        ContextPushSchema.window,
    ])

    private static let cancelled = Schema.object([
        .required("bundle_id", ContextPushSchema.bundleID), .required("platform", ContextPushSchema.platform),
        .required("user_id", ContextPushSchema.userID), .required("campaign_id", ContextPushSchema.campaignID),
        .required("idempotency_key", ContextPushSchema.key),
    ])

    private static let plainExample: JSON = [
        "bundle_id": "com.example.demo", "platform": "ios", "user_id": "user@example.com",
        "content": ["title": "Your course", "body": "Start now!", "imageUrl": "https://example.com/course.jpg"],
        "deliver_within_hours": 3, "campaign_id": "daily-reminder", "delivery_method": "context_aware",
    ]

    private static let localizedExample: JSON = [
        "bundle_id": "com.example.demo", "platform": "ios", "user_id": "user@example.com",
        "content": [
            "default_locale": "en", "title": ["en": "Your course", "de": "Dein Kurs"],
            "body": ["en": "Start now!", "de": "Beginne jetzt!"],
        ],
        "deliver_within_hours": 3, "campaign_id": "daily-reminder",
        "idempotency_key": "427c60db-c3df-4098-a0f7-9b5d153438f4",
    ]

    private static let cancelExample: JSON = [
        "bundle_id": "com.example.demo", "platform": "ios", "user_id": "user@example.com",
        "campaign_id": "daily-reminder", "idempotency_key": "427c60db-c3df-4098-a0f7-9b5d153438f4",
    ]

    private static let status = Schema.object([
        .optional("device_token", .text), .required("user_id", .text), .required("campaign_id", .text),
        .required("idempotency_key", .text), .required("delivery_status", .words(Moment.Status.self)),
        .required("delivery_method", .words(Arm.allCases.map(\.name) + ["cancelled"])),
        .required("planned_delivery_method", .words(Arm.allCases.map(\.name))), .required("timestamp", .time),
        .required("content", Schema.object.described("The request's own, with every member that it had.")),
    ])

    private static let transition = Schema.object([
        .required("device_token", .text), .optional("user_id", .text), .optional("bundle_id", .text),
        .required("platform", .text), .required("previous_classification", .words(DeviceClassification.self)),
        .required("classification", .words(DeviceClassification.self)), .required("timestamp", .time),
        .required("idempotency_key", .text),
    ])

    private static let statusReport = report(
        "contextpushMessageStatus", "What became of messages", event: "message_status", item: "ContextPushStatus")
    private static let transitionReport = report(
        "contextpushDeviceTransition", "Devices that can be reached better or worse in the background",
        event: "device_transition", item: "ContextPushTransition")

    private static func report(_ id: String, _ summary: String, event: String, item: String) -> APIWebhook {
        APIWebhook(
            id: id, summary: summary, text: "To a webhook of kind `contextpush`.",
            headers: [
                .header("X-CTX-Secret", .text, "The webhook's secret."),
                .header("X-CTX-Event-Type", .word(event), "What the items are."),
                .header("X-Idempotency-Key", .text, "The same in every repetition."),
            ],
            body: APIBody(schema: .list(.named(item), 1...Limits.webhookItemsPerRequestMax)))
    }
}
