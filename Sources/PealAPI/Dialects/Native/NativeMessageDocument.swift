internal import HTTPTypes
internal import PealCore

extension NativeDocument {
    private static let message = "\(app)/messages/:id"
    private static let shown = APIAnswer(200, "The message.", .named("NativeMessage"))

    static let messages: [APIOperation] = [
        APIOperation(
            id: "sendMessage", method: .post, path: "\(app)/messages", summary: "Send a message",
            text: "By the time of the answer it is durable.",
            body: APIBody(schema: .named("NativeMessageDraft"), examples: [("topic", example)]),
            answers: [
                APIAnswer(
                    202, "It is taken.",
                    .object([
                        .required("id", .uuid), .required("state", NativeReportSchema.state),
                        .required("audience_estimate", .count),
                    ]))
            ], refusals: [.payloadTooLarge]),
        APIOperation(
            id: "validateMessage", method: .post, path: "\(app)/messages:validate",
            summary: "Check a message and show its provider requests", text: "Sends nothing.",
            body: APIBody(schema: .named("NativeMessageDraft"), examples: [("topic", example)]),
            answers: [APIAnswer(200, "What would be sent.", .named("NativePreview"))]),
        APIOperation(
            id: "listMessages", method: .get, path: "\(app)/messages", summary: "List messages, the newest first",
            parameters: page(.id) + [
                .query("state", NativeReportSchema.state, "Only those in this state."),
                .query("campaign_id", .text, "Only those of this campaign."),
                .query("dialect", .words(keyKindNames), "Only those that came in this dialect."),
            ], answers: [list(of: "NativeMessage")]),
        APIOperation(id: "getMessage", method: .get, path: message, summary: "Show a message", answers: [shown]),
        APIOperation(
            id: "changeMessage", method: .patch, path: message, summary: "Change a message that is still scheduled",
            text: "Each part that is given replaces the whole part.",
            body: APIBody(
                schema: .named("NativeMessageChange"), examples: [("options", ["options": ["priority": "low"]])]),
            answers: [shown], refusals: [.conflict, .payloadTooLarge]),
    ]

    static let states: [APIOperation] = [
        state("cancel", "Cancel a message", "Again when it is cancelled already."),
        state("pause", "Hold a message", nil), state("resume", "Let a message go on", nil),
        APIOperation(
            id: "listDeliveries", method: .get, path: "\(message)/deliveries", summary: "The trail of one delivery",
            text: "Exactly one of `device`, `user` and `address` is given; the oldest event is first.",
            parameters: page(.number) + [
                .query("device", .uuid, "The device."), .query("user", .text, "The user, with every device."),
            ] + address, answers: [list(of: "NativeEvent")], refusals: [.missingField]),
    ]

    private static func state(_ verb: String, _ summary: String, _ text: String?) -> APIOperation {
        APIOperation(
            id: "\(verb)Message", method: .post, path: "\(message)/\(verb)", summary: summary, text: text,
            answers: [shown])
    }

    private static let example: JSON = [
        "audience": ["topics": ["news"]],
        "content": ["title": ["en": "Hello", "de": "Servus"], "body": "Fresh cheese"],
        "options": ["ttl_seconds": 3600],
    ]
}

/// What a message is made of when it is sent.
enum NativeMessageSchema {
    static let all: [(name: String, schema: Schema)] = [
        ("NativeMessageDraft", draft), ("NativeMessageChange", change), ("NativeAudience", audience),
        ("NativeContent", content), ("NativeOptions", options), ("NativePlatformOptions", platformOptions),
        ("NativeSchedule", schedule), ("NativeLocalizedText", localized),
        (
            "NativeAudienceAddress",
            .one(
                of: Platform.addressable.map { platform in
                    .object([
                        .required("platform", .word(platform.rawValue)),
                        .required("address", NativeDocument.address(platform)),
                        .nullable("environment", NativeDocument.environment),
                    ])
                })
        ),
    ]

    private static let name = NativeDocument.name
    private static let method = Schema.words(DeliveryWindow.Method.self).described("Needs `schedule.window`.")

    private static let draft = Schema.object([
        .required("audience", .named("NativeAudience")), .required("content", .named("NativeContent")),
        .nullable("options", .named("NativeOptions")), .nullable("schedule", .named("NativeSchedule")),
        .nullable("campaign_id", name), .nullable("method", method),
    ])

    private static let change = Schema.object([
        .optional("audience", .named("NativeAudience")), .optional("content", .named("NativeContent")),
        .nullable("options", .named("NativeOptions")), .nullable("schedule", .named("NativeSchedule")),
        .nullable("method", method),
    ])

    private static let topics = Schema.list(name, 0...Limits.audienceTopicsMax)

    private static let members: [Property] = [
        .nullable("all", .flag), .nullable("devices", .list(.uuid, 0...Limits.audienceDevicesMax)),
        .nullable("users", .list(name, 0...Limits.audienceUsersMax)), .nullable("topics", topics),
        .nullable("addresses", .list(.named("NativeAudienceAddress"), 0...Limits.audienceAddressesMax)),
        .nullable("not_topics", topics), .nullable("interactive_only", .flag),
        .nullable("platforms", .list(NativeDocument.platform, 0...Platform.allCases.count)),
    ]

    private static let audience = Schema.one(of: [
        .all(of: [
            .object(members + [.optional("channel", Schema([("type", "null")]))]),
            .any(of: [
                .object([.required("all", Schema([("const", true)]))]), some("devices"), some("users"), some("topics"),
                some("addresses"),
            ]),
        ]),
        .object(
            [.required("channel", channel)] + members.map { .optional($0.name, Schema([("type", "null")])) }),
    ])

