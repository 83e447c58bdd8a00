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
                .query("dialect", .words(APIKey.Dialect.self), "Only those that came in this dialect."),
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

    static let campaigns: [APIOperation] = [
        APIOperation(
            id: "listCampaigns", method: .get, path: "\(app)/campaigns", summary: "List campaigns by name",
            parameters: page(.name), answers: [list(of: "NativeCampaign")]),
        APIOperation(
            id: "getCampaign", method: .get, path: "\(app)/campaigns/:campaign", summary: "Sum up a campaign",
            answers: [APIAnswer(200, "The sum of its messages.", .named("NativeCampaign"))]),
    ]
}
