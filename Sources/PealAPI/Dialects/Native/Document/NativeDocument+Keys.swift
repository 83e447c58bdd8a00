internal import HTTPTypes
internal import PealCore

extension NativeDocument {
    static let keys: [APIOperation] = [
        APIOperation(
            id: "createKey", method: .post, path: "\(app)/keys", summary: "Make a key; its secret is shown this once",
            text: "Values may be brought along, so that clients move by host name alone.",
            body: APIBody(
                schema: .named("NativeKeyDraft"),
                examples: [("native", ["dialect": "native", "scopes": ["send", "read"]])]),
            answers: [
                APIAnswer(201, "The key with its values.", .named("NativeKey")),
                APIAnswer(
                    200, "The repetition of a request: the secret is not shown again.",
                    .object([.required("id", .uuid), .required("secret_shown", .flag)])),
            ], namesIdempotencyKey: false),
        APIOperation(
            id: "listKeys", method: .get, path: "\(app)/keys", summary: "List the keys without their secrets",
            answers: [
                APIAnswer(
                    200, "All of them.",
                    .object([
                        .required("items", .list(.named("NativeKey"))),
                        .required("next_cursor", Schema([("type", "null")])),
                    ]))
            ]),
        APIOperation(
            id: "revokeKey", method: .delete, path: "\(app)/keys/:id", summary: "Revoke a key at once",
            answers: [APIAnswer(204, "It opens nothing any more.")]),
    ]

    static let keySchemas: [(name: String, schema: Schema)] = [
        ("NativeKeyDraft", .one(of: APIKey.Dialect.allCases.map(draft))),
        (
            "NativeKey",
            .object([
                .required("id", .uuid), .required("dialect", .words(APIKey.Dialect.self)),
                .required("scopes", .list(.words(APIKey.Scope.self))), .optional("platform", platform),
                .optional("environment", .words(Environment.self)), .required("created_at", .time),
                .required("expires_at", Schema.time.orNull),
            ])
        ),
    ]

    /// Printable ASCII without blanks: what stands in an Authorization header.
    private static let value = Schema.text(1...Limits.nameCharactersMax, pattern: "[!-~]+")
    /// The first of a pair: without a colon too.
    private static let publicHalf = Schema.text(1...Limits.nameCharactersMax, pattern: "[!-9;-~]+")
    private static let sharedSecret = Schema.text(pattern: "([0-9A-Fa-f]{2}){16,64}")

    private static func draft(_ dialect: APIKey.Dialect) -> Schema {
        let values: [Property] =
            switch dialect {
            case .native, .contextpush: [.nullable("token", value)]
            case .devtodev: [.nullable("user_token", value)]
            case .richie: [.nullable("username", publicHalf), .nullable("password", value)]
            case .pivotal:
                [
                    .nullable("application_uuid", publicHalf), .nullable("api_key", value),
                    .nullable("shared_secret", sharedSecret),
                ]
            case .pivotalPlatform:
                [
                    .required("platform", platform), .nullable("environment", environment),
                    .nullable("platform_uuid", publicHalf), .nullable("platform_secret", value),
                ]
            case .device: [.nullable("token", value), .nullable("shared_secret", sharedSecret)]
            }
        return .object(
            [
                .required("dialect", .word(dialect.rawValue)),
                .nullable("scopes", .list(.words(APIKey.Scope.self), 1...APIKey.Scope.allCases.count)),
                .nullable("expires_at", future),
            ] + values)
    }
}
