internal import PealCore

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