    private static func some(_ name: String) -> Schema {
        .object([.required(name, Schema([("type", "array"), ("minItems", 1)]))])
    }

    private static let channel = Schema.object([
        .nullable("environment", NativeDocument.environment),
        .required("id", .text(1...Limits.channelIDBytesMax, pattern: "[A-Za-z0-9+/=_-]+")),
    ])

    private static let localized = Schema.any(of: [
        .content,
        Schema.map(.content).with("minProperties", 1).with("maxProperties", .integer(Limits.localesPerMessageMax))
            .with(
                "propertyNames",
                Schema.text(1...Limits.localeCharactersMax, pattern: "[A-Za-z0-9_-]+").json),
    ]).described("A text, or one for each locale.")

    private static let text = Schema.named("NativeLocalizedText")

    private static let content = Schema.object([
        .nullable("title", text), .nullable("subtitle", text), .nullable("body", text),
        .nullable(
            "image_url",
            .text(1...Limits.imageURLBytesMax, pattern: #"[Hh][Tt][Tt][Pp][Ss]?://[^\u0000-\u0020\u007f]*"#)),
        .nullable("data", .object), .nullable("badge", .integer(0...Int64(Int32.max))), .nullable("sound", name),
        .nullable("thread_id", name), .nullable("category", name),
        .nullable(
            "default_locale",
            .printable(1...Limits.localeCharactersMax).described("Every localized text must have it.")),
        .nullable(
            "ios",
            .object([
                .nullable("push_type", name), .nullable("payload", .object([.nullable("aps", .object)])), platform,
            ])), .nullable("android", .object([platform])), .nullable("windows", .object([platform])),
        .nullable("windows_phone", .object([platform])), .nullable("web", .object([platform])),
    ]).described("The platforms' objects hold the provider's own fields, which win over the common ones.")

    private static let platform = Property.nullable("options", .named("NativePlatformOptions"))

    private static let life: [Property] = [
        .nullable("priority", .words(MessageOptions.Priority.self)), .nullable("expires_at", NativeDocument.future),
        .nullable("ttl_seconds", .integer(0...Limits.ttlSecondsMax)), .nullable("collapse_key", name),
        .nullable("background", .flag), .nullable("environment", NativeDocument.environment),
    ]

    /// One of the two ways to tell an end.
    private static let oneEnd = Schema.any(of: [
        .object([.optional("expires_at", Schema([("type", "null")]))]),
        .object([.optional("ttl_seconds", Schema([("type", "null")]))]),
    ])

    private static let platformOptions = Schema.all(of: [.object(life), oneEnd])

    private static let options = Schema.all(of: [
        .object(life + [.nullable("lost_answer", .words(MessageOptions.LostAnswer.self))]), oneEnd,
    ])

    private static let schedule = Schema.one(of: [
        .object([
            .required("at", Schema.time.described("What has passed means now.")),
            .optional("window", Schema([("type", "null")])),
        ]),
        .object([
            .required(
                "window",
                .object([
                    .required(
                        "until",
                        Schema.time.described("Ahead, at most \(Limits.windowSecondsMax / 86_400) days."))
                ])), .optional("at", Schema([("type", "null")])),
        ]),
    ])
}

/// What is told of messages that were sent.
enum NativeReportSchema {
    static let all: [(name: String, schema: Schema)] = [
        ("NativeMessage", message), ("NativeCounts", counts), ("NativeEvent", event), ("NativePreview", preview),
        ("NativeCampaign", campaign),
    ]

    static let state = Schema.words(Message.State.allCases.map(\.name))

    private static let platforms = Schema.map(.count)

    private static let audience = Schema.object([.required("devices", .count), .required("platforms", platforms)])

    private static let message = Schema.object([
        .required("id", .uuid), .required("state", state), .required("dialect", .words(keyKindNames)),
        .optional("campaign_id", .text), .optional("failure", .text), .required("created_at", .time),
        .optional("start_at", .time), .required("expires_at", .time), .required("audience", audience),
        .required("counts", .named("NativeCounts")), .required("by_platform", .map(.named("NativeCounts"))),
        .required("receipts", .object([.required("received", .count), .required("opened", .count)])),
        .required("reasons", .map(.count)),
        .required(
            "timings",
            .object([
                .required("first_sent_at", Schema.time.orNull), .required("sent_at", Schema.time.orNull),
            ])),
    ])

    private static let counts = Schema.object(
        ["accepted", "rejected", "retired", "expired", "suppressed", "pending"].map { .required($0, .count) })

    private static let event = Schema.object([
        .required("device", Schema.uuid.orNull), .required("at", .time),
        .required("event", .words(DeliveryTrail.Event.Name.self)), .required("detail", .text),
    ])

    private static let request = Schema.object([
        .required("platform", .words(Platform.self)), .optional("environment", .words(Environment.self)),
        .required("locale", Schema.text.orNull), .optional("method", .word("POST")), .optional("path", .text),
        .optional("headers", .map(.text)), .optional("body", .anything), .optional("body_bytes", .count),
        .optional("error", .object),
    ])

    private static let preview = Schema.object([
        .required("valid", .flag), .required("audience", audience), .required("requests", .list(request)),
    ])

    private static let campaign = Schema.object(
        [.required("id", .text)]
            + ["messages", "audience", "accepted", "failed", "pending", "received", "opened"].map {
                .required($0, .count)
            } + [.required("reasons", .map(.count))])
}
