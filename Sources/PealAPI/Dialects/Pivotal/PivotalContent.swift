internal import PealCore

/// Reads the message of a push into the core's content: the complete iOS payload, and the objects of the other
/// platforms in the form of the native API.
enum PivotalContent {
    /// - Parameter receipt: the `receiptId` of payloads; nil for none.
    static func content(_ body: Tolerance, receipt: String?) throws(PealError) -> Content {
        guard let message = try body.object("message") else { throw .missing("message") }
        var content = Content()
        let text = try freeText(message, "body")
        content.body = text.map(LocalizedText.plain)
        let custom = try message.object("custom")
        if let custom {
            try ControlCharacters.refuse(
                in: JSON.object(custom.members), custom.path, except: ControlCharacters.inContent)
        }
        let ios = try custom?.object("ios")
        let android = try custom?.object("android")
        guard text != nil || custom.map({ $0.members.pairs.contains { !$0.1.isNull } }) == true else {
            throw PealError(.missingField, "message must hold body or custom", field: "message")
        }
        content.platforms[.ios] = try PivotalApple.content(ios, body: text, receipt: receipt)
        content.platforms[.android] = androidContent(android, body: text, receipt: receipt)
        let (windows, phone) = (try custom?.object("windows8"), try custom?.object("windowsPhone"))
        content.platforms[.windows] = PivotalWindows.windows(windows, body: text)
        content.platforms[.windowsPhone] = PivotalWindows.phone(phone, body: text)
        return content
    }

    /// A text of any length.
    static func freeText(_ fields: Tolerance, _ name: String) throws(PealError) -> String? {
        try fields.freeText(name)
    }

    /// Every member is the app's own data, as text, for FCM takes nothing else; the body is its `message` unless one is
    /// given.
    private static func androidContent(
        _ android: Tolerance?, body: String?, receipt: String?
    ) -> Content.PlatformContent {
        var content = Content.PlatformContent()
        var data = JSON.Members()
        if let body { data["message"] = .string(body) }
        for (name, value) in android?.members.pairs.map({ ($0, $1) }) ?? [] where !value.isNull {
            data[name] = .string(Tolerance.plainText(value) ?? value.text)
        }
        if case .string(let key)? = data["collapse_key"], !key.isEmpty {
            content.options.collapseKey = key
            data["collapse_key"] = nil
        }
        if let receipt { data["receiptId"] = .string(receipt) }
        content.fields = JSON.Members([("data", .object(data)), ("data_only", true)])
        return content
    }
}

/// Builds the APNs payload of a push.
enum PivotalApple {
    /// Members of `alert` that are texts, and those that are lists of texts.
    private static let texts = [
        "body", "title", "subtitle", "title-loc-key", "action-loc-key", "loc-key", "launch-image",
    ]
    private static let lists = ["title-loc-args", "loc-args"]

    static func content(
        _ ios: Tolerance?, body: String?, receipt: String?
    ) throws(PealError) -> Content.PlatformContent {
        var aps = JSON.Members()
        if let alert = try ios.map({ ios throws(PealError) in try alert(ios, body: body) }) ?? nil {
            aps["alert"] = alert
        }
        if let category = try ios?.text("category") { aps["category"] = .string(category) }
        if let badge = try ios?.badge("badge") { aps["badge"] = .integer(badge) }
        if let sound = try ios?.text("sound") { aps["sound"] = .string(sound) }
        let isAvailable = try ios?.flag("content-available", "content_available")
        if let isAvailable { aps["content-available"] = isAvailable ? 1 : 0 }

        var payload = try ios?.object("extra")?.members ?? .init()
        // The app's own data must not overwrite these.
        payload["aps"] = aps.isEmpty ? nil : .object(aps)
        payload["receiptId"] = receipt.map(JSON.string)
        var content = Content.PlatformContent(fields: JSON.Members([("payload", .object(payload))]))
        let isVisible = body != nil || ["alert", "badge", "sound"].contains { aps[$0] != nil }
        if isAvailable == true, !isVisible { content.options.isBackground = true }
        return content
    }

    /// The push's own alert, if any, completed by the message's body.
    private static func alert(_ ios: Tolerance, body: String?) throws(PealError) -> JSON? {
        guard let (value, path) = ios["alert"] else { return nil }
        if let text = Tolerance.plainText(value) { return .string(text) }
        let given = try Tolerance(value, path: path)
        var alert = given.members
        for name in texts {
            let text = try PivotalContent.freeText(given, name)
            alert[name] = text.map(JSON.string)
        }
        for name in lists {
            guard let (value, path) = given[name] else {
                alert[name] = nil
                continue
            }
            guard let elements = value.arrayValue else {
                throw .invalid(path, "\(path) must be an array, not \(value.typeName)")
            }
            alert[name] = .array(elements.map { .string(Tolerance.plainText($0) ?? $0.text) })
        }
        if alert["body"] == nil, let body { alert["body"] = .string(body) }
        return alert.isEmpty ? nil : .object(alert)
    }
}
