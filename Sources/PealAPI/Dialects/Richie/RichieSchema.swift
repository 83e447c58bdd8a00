internal import PealCore

/// The members of a task.
enum RichieSchema {
    /// What may stand where a text is asked for.
    private static let scalars: JSON = ["string", "number", "boolean"]

    /// The app's name: a text that is there.
    static let name = Schema.printable(1...Limits.nameCharactersMax).with("type", scalars)

    /// Elements that can be no name are passed over.
    static func names(_ countMax: Int) -> Schema { Schema.list(.anything, 0...countMax).orAbsent }

    static let payloads = Schema.all(of: [
        .object([
            .optional("ios", Schema.named("RichieApple").orAbsent),
            .optional("android", Schema.named("RichieAndroid").orAbsent),
        ]),
        .any(of: [
            .object([.required("ios", .object)]), .object([.required("android", .object)]),
        ]),
    ])

    /// The documented keys, wherever they stand.
    static let keys: [Property] =
        ["title", "body", "issue-guid", "issue-title", "issue-product-tag", "tab-id", "publisher-item-id"].map {
            .optional($0, content)
        } + [
            .optional("external-browser-url", link), .optional("issue-page", .tolerantInteger),
        ]

    private static let content = Schema.content.with("type", ["string", "number", "boolean", "null"])

    private static let link = Schema.secureLink.orAbsent

    /// A text that is there and not empty.
    private static let somebody = Schema.content.with("type", scalars).with("minLength", 1)

    private static let withBody = Schema.object([.required("body", somebody)])

    /// What is passed on: of control characters only tabs and line ends, in names too.
    static let value = Schema.any(of: [
        content, .list(.named("RichieValue")), passedOn([]),
    ])

    /// An object with these members and with others, which are passed on.
    static func passedOn(_ properties: [Property]) -> Schema {
        Schema.object(properties).with("propertyNames", Schema.content.json).with(
            "additionalProperties", Schema.named("RichieValue").json)
    }

    /// A text is the body.
    static let alert = Schema.any(of: [content, passedOn(keys)])

    static let aps = passedOn(
        keys + [
            .optional("alert", alert), .optional("content-available", .tolerantFlag),
        ]
    ).orAbsent

    /// A body in the alert, as the alert, beside it, or beside `aps`, where an alert may stand too.
    static let bodySomewhere = Schema.any(of: [
        withBody, .object([.required("alert", somebody)]), .object([.required("alert", withBody)]),
        .object([.required("aps", withBody)]),
        .object([.required("aps", .object([.required("alert", somebody)]))]),
        .object([.required("aps", .object([.required("alert", withBody)]))]),
    ])

    /// Flat, within `alert`, or both.
    static let data = Schema.all(of: [
        passedOn(keys + [.optional("alert", alert)]),
        .any(of: [
            withBody, .object([.required("alert", somebody)]), .object([.required("alert", withBody)]),
        ]),
    ])
}
