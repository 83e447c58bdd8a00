internal import PealCore

/// What requests and answers hold, as it is read and written.
enum PivotalSchema {
    static let components: [(name: String, schema: Schema)] =
        [
            ("PivotalPush", push), ("PivotalMessage", message), ("PivotalTarget", target),
            ("PivotalApple", apple), ("PivotalSchedule", schedule), ("PivotalScheduleChange", scheduleChange),
            ("PivotalReceipt", receipt), ("PivotalEvent", event),
        ] + deviceComponents + geofenceComponents

    static let scheduleID = Schema.text(pattern: "[0-9a-f]{16}")

    static let health: Schema = {
        let part = Schema.object([.required("healthy", .flag), .required("message", .text)])
        return .object(["database", "rabbitmq", "scheduler-backend"].map { .required($0, part) })
    }()

    /// Also as text.
    static let number = Schema.any(of: [
        .integer(Int64.min...Int64.max), .text(pattern: "-?(0|[1-9][0-9]{0,17})"),
    ])

    /// Milliseconds since 1970, also as text; null, "" and 0 are absent.
    static let milliseconds = Schema.tolerantInteger(
        0...253_402_300_799_999, pattern: "0|[1-9][0-9]{0,13}|1[0-9]{14}")

    static let content = Schema.content.with("type", Schema.scalarOrNull)

    static let name = Schema.tolerantText(0...Limits.nameCharactersMax, pattern: #"[^\u0000-\u001f\u007f]*"#)

    /// Texts that are there and not empty.
    static let somebody = Schema.content.with("type", ["string", "number", "boolean"]).with("minLength", 1)

    /// Names of something, of which those that can be none are passed over.
    static func names(_ countMax: Int) -> Schema {
        Schema.list(Schema([("type", Schema.scalarOrNull)]), 0...countMax).orAbsent
    }

    private static let osWords = [
        "ios", "android", "android-fcm", "android-gcm", "android-baidu", "windows8", "windows", "windowsPhone",
        "windows_phone", "bb10", "blackberry",
    ]

    /// The words of platforms, in any letter case; null and "" are absent.
    static let os = Schema.caseless(osWords + [""]).orNull

    /// Also `all`.
    static let targetOS = Schema.caseless(osWords + ["all", ""]).orNull

    /// In a query, where there is no null.
    static let listedOS = Schema.caseless(osWords + ["all", ""])

    /// Also empty, which is absent.
    static func queried(_ schema: Schema) -> Schema { .any(of: [schema, .word("")]) }

    static func page(sizeMin: Int64) -> [APIParameter] {
        [
            .query("page", queried(.integer(1...Int64(Int32.max))), "From 1."),
            .query("size", queried(.integer(sizeMin...Int64(Limits.pageItemsMax))), "How many at most."),
        ]
    }

    static func paged(_ name: String, _ item: Schema, total: String) -> Schema {
        .object(
            [.required(name, .list(item))] + [total, "totalPages", "page", "size"].map { .required($0, .count) })
    }

    static let counts = Schema.object(
        ["accepted", "rejected", "retired", "expired", "suppressed", "pending"].map { .required($0, .count) })

    private static let receipt = Schema.object([
        .required("receipt_id", .uuid), .required("state", .text), .required("devices", .count),
        .required("counts", counts), .required("received", .count), .required("opened", .count),
        .required("platforms", .map(counts)),
    ])

    private static let event = Schema.object(
        [
            "receiptId", "eventType", "eventTime", "deviceUuid", "geofenceId", "locationId", "sdkVersion",
            "platformType", "platformUuid",
        ].map { .optional($0, .text) })
}
