internal import PealCore

/// The members of ContextPush's bodies.
enum ContextPushSchema {
    /// What may stand where a text is asked for.
    private static let scalars: JSON = ["string", "number", "boolean"]
    private static let scalarsOrNull: JSON = ["string", "number", "boolean", "null"]
    /// No control characters (C0, DEL), but for line ends behind the value.
    private static let printable = #"[^\u0000-\u001f\u007f]"#
    private static let lineEnds = #"[\n\r]*"#

    /// A text that is there.
    private static func name(_ text: String) -> Schema {
        Schema.text(pattern: "\(printable)+\(lineEnds)").with("type", scalars).described(text)
    }

    static let bundleID = name("The app's bundle id.")
    static let userID = name("The app's own id of the user, at most \(Limits.userIDBytesMax) bytes.")
    static let campaignID = name("The unit of reports and experiments, at most \(Limits.campaignIDBytesMax) bytes.")
    static let key = name("At most \(Limits.contextPushKeyBytesMax) bytes. The last request with a key counts.")
    static let optionalKey = Schema.text(pattern: "\(printable)*\(lineEnds)").with("type", scalarsOrNull).described(
        "At most \(Limits.contextPushKeyBytesMax) bytes. The last request with a key counts.")
    static let platform = Schema.text(pattern: "(\(caseless("ios"))|\(caseless("android")))\(lineEnds)")
    static let method = Schema.text(
        pattern: "(\(DeliveryWindow.Method.allCases.map { caseless($0.rawValue) }.joined(separator: "|")))?\(lineEnds)"
    ).with("type", ["string", "null"]).described("Absent: the server assigns users to the two methods.")

    /// An instant, or a number of hours.
    static let window = Schema.any(of: [
        .object([.required("target_delivery_time", .time)]),
        .object([
            .required("deliver_within_hours", .any(of: [hours, hoursAsText])),
            .optional("target_delivery_time", Schema([("enum", ["", .null])])),
        ]),
    ])

    /// As the server is configured by default.
    private static let hours = Schema.number.with("exclusiveMinimum", 0).with(
        "maximum", .integer(Limits.windowSecondsMax / 3600))

    private static let hoursAsText = Schema.text(
        pattern: #"[ \t]*(0+\.[0-9]{0,9}[1-9][0-9]{0,9}|0*([1-9][0-9]?|1[0-5][0-9]|16[0-7])(\.[0-9]+)?|0*168(\.0+)?)"#
            + #"[ \t\r\n]*"#)

    private static func caseless(_ word: String) -> String {
        word.map { $0.isLetter ? "[\($0.uppercased())\($0)]" : String($0) }.joined()
    }

    private static let scalar = Schema.content.with("type", scalarsOrNull)

    /// A text, or one for each locale.
    private static let localized = Schema.any(of: [
        scalar,
        .map(scalar).with("propertyNames", locale.json).with("maxProperties", .integer(Limits.localesPerMessageMax)),
    ])

    private static let locale = Schema.text(1...Limits.localeCharactersMax, pattern: "[A-Za-z0-9_-]+")

    private static let body = Schema.any(of: [
        Schema.content.with("minLength", 1).with("type", scalars),
        Schema.map(scalar).with("propertyNames", locale.json).with("minProperties", 1).with(
            "maxProperties", .integer(Limits.localesPerMessageMax)),
    ])

    private static let image = Schema.text(
        pattern: #"([Hh][Tt][Tt][Pp][Ss]?://[^/?#\u0000-\u0020\u007f][^\u0000-\u0020\u007f]*)?[\n\r]*"#
    ).with("type", ["string", "null"])

    static let content = Schema.object([
        .required("body", body), .optional("title", localized), .optional("subtitle", localized),
        .optional(
            "default_locale",
            Schema.text(pattern: "\(printable)*\(lineEnds)").with("type", scalarsOrNull).described(
                "Required with translations, all of which have the same locales.")),
        .optional("sound", scalar),
        .optional("badge", .tolerantInteger(0...Int64(Int32.max), pattern: "0*[0-9]{1,9}")),
        .optional("userInfo", Schema.object.orAbsent.described("Also `user_info`. Must not hold `aps`.")),
        .optional("thread-id", scalar.described("Also `thread_id`, `threadId`.")),
        .optional("imageUrl", image.described("Also `imageURL`, `image_url`.")),
    ]).described("At most \(Limits.contextPushContentBytesMax) bytes.")
}
