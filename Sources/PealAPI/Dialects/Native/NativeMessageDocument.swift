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
        state("pause", "Pause a message", nil), state("resume", "Resume a message", nil),
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
