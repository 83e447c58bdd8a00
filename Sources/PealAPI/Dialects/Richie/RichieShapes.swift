internal import PealCore
internal import PealShapes

/// The shapes of tasks, with the limits that the configuration sets.
struct RichieShapes: Sendable {
    let task: ObjectShape<RichieTask>

    init(_ options: APIOptions) {
        let topics = Self.names(max: options.richieTopicsMax, bytesMax: Limits.topicBytesMax)
        let users = Self.names(max: options.richieUsersMax, bytesMax: Limits.userIDBytesMax)
        task = ObjectShape("RichieTask", RichieTask(), rules: [Self.namesSomebody]) {
            Entry.including(Self.app, in: \.appID)
            Entry("topics", topics) { $0.topics = $1 ?? nil }
            Entry("external_user_ids", users) { $0.users = $1 ?? nil }
            Entry(required: "payloads", Self.payloads.shape) { $0.payloads = $1 }
        }
    }

    /// Read before the rest of a task, so that a caller without a key for the app learns nothing more.
    static let app = ObjectShape("RichieApp", "") { Entry(required: "app_id", .text()) { $0 = $1 } }

    /// The distinct names or ids of a target; nil for an empty list. Skips elements that nothing can have as a name: of
    /// another type, too long, or with control characters.
    private static func names(max: Int, bytesMax: Int) -> Shape<[String]?> {
        Shape { json, reading throws(PealError) in
            guard case .array(let elements) = json else { throw reading.wrongType(json, "an array") }
            guard elements.count <= max else { throw reading.refusal("may contain at most \(max) elements") }
            guard !elements.isEmpty else { return nil }
            var seen: Set<[UInt8]> = []
            return elements.compactMap(\.scalarText).filter { text in
                (1...bytesMax).contains(text.utf8.count) && text.isPrintable && seen.insert(Array(text.utf8)).inserted
            }
        } describe: { _ in
            .list(.anything, 0...max)
        }
    }

    private static let namesSomebody = Rule<RichieTask>(
        "Give `topics` or `external_user_ids`.",
        violation: { _ in ["not": ["anyOf": [.filledList("topics"), .filledList("external_user_ids")]]] }
    ) { task, _, _ throws(PealError) in
        guard task.topics == nil, task.users == nil else { return }
        throw PealError(.missingField, "topics or external_user_ids must not be empty", field: "topics")
    }

    private static let payloads = ObjectShape(
        "RichiePayloads", RichiePayloads(),
        rules: [.some(of: ["ios", "android"], "payloads must contain ios or android")]
    ) {
        Entry("android", payload(android)) { $0.android = $1 }
        Entry("ios", payload(ios)) { $0.ios = $1 }
    }

    /// Limits the payload as compact JSON, so that neither indentation nor Peal's additions count.
    private static func payload<Root>(_ object: ObjectShape<Root>) -> Shape<Located<Root>> {
        let shape = object.shape.located()
        return Shape(
            read: { json, reading throws(PealError) in
                guard json.objectValue != nil else { throw reading.wrongType(json, "an object") }
                let (count, max) = (json.bytes.count, Limits.richiePayloadBytesMax)
                guard count <= max else {
                    throw PealError(
                        .payloadTooLarge, "\(reading.path) has \(count) bytes; at most \(max) are allowed",
                        field: reading.path)
                }
                try reading.checkContent(json)
                return try shape.read(json, &reading)
            }, describe: shape.describe)
    }

    private static let sizeText =
        "At most \(Limits.richiePayloadBytesMax) bytes of compact JSON. Other members are passed on unchanged."

    private static let ios = ObjectShape(
        "RichieApple", RichieApplePayload(), sizeText,
        rules: [hasBody(bodies + bodies.map { holding("aps", $0) }, missing: "aps.alert.body", \.hasBody)],
        others: others, extra: { $0.object.members = RichieObject.passedOn($1) }
    ) {
        keys(\RichieApplePayload.object)
        Entry(checking: "alert", alert) { $0.object.alert = $1 }
        Entry(checking: "aps", aps.shape) { $0.aps = $1 }
    }

