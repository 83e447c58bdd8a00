internal import PealCore
internal import PealShapes

/// The shapes of requests to send a message and to change one that has not started.
enum NativeMessageShapes {
    static let message = ObjectShape(
        "NativeMessageDraft", NativeMessageDraft(),
        "`method` and `options.unreachable` need `schedule.window`. A test is for `devices` and `users`, together at "
            + "most \(Limits.testDevicesMax), without a window."
    ) {
        Entry("campaign_id", .text()) { $0.campaignID = $1 }
        Entry("test", .flag) { $0.isTest = $1 ?? false }
        Entry.including(parts)
    }

    /// A change replaces each part that it contains.
    static let parts = ObjectShape("NativeMessageParts", NativeMessageDraft()) {
        Entry("options", options.shape) {
            ($0.options, $0.namesUnreachable) = ($1?.options ?? MessageOptions(), $1?.unreachable != nil)
        }
        Entry(required: "audience", audience.shape) { $0.audience = $1 }
        Entry(required: "content", NativeContentShapes.content) { $0.content = $1 }
        Entry("method", .words("NativeMethod")) { $0.method = $1 }
        Entry("schedule", schedule.shape) { $0.schedule = $1 ?? NativeSchedule() }
    }
}

extension NativeMessageShapes {
    struct Options: Sendable {
        var shared = PlatformOptions()
        var lostAnswer = MessageOptions.LostAnswer.resend
        var unreachable: MessageOptions.Unreachable?
        var isTransactional = false
        var ratePerSecond: Int64?

        var options: MessageOptions {
            var options = MessageOptions()
            options.shared = shared
            options.lostAnswer = lostAnswer
            options.unreachable = unreachable ?? .deadline
            options.isTransactional = isTransactional
            options.ratePerSecond = ratePerSecond
            return options
        }
    }

    static let options = ObjectShape("NativeOptions", Options()) {
        Entry.including(platformOptions, in: \.shared)
        Entry("lost_answer", .words("NativeLostAnswer")) { $0.lostAnswer = $1 ?? .resend }
        Entry("unreachable", .words("NativeUnreachable")) { $0.unreachable = $1 }
        Entry("transactional", .flag) { $0.isTransactional = $1 ?? false }
        Entry("rate_per_second", .integer(1...Limits.ratePerSecondMax)) { $0.ratePerSecond = $1 }
    }

    /// The new rate in a change that contains nothing else, which is possible while the message is being sent.
    static func rateAlone(_ json: JSON, now: Timestamp) throws(PealError) -> MessageVerbs.RateChange? {
        let name = "rate_per_second"
        guard json.objectValue?.names == ["options"], json["options"]?.objectValue?.names == [name] else { return nil }
        var draft = NativeMessageDraft()
        try parts.apply(json, to: &draft, .native, now: now)
        return MessageVerbs.RateChange(perSecond: draft.options?.ratePerSecond)
    }

    static let platformOptions = ObjectShape(
        "NativePlatformOptions", PlatformOptions(), rules: [.notBoth("expires_at", "ttl_seconds")]
    ) {
        Entry("priority", .words("NativePriority")) { $0.priority = $1 }
        Entry("expires_at", Shape.time.described { .future(after: $0.now) }) {
            if let end = $1 { $0.life = .until(end) }
        }
        Entry("ttl_seconds", .integer(0...Limits.ttlSecondsMax)) {
            if let seconds = $1 { $0.life = .seconds(seconds) }
        }
        Entry("collapse_key", .text()) { $0.collapseKey = $1 }
        Entry("background", .flag) { $0.isBackground = $1 }
        Entry("environment", NativeShapes.environment) { $0.environment = $1 }
    }

    private static let schedule = ObjectShape("NativeSchedule", NativeSchedule(), rules: [oneStart]) {
        Entry("window", window) { $0.until = $1 }
        Entry("at", start) { ($0.at, $0.reading) = ($1?.instant, $1?.reading) }
        Entry("in", .words("NativeScheduleZone", [("recipient_time_zone", true)])) {
            $0.isInRecipientTimeZone = $1 ?? false
        }
    }

    private static let oneStart = Rule<NativeSchedule>(
        "Give either `at` or `window`.",
        violation: { describing in
            let (at, window) = (JSON.present(["at"], describing), JSON.present(["window"], describing))
            let zone = JSON.present(["in"], describing)
            return [
                "anyOf": [["allOf": [at, window]], ["allOf": [zone, window]], ["not": ["anyOf": [at, window]]]]
            ]
        }
    ) { _, given, reading throws(PealError) in
        if given.has("window") {
            for name in ["at", "in"] where given.has(name) {
                let (window, other) = (reading.path("window"), reading.path(name))
                throw .invalid(other, "give either \(window) or \(other), not both")
            }
        } else if !given.has("at") {
            throw .missing(reading.path("at"))
        }
    }

    /// A start, and the local time at that instant, by the offset in which it is written.
    private static let start = Shape<(instant: Timestamp, reading: Timestamp)>(
        read: { json, reading throws(PealError) in
            let start = try Shape<Timestamp>.time.read(json, &reading)
            guard start <= reading.now + .seconds(Limits.ttlSecondsMax) else {
                throw reading.refusal("must be at most \(Limits.ttlSecondsMax / 86_400) days from now")
            }
            // 2026-12-24T18:00:00, whatever fraction and offset follow.
            let shown = json.stringValue.flatMap { Timestamp(rfc3339: "\($0.prefix(19))Z") }
            return (start, shown ?? start)
        }, describe: { Shape<Timestamp>.time.describe($0) }
    ).described(
        "At most \(Limits.ttlSecondsMax / 86_400) days from now. A time in the past means now. With `in`, it is the "
            + "time on each recipient's clock, and the offset is ignored.")

