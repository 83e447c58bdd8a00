internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// The OpenAPI description of the devtodev Push API.
enum DevtodevDocument {
    static var document: DialectDocument {
        DialectDocument(
            name: "Devtodev", text: "Pushes that are answered when they are sent.", dialect: DevtodevDialect(),
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
        id: "devtodevSend", method: .post, path: "/api/v1/push/send", summary: "Send a push and return its result",
        text: """
            The answer comes when every device has its outcome, at the latest after \(Limits.devtodevAnswerSeconds) \
            seconds. A body with a `pack_id` is sent only once within ten minutes.
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

/// The schemas of a push's members.
enum DevtodevSchema {
    /// What Peal left out of a push that it sends.
    static let warning = (
        name: "Warning", schema: Schema.text, text: "What was left out (code 299)."
    )

    static let push = Schema.all(of: [
        .object([
            .optional("user_token", Schema.anything.described("A key of dialect devtodev; it wins over the query's.")),
            .required("app_id", .text), .optional("campaign_tag", name),
            .optional("pack_id", name),
            .required("audience", .list(.named("DevtodevAudience"), 1...Limits.devtodevAudienceMax)),
            .optional("ios", .named("DevtodevApple")), .optional("android", .named("DevtodevAndroid")),
            .optional("uwp", .named("DevtodevWindows")), .optional("win", .named("DevtodevWindows")),
            .optional("windows", .named("DevtodevWindows")),
        ]),
        .any(of: ["ios", "android", "uwp", "win", "windows"].map { .object([.required($0, .object)]) }),
    ])

    /// Invalid elements are skipped and listed in the answer.
    static let element = Schema.object(
        [
            "token", "idfa", "idfv", "advertisingId", "androidId", "serialId", "userId", "customUid", "devtodevId",
        ].map { .optional($0, .anything) }
    ).with("type", Schema.anyType)

    private static let name = Schema.tolerantText(
        0...Limits.nameCharactersMax, pattern: #"[^\u0000-\u001f\u007f]*"#)

    private static let content = Schema.content.with("type", Schema.scalarOrNull)

    /// A scalar that is present and not empty.
    private static let somebody = Schema.content.with("type", ["string", "number", "boolean"]).with("minLength", 1)

    private static let absent = Schema([("enum", ["", .null])])

    static let action = Schema.object(["url", "deeplink", "share"].map { .optional($0, content) }).described(
        "The first of the three that is given counts."
    ).orAbsent

    private static let badge = Schema.tolerantInteger(
        0...Int64(Int32.max), pattern: "0|[1-9][0-9]{0,8}|1[0-9]{9}")

    private static let seconds = Schema.any(of: [
        .integer(0...253_402_300_799), .integer(1_000_000_000_000...253_402_300_799_000),
        .text(pattern: "(0|[1-9][0-9]{0,10}|[1-9][0-9]{12,13})?"), Schema([("type", "null")]),
    ]).described(
        "Seconds from now below 1000000000, else an instant: in seconds below 1000000000000, else in milliseconds.")

    private static let hiddenFlag = Schema.any(of: [
        Schema([("enum", [true, 1])]), .text(pattern: "[Tt][Rr][Uu][Ee]|1"),
    ])
    private static let visibleFlag = Schema.any(of: [
        Schema([("enum", [false, 0, .null])]), .text(pattern: "([Ff][Aa][Ll][Ss][Ee]|0)?"),
    ])

    static let options = Schema.object([
        .optional("sandbox", .tolerantFlag), .optional("priority", .caseless(["high", "normal", ""]).orNull),
        .optional("expire", seconds),
        .optional("collapse_key", name.with("maxLength", .integer(Limits.devtodevCollapseKeyBytesMax))),
        .optional("hidden", .tolerantFlag),
    ])

    private static let visible = Schema.object([.optional("hidden", visibleFlag)])
    private static let hidden = Schema.object([.required("hidden", hiddenFlag)])

    private static func message(
        visible shown: Schema, hidden silent: Schema, options: Schema, hiddenOptions: Schema
    ) -> Schema {
        .any(of: [
            .object([
                .required("payload", shown), .optional("options", Schema.all(of: [options, visible]).orAbsent),
            ]),
            .object([
                .optional("payload", silent.orAbsent), .required("options", .all(of: [hiddenOptions, hidden])),
            ]),
            absent,
        ])
    }

    static let apple = message(
        visible: .all(of: [.object(appleMembers), oneText(["text", "title", "loc-key", "title-loc-key"])]),
        hidden: .object(
            ["title", "text", "title-loc-key", "loc-key", "attachment", "interactive"].map { .optional($0, absent) }
                + [.optional("badge", badge), .optional("data", Schema.object.orAbsent)]),
        options: .named("DevtodevOptions"),
        hiddenOptions: .all(of: [
            .named("DevtodevOptions"), .object([.optional("priority", .caseless(["normal", ""]).orNull)]),
        ]))

    private static let arguments = Schema.content.with("type", ["array", "string", "number", "boolean", "null"])

    private static let appleMembers: [Property] =
        ["title", "text", "title-loc-key", "action-loc-key", "loc-key", "launch-image", "sound"].map {
            .optional($0, content)
        } + [
            .optional("title-loc-args", arguments), .optional("loc-args", arguments), .optional("badge", badge),
            .optional("data", Schema.object.orAbsent), .optional("attachment", attachment.oneOrMore),
            .optional("action", .named("DevtodevAction")),
            .optional(
                "interactive",
                Schema.object([
                    .required("template", .words(DevtodevTemplates.all.map(\.id))),
                    .optional(
                        "buttons",
                        Schema.object([
                            .required("id", .words(DevtodevLabels.buttons)),
                            .optional("action", .named("DevtodevAction")),
                        ]).oneOrMore),
                ]).orAbsent),
        ]

    private static let attachment = Schema.object([
        .required("type", .words(["image", "audio", "video"])),
        .required("url", .text(pattern: #"[Hh][Tt][Tt][Pp][Ss]://[^\u0000-\u0020\u007f]*"#)),
    ])

    private static func oneText(_ names: [String]) -> Schema {
        .any(of: names.map { .object([.required($0, somebody)]) })
    }

    private static let androidOptions = Schema.object([
        .optional("priority", .caseless(["high", "normal", ""]).orNull), .optional("expire", seconds),
        .optional("collapse_key", name), .optional("hidden", .tolerantFlag),
    ])

    static let android = message(
        visible: .all(of: [.object(androidMembers), oneText(["text", "title"])]),
        hidden: .object(
            androidMembers.filter { !["title", "text", "image", "interactive"].contains($0.name) }
                + ["title", "text", "image", "interactive"].map { .optional($0, absent) }),
        options: androidOptions, hiddenOptions: androidOptions)

    private static let color = Schema.text(pattern: "(#[0-9A-Fa-f]{6})?").orNull

    private static let androidMembers: [Property] =
        [
            "title", "text", "small_icon", "icon", "sound", "image", "tag", "group", "channel_id", "badge_icon_type",
        ].map { .optional($0, content) } + [
            .optional("color", color), .optional("led_color", color), .optional("badge", .tolerantInteger),
            .optional("vibration", .tolerantFlag), .optional("data", Schema.object.orAbsent),
            .optional("action", .named("DevtodevAction")),
            .optional(
                "interactive",
                Schema.object([
                    .optional(
                        "buttons",
                        Schema.object([
                            .required("id", somebody.with("maxLength", .integer(Limits.nameCharactersMax))),
                            .optional("text", content), .optional("icon", content),
                            .optional("handling", Schema.words(["foreground", "background", ""]).orNull),
                            .optional("action", .named("DevtodevAction")),
                        ]).oneOrMore)
                ]).orAbsent),
        ]

    private static let markup = Schema.text(pattern: #"[ \t\r\n]*<[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]*"#)

    static let windows = Schema.any(of: [
        Schema.object([
            .optional("toast", .any(of: [markup, .object, absent])),
            .optional("tile", .any(of: [markup, .object, absent])),
            .optional("badge", .anything), .optional("raw", .anything), .optional("options", androidOptions.orAbsent),
        ]), absent,
    ]).described("One of `toast`, `tile`, `badge` and `raw`, in this order.")
}

extension Schema {
    /// All JSON types.
    static let anyType: JSON = ["object", "array", "string", "number", "boolean", "null"]
    /// The JSON types that can be read as a string, and null.
    static let scalarOrNull: JSON = ["string", "number", "boolean", "null"]

    /// One of these words in any letter case.
    static func caseless(_ words: [String]) -> Schema {
        let patterns = words.map { word in
            word.map { $0.isLetter ? "[\($0.uppercased())\($0.lowercased())]" : String($0) }.joined()
        }
        return .text(pattern: "(\(patterns.joined(separator: "|")))")
    }

    /// A list of these, in which null is ignored, or a single one; null and "" count as absent.
    var oneOrMore: Schema { .any(of: [self, .list(orNull), Schema([("enum", ["", .null])])]) }
}