    private static let android = ObjectShape("RichieAndroid", RichieObject(), sizeText, others: others) {
        Entry(required: "data", data.shape) { $0 = $1 }
    }
}

/// The objects of a payload. Members that are not documented belong to the app and are passed on unchanged.
extension RichieShapes {
    private static let aps = ObjectShape(
        "RichieAps", RichieObject(), others: others, extra: { $0.members = RichieObject.passedOn($1) }
    ) {
        keys(\RichieObject.self)
        Entry(checking: "alert", alert) { $0.alert = $1 }
        Entry(checking: "content-available", .flag) { $0.isContentAvailable = $1 }
        Entry(checking: "badge", .integer(0...Int64(Int32.max))) { $0.badge = $1 }
    }

    private static let data = ObjectShape(
        "RichieData", RichieObject(), "The keys may be at the top level, in `alert`, or both.",
        rules: [hasBody(bodies, missing: "body", \.hasBody)], others: others,
        extra: { $0.members = RichieObject.passedOn($1) }
    ) {
        keys(\RichieObject.self)
        Entry(checking: "alert", alert) { $0.alert = $1 }
    }

    /// A string is the body.
    private static let alert = Shape<RichieAlert>.either(
        "RichieAlert", Shape.content.map { .text($0) }, or: alertKeys.shape.located().map { .keys($0) },
        expected: "a string or an object")

    private static let alertKeys = ObjectShape(
        "RichieAlertKeys", RichieObject(), others: others, extra: { $0.members = RichieObject.passedOn($1) }
    ) {
        keys(\RichieObject.self)
    }

    /// The documented keys of a notification (https://richie.dev/docs/push/push-api), checked in every object.
    private static func keys<Root>(
        _ path: any WritableKeyPath<Root, RichieObject> & Sendable
    ) -> [Entry<Root>] {
        RichieObject.texts.map { Entry(checking: $0, Shape.content) } + [
            Entry(checking: RichieObject.link, link.located()) { root, link in
                if let link { root[keyPath: path].links.append(link) }
            },
            Entry(checking: RichieObject.page, Shape<Int64>.integer(Int64.min...Int64.max)),
        ]
    }

    /// The app's settings decide whether http is allowed.
    private static let link = Shape.content.checked { link, reading throws(PealError) in
        let lowered = link.lowercased()
        guard lowered.hasPrefix("https://") || lowered.hasPrefix("http://") else {
            throw reading.refusal("must be an https URL")
        }
        let host = link.dropFirst(lowered.hasPrefix("https") ? 8 : 7).prefix { !"/?#".contains($0) }
        guard !host.isEmpty, link.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw reading.refusal("must be a full URL without spaces")
        }
        return link
    }.described { _ in .secureLink }

    /// Values that are passed on: the only control characters are tabs and line ends, in names too. The schema states
    /// no type, because client generators cannot handle a union that contains itself.
    private static let others = (
        names: Schema.content,
        values: Schema.component(
            "RichieValue",
            Schema([
                ("pattern", Schema.content["pattern"] ?? .null), ("items", Schema.named("RichieValue").json),
                ("propertyNames", Schema.content.json), ("additionalProperties", Schema.named("RichieValue").json),
            ]))
    )

    private static func hasBody<Root>(
        _ alternatives: [JSON], missing: String, _ isThere: @escaping @Sendable (Root) -> Bool
    ) -> Rule<Root> {
        Rule("A body is required.", violation: { _ in ["not": ["anyOf": .array(alternatives)]] }) {
            root, _, reading throws(PealError) in
            guard isThere(root) else { throw .missing(reading.path(missing)) }
        }
    }

    /// Schemas of objects that have a body: next to the alert, as the alert, or in it.
    private static let bodies = [
        holding("body", nonEmptyScalar), holding("alert", nonEmptyScalar),
        holding("alert", holding("body", nonEmptyScalar)),
    ]

    /// A scalar that is present and not empty.
    private static let nonEmptyScalar = Schema.content.with("type", ["string", "number", "boolean"]).with(
        "minLength", 1
    ).json

    private static func holding(_ name: String, _ schema: JSON) -> JSON {
        ["type": "object", "required": [.string(name)], "properties": .object(.init([(name, schema)]))]
    }
}
