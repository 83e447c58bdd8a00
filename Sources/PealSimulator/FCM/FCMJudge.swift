/// Checks the values of a message with a valid shape
/// (https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages).
struct FCMMessageCheck {
    private(set) var violations: [FieldViolation] = []
    private let message: JSONValue

    /// Checks `message`, whose names are all in `camelCase`.
    init(_ message: JSONValue) {
        self.message = message
        checkTarget()
        checkData("data")
        checkAndroid("android")
        checkAndroid("androidV2")
        checkOthers()
        checkSize()
    }

    /// The target: a registration token or installation id, `/topics/…`, or a condition.
    var target: String {
        if let topic = message["topic"]?.string { return "/topics/" + topic }
        return ["token", "fid", "condition"].lazy.compactMap { [message] in message[$0]?.string }.first ?? ""
    }

    private mutating func note(_ field: String, _ description: String) {
        violations.append(FieldViolation(field: field, description: description))
    }

    private mutating func checkTarget() {
        let targets = ["token", "fid", "topic", "condition"].filter { message[$0] != nil }
        guard targets.count == 1, let kind = targets.first, let text = message[kind]?.string else {
            return targets.isEmpty
                ? note("message", "Recipient of the message is not set.")
                : note("message", "Invalid value at 'message' (oneof), oneof field 'target' is already set.")
        }
        switch kind {
        case "topic":
            if text.wholeMatch(of: #/[a-zA-Z0-9\-_.~%]{1,900}/#) == nil {
                note("message.topic", "Invalid topic name provided.")
            }
        case "condition":
            let topics = text.matches(of: #/'[a-zA-Z0-9\-_.~%]{1,900}'\s+in\s+topics/#).count
            if topics == 0 || topics > SimulatorLimits.conditionTopicsMax {
                note("message.condition", "Invalid condition expression provided.")
            }
        default:
            let isGood = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
            if text.isEmpty || !isGood || text.utf8.count > SimulatorLimits.deviceNameBytesMax {
                note("message.\(kind)", "The registration token is not a valid FCM registration token")
            }
        }
    }

    /// FCM reserves some keys.
    private mutating func checkData(_ path: String, in parent: String? = nil) {
        let data = parent.map { message[$0]?[path] } ?? message[path]
        let field = ["message", parent, path].compactMap { $0 }.joined(separator: ".")
        for member in data?.members ?? [] {
            let name = member.name
            let isReserved =
                name == "from" || name == "message_type" || name.hasPrefix("google.")
                || name.hasPrefix("gcm.notification.")
            if isReserved || name.isEmpty { note(field, "Invalid data payload key: \(name)") }
        }
    }

    private mutating func checkAndroid(_ name: String) {
        guard let android = message[name] else { return }
        checkData("data", in: name)
        let ttl = android["ttl"]?.string.flatMap(FCMDuration.seconds)
        if let ttl, !SimulatorLimits.androidLifeSeconds.contains(ttl) {
            note("message.\(name).ttl", "Invalid value for field ttl: it must be between 0 and 4 weeks")
        }
        let notification = android["notification"] ?? android["remoteNotification"]?["notification"]
        if let color = notification?["color"]?.string, color.wholeMatch(of: #/#[0-9a-fA-F]{6}/#) == nil {
            note("message.\(name).notification.color", "Invalid color: it must be of the form #rrggbb")
        }
        for (arguments, key) in [("bodyLocArgs", "bodyLocKey"), ("titleLocArgs", "titleLocKey")]
        where notification?[arguments] != nil && notification?[key] == nil {
            note("message.\(name).notification.\(arguments)", "\(arguments) needs \(key)")
        }
    }

    private mutating func checkOthers() {
        if message["android"] != nil, message["androidV2"] != nil {
            note("message.android_v2", "android and android_v2 exclude each other")
        }
        if let link = message["webpush"]?["fcmOptions"]?["link"]?.string, !link.hasPrefix("https://") {
            note("message.webpush.fcm_options.link", "Invalid link: it must be an HTTPS URL")
        }
        if let label = message["fcmOptions"]?["analyticsLabel"]?.string,
            label.wholeMatch(of: #/[a-zA-Z0-9\-_.~%]{1,50}/#) == nil
        {
            note("message.fcm_options.analytics_label", "Invalid analytics label")
        }
        if let payload = message["apns"]?["payload"], payload.text.utf8.count > SimulatorLimits.payloadBytesMax {
            note("message.apns.payload", "APNs payload is too big")
        }
    }

    /// Checks the total size of names and values in data and notification, for each platform.
    private mutating func checkSize() {
        let isForOne = message["token"] != nil || message["fid"] != nil
        let limit = isForOne ? SimulatorLimits.payloadBytesMax : SimulatorLimits.topicPayloadBytesMax
        let base = Self.bytes(message["notification"])
        let android = message["android"] ?? message["androidV2"]
        let data = Self.bytes(android?["data"] ?? message["data"])
        let extra = Self.bytes(android?["notification"] ?? android?["remoteNotification"]?["notification"])
        if base + data + extra > limit || base + Self.bytes(message["data"]) > limit {
            note("message", "Android message is too big")
        }
    }

    private static func bytes(_ value: JSONValue?) -> Int {
        switch value {
        case .string(let text): text.utf8.count
        case .number(let text): text.utf8.count
        case .array(let values): values.reduce(0) { $0 + bytes($1) }
        case .object(let members): members.reduce(0) { $0 + $1.name.utf8.count + bytes($1.value) }
        case .truth, .null, nil: 0
        }
    }
}

/// Durations in proto JSON: seconds with up to nine decimals and an `s`.
enum FCMDuration {
    /// The seconds of `text`, rounded down; nil when it is not a duration.
    static func seconds(_ text: String) -> Int64? {
        guard text.utf8.last == UInt8(ascii: "s") else { return nil }
        let parts = text.dropLast().split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first, let seconds = Int64(whole), whole.utf8.first != UInt8(ascii: "+") else {
            return nil
        }
        guard parts.count > 1 else { return seconds }
        let decimals = parts[1].utf8
        guard (1...9).contains(decimals.count), decimals.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        // -0.5s is negative too.
        return whole.utf8.first == UInt8(ascii: "-") ? min(seconds, -1) : seconds
    }
}

/// Reads a request according to the schema, as Google's JSON parser does: unknown names, wrong types and repeated
/// fields are violations. The result has all names in `camelCase`.
struct FCMShapeCheck {
    private(set) var violations: [FieldViolation] = []

    /// Checks `value` as the message `type` at `path` (empty at the root).
    mutating func object(_ value: JSONValue, _ type: String, at path: String) -> JSONValue {
        guard let members = value.members else {
            wrong(value, .message(type), at: path)
            return .null
        }
        let fields = FCMSchema.messages[type] ?? [:]
        var kept: [JSONValue.Member] = []
        for member in members {
            let name = FCMSchema.camelCase(member.name)
            guard let type = fields[name] else {
                let text = "Invalid JSON payload received. Unknown name \"\(member.name)\""
                note(path, path.isEmpty ? "\(text): Cannot find field." : "\(text) at '\(path)': Cannot find field.")
                continue
            }
            let fieldPath = path.isEmpty ? member.name : "\(path).\(member.name)"
            guard !kept.contains(where: { $0.name == name }) else {
                note(fieldPath, "Invalid value at '\(path)', field '\(member.name)' is already set.")
                continue
            }
            // null is the same as absent.
            if member.value != .null {
                kept.append(.init(name: name, value: field(member.value, type, at: fieldPath)))
            }
        }
        return .object(kept)
    }

    private mutating func field(_ value: JSONValue, _ type: FCMType, at path: String) -> JSONValue {
        switch type {
        case .message(let name): return object(value, name, at: path)
        case .list(let element):
            guard case .array(let values) = value else {
                wrong(value, element, at: path)
                return .array([])
            }
            return .array(values.enumerated().map { field($1, element, at: "\(path)[\($0)]") })
        case .strings:
            guard let members = value.members else {
                wrong(value, .anything, at: path)
                return .object([])
            }
            for (index, member) in members.enumerated() where member.value.string == nil {
                wrong(member.value, .string, at: "\(path)[\(index)].value")
            }
        case .string, .truth, .int32, .double, .duration, .timestamp, .choice, .anything:
            if !Self.fits(value, type) { wrong(value, type, at: path) }
        }
        return value
    }

    private static func fits(_ value: JSONValue, _ type: FCMType) -> Bool {
        let isNumber = if case .number = value { true } else { false }
        return switch type {
        case .string: value.string != nil
        case .truth: if case .truth = value { true } else { false }
        case .int32: (value.integer.flatMap { Int32(exactly: $0) } ?? value.string.flatMap { Int32($0) }) != nil
        case .double: isNumber || value.string.flatMap { Double($0) } != nil
        case .duration: value.string.flatMap(FCMDuration.seconds) != nil
        case .timestamp: value.string.map(isTimestamp) ?? false
        // Google's servers accept the names of enumeration values in either case.
        case .choice(let names):
            value.string.map { names.contains($0.uppercased()) }
                ?? value.integer.map { names.indices.contains(Int($0)) } ?? false
        case .anything: value.members != nil
        case .strings, .list, .message: false
        }
    }

    /// RFC 3339 with `Z` or an offset.
    private static func isTimestamp(_ text: String) -> Bool {
        text.wholeMatch(of: #/\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)/#) != nil
    }

    private mutating func wrong(_ value: JSONValue, _ type: FCMType, at path: String) {
        note(path, "Invalid value at '\(path)' (\(type.name)), \(value.text)")
    }

    private mutating func note(_ path: String, _ description: String) {
        violations.append(FieldViolation(field: path, description: description))
    }
}
