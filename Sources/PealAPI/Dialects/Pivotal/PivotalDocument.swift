internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// The OpenAPI description of the Pivotal Push API.
enum PivotalDocument {
    static var document: DialectDocument {
        DialectDocument(
            name: "Pivotal", text: "The API of Pivotal Push 1.8.", dialect: PivotalDialect(), refusal: refusal,
            pathParameters: [
                .path("id", .text(1...Int.max), "Its id."),
                .path("tag", .printable(1...Limits.topicBytesMax), "A tag's name."),
                .path("platform", .text(1...Int.max), "A platform's uuid, or its word as in `os`."),
            ],
            operations: pushes + registrations + topics + tags + geofences + places + [version, health],
            schemas: PivotalSchema.components)
    }

    private static let refusal = Schema.object([
        .required("timestamp", .count), .required("status", .integer(400...599)), .required("error", .text),
        .required("message", .text), .required("path", .text),
    ])

    private static let version = APIOperation(
        id: "pivotalVersion", method: .get, path: "/v1/version", summary: "The version of the API",
        answers: [APIAnswer(200, "The version.", .object([.required("version", .word("1.8.1"))]))])

    private static let health = APIOperation(
        id: "pivotalHealth", method: .get, path: "/healthcheck", summary: "Check that the server works",
        answers: [
            APIAnswer(200, "It works.", PivotalSchema.health),
            APIAnswer(503, "At least one part does not work.", PivotalSchema.health),
        ])

    /// The operations of what is managed under each of `paths`; the first names them.
    static func under(_ paths: [String], _ make: (_ path: String, _ suffix: String) -> [APIOperation]) -> [APIOperation]
    {
        paths.enumerated().flatMap { index, path in make(path, index == 0 ? "" : "Alias") }
    }

    static let done = APIAnswer(204, "Done.")
}

extension PivotalDocument {
    static let pushes = [push] + schedules + [receipt, analytics]

    private static let push = APIOperation(
        id: "pivotalPush", method: .post, path: "/v1/push", summary: "Push a message, now or later",
        body: APIBody(schema: .named("PivotalPush"), examples: [("topic", toTopic), ("scheduled", scheduled)]),
        answers: [
            APIAnswer(
                200, "The push is taken, or scheduled.",
                .one(of: [
                    .object([.required("receipt_id", .uuid)]),
                    .object([.required("schedule_id", PivotalSchema.scheduleID)]),
                ]),
                headers: [("Warning", .text, "`scheduleIn` looks like milliseconds (code 299).")])
        ])

    private static let schedules = under(["/v1/schedules", "/v1/schedule"]) { path, suffix in
        let one = APIAnswer(200, "The schedule.", .named("PivotalSchedule"))
        return [
            APIOperation(
                id: "pivotalListSchedules\(suffix)", method: .get, path: path, summary: "List schedules",
                answers: [APIAnswer(200, "The newest first.", .list(.named("PivotalSchedule")))]),
            APIOperation(
                id: "pivotalGetSchedule\(suffix)", method: .get, path: "\(path)/:id", summary: "Show a schedule",
                answers: [one]),
            APIOperation(
                id: "pivotalChangeSchedule\(suffix)", method: .put, path: "\(path)/:id", summary: "Change a schedule",
                text: "Each member in the body replaces the stored one.",
                body: APIBody(schema: .named("PivotalScheduleChange")),
                answers: [
                    APIAnswer(
                        200, "The schedule, or the receipt of what goes at once.",
                        .any(of: [.named("PivotalSchedule"), .object([.required("receipt_id", .uuid)])]))
                ], refusals: [.conflict]),
            APIOperation(
                id: "pivotalCancelSchedule\(suffix)", method: .delete, path: "\(path)/:id",
                summary: "Cancel a schedule", answers: [done], refusals: [.conflict]),
        ]
    }

    private static let receipt = APIOperation(
        id: "pivotalReceipt", method: .get, path: "/v1/receipts/:id", summary: "Get the result of a push",
        answers: [APIAnswer(200, "How far it has come.", .named("PivotalReceipt"))])

