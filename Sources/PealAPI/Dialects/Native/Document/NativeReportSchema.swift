internal import PealCore

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
        .required("id", .uuid), .required("state", state), .required("dialect", .words(APIKey.Dialect.self)),
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
