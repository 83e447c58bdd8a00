internal import HTTPTypes
internal import PealCore
internal import PealShapes
internal import PealWire

/// The OpenAPI description of the devtodev Push API.
enum DevtodevDocument {
    static func document(_ describing: Describing) -> DialectDocument {
        DialectDocument(
            name: "Devtodev", text: "Pushes whose response waits for the result.",
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
            summary: "Send a push and wait for its result",
            text: """
                The response is sent when every device has its outcome, after at most \
                \(Limits.devtodevAnswerSeconds) seconds. A repeated `pack_id` with the same bytes is sent once within \
                ten minutes.
                """,
            body: APIBody(schema: body, examples: [("visible", visible), ("hidden", hidden)]),
            answers: [
                APIAnswer(
                    200, "The result of the push, at the top level and in `data`.", answer, headers: [warning]),
                APIAnswer(
                    422, "The app has no credential for any of the platforms.", .named("DevtodevRefusal")),
            ],
            refusals: [.notFound, .idempotencyMismatch, .payloadTooLarge])
    }

    /// What a push that is sent anyway leaves out.
    private static let warning = (
        name: "Warning", schema: Schema.text, text: "What the message leaves out (code 299)."
    )

    private static let categories = APIOperation(
        id: "devtodevCategories", method: .get, path: "/v1/devtodev/categories",
        summary: "List the button templates and their texts",
        parameters: [
            .query("locale", .text, "A language such as `de-AT`. If absent, `Accept-Language` applies.")
        ],
        answers: [APIAnswer(200, "All templates.", .list(category))])

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
            .required("id", .component("DevtodevTemplateName", .words(ButtonTemplates.all.map(\.id)))),
            .required("buttons", .list(categoryButton, 1...2)),
        ]))

    private static let categoryButton = Schema.component(
        "DevtodevCategoryButton",
        .object([
            .required("id", .component("DevtodevButtonName", .words(ButtonLabels.buttons))),
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
