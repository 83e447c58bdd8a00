internal import HTTPTypes
internal import PealCore
internal import PealShapes

extension NativeDocument {
    private static let message = "\(app)/messages/:id"
    private static let shown = APIAnswer(200, "The message.", NativeReportSchema.message)

    static func messages(_ describing: Describing) -> [APIOperation] {
        [
            APIOperation(
                id: "sendMessage", method: .post, path: "\(app)/messages", summary: "Send a message",
                text: "The message is on disk before the response is sent.",
                body: APIBody(schema: NativeMessageShapes.message.schema(describing), examples: [("topic", example)]),
                answers: [
                    APIAnswer(202, "The message is stored and will be sent.", NativeReportSchema.accepted)
                ], refusals: [.payloadTooLarge]),
            APIOperation(
                id: "validateMessage", method: .post, path: "\(app)/messages:validate",
                summary: "Check a message and show its provider requests", text: "Sends nothing.",
                body: APIBody(schema: NativeMessageShapes.message.schema(describing), examples: [("topic", example)]),
                answers: [APIAnswer(200, "The requests that would be sent.", NativeReportSchema.preview)]),
            APIOperation(
                id: "countAudience", method: .post, path: "\(app)/audience:count",
                summary: "Count the devices of an audience", text: "The number is exact at this instant.",
                body: APIBody(
                    schema: NativeMessageShapes.audienceOnly.schema(describing),
                    examples: [("where", ["audience": ["where": ["locale": "de"]]])]),
                answers: [APIAnswer(200, "The number of devices.", NativeReportSchema.reach)]),
            APIOperation(
                id: "listMessages", method: .get, path: "\(app)/messages", summary: "List messages, newest first",
                parameters: page(.id) + [
                    .query("state", NativeReportSchema.state, "Only messages in this state."),
                    .query("campaign_id", .text, "Only messages of this campaign."),
                    .query("dialect", dialect, "Only messages received in this dialect."),
                    .query("text", .text(1...Limits.nameCharactersMax), "A part of the title or the text."),
                ] + NativeSpan.parameters, answers: [list(of: "NativeMessage", NativeReportSchema.message)]),
            APIOperation(id: "getMessage", method: .get, path: message, summary: "Show a message", answers: [shown]),
            APIOperation(
                id: "changeMessage", method: .patch, path: message, summary: "Change a message that is still scheduled",
                text: "Each part that is given replaces the stored part as a whole.",
                body: APIBody(
                    schema: NativeMessageShapes.parts.change("NativeMessageChange", describing),
                    examples: [("options", ["options": ["priority": "low"]])]),
                answers: [shown], refusals: [.conflict, .payloadTooLarge]),
        ]
    }

    static let states: [APIOperation] = [
        state("cancel", "Cancel a message", "A cancelled message can be cancelled again."),
        state("pause", "Hold a message", nil), state("resume", "Resume a message", nil),
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

/// The schemas of messages and their reports in answers.
enum NativeReportSchema {
    static let state = Schema.component("NativeMessageState", .words(Message.State.allCases.map(\.name)))

    private static let platforms = Schema.component("NativePlatformCounts", .map(.count))

    static let reach = Schema.component(
        "NativeReach", .object([.required("devices", .count), .required("platforms", platforms)]))

    static let accepted = Schema.component(
        "NativeAcceptedMessage",
        .object([
            .required("id", .uuid), .required("state", state), .required("audience_estimate", .count),
            .optional("empty", .flag), .required("request", request),
        ]))

    static let message = Schema.component(
        "NativeMessage",
        .object([
            .required("id", .uuid), .required("state", state),
            .required("dialect", NativeDocument.dialect),
            .optional("campaign_id", .text), .optional("test", .flag), .optional("failure", .text),
            .optional("title", Schema.text.orNull.described("Or the beginning of the text; one line.")),
            .optional("audience_summary", Schema.text.described("Who gets it; one line.")),
            .required("created_at", .time),
            .optional("start_at", .time), .required("expires_at", .time), .required("audience", reach),
            .optional("empty", Schema.flag.described("Set if it was sent and its audience had no device.")),
            .required("counts", counts), .required("resent", .count),
            .required("by_platform", .component("NativeCountsByPlatform", .map(counts))),
            .required(
                "receipts",
                .component(
                    "NativeReceipts",
                    .object(
                        ["received", "shown", "opened", "dismissed", "content_opened"].map { .required($0, .count) }))),
            .required("reasons", reasons),
            .required(
                "timings",
                .component(
                    "NativeTimings",
                    .object([
                        .required("first_sent_at", Schema.time.orNull), .required("sent_at", Schema.time.orNull),
                    ]))),
            .optional("request", request),
        ]))

    private static let request = Schema.component(
        "NativeMessageRequest",
        Schema.object([
            .optional("audience", .anything), .optional("content", .anything), .optional("options", .anything),
            .optional("schedule", .anything), .optional("method", .anything), .optional("campaign_id", .anything),
            .optional("test", .anything),
        ]).described("As it was given; for a message of another dialect, its translation."))

    private static let reasons = Schema.component("NativeReasons", .map(.count))

    private static let counts = Schema.component(
        "NativeCounts",
        .object(
            ["accepted", "rejected", "retired", "expired", "suppressed", "pending"].map { .required($0, .count) }))

    private static let previewRequest = Schema.component(
        "NativePreviewRequest",
        .object([
            .required("platform", NativeDocument.shownPlatform),
            .optional("environment", NativeDocument.shownEnvironment), .required("locale", Schema.text.orNull),
            .optional("arm", .words(Arm.allCases.map(\.name))), .optional("method", .word("POST")),
            .optional("path", .text),
            .optional("headers", .component("NativePreviewHeaders", .map(.text))), .optional("body", .anything),
            .optional("body_bytes", .count), .optional("size", payloadSize), .optional("warning", .text),
            .optional("error", NativeDocument.error),
        ]))

    private static let payloadSize = Schema.component(
        "NativePayloadSize",
        .object([
            .required("bytes", .count), .required("max", .count),
            .optional(
                "fields",
                .list(
                    .component("NativeFieldSize", .object([.required("field", .text), .required("bytes", .count)])))),
        ]))

    static let preview = Schema.component(
        "NativePreview",
        .object([
            .required("valid", .flag), .required("audience", reach), .required("requests", .list(previewRequest)),
        ]))

    private static let campaignMembers: [Property] =
        [.required("id", .text)]
        + ["messages", "audience", "accepted", "failed", "pending", "received", "opened", "content_opened"].map {
            .required($0, .count)
        } + [.required("reasons", reasons)]

    static let campaign = Schema.component("NativeCampaign", .object(campaignMembers))

    static let campaignDetail = Schema.component(
        "NativeCampaignDetail",
        .object(
            campaignMembers + [
                .optional("experiment", NativeExperiment.schema), .optional("model", NativeModel.schema),
            ]))
}
