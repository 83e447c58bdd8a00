internal import PealCore
internal import PealShapes

/// The shapes of ContextPush's requests, with the limits that the configuration sets.
struct ContextPushShapes: Sendable {
    /// Clients fill in templates that leave line ends after values.
    static let policy = Policy(isTolerant: true, trimsLineEnds: true)

    let schedule: ObjectShape<ContextPushSchedule>

    init(_ options: APIOptions) {
        let end = Self.end(secondsMax: options.contextPushWindowSecondsMax)
        let hours = Self.hours(max: options.contextPushWindowSecondsMax / 3600)
        schedule = ObjectShape("ContextPushSchedule", ContextPushSchedule(), rules: [Self.hasEnd]) {
            Entry.including(Self.bundle, in: \.bundleID)
            Entry.including(Self.target, in: \.target)
            Entry("idempotency_key", Self.key) { $0.key = $1 }
            Entry("target_delivery_time", end) { $0.end = $1 }
            Entry("deliver_within_hours", hours) { $0.hours = $1 }
            Entry("delivery_method", Self.method) { $0.method = $1 ?? .experiment }
            Entry(required: "content", Self.content.shape.withSource()) { $0.content = $1 }
        }
    }

    static let cancel = ObjectShape("ContextPushCancel", ContextPushCancel()) {
        Entry.including(bundle, in: \.bundleID)
        Entry.including(target, in: \.target)
        Entry(required: "idempotency_key", key) { $0.key = $1 }
    }

    /// Read before the rest of a request, so that a key of another bundle learns nothing more.
    static let bundle = ObjectShape("ContextPushBundle", "") {
        Entry(required: "bundle_id", Shape.text().described("The app's bundle id.")) { $0 = $1 }
    }

    private static let target = ObjectShape("ContextPushTarget", ContextPushTarget()) {
        Entry(required: "platform", platform) { $0.platform = $1 }
        // The vendor's examples have an empty id, which no device has.
        Entry(
            present: "user_id",
            Shape.text(bytes: Limits.userIDBytesMax).orEmpty("").described(
                "The app's own id of the user, at most \(Limits.userIDBytesMax) bytes. No device has the empty id.")
        ) { $0.userID = $1 }
        Entry(required: "campaign_id", Shape.text().described("The unit of reports and experiments.")) {
            $0.campaignID = $1
        }
    }

    private static let platform = Shape<Platform>.words(
        "ContextPushPlatform", [("ios", .ios), ("android", .android)], expected: "ios or android", code: .notSupported)

    private static let key = Shape.text(bytes: Limits.contextPushKeyBytesMax).described(
        "At most \(Limits.contextPushKeyBytesMax) bytes. The last request with a key applies.")

    private static let method = Shape<DeliveryWindow.Method>.words(
        "ContextPushMethod", DeliveryWindow.Method.allCases.map { ($0.rawValue, $0) },
        expected: "context_aware or traditional"
    ).described("If absent, the server assigns users to one of the two methods.")
}

/// The end of the delivery window.
extension ContextPushShapes {
    private static func end(secondsMax: Int64) -> Shape<Timestamp> {
        Shape.time.checked { end, reading throws(PealError) in
            guard end > reading.now, end <= reading.now + .seconds(secondsMax) else {
                throw reading.refusal("must be in the future, at most \(secondsMax / 3600) hours from now")
            }
            return end
        }.described("In the future, at most \(secondsMax / 3600) hours from now.")
    }

    /// Ignored if there is an instant. A rule therefore reports an error in it.
    private static func hours(max: Int64) -> Shape<Result<Double, PealError>> {
        let hours = Shape<Double>.decimal(above0UpTo: max)
        return hours.deferred().described(by: hours.describe).described("Ignored if `target_delivery_time` is given.")
    }

    private static let hasEnd = Rule<ContextPushSchedule>(
        "Give `target_delivery_time` or `deliver_within_hours`.", isForChanges: false,
        violation: { ["not": .somePresent(["target_delivery_time", "deliver_within_hours"], $0)] }
    ) { request, _, _ throws(PealError) in
        guard request.end == nil else { return }
        guard let hours = request.hours else {
            throw PealError(
                .missingField, "deliver_within_hours or target_delivery_time is required",
                field: "deliver_within_hours")
        }
        _ = try hours.get()
    }
}

/// The content of a message.
extension ContextPushShapes {
    static let content = ObjectShape(
        "ContextPushContent", ContextPushContent(),
        """
        At most \(Limits.contextPushContentBytesMax) bytes. All translated texts must have the same locales, and \
        `default_locale` must be one of them.
        """, rules: [hasBody]
    ) {
        Entry("title", is: localized, isVerbatim: true) { $0.title = $1 ?? nil }
        Entry("subtitle", is: localized, isVerbatim: true) { $0.subtitle = $1 ?? nil }
        Entry(required: "body", is: localized, isVerbatim: true) { $0.body = $1 }
        Entry("default_locale", .text(bytes: Limits.localeCharactersMax)) { $0.givenLocale = $1 }
        Entry("sound", .content) { $0.sound = $1 }
        Entry("thread-id", or: "thread_id", "threadId", is: .content) { $0.threadID = $1 }
        Entry("badge", .integer(0...Int64(Int32.max))) { $0.badge = $1 }
        Entry("userInfo", or: "user_info", is: Shape.data.located()) { $0.userInfo = $1 }
        Entry("imageUrl", or: "imageURL", "image_url", is: imageURL) { $0.imageURL = $1 }
    }

    /// A string, or one for each locale; nil if all of them are empty.
    private static let localized = Shape<LocalizedText?>.either(
        "ContextPushText", Shape.content.stating(("minLength", 1)).map { .plain($0) },
        or: texts.map { $0.isEmpty ? nil : .localized($0) })

    private static let texts = Shape<[String: String]>.map(
        "ContextPushTexts", .content, 1...Limits.localesPerMessageMax, of: "locales",
        key: { $0.isLocaleName ? nil : "a locale is a tag such as de or de-AT" },
        keySchema: .text(1...Limits.localeCharactersMax, pattern: "[A-Za-z0-9_-]+"))

    private static let hasBody = Rule<ContextPushContent>(
        violation: { _ in ["required": ["body"], "properties": ["body": ["type": "object", "maxProperties": 0]]] }
    ) { content, _, reading throws(PealError) in
        if content.body == nil { throw .missing(reading.path("body")) }
    }

    private static let imageURL = Shape.text(bytes: Limits.imageURLBytesMax).httpURL.stating(("type", "string"))
}
