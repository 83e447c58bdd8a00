import PealCore

/// The author's own `android` object: FCM's `Message` without a target, besides Peal's `data_only` and `target`. Names
/// may also be in snake_case, as protobuf's JSON takes them; what is unknown is passed on.
struct FCMFields {
    /// Which member of the message names the device.
    enum Target: String, CaseIterable {
        case token
        /// A Firebase installation id, which is to replace registration tokens.
        case fid
    }

    /// In FCM's JSON names, checked as far as FCM documents it.
    let message: JSON.Members
    let isDataOnly: Bool
    let target: Target
    /// Whether the author uses `androidV2`, which excludes `android`.
    let usesSecondForm: Bool

    private static let path = "content.android"
    /// Members of Peal's own, and those that only FCM or the sender may set.
    private static let ours: Set<String> = ["data_only", "target"]
    private static let targets: Set<String> = ["token", "fid", "topic", "condition", "name"]

    /// - Throws: `invalid_field`, naming the field.
    init(_ fields: JSON.Members) throws(PealError) {
        isDataOnly = try Self.flag(fields["data_only"], "\(Self.path).data_only")
        target = try Self.target(fields["target"])
        let own = JSON.Members(fields.pairs.filter { !Self.ours.contains($0.0) })
        if let name = own.names.first(where: Self.targets.contains) {
            throw .invalid("\(Self.path).\(name)", "\(name) is not the author's: the message goes to its audience")
        }
        var message = FCMNames.normalized(own)
        usesSecondForm = message["androidV2"].map { !$0.isNull } ?? false && message["android"] == nil
        for part in ["notification", "data", "fcmOptions", "android", "androidV2", "apns", "webpush"] {
            try Self.checkObject(message[part], "\(Self.path).\(part)")
        }
        try Self.makeTexts("data", of: &message, Self.path)
        for (part, maps) in [
            ("android", ["data"]), ("androidV2", ["data"]), ("apns", ["headers"]), ("webpush", ["headers", "data"]),
        ] {
            guard var members = message[part]?.objectValue else { continue }
            for map in maps { try Self.makeTexts(map, of: &members, "\(Self.path).\(part)") }
            try Self.checkDelivery(&members, part)
            message[part] = .object(members)
        }
        self.message = message
    }

    /// A map of texts, which is all that FCM takes: other values become their JSON.
    /// - Parameter isData: whether FCM's reserved keys are refused.
    /// - Throws: `invalid_field`, naming the key.
    static func texts(_ members: JSON.Members, field: String, isData: Bool) throws(PealError) -> JSON.Members {
        var texts = JSON.Members()
        for (name, value) in members.pairs {
            let isReserved =
                ["from", "message_type"].contains(name) || name.hasPrefix("google.")
                || name.hasPrefix("gcm.notification.")
            if isData, isReserved { throw .invalid("\(field).\(name)", "\(name) is a key that FCM keeps for itself") }
            texts[name] = .string(value.stringValue ?? value.text)
        }
        return texts
    }

    private static func makeTexts(_ map: String, of members: inout JSON.Members, _ path: String) throws(PealError) {
        try checkObject(members[map], "\(path).\(map)")
        guard let own = members[map]?.objectValue else { return }
        members[map] = .object(try texts(own, field: "\(path).\(map)", isData: map == "data"))
    }

    /// What FCM documents of `AndroidConfig`: the form and range of `ttl`, the form of a colour.
    private static func checkDelivery(_ members: inout JSON.Members, _ part: String) throws(PealError) {
        guard part.hasPrefix("android") else { return }
        let path = "\(path).\(part)"
        if let ttl = members["ttl"], !ttl.isNull { try checkTTL(ttl, "\(path).ttl") }
        if let priority = members["priority"]?.stringValue?.uppercased(), ["HIGH", "NORMAL"].contains(priority) {
            members["priority"] = .string(priority)
        }
        try checkObject(members["notification"], "\(path).notification")
        if let color = members["notification"]?["color"], !color.isNull {
            let text = Array((color.stringValue ?? "").utf8)
            guard text.count == 7, text[0] == UInt8(ascii: "#"),
                Hex.decode(String(decoding: text[1...], as: UTF8.self)) != nil
            else { throw .invalid("\(path).notification.color", "color must be written #rrggbb") }
        }
    }

    /// Seconds as protobuf's JSON writes a duration: digits, at most nine behind the point, `s`.
    private static func checkTTL(_ ttl: JSON, _ field: String) throws(PealError) {
        let text = ttl.stringValue ?? ""
        let parts = text.dropLast().split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let areDigits = parts.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
        guard text.hasSuffix("s"), areDigits, parts.last?.utf8.count ?? 0 <= 9, let seconds = Double(text.dropLast()),
            seconds <= Double(Limits.fcmTTLSecondsMax)
        else {
            throw .invalid(field, "ttl must be seconds as \"3600s\", at most \(Limits.fcmTTLSecondsMax)")
        }
    }

    private static func checkObject(_ value: JSON?, _ field: String) throws(PealError) {
        guard let value, !value.isNull, value.objectValue == nil else { return }
        let name = field.split(separator: ".").last ?? ""
        throw .invalid(field, "\(name) must be an object, not \(value.typeName)")
    }

    private static func flag(_ value: JSON?, _ field: String) throws(PealError) -> Bool {
        guard let value, !value.isNull else { return false }
        guard let flag = value.boolValue else { throw .invalid(field, "must be true or false, not \(value.typeName)") }
        return flag
    }

    private static func target(_ value: JSON?) throws(PealError) -> Target {
        guard let value, !value.isNull else { return .token }
        guard let target = value.stringValue.flatMap(Target.init(rawValue:)) else {
            throw .invalid("\(path).target", "target must be token or fid")
        }
        return target
    }
}
