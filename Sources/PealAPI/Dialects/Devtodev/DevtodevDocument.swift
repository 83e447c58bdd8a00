internal import HTTPTypes
internal import PealCore

/// The devtodev Push API, told to the outside.
enum DevtodevDocument {
    static var document: DialectDocument {
        DialectDocument(
            name: "Devtodev", text: "Pushes that are answered when they are sent.", envelope: .devtodev,
            refusal: refusal, operations: [send, categories],
            schemas: [
                ("DevtodevPush", DevtodevSchema.push), ("DevtodevAudience", DevtodevSchema.element),
                ("DevtodevApple", DevtodevSchema.apple), ("DevtodevAndroid", DevtodevSchema.android),
                ("DevtodevWindows", DevtodevSchema.windows), ("DevtodevAction", DevtodevSchema.action),
                ("DevtodevOptions", DevtodevSchema.options), ("DevtodevAnswer", answer),
                ("DevtodevCategory", category),
            ])
    }

    private static let refusal = Schema.object([
        .required("status_code", .integer(400...599)),
        .required("errors", .list(.object([.required("code", .count), .required("msg", .text)]), 1...1)),
    ])

    private static let send = APIOperation(
        id: "devtodevSend", method: .post, path: "/api/v1/push/send", summary: "Send, and tell what became of it",
        text: """
            The answer comes when every device has its outcome, after \(Limits.devtodevAnswerSeconds) seconds at the \
            latest. The same bytes under one `pack_id` are sent once within ten minutes.
            """,
        body: APIBody(schema: .named("DevtodevPush"), examples: [("visible", visible), ("hidden", hidden)]),
        answers: [
            APIAnswer(
                200, "What became of the push, twice.", .named("DevtodevAnswer"), headers: [DevtodevSchema.warning]),
            APIAnswer(
                422, "The app has no credential for any of the platforms.", .named("DevtodevRefusal")),
        ],
        refusals: [.notFound, .idempotencyMismatch, .payloadTooLarge])

    private static let categories = APIOperation(
        id: "devtodevCategories", method: .get, path: "/v1/devtodev/categories",
        summary: "The button templates with their texts",
        parameters: [.query("locale", .text, "A language, as `de-AT`; without it `Accept-Language` counts.")],
        answers: [APIAnswer(200, "Every template.", .list(.named("DevtodevCategory")))])

    private static let counts: [Property] = [
        .required("audience", .count), .required("successful", .count), .required("erroneous", .count),
        .required("error_details", .list(.text)),
    ]

    private static let answer = Schema.object(
        [
            .required("status_code", .integer(200...200)),
            .required("data", .object(counts + [.required("message_id", .uuid)])),
        ] + counts)

    private static let category = Schema.object([
        .required("id", .words(DevtodevTemplates.all.map(\.id))),
        .required(
            "buttons",
            .list(
                .object([
                    .required("id", .words(DevtodevLabels.buttons)), .required("text", .text),
                    .required("activationMode", .words(["foreground", "background"])),
                ]), 1...2)),
    ])

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