    private static let analytics = APIOperation(
        id: "pivotalAnalytics", method: .post, path: "/v1/analytics",
        summary: "Report what happened to pushes and geofences",
        text: "Unusable events are ignored.",
        body: APIBody(
            schema: .object([
                .optional(
                    "events", Schema.anything.described("A list of `PivotalEvent`, of which the first 10000 count."))
            ])),
        answers: [APIAnswer(200, "Taken.", .object)])

    private static let toTopic: JSON = [
        "message": ["body": "Town Hall This Thursday"], "target": ["topics": ["local_seminars"]],
    ]

    private static let scheduled: JSON = [
        "message": [
            "body": "You have mail!",
            "custom": [
                "ios": ["alert": ["title": "Mail"], "badge": 1, "content-available": true, "extra": ["from": "Ann"]],
                "android": ["collapse_key": "mail"],
                "windows8": [
                    "type": "tile", "template_name": "TileSquareText04", "template_fields": ["textField1": "Mail"],
                ],
                "windowsPhone": ["template": "toast", "template_fields": ["title": "Mail"]],
            ],
        ], "target": ["platforms": ["ios", "android"], "custom_user_ids": ["ann"]], "scheduleIn": 7200,
        "expiryTime": .null,
    ]
}

/// The members of requests and answers.
enum PivotalSchema {
    static let components: [(name: String, schema: Schema)] =
        [
            ("PivotalPush", push), ("PivotalMessage", message), ("PivotalTarget", target),
            ("PivotalApple", apple), ("PivotalSchedule", schedule), ("PivotalScheduleChange", scheduleChange),
            ("PivotalReceipt", receipt), ("PivotalEvent", event),
        ]

    static let scheduleID = Schema.text(pattern: "[0-9a-f]{16}")

    static let health: Schema = {
        let part = Schema.object([.required("healthy", .flag), .required("message", .text)])
        return .object(["database", "rabbitmq", "scheduler-backend"].map { .required($0, part) })
    }()

    /// Also as text.
    static let number = Schema.any(of: [
        .integer(Int64.min...Int64.max), .text(pattern: "-?(0|[1-9][0-9]{0,17})"),
    ])

    /// Milliseconds since 1970, also as text; null, "" and 0 are absent.
    static let milliseconds = Schema.tolerantInteger(
        0...253_402_300_799_999, pattern: "0|[1-9][0-9]{0,13}|1[0-9]{14}")

    static let content = Schema.content.with("type", Schema.scalarOrNull)

    static let name = Schema.tolerantText(0...Limits.nameCharactersMax, pattern: #"[^\u0000-\u001f\u007f]*"#)

    /// Texts that are there and not empty.
    static let somebody = Schema.content.with("type", ["string", "number", "boolean"]).with("minLength", 1)

    /// Names; invalid ones are ignored.
    static func names(_ countMax: Int) -> Schema {
        Schema.list(Schema([("type", Schema.scalarOrNull)]), 0...countMax).orAbsent
    }

    private static let osWords = [
        "ios", "android", "android-fcm", "android-gcm", "android-baidu", "windows8", "windows", "windowsPhone",
        "windows_phone", "bb10", "blackberry",
    ]

    /// The words of platforms, in any letter case; null and "" are absent.
    static let os = Schema.caseless(osWords + [""]).orNull

    /// Also `all`.
    static let targetOS = Schema.caseless(osWords + ["all", ""]).orNull

    /// In a query, which has no null.
    static let listedOS = Schema.caseless(osWords + ["all", ""])

    /// Also empty, which is absent.
    static func queried(_ schema: Schema) -> Schema { .any(of: [schema, .word("")]) }

    static func page(sizeMin: Int64) -> [APIParameter] {
        [
            .query("page", queried(.integer(1...Int64(Int32.max))), "From 1."),
            .query("size", queried(.integer(sizeMin...Int64(Limits.pageItemsMax))), "How many at most."),
        ]
    }

    static func paged(_ name: String, _ item: Schema, total: String) -> Schema {
        .object(
            [.required(name, .list(item))] + [total, "totalPages", "page", "size"].map { .required($0, .count) })
    }

    static let counts = Schema.object(
        ["accepted", "rejected", "retired", "expired", "suppressed", "pending"].map { .required($0, .count) })

    private static let receipt = Schema.object([
        .required("receipt_id", .uuid), .required("state", .text), .required("devices", .count),
        .required("counts", counts), .required("received", .count), .required("opened", .count),
        .required("platforms", .map(counts)),
    ])

    private static let event = Schema.object(
        [
            "receiptId", "eventType", "eventTime", "deviceUuid", "geofenceId", "locationId", "sdkVersion",
            "platformType", "platformUuid",
        ].map { .optional($0, .text) })
}

extension PivotalSchema {
    private static let timing: [Property] = [
        .optional("scheduleAt", milliseconds.described("Milliseconds since 1970.")),
        .optional(
            "scheduleIn",
            Schema.tolerantInteger(0...Limits.ttlSecondsMax, pattern: "0|[1-9][0-9]{0,7}|[12][0-9]{8}").described(
                "Seconds. Not beside `scheduleAt`.")),
        .optional("expiryTime", milliseconds.described("Milliseconds since 1970, later than the start.")),
    ]

