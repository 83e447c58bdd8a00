internal import PealCore
internal import PealShapes

/// The OpenAPI description of the native API.
enum NativeDocument {
    /// The body of a refusal.
    static let refusal = Schema.object([.required("error", error)])

    static let error = Schema.component(
        "NativeError",
        .object([
            .required("code", .component("NativeErrorCode", .words(PealError.Code.self))),
            .required("message", .text), .optional("field", .text), .required("request_id", .text),
            .required("doc_url", .text),
        ]))

    /// The platforms in answers, including those that can no longer be registered.
    static let shownPlatform = Schema.component("NativeShownPlatform", .words(Platform.allCases.map(\.rawValue)))
    static let shownEnvironment = Schema.component("NativeShownEnvironment", .words(Environment.self))
    static let dialect = Schema.component("NativeDialect", .words(keyKindNames))

    /// - Parameters:
    ///   - now: times that must be in the future are later than this.
    ///   - topicsPerDeviceMax: as configured.
    static func document(at now: Timestamp, topicsPerDeviceMax: Int = Limits.topicsPerDeviceMax) -> DialectDocument {
        let describing = Describing(policy: .native, now: now, topicsPerDeviceMax: topicsPerDeviceMax)
        return DialectDocument(
            name: "Native", text: "Apps, credentials, keys, devices, messages and their results.",
            dialect: NativeDialect(), refusal: refusal, pathParameters: pathParameters,
            operations: operations(describing).map(\.withoutEmptyParameters), webhooks: [event])
    }

    private static func operations(_ describing: Describing) -> [APIOperation] {
        apps + audit + admins + credentials + keys(describing) + registrations(describing) + devices
            + topics(describing) + segments + messages(describing) + deliveries + channels + webhooks + campaigns
            + routes + statistics + progress + savedMessages(describing) + signInLinks
    }

    /// The native API's policy, for schemas without a time that must be in the future.
    static let strict = Describing(policy: .native, now: Timestamp(milliseconds: 0))

    static let app = "/peal/v1/apps/:app"

    /// The names of topics, users and webhooks.
    static let name = Schema.printable(1...Limits.nameCharactersMax)

    /// Read in either case of Apple's older word for the sandbox.
    static let environment = NativeShapes.environment.describe(strict)

    static let platform = NativeShapes.platform.describe(strict)

    private static let pathParameters: [APIParameter] = [
        .path("app", .uuid, "The app's id."),
        .path("environment", environment, "APNs' environment."),
        .path("fingerprint", .text(1...Limits.nameCharactersMax), "A VAPID key's fingerprint, as shown in lists."),
        .path("id", .uuid, "The id."),
        .path("topic", name, "The topic's name."),
        .path("segment", name, "The segment's name."),
        .path("user", .printable(1...Limits.userIDBytesMax), "The app's own id of the user."),
        .path("name", name, "The name of the webhook, draft or template."),
        .path("campaign", .text(1...Limits.nameCharactersMax), "The author's id of the campaign."),
        .path(
            "channel", .text(1...Limits.channelIDBytesMax, pattern: "[A-Za-z0-9+/=_-]+"),
            "The channel's id, percent-encoded or in base64url."),
    ]

    /// The parameters of a list endpoint.
    static func page(_ position: NativeList.Position) -> [APIParameter] {
        [
            .query(
                "limit", .integer(1...Int64(Limits.listItemsMax)).defaulting(to: .integer(Limits.listItemsDefault)),
                "Maximum number of items."),
            .query("cursor", .text(pattern: position.pattern), "The `next_cursor` of the previous page."),
        ]
    }

    /// A page of a list.
    /// - Parameters:
    ///   - name: the name of the items' component.
    ///   - item: that component; nil if the dialect lists it.
    static func list(of name: String, _ item: Schema? = nil) -> APIAnswer {
        APIAnswer(
            200, "A page of the list.",
            .component(
                "\(name)List",
                .object([
                    .required("items", .list(item ?? .named(name), 0...Limits.listItemsMax)),
                    .required("next_cursor", Schema.text.orNull.described("null on the last page.")),
                    .optional(
                        "incomplete",
                        Schema.flag.described(
                            "true if items or their details are missing because the database is damaged.")),
                ])))
    }
}
