internal import PealCore

/// Reads what a push says into the content of the core: the iOS payload complete, the other platforms' objects in the
/// form that the native API gives them.
enum PivotalContent {
    /// - Parameter receipt: what payloads carry as `receiptId`; nil = nothing.
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
