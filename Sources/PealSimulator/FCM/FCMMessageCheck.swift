/// Checks what a message says, once its shape is right
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

    /// Where the message goes: a registration token or installation id, `/topics/…`, or a condition.
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

    /// Some keys belong to FCM itself.
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

    /// Names and values of data and notification, for each platform that they would go to.
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
