internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// The OpenAPI description of the Richie Push API.
enum RichieDocument {
    static var document: DialectDocument {
        DialectDocument(
            name: "Richie", text: "Tasks to topics and to users.", dialect: RichieDialect(),
            refusal: .object([.required("error", .text)]), operations: [send],
            schemas: [
                ("RichieTask", task), ("RichieApple", apple), ("RichieAndroid", android),
                ("RichieValue", RichieSchema.value), ("RichieReport", report),
            ],
            webhooks: [reported])
    }

    private static let send = APIOperation(
        id: "richieSend", method: .post, path: "/push/v2/admin/task", summary: "Send to topics and to users",
        text: "The task is durable before the answer. A repeated task is a new task.",
        body: APIBody(schema: .named("RichieTask"), examples: [("topics", toTopics), ("users", toUsers)]),
        answers: [APIAnswer(201, "The task is taken.", .object([.required("task_id", .uuid)]))],
        refusals: [.notFound, .payloadTooLarge])

    private static let task = Schema.all(of: [
        .object([
            .required("app_id", RichieSchema.name), .optional("topics", RichieSchema.names(Limits.richieTopicsMax)),
            .optional("external_user_ids", RichieSchema.names(Limits.richieUsersMax)),
            .required("payloads", RichieSchema.payloads),
        ]),
        .any(of: [
            .object([.required("topics", .list(.anything, 1...Limits.richieTopicsMax))]),
            .object([.required("external_user_ids", .list(.anything, 1...Limits.richieUsersMax))]),
        ]),
    ])

    private static let apple = Schema.all(of: [
        RichieSchema.passedOn(
            RichieSchema.keys + [.optional("aps", RichieSchema.aps), .optional("alert", RichieSchema.alert)]),
        RichieSchema.bodySomewhere,
    ]).described(
        "At most \(Limits.richiePayloadBytesMax) bytes of compact JSON. Members that are not named here are passed on.")

    private static let android = RichieSchema.passedOn([.required("data", RichieSchema.data)]).described(
        "At most \(Limits.richiePayloadBytesMax) bytes of compact JSON. Other members of `data` are passed on."
    )

    private static let toTopics: JSON = [
        "app_id": "your-app-id", "topics": ["breaking-news", "sports"],
        "payloads": [
            "ios": ["aps": ["alert": ["title": "Final", "body": "It is over: 2:1"], "content-available": 1]],
            "android": ["data": ["title": "Final", "body": "It is over: 2:1", "publisher-item-id": "100200"]],
        ],
    ]

    private static let toUsers: JSON = [
        "app_id": "your-app-id", "external_user_ids": ["abcde", "12345"],
        "payloads": ["ios": ["aps": ["alert": ["body": "Your parcel is on its way", "tab-id": "parcels"]]]],
    ]

    private static let report = Schema.object([
        .required("app_id", .text), .required("completion_time_ms", .count), .required("deletions", .count),
        .optional("external_user_ids", .list(.text)), .required("failures", .count), .required("payloads", .object),
        .required("successes", .count), .optional("topics", .list(.text)),
    ])

    private static let reported = APIWebhook(
        id: "richieReport", summary: "Delivery analytics of a task that is done",
        text: "To a webhook of kind `richie_report`, authenticated as it asks.",
        headers: [.header("X-Idempotency-Key", .text, "The same in every repetition.")],
        body: APIBody(schema: .named("RichieReport")))
}

/// The members of a task.
enum RichieSchema {
    /// The types that are accepted as a string.
    private static let scalars: JSON = ["string", "number", "boolean"]

    /// The app's name: a text that is there.
    static let name = Schema.printable(1...Limits.nameCharactersMax).with("type", scalars)

    /// Names; invalid elements are ignored.
    static func names(_ countMax: Int) -> Schema { Schema.list(.anything, 0...countMax).orAbsent }

    static let payloads = Schema.all(of: [
        .object([
            .optional("ios", Schema.named("RichieApple").orAbsent),
            .optional("android", Schema.named("RichieAndroid").orAbsent),
        ]),
        .any(of: [
            .object([.required("ios", .object)]), .object([.required("android", .object)]),
        ]),
    ])

    /// The documented keys, which may occur in several places.
    static let keys: [Property] =
        ["title", "body", "issue-guid", "issue-title", "issue-product-tag", "tab-id", "publisher-item-id"].map {
            .optional($0, content)
        } + [
            .optional("external-browser-url", link), .optional("issue-page", .tolerantInteger),
        ]

    private static let content = Schema.content.with("type", ["string", "number", "boolean", "null"])

    private static let link = Schema.secureLink.orAbsent

    /// A text that is there and not empty.
    private static let somebody = Schema.content.with("type", scalars).with("minLength", 1)

    private static let withBody = Schema.object([.required("body", somebody)])

    /// What is passed on: of control characters only tabs and line ends, in names too.
    static let value = Schema.any(of: [
        content, .list(.named("RichieValue")), passedOn([]),
    ])

    /// An object with these members and with others, which are passed on.
    static func passedOn(_ properties: [Property]) -> Schema {
        Schema.object(properties).with("propertyNames", Schema.content.json).with(
            "additionalProperties", Schema.named("RichieValue").json)
    }

    /// A text is the body.
    static let alert = Schema.any(of: [content, passedOn(keys)])

    static let aps = passedOn(
        keys + [
            .optional("alert", alert), .optional("content-available", .tolerantFlag),
        ]
    ).orAbsent

    /// The body may be in the alert, be the alert, or be in `aps` or at the top level; so may the alert.
    static let bodySomewhere = Schema.any(of: [
        withBody, .object([.required("alert", somebody)]), .object([.required("alert", withBody)]),
        .object([.required("aps", withBody)]),
        .object([.required("aps", .object([.required("alert", somebody)]))]),
        .object([.required("aps", .object([.required("alert", withBody)]))]),
    ])

    /// Flat, within `alert`, or both.
    static let data = Schema.all(of: [
        passedOn(keys + [.optional("alert", alert)]),
        .any(of: [
            withBody, .object([.required("alert", somebody)]), .object([.required("alert", withBody)]),
        ]),
    ])
}
