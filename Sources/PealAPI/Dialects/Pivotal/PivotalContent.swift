internal import PealCore
internal import PealShapes

/// The content of a push: the body for all platforms and the objects for single platforms.
struct PivotalMessage: Sendable {
    var body: String?
    var custom = Custom()

    struct Custom: Sendable {
        var ios: Apple?
        var android: JSON.Members?
        var windows: JSON.Members?
        var phone: JSON.Members?
    }

    struct Apple: Sendable {
        /// A string, or an object whose known members have the types that APNs requires.
        var alert: JSON?
        var category: String?
        var badge: Int64?
        var sound: String?
        var isAvailable: Bool?
        var extra: JSON.Members?

        var saysSomething: Bool {
            alert?.objectValue?.isEmpty == false || alert?.stringValue != nil || category != nil || badge != nil
                || sound != nil || isAvailable == true || extra?.isEmpty == false
        }
    }
}

/// The shape of `message` in a push.
enum PivotalMessageShapes {
    static let message = ObjectShape("PivotalMessage", PivotalMessage(), rules: [saysSomething]) {
        Entry("body", .content) { $0.body = $1 }
        Entry("custom", custom.shape.contentOnly()) { $0.custom = $1 ?? .init() }
    }

    private static let saysSomething = Rule<PivotalMessage>(
        "Give `body` or `custom`.",
        violation: { describing in
            let custom: JSON = [
                "required": ["custom"],
                "properties": ["custom": ["type": "object", "not": ["additionalProperties": ["type": ["null"]]]]],
            ]
            return ["not": ["anyOf": [.present(["body"], describing), custom]]]
        }
    ) { message, given, reading throws(PealError) in
        let custom = given.members["custom"]?.objectValue
        guard message.body != nil || custom?.values.contains(where: { !$0.isNull }) == true else {
            throw PealError(.missingField, "message must contain body or custom", field: reading.path)
        }
    }

    private static let custom = ObjectShape("PivotalCustom", PivotalMessage.Custom()) {
        Entry("ios", apple.shape) { $0.ios = $1 }
        Entry("android", .anyObject) { $0.android = $1 }
        Entry("windows8", .anyObject) { $0.windows = $1 }
        Entry("windowsPhone", .anyObject) { $0.phone = $1 }
    }

    private static let apple = ObjectShape("PivotalApple", PivotalMessage.Apple()) {
        Entry("alert", alert) { $0.alert = $1 }
        Entry("category", .text()) { $0.category = $1 }
        Entry("badge", .integer(0...Int64(Int32.max))) { $0.badge = $1 }
        Entry("sound", .text()) { $0.sound = $1 }
        Entry("content-available", or: "content_available", is: .flag) { $0.isAvailable = $1 }
        Entry("extra", .anyObject) { $0.extra = $1 }
    }

    private static let alert = Shape<JSON>.either(
        "PivotalAlert", Shape.anyText.map { .string($0) }, or: alertObject.shape.map { .object(typed($0)) },
        expected: "an object")

    private static let texts = [
        "body", "title", "subtitle", "title-loc-key", "action-loc-key", "loc-key", "launch-image",
    ]
    private static let lists = ["title-loc-args", "loc-args"]

    private static let alertObject = ObjectShape("PivotalAlertObject", JSON.Members(), extra: { $0 = $1 }) {
        for name in texts { Entry(checking: name, Shape.content) }
        for name in lists { Entry(checking: name, Shape<[JSON]>.list(.anything, max: .max)) }
    }

    /// Converts the known members to strings and lists of strings, and removes the absent ones.
    private static func typed(_ alert: JSON.Members) -> JSON.Members {
        var alert = alert
        for name in texts { alert[name] = alert[name].flatMap { $0 == "" ? nil : $0.scalarText }.map(JSON.string) }
        for name in lists {
            alert[name] = alert[name]?.arrayValue.map(JSON.arguments)
        }
        return alert
    }
}

/// Translates the message of a push into the core's content: the complete iOS payload, and the content of each other
/// network.
enum PivotalContent {
    /// - Parameter receipt: the `receiptId` of payloads; nil to leave it out.
    /// - Returns: the content, and warnings about members that were left out.
    static func content(
        _ message: PivotalMessage, receipt: String?
    ) -> (content: Content, warnings: [String]) {
        var content = Content()
        var warnings: [String] = []
        content.body = message.body.map(LocalizedText.plain)
        let custom = message.custom
        // Without a body, a push has content only for platforms with an object that is not empty.
        if message.body != nil || custom.ios?.saysSomething == true {
            content.platforms[.ios] = PivotalApple.content(custom.ios, body: message.body, receipt: receipt)
        }
        content.platforms[.android] = androidContent(
            custom.android, body: message.body, receipt: receipt, &warnings)
        content.platforms[.windows] = PivotalWindows.windows(custom.windows, body: message.body, &warnings)
        content.platforms[.windowsPhone] = PivotalWindows.phone(custom.phone, body: message.body, &warnings)
        if message.body == nil {
            content.absentPlatforms = Set(Platform.allCases).subtracting(content.platforms.keys)
        }
        return (content, warnings)
    }

    /// Every member becomes app data and a string, because FCM accepts nothing else. The body becomes `message` unless
    /// the push has that member.
    /// - Returns: nil if there is nothing to send to the app.
    private static func androidContent(
        _ android: JSON.Members?, body: String?, receipt: String?, _ warnings: inout [String]
    ) -> Content.PlatformContent? {
        var options = PlatformOptions()
        var data = JSON.Members()
        if let body { data["message"] = .string(body) }
        for (name, value) in android?.pairs.map({ ($0, $1) }) ?? [] where !value.isNull {
            // If empty, these two count as absent; all other members belong to the app.
            if ["message", "collapse_key"].contains(name), value == "" { continue }
            data[name] = .string(value.asText)
        }
        warnings += FCMContent.removeReserved(from: &data, "message.custom.android")
        if case .string(let key)? = data["collapse_key"] {
            options.collapseKey = key
            data["collapse_key"] = nil
        }
        guard body != nil || !data.isEmpty else { return nil }
        if let receipt { data["receiptId"] = .string(receipt) }
        return Content.PlatformContent(FCMContent(data: data), options: options)
    }
}

/// Builds the APNs payload of a push.
enum PivotalApple {
    static func content(
        _ ios: PivotalMessage.Apple?, body: String?, receipt: String?
    ) -> Content.PlatformContent {
        var aps = JSON.Members()
        aps["alert"] = alert(ios?.alert, body: body)
        aps["category"] = ios?.category.map(JSON.string)
        aps["badge"] = ios?.badge.map { .integer($0) }
        aps["sound"] = ios?.sound.map(JSON.string)
        aps["content-available"] = ios?.isAvailable.map { $0 ? 1 : 0 }

        var payload = ios?.extra ?? .init()
        // The app's own data must not overwrite these.
        payload["aps"] = aps.isEmpty ? nil : .object(aps)
        payload["receiptId"] = receipt.map(JSON.string)
        var content = Content.PlatformContent(APNsContent(payload: payload))
        let isVisible = body != nil || ["alert", "badge", "sound"].contains { aps[$0] != nil }
        if ios?.isAvailable == true, !isVisible { content.options.isBackground = true }
        return content
    }

    /// The alert of the push, if any, with the message's body filled in.
    private static func alert(_ given: JSON?, body: String?) -> JSON? {
        guard case .object(var alert)? = given else { return given }
        if alert["body"] == nil, let body { alert["body"] = .string(body) }
        return alert.isEmpty ? nil : .object(alert)
    }
}
