internal import HTTPTypes
internal import PealCore

extension NativeDocument {
    private static let path = "\(app)/channels/:environment"

    static let channels: [APIOperation] = [
        APIOperation(
            id: "createChannel", method: .post, path: path, summary: "Make a broadcast channel",
            body: APIBody(
                schema: .object([.required("storage_policy", policy)]),
                examples: [("newest", ["storage_policy": "most_recent"])]),
            answers: [APIAnswer(201, "The channel.", .named("NativeChannel"))], namesIdempotencyKey: false),
        APIOperation(
            id: "listChannels", method: .get, path: path, summary: "List broadcast channels by id",
            parameters: page(.name), answers: [list(of: "NativeChannel")], refusals: [.conflict]),
        APIOperation(
            id: "getChannel", method: .get, path: "\(path)/:channel", summary: "Show a broadcast channel",
            answers: [APIAnswer(200, "The channel.", .named("NativeChannel"))], refusals: [.conflict]),
        APIOperation(
            id: "deleteChannel", method: .delete, path: "\(path)/:channel", summary: "Delete a broadcast channel",
            answers: [APIAnswer(204, "It is gone.")], refusals: [.conflict]),
    ]

    /// By name, or by Apple's number.
    private static let policy = Schema([("enum", ["none", "most_recent", 0, 1])]).described(
        "Whether the newest message is kept for devices that are away.")

    static let channelSchemas: [(name: String, schema: Schema)] = [
        (
            "NativeChannel",
            .object([
                .required("id", .text), .required("environment", .words(Environment.self)),
                .optional("storage_policy", .words(["none", "most_recent"])),
            ])
        )
    ]
}
