internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// The OpenAPI description of the Richie Push API.
enum RichieDocument {
    static func document(_ describing: Describing, _ options: APIOptions) -> DialectDocument {
        DialectDocument(
            name: "Richie", text: "Tasks for topics and users.", dialect: RichieDialect(),
            refusal: .object([.required("error", .text)]),
            operations: [send(RichieShapes(options).task.schema(describing))],
            webhooks: [reported])
    }

    private static func send(_ body: Schema) -> APIOperation {
        APIOperation(
            id: "richieSend", method: .post, path: "/push/v2/admin/task", summary: "Send to topics and users",
            text: "The task is on disk before the response is sent. A repeated request creates another task.",
            body: APIBody(schema: body, examples: [("topics", toTopics), ("users", toUsers)]),
            answers: [
                APIAnswer(
                    201, "The task was accepted.", .component("RichieTaken", .object([.required("task_id", .uuid)])))
            ],
            refusals: [.notFound, .payloadTooLarge])
    }

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

    private static let report = Schema.component(
        "RichieReport",
        .object([
            .required("app_id", .text), .required("completion_time_ms", .count), .required("deletions", .count),
            .optional("external_user_ids", .list(.text)), .required("failures", .count), .required("payloads", .object),
            .required("successes", .count), .optional("topics", .list(.text)),
        ]))

    private static let reported = APIWebhook(
        id: "richieReport", summary: "Delivery analytics of a finished task",
        text: "Sent to webhooks of kind `richie_report`, with the webhook's authentication.",
        headers: [.header("X-Idempotency-Key", .text, "The same in every retry.")],
        body: APIBody(schema: report))
}
