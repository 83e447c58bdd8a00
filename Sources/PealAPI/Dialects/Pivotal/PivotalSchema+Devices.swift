internal import PealCore

extension PivotalSchema {
    static let deviceComponents: [(name: String, schema: Schema)] = [
        ("PivotalRegistration", registration), ("PivotalRegistrationChange", registrationChange),
        ("PivotalDevice", device), ("PivotalListedDevice", listedDevice), ("PivotalTopic", topic),
        ("PivotalNewTopic", newTopic),
    ]

    private static let topicName = Schema.tolerantText(
        0...Limits.topicBytesMax, pattern: #"[^\u0000-\u001f\u007f]*"#)

    private static let topicNames = Schema.list(topicName, 0...Limits.topicsPerDeviceMax)

    private static func members(tags: Schema, tokenIsRequired: Bool) -> [Property] {
        let text = Schema.printable(0...Limits.addressBytesMax).with("type", Schema.scalarOrNull)
        let needed = text.with("type", ["string", "number", "boolean"]).with("minLength", 1)
        let user = Schema.printable(0...Limits.signedUserIDBytesMax).with("type", Schema.scalarOrNull)
        return [
            tokenIsRequired ? .required("registration_token", needed) : .optional("registration_token", text),
            .optional("os", os),
            .optional("tags", tags),
            .optional("custom_user_id", user.described("Signed, unless the app's setting says otherwise.")),
        ] + ["os_version", "device_alias", "device_model", "device_manufacturer"].map { .optional($0, name) }
    }

    static let registration = Schema.object(
        members(
            tags: .any(of: [
                topicNames, .object([.optional("subscribe", topicNames.orAbsent)]), Schema([("enum", ["", .null])]),
            ]), tokenIsRequired: true))

    static let registrationChange = Schema.object(
        members(
            tags: .any(of: [
                topicNames,
                .object([
                    .optional("subscribe", topicNames.orAbsent), .optional("unsubscribe", topicNames.orAbsent),
                ]), Schema([("enum", ["", .null])]),
            ]), tokenIsRequired: false))

    private static let facts: [Property] =
        ["os", "os_version", "device_model", "device_manufacturer", "device_alias"].map { .required($0, .text) } + [
            .required("registration_token", .anything), .required("device_uuid", .uuid), .required("active", .flag),
        ]

    private static let shownTags = Schema.list(.object([.required("text", .text)]))

    static let listedDevice = Schema.object(facts + [.optional("tags", shownTags)])

    static let device = Schema.object(
        facts + [
            .required("variant_uuid", .text), .required("tags", shownTags), .required("custom_user_id", .text),
        ])

    static let topic = Schema.object([
        .required("id", .count), .required("name", .text), .optional("expireAt", .count),
    ])

    private static let life = Schema.tolerantInteger(
        Limits.topicLifeSecondsMin...Limits.ttlSecondsMax, pattern: "[6-9][0-9]|[1-9][0-9]{2,7}|[12][0-9]{8}")

    static let newTopic = Schema.object([
        .required("name", somebodyCalled), .optional("expireAt", milliseconds.described("Later than now.")),
        .optional("timeToLive", life.described("Seconds. Not beside `expireAt`.")),
    ])

    private static let somebodyCalled = Schema.printable(1...Limits.topicBytesMax).with(
        "type", ["string", "number", "boolean"])

    static let newTopics = Schema.object([
        .required(
            "topics",
            .list(
                .any(of: [
                    .named("PivotalNewTopic"), Schema.printable(1...Limits.topicBytesMax), Schema([("type", "null")]),
                ]), 0...Limits.topicsPerBatchMax)), .optional("returnTopics", .tolerantFlag),
    ])

    static let taggings = Schema.list(
        .object([
            .optional("device_uuid", .anything), .optional("registration_token", .anything),
            .optional("tags", .list(topicName, 0...Limits.topicsPerDeviceMax).orAbsent),
        ]), 0...Limits.devicesPerBatchMax)
}