    private static let window = ObjectShape("NativeWindow", Timestamp(milliseconds: 0)) {
        Entry(required: "until", windowEnd) { $0 = $1 }
    }.shape

    private static let windowEnd = Shape.time.checked { until, reading throws(PealError) in
        guard until > reading.now, until <= reading.now + .seconds(Limits.windowSecondsMax) else {
            throw reading.refusal("must be in the future, at most \(Limits.windowSecondsMax / 86_400) days from now")
        }
        return until
    }.described("In the future, at most \(Limits.windowSecondsMax / 86_400) days from now.")
}

extension NativeMessageShapes {
    static let audience = ObjectShape(
        "NativeAudience", NativeAudience(), rules: [channelAlone, allOrSome, hasAudience]
    ) {
        Entry("channel", channel) { $0.channel = $1 }
        Entry("all", .flag) { $0.audience.includesAll = $1 ?? false }
        Entry("devices", .distinct(.id(), max: Limits.audienceDevicesMax)) { $0.audience.devices = $1 ?? [] }
        Entry("users", .texts(max: Limits.audienceUsersMax)) { $0.audience.users = $1 ?? [] }
        Entry("topics", .texts(max: Limits.audienceTopicsMax)) { $0.audience.topics = $1 ?? [] }
        Entry("addresses", .list(address, max: Limits.audienceAddressesMax)) { $0.addresses = $1 ?? [] }
        Entry("not_topics", .texts(max: Limits.audienceTopicsMax)) { $0.audience.excludedTopics = $1 ?? [] }
        Entry("interactive_only", .flag) { $0.audience.interactiveOnly = $1 ?? false }
        // An empty list could mean no device or all devices.
        Entry(
            "platforms",
            .list(
                NativeShapes.platform, min: 1, max: Platform.allCases.count,
                refusingEmpty: "must contain at least one platform; omit it for all")
        ) { $0.audience.platforms = $1.map { Set($0) } }
        Entry("where", NativeConditionShapes.condition) { $0.audience.condition = $1 }
    }

    /// The body of `audience:count`.
    static let audienceOnly = ObjectShape("NativeAudienceQuestion", NativeAudience()) {
        Entry(required: "audience", audience.shape) { $0 = $1 }
    }

    private static let address = ObjectShape(
        "NativeAudienceAddress", NativeAddress(),
        rules: [NativeShapes.addressForm(), NativeShapes.environmentOfPlatform { ($0.platform, $0.environment) }]
    ) {
        Entry(required: "platform", NativeShapes.platform) { $0.platform = $1 }
        Entry(required: "address", NativeShapes.address) { $0.address = $1 }
        Entry("environment", NativeShapes.environment) { $0.environment = $1 }
    }.shape.located()

    private static let channel = ObjectShape("NativeChannelName", NativeChannelName()) {
        Entry("environment", NativeShapes.environment) { $0.environment = $1 }
        Entry(
            required: "id",
            Shape.anything.described { _ in .text(1...Limits.channelIDBytesMax, pattern: "[A-Za-z0-9+/=_-]+") }
        ) { $0.id = $1 }
    }.shape.located()

    private static let others = [
        "all", "devices", "users", "topics", "addresses", "platforms", "interactive_only", "not_topics",
        "where",
    ]

    private static let channelAlone = Rule<NativeAudience>(
        "`channel` must be the only member.",
        violation: { ["allOf": [.present(["channel"], $0), .somePresent(others, $0)]] }
    ) { _, given, reading throws(PealError) in
        guard given.has("channel") else { return }
        for name in others where given.has(name) {
            throw .invalid(reading.path(name), "channel must be the only member; remove \(name)")
        }
    }

    private static let listNames = ["devices", "users", "topics", "addresses"]

    /// Schemas of objects in which one of the lists is not empty.
    private static let namedSome = listNames.map(JSON.filledList)

    private static let allOrSome = Rule<NativeAudience>(
        "`all` excludes the lists.",
        violation: { _ in
            let all: JSON = ["const": true]
            return ["required": ["all"], "properties": ["all": all], "anyOf": .array(namedSome)]
        }
    ) { given, read, reading throws(PealError) in
        guard given.audience.includesAll else { return }
        for name in listNames where read.members[name]?.arrayValue?.isEmpty == false {
            throw .invalid(reading.path(name), "give either all or \(name): all includes every device")
        }
    }

    private static let hasAudience = Rule<NativeAudience>(
        "Give at least one of `all`, `devices`, `users`, `topics`, `addresses`, `where` and `channel`.",
        violation: { describing in
            let all: JSON = ["required": ["all"], "properties": ["all": ["const": true]]]
            let whole: [JSON] = [.present(["channel"], describing), .present(["where"], describing), all]
            return ["not": ["anyOf": .array(whole + namedSome)]]
        }
    ) { given, _, reading throws(PealError) in
        guard given.audience.isEmpty, given.addresses.isEmpty, given.channel == nil else { return }
        throw PealError(
            .missingField,
            "\(reading.path) must contain at least one of all, devices, users, topics, addresses and where",
            field: reading.path)
    }
}
