internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// The OpenAPI description of the Pivotal Push API.
enum PivotalDocument {
    /// - Parameter topicsPerDeviceMax: as configured.
    static func document(topicsPerDeviceMax: Int) -> DialectDocument {
        let registering = Describing(
            policy: .pivotal, now: Timestamp(milliseconds: 0), topicsPerDeviceMax: topicsPerDeviceMax)
        return DialectDocument(
            name: "Pivotal", text: "The API of Pivotal Push 1.8.", dialect: PivotalDialect(), refusal: refusal,
            pathParameters: [
                .path("id", .text(1...Int.max), "Its id."),
                .path("tag", .printable(1...Limits.nameCharactersMax), "A tag's name."),
                .path("platform", .text(1...Int.max), "A platform's UUID or `os` name."),
            ],
            operations: pushes + registrations(registering) + devices + topics + [tagDevices(registering)] + tags
                + geofences + locations + [version, health])
    }

    private static let refusal = Schema.object([
        .required("timestamp", .count), .required("status", .integer(400...599)), .required("error", .text),
        .required("message", .text), .required("path", .text),
    ])

    private static let version = APIOperation(
        id: "pivotalVersion", method: .get, path: "/v1/version", summary: "The version of the API",
        answers: [APIAnswer(200, "The version.", .object([.required("version", .word("1.8.1"))]))])

    private static let health = APIOperation(
        id: "pivotalHealth", method: .get, path: "/healthcheck", summary: "Check the server",
        answers: [
            APIAnswer(200, "It works.", PivotalSchema.health),
            APIAnswer(503, "At least one subsystem does not work.", PivotalSchema.health),
        ])

    /// The same operations under each of `paths`, which are aliases. Operation ids come from the first path; the others
    /// get a suffix.
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
        body: APIBody(
            schema: PivotalPushShapes.push.schema(PivotalShapes.describing),
            examples: [("topic", toTopic), ("scheduled", scheduled)]),
        answers: [
            APIAnswer(
                200, "The push was accepted or scheduled.",
                .component(
                    "PivotalPushAnswer",
                    .one(of: [
                        PivotalSchema.receiptID,
                        .component(
                            "PivotalScheduleID", .object([.required("schedule_id", PivotalSchema.scheduleID)])),
                    ])),
                headers: [("Warning", .text, "A warning that `scheduleIn` looks like milliseconds (code 299).")])
        ])

    private static let schedules = under(["/v1/schedules", "/v1/schedule"]) { path, suffix in
        let one = APIAnswer(200, "The schedule.", PivotalSchema.schedule)
        return [
            APIOperation(
                id: "pivotalListSchedules\(suffix)", method: .get, path: path, summary: "List schedules",
                answers: [APIAnswer(200, "Newest first.", .list(PivotalSchema.schedule))]),
            APIOperation(
                id: "pivotalGetSchedule\(suffix)", method: .get, path: "\(path)/:id", summary: "Show a schedule",
                answers: [one]),
            APIOperation(
                id: "pivotalChangeSchedule\(suffix)", method: .put, path: "\(path)/:id", summary: "Change a schedule",
                text: "Each member of the body replaces the stored one.",
                body: APIBody(schema: PivotalPushShapes.push.change("PivotalScheduleChange", PivotalShapes.describing)),
                answers: [
                    APIAnswer(
                        200, "The schedule, or the receipt of a push that is sent immediately.",
                        .component(
                            "PivotalScheduleAnswer", .any(of: [PivotalSchema.schedule, PivotalSchema.receiptID])))
                ], refusals: [.conflict]),
            APIOperation(
                id: "pivotalCancelSchedule\(suffix)", method: .delete, path: "\(path)/:id",
                summary: "Cancel a schedule", answers: [done], refusals: [.conflict]),
        ]
    }

    private static let receipt = APIOperation(
        id: "pivotalReceipt", method: .get, path: "/v1/receipts/:id", summary: "Get the result of a push",
        answers: [APIAnswer(200, "The state and counts of the push.", PivotalSchema.receipt)])

    private static let analytics = APIOperation(
        id: "pivotalAnalytics", method: .post, path: "/v1/analytics",
        summary: "Report what happened to pushes and geofences",
        text: "Unusable events are ignored.",
        body: APIBody(
            schema: .object([
                .optional(
                    "events",
                    Schema.anything.described(
                        """
                        A list, of which the first \(Limits.analyticsEventsMax) elements count: objects with \
                        `eventType`, `eventTime` and `deviceUuid`, and `receiptId`, or `geofenceId` and `locationId`.
                        """))
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

/// The schemas of members in requests and answers.
enum PivotalSchema {
    static let scheduleID = Schema.text(pattern: "[0-9a-f]{16}")

    static let health: Schema = {
        let part = Schema.object([.required("healthy", .flag), .required("message", .text)])
        return .object(["database", "rabbitmq", "scheduler-backend"].map { .required($0, part) })
    }()

    /// The values of an `os` query parameter, which cannot be null.
    static let listedOS = Schema.caseless(PivotalPlatform.words + ["all", ""])

    /// Allows the empty string too, which counts as absent.
    static func queried(_ schema: Schema) -> Schema { .any(of: [schema, .word("")]) }

    static func page(sizeMin: Int64) -> [APIParameter] {
        [
            .query("page", queried(.integer(1...Int64(Int32.max))), "From 1."),
            .query("size", queried(.integer(sizeMin...Int64(Limits.pageItemsMax))), "Maximum number of items."),
        ]
    }

    static func paged(_ name: String, _ item: Schema, total: String) -> Schema {
        .object(
            [.required(name, .list(item))] + [total, "totalPages", "page", "size"].map { .required($0, .count) })
    }

    static let counts = Schema.component(
        "PivotalCounts",
        .object(
            ["accepted", "rejected", "retired", "expired", "suppressed", "pending"].map { .required($0, .count) }))

    static let receiptID = Schema.component("PivotalReceiptID", .object([.required("receipt_id", .uuid)]))

    static let receipt = Schema.component(
        "PivotalReceipt",
        .object([
            .required("receipt_id", .uuid), .required("state", .text), .required("devices", .count),
            .required("counts", counts), .required("received", .count), .required("opened", .count),
            .required("platforms", .component("PivotalCountsByPlatform", .map(counts))),
        ]))

    static let schedule = Schema.component(
        "PivotalSchedule",
        .object([
            .required("schedule_id", scheduleID), .required("scheduled_for", Schema.count.orNull),
            .required("push", .openObject),
        ]))
}
