internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// The OpenAPI description of the ContextPush API.
enum ContextPushDocument {
    static func document(_ describing: Describing, _ options: APIOptions) -> DialectDocument {
        DialectDocument(
            name: "ContextPush", text: "Messages to single users, sent at a good moment.",
            dialect: ContextPushDialect(),
            refusal: refusal,
            operations: [schedule(ContextPushShapes(options).schedule.schema(describing)), cancel(describing)],
            webhooks: [statusReport, transitionReport])
    }

    private static let refusal = Schema.object([.required("error", .component("ContextPushError", error()))])

    private static func error(_ more: [Property] = []) -> Schema {
        .object(
            [.required("code", code), .required("message", .text), .optional("field", .text)] + more)
    }

    private static let code = Schema.component("ContextPushErrorCode", .words(PealError.Code.self))

    private static let unknownPlatform = APIAnswer(
        422, "`platform` is neither `ios` nor `android`.", .named("ContextPushRefusal"))

    private static func schedule(_ body: Schema) -> APIOperation {
        APIOperation(
            id: "contextpushSchedule", method: .post, path: "/v1/campaigns/schedule_message_for_user",
            summary: "Schedule a message to one user",
            text: """
                While the message is open, the last request with its `idempotency_key` applies. After that, the \
                same request within 24 hours is a repetition, and the response reports the message's state. Any other \
                request schedules a new message, as does any request after a cancellation.
                """,
            body: APIBody(
                schema: body,
                examples: [("plain", plainExample), ("localized", localizedExample)]),
            answers: [
                APIAnswer(
                    200, "The message is stored, now or by an earlier request.",
                    .component(
                        "ContextPushScheduled",
                        .object([
                            .required("status", scheduleStatus), .required("idempotency_key", .text),
                            .required("delivery_method", arm), .required("deliver_until", .time),
                        ]))),
                unknownPlatform,
            ],
            refusals: [.conflict, .payloadTooLarge])
    }

    private static func cancel(_ describing: Describing) -> APIOperation {
        APIOperation(
            id: "contextpushCancel", method: .post, path: "/v1/campaigns/cancel_message_for_user",
            summary: "Cancel a message to one user", text: "After a 200, no device shows it.",
            body: APIBody(schema: ContextPushShapes.cancel.schema(describing), examples: [("named", cancelExample)]),
            answers: [
                APIAnswer(
                    200, "The message is cancelled, now or by an earlier request.",
                    .component(
                        "ContextPushCancelled",
                        .object([.required("status", .word("cancelled")), .required("idempotency_key", .text)]))),
                APIAnswer(
                    409, "Too late to cancel. `state` says whether the message was claimed or sent.",
                    .component(
                        "ContextPushTooLate",
                        .object([
                            .required(
                                "error",
                                .component("ContextPushTooLateError", error([.required("state", tooLateState)])))
                        ]))),
                unknownPlatform,
            ],
            refusals: [.notFound])
    }

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

    private static let scheduleStatus = Schema.component(
        "ContextPushScheduleStatus", .words(["scheduled"] + Moment.Status.allCases.map(\.rawValue)))
    private static let tooLateState = Schema.component(
        "ContextPushTooLateState", .words(["claimed", "sent", "shown", "failed"]))
    private static let arm = Schema.component("ContextPushArm", .words(Arm.allCases.map(\.name)))
    private static let classification = Schema.component(
        "ContextPushClassification", .words(DeviceClassification.self))

    private static let status = Schema.component(
        "ContextPushStatus",
        .object([
            .optional("device_token", .text), .required("user_id", .text), .required("campaign_id", .text),
            .required("idempotency_key", .text),
            .required("delivery_status", .component("ContextPushDeliveryStatus", .words(Moment.Status.self))),
            .required(
                "delivery_method",
                .component("ContextPushReportedMethod", .words(Arm.allCases.map(\.name) + ["cancelled"]))),
            .required("planned_delivery_method", arm), .required("timestamp", .time),
            .required("content", Schema.object.described("The `content` of the request, with all its members.")),
        ]))

    private static let transition = Schema.component(
        "ContextPushTransition",
        .object([
            .required("device_token", .text), .optional("user_id", .text), .optional("bundle_id", .text),
            .required("platform", .text), .required("previous_classification", classification),
            .required("classification", classification), .required("timestamp", .time),
            .required("idempotency_key", .text),
        ]))

    private static let statusReport = report(
        "contextpushMessageStatus", "Results of messages", event: "message_status", item: status)
    private static let transitionReport = report(
        "contextpushDeviceTransition", "Devices whose background delivery improved or worsened",
        event: "device_transition", item: transition)

    private static func report(_ id: String, _ summary: String, event: String, item: Schema) -> APIWebhook {
        APIWebhook(
            id: id, summary: summary, text: "Sent to webhooks of kind `contextpush`.",
            headers: [
                .header("X-CTX-Secret", .text, "The webhook's secret."),
                .header("X-CTX-Event-Type", .word(event), "The type of the items."),
                .header("X-Idempotency-Key", .text, "The same in every retry."),
            ],
            body: APIBody(schema: .list(item, 1...Limits.webhookItemsPerRequestMax)))
    }
}
