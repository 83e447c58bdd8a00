internal import PealCore

/// The native API, told to the outside.
enum NativeDocument {
    /// The body of a refusal.
    static let refusal = Schema.object([
        .required(
            "error",
            .object([
                .required("code", .words(PealError.Code.self)), .required("message", .text),
                .optional("field", .text),
            ]))
    ])

    /// - Parameter now: what lies ahead in it lies ahead of this.
    static func document(at now: Timestamp) -> DialectDocument {
        DialectDocument(
            name: "Native", text: "Apps, credentials, keys, devices, messages and what became of them.",
            dialect: NativeDialect(), refusal: refusal, pathParameters: pathParameters,
            operations: apps + credentials + keys + devices + topics + messages + states + channels + webhooks
                + campaigns,
            schemas: [("NativeFuture", .future(after: now))] + appSchemas + credentialSchemas + keySchemas
                + deviceSchemas + NativeMessageSchema.all
                + NativeReportSchema.all + channelSchemas + webhookSchemas,
            webhooks: [event])
    }

    static let app = "/peal/v1/apps/:app"

    /// What authors call things: topics, users, webhooks.
    static let name = Schema.printable(1...Limits.nameCharactersMax)

    /// Read in either case of Apple's older word for the sandbox.
    static let environment = Schema.words(Environment.allCases.map(\.rawValue) + ["development"])

    static let platform = Schema.words(Platform.addressable.map(\.rawValue))

    private static let pathParameters: [APIParameter] = [
        .path("app", .uuid, "The app's id."),
        .path("environment", environment, "APNs' environment."),
        .path("fingerprint", .text(1...Limits.nameCharactersMax), "That of a VAPID key, as lists tell it."),
        .path("id", .uuid, "The id."),
        .path("topic", name, "The topic's name."),
        .path("user", name, "The app's own id of a person."),
        .path("name", name, "The webhook's name."),
        .path("campaign", .text(1...Limits.nameCharactersMax), "The author's id of the campaign."),
        .path(
            "channel", .text(1...Limits.channelIDBytesMax, pattern: "[A-Za-z0-9+/=_-]+"),
            "The channel's id, percent-encoded or in base64url."),
    ]

    /// The parameters of a list.
    static func page(_ position: NativeList.Position) -> [APIParameter] {
        [
            .query(
                "limit", .integer(1...Int64(Limits.listItemsMax)).defaulting(to: .integer(Limits.listItemsDefault)),
                "How many items to tell at most."),
            .query("cursor", .text(pattern: position.pattern), "The `next_cursor` of the page before."),
        ]
    }

    /// A page of a list.
    static func list(of item: String) -> APIAnswer {
        APIAnswer(
            200, "A page of the list.",
            .object([
                .required("items", .list(.named(item), 0...Limits.listItemsMax)),
                .required("next_cursor", Schema.text.orNull.described("Null at the end.")),
            ]))
    }

    /// A time that lies ahead when the request is read.
    static let future = Schema.named("NativeFuture")
}
