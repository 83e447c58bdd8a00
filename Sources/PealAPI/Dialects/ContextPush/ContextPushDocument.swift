internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// The OpenAPI description of the ContextPush API.
enum ContextPushDocument {
    static var document: DialectDocument {
        DialectDocument(
            name: "ContextPush", text: "One person's message, sent at a good moment.", dialect: ContextPushDialect(),
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

/// The members of ContextPush's bodies.
enum ContextPushSchema {
    /// The types that are accepted as a string.
    private static let scalars: JSON = ["string", "number", "boolean"]
    private static let scalarsOrNull: JSON = ["string", "number", "boolean", "null"]
    /// No control characters (C0, DEL) except line ends after the value.
    private static let printable = #"[^\u0000-\u001f\u007f]"#
    private static let lineEnds = #"[\n\r]*"#

    /// A text that is there.
    private static func name(_ text: String) -> Schema {
        Schema.text(pattern: "\(printable)+\(lineEnds)").with("type", scalars).described(text)
    }

    static let bundleID = name("The app's bundle id.")
    static let userID = name("The app's own id of the user, at most \(Limits.userIDBytesMax) bytes.")
    static let campaignID = name("The unit of reports and experiments, at most \(Limits.campaignIDBytesMax) bytes.")
    static let key = name("At most \(Limits.contextPushKeyBytesMax) bytes. The last request with a key counts.")
    static let optionalKey = Schema.text(pattern: "\(printable)*\(lineEnds)").with("type", scalarsOrNull).described(
        "At most \(Limits.contextPushKeyBytesMax) bytes. The last request with a key counts.")
    static let platform = Schema.text(pattern: "(\(caseless("ios"))|\(caseless("android")))\(lineEnds)")
    static let method = Schema.text(
        pattern: "(\(DeliveryWindow.Method.allCases.map { caseless($0.rawValue) }.joined(separator: "|")))?\(lineEnds)"
    ).with("type", ["string", "null"]).described("Absent: the server assigns users to the two methods.")

    /// An instant, or a number of hours.
    static let window = Schema.any(of: [
        .object([.required("target_delivery_time", .time)]),
        .object([
            .required("deliver_within_hours", .any(of: [hours, hoursAsText])),
            .optional("target_delivery_time", Schema([("enum", ["", .null])])),
        ]),
    ])

    /// As the server is configured by default.
    private static let hours = Schema.number.with("exclusiveMinimum", 0).with(
        "maximum", .integer(Limits.windowSecondsMax / 3600))

    private static let hoursAsText = Schema.text(
        pattern: #"[ \t]*(0+\.[0-9]{0,9}[1-9][0-9]{0,9}|0*([1-9][0-9]?|1[0-5][0-9]|16[0-7])(\.[0-9]+)?|0*168(\.0+)?)"#
            + #"[ \t\r\n]*"#)

    private static func caseless(_ word: String) -> String {
        word.map { $0.isLetter ? "[\($0.uppercased())\($0)]" : String($0) }.joined()
    }

    private static let scalar = Schema.content.with("type", scalarsOrNull)

    /// A text, or one for each locale.
    private static let localized = Schema.any(of: [
        scalar,
        .map(scalar).with("propertyNames", locale.json).with("maxProperties", .integer(Limits.localesPerMessageMax)),
    ])

    private static let locale = Schema.text(1...Limits.localeCharactersMax, pattern: "[A-Za-z0-9_-]+")

    private static let body = Schema.any(of: [
        Schema.content.with("minLength", 1).with("type", scalars),
        Schema.map(scalar).with("propertyNames", locale.json).with("minProperties", 1).with(
            "maxProperties", .integer(Limits.localesPerMessageMax)),
    ])

    private static let image = Schema.text(
        pattern: #"([Hh][Tt][Tt][Pp][Ss]?://[^/?#\u0000-\u0020\u007f][^\u0000-\u0020\u007f]*)?[\n\r]*"#
    ).with("type", ["string", "null"])

    static let content = Schema.object([
        .required("body", body), .optional("title", localized), .optional("subtitle", localized),
        .optional(
            "default_locale",
            Schema.text(pattern: "\(printable)*\(lineEnds)").with("type", scalarsOrNull).described(
                "Required with translations, all of which have the same locales.")),
        .optional("sound", scalar),
        .optional("badge", .tolerantInteger(0...Int64(Int32.max), pattern: "0*[0-9]{1,9}")),
        .optional("userInfo", Schema.object.orAbsent.described("Also `user_info`. Must not hold `aps`.")),
        .optional("thread-id", scalar.described("Also `thread_id`, `threadId`.")),
        .optional("imageUrl", image.described("Also `imageURL`, `image_url`.")),
    ]).described("At most \(Limits.contextPushContentBytesMax) bytes.")
}