    static let push = Schema.object(
        [.required("message", .named("PivotalMessage")), .required("target", .named("PivotalTarget"))] + timing)

    static let scheduleChange = Schema.object(
        [
            .optional("message", Schema.named("PivotalMessage").orAbsent),
            .optional("target", Schema.named("PivotalTarget").orAbsent),
        ] + timing)

    static let schedule = Schema.object([
        .required("schedule_id", scheduleID), .required("scheduled_for", Schema.count.orNull),
        .required("push", .object),
    ])

    /// Control characters but tabs and line ends are refused at any depth of `custom`.
    static let message = Schema.all(of: [
        .object([
            .optional("body", content),
            .optional(
                "custom",
                Schema.object([
                    .optional("ios", Schema.named("PivotalApple").orAbsent),
                    .optional("android", Schema.object.orAbsent), .optional("windows8", Schema.object.orAbsent),
                    .optional("windowsPhone", Schema.object.orAbsent),
                ]).orAbsent),
        ]),
        .any(of: [
            .object([.required("body", somebody)]),
            .object([
                .required("custom", Schema.object.with("not", ["additionalProperties": ["type": "null"]]))
            ]),
        ]),
    ])

    private static let arguments = Schema.list(.anything).orAbsent

    static let apple = Schema.object([
        .optional(
            "alert",
            .any(of: [
                content,
                .object(
                    [
                        "body", "title", "subtitle", "title-loc-key", "action-loc-key", "loc-key", "launch-image",
                    ].map { .optional($0, content) } + [
                        .optional("title-loc-args", arguments), .optional("loc-args", arguments),
                    ]),
            ])),
        .optional("category", name), .optional("sound", name),
        .optional(
            "badge", Schema.tolerantInteger(0...Int64(Int32.max), pattern: "0|[1-9][0-9]{0,8}|1[0-9]{9}")),
        .optional("content-available", .tolerantFlag), .optional("extra", Schema.object.orAbsent),
    ])

    private static let listed = Schema([("type", "array"), ("minItems", 1)])

    /// Devices go before platforms, which are not looked at then.
    static let target = Schema.all(of: [
        .object([
            .optional("devices", names(Limits.pivotalDevicesMax)),
            .optional("custom_user_ids", names(Limits.pivotalUsersMax)),
            .optional("topics", names(Limits.audienceTopicsMax)), .optional("tags", names(Limits.audienceTopicsMax)),
            .optional("interactive-only", .tolerantFlag),
        ]),
        .any(of: [
            .object([.required("devices", listed)]),
            .all(of: [
                .object([
                    .optional("platforms", .list(targetOS).orAbsent),
                    .optional("platform", targetOS),
                ]),
                .any(of: [
                    .object([.required("custom_user_ids", listed)]), .object([.required("topics", listed)]),
                    .object([.required("tags", listed)]),
                    .object([.required("platforms", listed.with("contains", somebody.json))]),
                    .object([.required("platform", somebody)]),
                ]),
            ]),
        ]),
    ])
}
