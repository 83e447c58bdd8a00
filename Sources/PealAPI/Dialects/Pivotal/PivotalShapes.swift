internal import PealCore
internal import PealShapes

/// The shapes that several requests of the dialect share.
enum PivotalShapes {
    /// Describes the dialect's schemas, none of which contains a time that must be in the future.
    static let describing = Describing(policy: .pivotal, now: Timestamp(milliseconds: 0))

    /// An instant in milliseconds since 1970, up to the end of the year 9999; nil for 0, which counts as absent.
    static let milliseconds = Shape.integer(
        0...253_402_300_799_999, refusing: "must be milliseconds since 1970"
    ).map { $0 == 0 ? nil : Timestamp(milliseconds: $0) }

    /// The name of a topic as it is stored. A few letters become two characters in lower case.
    static let topicName = Shape.text().checked { name, reading throws(PealError) in
        let lowered = lowered(name)
        guard lowered.unicodeScalars.count <= Limits.nameCharactersMax else {
            throw reading.refusal("must be at most \(Limits.nameCharactersMax) characters long in lower case")
        }
        return lowered
    }

    /// Distinct names of topics.
    static func topicNames(max: Int) -> Shape<[String]> { .texts(topicName, max: max).map(\.distinctTexts) }

    /// The distinct topics of one device.
    static let topicsOfDevice = Shape.topicsOfDevice(topicName).map(\.distinctTexts)

    /// A topic's name in lower case, because the dialect ignores letter case. Clients may write Σ at the end of a word
    /// as ς.
    static func lowered(_ name: String) -> String {
        var lowered = String.UnicodeScalarView()
        for scalar in name.lowercased().unicodeScalars { lowered.append(scalar == "ς" ? "σ" : scalar) }
        return String(lowered)
    }
}

/// A push as a request sends it or as a schedule stores it.
struct PivotalPushDraft: Sendable {
    var at: Timestamp?
    var delay: Int64?
    var expiry: Timestamp?
    var target = PivotalTarget()
    var message = PivotalMessage()
}

/// The shape of a push.
enum PivotalPushShapes {
    static let push = ObjectShape("PivotalPush", PivotalPushDraft(), rules: [oneStart]) {
        Entry("scheduleAt", PivotalShapes.milliseconds.described("Milliseconds since 1970.")) { $0.at = $1 ?? nil }
        Entry("scheduleIn", delay) { $0.delay = $1 ?? nil }
        Entry(
            "expiryTime", PivotalShapes.milliseconds.described("Milliseconds since 1970, later than the start.")
        ) { $0.expiry = $1 ?? nil }
        Entry(required: "target", target.shape) { $0.target = $1 }
        Entry(required: "message", PivotalMessageShapes.message.shape) { $0.message = $1 }
    }

    private static let oneStart = Rule<PivotalPushDraft>(
        violation: { describing in
            let isSet = JSON.present(["scheduleAt", "scheduleIn"], describing)
            let zero: JSON = [
                "anyOf": [["const": 0], ["type": "string", "pattern": "^[ \\t\\r\\n]*-?0+[ \\t\\r\\n]*$"]]
            ]
            let isZero = ["scheduleAt", "scheduleIn"].map { ["properties": .object(.init([($0, zero)]))] as JSON }
            return ["allOf": [isSet, ["not": ["anyOf": .array(isZero)]]]]
        }
    ) { push, _, _ throws(PealError) in
        if push.at != nil, push.delay != nil {
            throw .invalid("scheduleIn", "scheduleAt and scheduleIn must not both be set")
        }
    }

    /// 0 counts as absent. `PivotalTiming` checks the range, which depends on the app's settings.
    private static let delay = Shape.integer(Int64.min...Int64.max).map { $0 == 0 ? nil : $0 }.described { describing in
        Shape.integer(0...Limits.ttlSecondsMax).describe(describing).described(
            "Seconds. Not together with `scheduleAt`.")
    }
}

/// The target of a push. `devices` overrides everything else. Custom user ids and topics are combined; platforms narrow
/// both, or select all their devices if there are neither users nor topics.
struct PivotalTarget: Sendable {
    var isInteractive = false
    var devices: [String] = []
    var users: [String] = []
    /// Includes the tags, which is the older name of topics.
    var topics: [String] = []
    // Ignored if the target names devices: their errors are reported only without devices.
    var platforms: Result<[Set<Platform>], PealError>?
    var platform: Result<Set<Platform>, PealError>?
    /// The first error in the lists of users and topics.
    var fault: PealError?
    /// Whether `devices` has elements, valid or not.
    var namesDevices = false
    /// Whether another list has elements. A list of empty names selects no device, never all devices.
    var isNarrow = false

    /// - Throws: the error in the platforms, if any.
    func audience() throws(PealError) -> Audience {
        var audience = Audience()
        audience.interactiveOnly = isInteractive
        if namesDevices {
            // This server has never issued an id that is not a UUID, so no device has it.
            var seen: Set<DeviceID> = []
            audience.devices = devices.compactMap { DeviceID($0) }.filter { seen.insert($0).inserted }
            return audience
        }
        audience.users = users.filter { Self.isName($0, bytesMax: Limits.userIDBytesMax) }
        let lowered = topics.map(PivotalShapes.lowered).filter { Self.isName($0, bytesMax: Limits.topicBytesMax) }
        audience.topics = lowered.distinctTexts
        audience.includesAll = !isNarrow
        let named = try namedPlatforms()
        if !named.isEmpty, named.count < Platform.allCases.count { audience.platforms = named }
        return audience
    }

