import PealCore

/// Renders a message for FCM: receives the order and returns the `Message` of HTTP v1 as JSON
/// (https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages), with a gap for the device.
enum FCMRendering {
    /// - Parameter path: the request's path, the same for every message of a project.
    /// - Throws: `payload_too_large` or `invalid_field`, naming the field.
    static func notification(_ order: RenderOrder, path: String) throws(ContentRefusal) -> Notification {
        let own = try FCMFields(order.content.own())
        let message = try common(order, own).merging(.object(own.message))
        let size = try FCMSize.checked(message, order, own)
        var suffix = Array(#"","#.utf8) + message.bytes.dropFirst()
        suffix.append(UInt8(ascii: "}"))
        return Notification(
            route: order.route, path: .init(Array(path.utf8)), headers: [.init("content-type", "application/json")],
            body: .init(
                Array(#"{"message":{"\#(own.target.rawValue)":""#.utf8), gap: .addressText, suffix: suffix),
            size: size)
    }

    /// The message from the common fields; never empty.
    private static func common(_ order: RenderOrder, _ own: FCMFields) throws(ContentRefusal) -> JSON {
        var message = JSON.Members()
        var android = delivery(order)
        if !own.isDataOnly, !order.options.isBackground {
            let shown = notification(order)
            if !shown.isEmpty {
                message["notification"] = .object(shown)
                let look = look(order.content)
                if !look.isEmpty, !own.usesSecondForm { android["notification"] = .object(look) }
            }
        }
        var data = order.content.data
        if data["peal"] == nil { data["peal"] = order.content.reference(to: order.message) }
        if !data.isEmpty { message["data"] = .object(try FCMFields.texts(data, field: .data, isData: true)) }
        if own.usesSecondForm {
            // `AndroidConfigV2` has no priority: visible messages are always sent immediately.
            android["priority"] = nil
            message["androidV2"] = .object(android)
        } else {
            message["android"] = .object(android)
        }
        return .object(message)
    }

    private static func notification(_ order: RenderOrder) -> JSON.Members {
        let content = order.content
        var members = JSON.Members()
        members["title"] = order.text(content.title).map(JSON.string)
        members["body"] = order.text(content.body).map(JSON.string)
        members["image"] = content.imageURL.map(JSON.string)
        return members
    }

    /// The common fields that only Android has. FCM itself mapped APNs' category to `click_action`.
    private static func look(_ content: Content) -> JSON.Members {
        var members = JSON.Members()
        members["sound"] = content.sound.map(JSON.string)
        members["clickAction"] = content.category.map(JSON.string)
        if let badge = content.badge, let count = Int32(exactly: badge), count >= 0 {
            members["notificationCount"] = .integer(count)
        }
        return members
    }

    private static func delivery(_ order: RenderOrder) -> JSON.Members {
        var members = JSON.Members()
        members["priority"] = order.options.effectivePriority == .high ? "HIGH" : "NORMAL"
        members["ttl"] = .string("\(ttlSeconds(order))s")
        members["collapseKey"] = order.options.collapseKey.map(JSON.string)
        return members
    }

    /// The remaining lifetime in whole seconds, at most FCM's maximum; 0 means now or never.
    private static func ttlSeconds(_ order: RenderOrder) -> Int64 {
        guard let end = order.keptUntil else { return 0 }
        let left = (end.milliseconds - order.now.milliseconds) / 1000
        return min(max(left, 0), Limits.fcmTTLSecondsMax)
    }
}

/// The author's own `android` object: FCM's `Message` without a target, plus Peal's `data_only` and `target`. Names may
/// also be in snake_case, as in protobuf's JSON; unknown members are passed on.
struct FCMFields {
    /// Which member of the message names the device.
    enum Target: String, CaseIterable {
        case token
        /// A Firebase installation id, which is to replace registration tokens.
        case fid
    }

    /// Under FCM's JSON names, checked as far as FCM documents it.
    let message: JSON.Members
    let isDataOnly: Bool
    let target: Target
    /// Whether the author uses `androidV2`, which excludes `android`.
    let usesSecondForm: Bool

    static let field = FCMContent.field
    /// Members that only FCM or the sender may set.
    private static let targets: Set<String> = ["token", "fid", "topic", "condition", "name"]

    /// - Throws: `invalid_field`, naming the field.
    init(_ content: FCMContent) throws(ContentRefusal) {
        isDataOnly = try Self.flag(content.dataOnly, Self.field.member("data_only"))
        target = try Self.target(content.target)
        let own = content.message
        if let name = own.names.first(where: Self.targets.contains) {
            throw .invalid(Self.field.member(name), "\(name) must not be set, because the message has an audience")
        }
        var message = FCMNames.normalized(own)
        usesSecondForm = message["androidV2"].map { !$0.isNull } ?? false && message["android"] == nil
        for part in ["notification", "data", "fcmOptions", "android", "androidV2", "apns", "webpush"] {
            try Self.checkObject(message[part], Self.field.member(part))
        }
        try Self.makeTexts("data", of: &message, Self.field)
        for (part, maps) in [
            ("android", ["data"]), ("androidV2", ["data"]), ("apns", ["headers"]), ("webpush", ["headers", "data"]),
        ] {
            guard var members = message[part]?.objectValue else { continue }
            for map in maps { try Self.makeTexts(map, of: &members, Self.field.member(part)) }
            try Self.checkDelivery(&members, part)
            message[part] = .object(members)
        }
        self.message = message
    }

    /// Converts a map to strings, the only values that FCM accepts: other values become their JSON.
    /// - Parameter isData: whether to refuse FCM's reserved keys.
    /// - Throws: `invalid_field`, naming the key.
    static func texts(_ members: JSON.Members, field: MessageField, isData: Bool) throws(ContentRefusal) -> JSON.Members
    {
        var texts = JSON.Members()
        for (name, value) in members.pairs {
            if isData, FCMContent.isReserved(name) {
                throw .invalid(field.textMember(name), "\(name) is a key that FCM reserves")
            }
            texts[name] = .string(value.stringValue ?? value.text)
        }
        return texts
    }

    private static func makeTexts(_ map: String, of members: inout JSON.Members, _ field: MessageField)
        throws(ContentRefusal)
    {
        try checkObject(members[map], field.member(map))
        guard let own = members[map]?.objectValue else { return }
        members[map] = .object(try texts(own, field: field.member(map), isData: map == "data"))
    }

    /// Checks what FCM documents about `AndroidConfig`: the form and range of `ttl`, and the form of a colour.
    private static func checkDelivery(_ members: inout JSON.Members, _ part: String) throws(ContentRefusal) {
        guard part.hasPrefix("android") else { return }
        let field = field.member(part)
        if let ttl = members["ttl"], !ttl.isNull { try checkTTL(ttl, field.member("ttl")) }
        if let priority = members["priority"]?.stringValue?.uppercased(), ["HIGH", "NORMAL"].contains(priority) {
            members["priority"] = .string(priority)
        }
        try checkObject(members["notification"], field.member("notification"))
        if let color = members["notification"]?["color"], !color.isNull {
            let text = Array((color.stringValue ?? "").utf8)
            guard text.count == 7, text[0] == UInt8(ascii: "#"),
                Hex.decode(String(decoding: text[1...], as: UTF8.self)) != nil
            else { throw .invalid(field.member("notification").member("color"), "color must have the form #rrggbb") }
        }
    }

    /// Checks for seconds in protobuf's JSON form: digits, at most nine decimals, then `s`.
    private static func checkTTL(_ ttl: JSON, _ field: MessageField) throws(ContentRefusal) {
        let text = ttl.stringValue ?? ""
        let parts = text.dropLast().split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let areDigits = parts.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
        guard text.hasSuffix("s"), areDigits, parts.last?.utf8.count ?? 0 <= 9, let seconds = Double(text.dropLast()),
            seconds <= Double(Limits.fcmTTLSecondsMax)
        else {
            throw .invalid(field, "ttl must be a duration such as \"3600s\", at most \(Limits.fcmTTLSecondsMax)")
        }
    }

    private static func checkObject(_ value: JSON?, _ field: MessageField) throws(ContentRefusal) {
        guard let value, !value.isNull, value.objectValue == nil else { return }
        let name = field.description.split(separator: ".").last ?? ""
        throw .invalid(field, "\(name) must be an object, not \(value.typeName)")
    }

    private static func flag(_ value: JSON?, _ field: MessageField) throws(ContentRefusal) -> Bool {
        guard let value, !value.isNull else { return false }
        guard let flag = value.boolValue else { throw .invalid(field, "must be true or false, not \(value.typeName)") }
        return flag
    }

    private static func target(_ value: JSON?) throws(ContentRefusal) -> Target {
        guard let value, !value.isNull else { return .token }
        guard let target = value.stringValue.flatMap(Target.init(rawValue:)) else {
            throw .invalid(field.member("target"), "target must be token or fid")
        }
        return target
    }
}

/// Spells FCM's own members in one way, so that an author's `collapse_key` overrides the `collapseKey` from the common
/// fields. Changes only known names, and nothing inside members that FCM passes on.
enum FCMNames {
    /// Known names of more than one word.
    private static let known: Set<String> = [
        "analyticsLabel", "androidV2", "backgroundSync", "bandwidthConstrainedOk", "bodyLocArgs", "bodyLocKey",
        "bypassProxyNotification", "channelId", "clickAction", "collapseKey", "defaultLightSettings", "defaultSound",
        "defaultVibrateTimings", "directBootOk", "eventTime", "fcmOptions", "lightOffDuration", "lightOnDuration",
        "lightSettings", "liveActivityToken", "localOnly", "mutableContent", "notificationCount",
        "notificationPriority", "remoteNotification", "restrictedPackageName", "restrictedSatelliteOk", "titleLocArgs",
        "titleLocKey", "useAsV1DataMessage", "vibrateTimings",
    ]
    /// Objects whose members belong to the author or to another network.
    private static let opaque: Set<String> = ["data", "headers", "payload"]

    /// - Parameter members: the members of a `Message`.
    static func normalized(_ members: JSON.Members) -> JSON.Members { normalized(members, in: "") }

    private static func normalized(_ members: JSON.Members, in parent: String) -> JSON.Members {
        var out = JSON.Members()
        for (name, value) in members.pairs {
            let name = spelled(name)
            // The members of a web notification are those of the browser's API.
            let isOpaque = opaque.contains(name) || parent == "webpush" && name == "notification"
            if !isOpaque, case .object(let inner) = value {
                out[name] = .object(normalized(inner, in: name))
            } else {
                out[name] = value
            }
        }
        return out
    }

    /// No known name is longer, even in snake case.
    private static let spelledBytesMax = 64

    /// Turns `collapse_key` into `collapseKey`; unknown names stay unchanged.
    private static func spelled(_ name: String) -> String {
        guard name.utf8.count <= spelledBytesMax, name.utf8.contains(UInt8(ascii: "_")) else { return name }
        let words = name.split(separator: "_")
        guard let first = words.first else { return name }
        let joined = words.dropFirst().reduce(String(first)) { $0 + $1.prefix(1).uppercased() + $1.dropFirst() }
        return known.contains(joined) ? joined : name
    }
}

/// Measures a message as FCM does: the names and values that reach the device, at most 4,096 bytes.
enum FCMSize {
    /// - Throws: `payload_too_large`, naming the largest field.
    static func checked(
        _ message: JSON, _ order: RenderOrder, _ own: FCMFields
    ) throws(ContentRefusal) -> PayloadSize {
        let size = PayloadSize(bytes: bytes(message), max: Limits.fcmPayloadBytesMax)
        guard size.excess == 0 else {
            throw .tooLarge("the FCM payload", size, field: largestField(order, own))
        }
        return size
    }

    /// `android.data` replaces `data`, and `android.notification` adds to `notification`.
    static func bytes(_ message: JSON) -> Int {
        let android = message["android"] ?? message["androidV2"]
        let data = android?["data"].flatMap { $0.isNull ? nil : $0 } ?? message["data"]
        let look = android?["notification"] ?? android?["remoteNotification"]?["notification"]
        return [data, message["notification"], look].reduce(0) { $0 + bytes(of: $1) }
    }

    private static func bytes(of part: JSON?) -> Int { part?.objectValue.map(FCMContent.size) ?? 0 }

    private static func largestField(_ order: RenderOrder, _ own: FCMFields) -> MessageField {
        let content = order.content
        func size(_ text: LocalizedText?) -> Int { order.text(text)?.utf8.count ?? 0 }
        let field = FCMFields.field
        let isShown = !own.isDataOnly && !order.options.isBackground
        let shown: [(MessageField, Int)] = [
            (.body, size(content.body)), (.title, size(content.title)),
            (.imageURL, content.imageURL?.utf8.count ?? 0),
        ]
        let android = own.message["android"]
        let others: [(MessageField, Int)] = [
            (.data, bytes(of: .object(content.data))),
            (field.member("data"), bytes(of: own.message["data"])),
            (field.member("notification"), bytes(of: own.message["notification"])),
            (field.member("android").member("data"), bytes(of: android?["data"])),
            (field.member("android").member("notification"), bytes(of: android?["notification"])),
        ]
        return ((isShown ? shown : []) + others).max { $0.1 < $1.1 }?.0 ?? .content
    }
}

extension MessageField {
    /// A member of the author's data, or of an object of FCM's.
    fileprivate func textMember(_ name: String) -> MessageField {
        self == .data ? .dataMember(name) : member(name)
    }
}
