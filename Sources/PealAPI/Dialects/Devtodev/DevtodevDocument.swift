internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// The OpenAPI description of the devtodev Push API.
enum DevtodevDocument {
    static func document(_ describing: Describing) -> DialectDocument {
        DialectDocument(
            name: "Devtodev", text: "Pushes that are answered when they are sent.",
            dialect: DevtodevDialect(),
            refusal: refusal, operations: [send(DevtodevShapes.push.schema(describing)), categories])
    }

    private static let refusal = Schema.object([
        .required("status_code", .integer(400...599)),
        .required(
            "errors",
            .list(
                .component("DevtodevError", .object([.required("code", .count), .required("msg", .text)])),
                1...1)),
    ])

    private static func send(_ body: Schema) -> APIOperation {
        APIOperation(
            id: "devtodevSend", method: .post, path: "/api/v1/push/send",
            summary: "Send, and tell what became of it",
            text: """
                The answer comes when every device has its outcome, after \(Limits.devtodevAnswerSeconds) seconds at the \
                latest. The same bytes under one `pack_id` are sent once within ten minutes.
                """,
            body: APIBody(schema: body, examples: [("visible", visible), ("hidden", hidden)]),
            answers: [
                APIAnswer(
                    200, "What became of the push, twice.", answer, headers: [warning]),
                APIAnswer(
                    422, "The app has no credential for any of the platforms.", .named("DevtodevRefusal")),
            ],
            refusals: [.notFound, .idempotencyMismatch, .payloadTooLarge])
    }

    /// What was left out of a push that is sent all the same.
    private static let warning = (
        name: "Warning", schema: Schema.text, text: "What was left out (code 299)."
    )

    private static let categories = APIOperation(
        id: "devtodevCategories", method: .get, path: "/v1/devtodev/categories",
        summary: "The button templates with their texts",
        parameters: [
            .query("locale", .text, "A language, as `de-AT`; without it `Accept-Language` counts.")
        ],
        answers: [APIAnswer(200, "Every template.", .list(category))])

    private static let counts: [Property] = [
        .required("audience", .count), .required("successful", .count), .required("erroneous", .count),
        .required("error_details", .list(.text)),
    ]

    private static let answer = Schema.component(
        "DevtodevAnswer",
        .object(
            [
                .required("status_code", .integer(200...200)),
                .required(
                    "data", .component("DevtodevCounts", .object(counts + [.required("message_id", .uuid)]))),
            ] + counts))

    private static let category = Schema.component(
        "DevtodevCategory",
        .object([
            .required("id", .component("DevtodevTemplateName", .words(DevtodevTemplates.all.map(\.id)))),
            .required("buttons", .list(categoryButton, 1...2)),
        ]))

    private static let categoryButton = Schema.component(
        "DevtodevCategoryButton",
        .object([
            .required("id", .component("DevtodevButtonName", .words(DevtodevLabels.buttons))),
            .required("text", .text),
            .required(
                "activationMode", .component("DevtodevHandling", .words(["foreground", "background"]))),
        ]))

    private static let visible: JSON = [
        "app_id": "your-app-id", "campaign_tag": "spring", "audience": [["userId": "ann"], ["idfv": "12345-6789A"]],
        "ios": [
            "payload": [
                "title": "Spring sale", "text": "Only today", "badge": 1, "data": ["offer": 15],
                "attachment": ["type": "image", "url": "https://example.com/pic.png"],
                "interactive": [
                    "template": "dtd_accept.open_decline.dismiss",
                    "buttons": [["id": "accept", "action": ["deeplink": "shop://spring"]]],
                ],
            ],
            "options": ["priority": "high", "expire": "36000", "collapse_key": "spring"],
        ],
        "android": ["payload": ["title": "Spring sale", "text": "Only today", "color": "#ff0000"]],
        "uwp": ["toast": ["title": "Spring sale", "text": "Only today"]],
    ]

    private static let hidden: JSON = [
        "app_id": "your-app-id", "audience": [["userId": "ann"]],
        "ios": ["payload": ["data": ["sync": "now"]], "options": ["hidden": true, "expire": 0]],
    ]
}