    /// The union of `platforms` and the older `platform`; empty if neither is given.
    fileprivate func namedPlatforms() throws(PealError) -> Set<Platform> {
        let listed = try platforms?.get() ?? []
        return listed.reduce(into: try platform?.get() ?? []) { $0.formUnion($1) }
    }

    /// Adds the names in a list that `devices` overrides.
    fileprivate mutating func take(
        _ list: Result<[String]?, PealError>?, into names: WritableKeyPath<PivotalTarget, [String]>
    ) {
        switch list {
        case .success(let given?):
            self[keyPath: names] += given
            isNarrow = true
        case .failure(let error): fault = fault ?? error
        case .success(nil), nil: break
        }
    }

    /// Whether a user or a topic can have this name. Other names match nothing.
    private static func isName(_ text: String, bytesMax: Int) -> Bool {
        text.utf8.count <= bytesMax && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}

extension PivotalPushShapes {
    private static let target = ObjectShape("PivotalTarget", PivotalTarget(), rules: [fewTopics, hasTarget]) {
        Entry("interactive-only", or: "interactive_only", is: .flag) { $0.isInteractive = $1 ?? false }
        Entry("devices", names(Limits.pivotalDevicesMax)) { ($0.devices, $0.namesDevices) = named($1) }
        Entry("custom_user_ids", otherNames(Limits.pivotalUsersMax)) { $0.take($1, into: \.users) }
        for name in ["topics", "tags"] {
            Entry(name, otherNames(Limits.audienceTopicsMax)) { $0.take($1, into: \.topics) }
        }
        Entry("platforms", platforms.deferred()) { $0.platforms = $1 }
        Entry("platform", platform.deferred()) { $0.platform = $1 }
    }

    /// Accepts names that nothing can have, because they are too long or contain control characters.
    private static func names(_ max: Int) -> Shape<[String]?> {
        Shape<[String]?>(
            read: { json, reading throws(PealError) in
                let names = try Shape<[String]>.texts(.anyText, max: max).read(json, &reading)
                return json == [] ? nil : names
            }, describe: { Shape<[String]>.texts(.anyText, max: max).describe($0) })
    }

    /// The same for a list that `devices` overrides.
    private static func otherNames(_ max: Int) -> Shape<Result<[String]?, PealError>> {
        let names = names(max)
        return names.deferred().described("Ignored if `devices` is given. Otherwise at most \(max) names.")
    }

    /// The names, and whether the list has elements.
    private static func named(_ names: [String]??) -> ([String], Bool) {
        guard case .some(.some(let names)) = names else { return ([], false) }
        return (names, true)
    }

    private static let words: [(String, Set<Platform>)] =
        PivotalPlatform.named.map { ($0.name, [$0.platform]) } + [("all", Set(Platform.allCases))]

    private static let platform = Shape.text().checked { word, reading throws(PealError) -> Set<Platform> in
        guard let row = words.first(where: { $0.0 == word.lowercased() }) else {
            throw .invalid(reading.path, "platform \(word) is unknown")
        }
        return row.1
    }.described { Shape.words("", words).describe($0) }

    private static let platforms = Shape.list(platform, max: Limits.listItemsMax, skipsEmpty: true)

    private static let fewTopics = Rule<PivotalTarget> { target, _, reading throws(PealError) in
        // By bytes: Swift's `==` treats different spellings of one character as equal.
        let names = Set(target.topics.map { Array($0.utf8) })
        guard !target.namesDevices, names.count > Limits.audienceTopicsMax else { return }
        throw .invalid(
            reading.path("topics"), "a target may contain at most \(Limits.audienceTopicsMax) topics")
    }

    private static let listed: JSON = ["type": "array", "minItems": 1]

    private static func with(_ name: String, _ schema: JSON) -> JSON {
        ["required": [.string(name)], "properties": .object(.init([(name, schema)]))]
    }

    private static let hasTarget = Rule<PivotalTarget>(
        "Give at least one of `devices`, `custom_user_ids`, `topics`, `tags`, `platforms` and `platform`.",
        violation: { describing in
            let lists = ["devices", "custom_user_ids", "topics", "tags"].map { with($0, listed) }
            let word = platform.describe(describing).json
            let named: JSON = ["type": "array", "contains": word]
            let nobody: JSON = [
                "not": ["anyOf": .array(lists + [with("platforms", named), with("platform", word)])]
            ]
            // The schemas of these lists allow anything, because `devices` overrides them.
            let others: [(String, Schema)] =
                [("custom_user_ids", names(Limits.pivotalUsersMax).describe(describing))]
                + ["topics", "tags"].map { ($0, names(Limits.audienceTopicsMax).describe(describing)) }
                + [("platforms", platforms.describe(describing)), ("platform", platform.describe(describing))]
            let isInvalid = others.map { with($0, ["not": describing.optional($1).json]) }
            let invalid: JSON = ["allOf": [["not": with("devices", listed)], ["anyOf": .array(isInvalid)]]]
            return ["anyOf": [nobody, invalid]]
        }
    ) { target, _, reading throws(PealError) in
        guard !target.namesDevices else { return }
        if let fault = target.fault { throw fault }
        guard try !target.namedPlatforms().isEmpty || target.isNarrow else {
            throw PealError(
                .missingField,
                "target must contain at least one of devices, topics, platforms, platform and custom_user_ids",
                field: reading.path)
        }
    }
}
