internal import HTTPTypes
internal import PealCore

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
                id: "pivotalListSchedules\(suffix)", method: .get, path: path, summary: "List what is scheduled",
                answers: [APIAnswer(200, "The newest first.", .list(.named("PivotalSchedule")))]),
            APIOperation(
                id: "pivotalGetSchedule\(suffix)", method: .get, path: "\(path)/:id", summary: "Show a schedule",
                answers: [one]),
            APIOperation(
                id: "pivotalChangeSchedule\(suffix)", method: .put, path: "\(path)/:id", summary: "Change a schedule",
                text: "Each member that is given replaces that member.",
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
        id: "pivotalReceipt", method: .get, path: "/v1/receipts/:id", summary: "What became of a push",
        answers: [APIAnswer(200, "How far it has come.", .named("PivotalReceipt"))])

    private static let analytics = APIOperation(
        id: "pivotalAnalytics", method: .post, path: "/v1/analytics",
        summary: "What devices tell of pushes and geofences",
        text: "What cannot be used is passed over.",
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
