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
    }
}

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
            alert[name] = alert[name]?.arrayValue.map { .array($0.map { .string($0.scalarText ?? $0.text) }) }
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
        content.platforms[.ios] = PivotalApple.content(custom.ios, body: message.body, receipt: receipt)
        content.platforms[.android] = androidContent(
            custom.android, body: message.body, receipt: receipt, &warnings)
        content.platforms[.windows] = PivotalWindows.windows(custom.windows, body: message.body, &warnings)
        content.platforms[.windowsPhone] = PivotalWindows.phone(custom.phone, body: message.body)
        // Without a body, a push has content only for the platforms that it names.
        if message.body == nil {
            let named: [(Platform, Bool)] = [
                (.ios, custom.ios != nil), (.android, custom.android != nil), (.windows, custom.windows != nil),
                (.windowsPhone, custom.phone != nil),
            ]
            content.absentPlatforms = Set(Platform.allCases).subtracting(named.filter(\.1).map(\.0))
            for platform in content.absentPlatforms { content.platforms[platform] = nil }
        }
        return (content, warnings)
    }

    /// Every member becomes app data and a string, because FCM accepts nothing else. The body becomes `message` unless
    /// the push has that member.
    private static func androidContent(
        _ android: JSON.Members?, body: String?, receipt: String?, _ warnings: inout [String]
    ) -> Content.PlatformContent {
        var options = PlatformOptions()
        var data = JSON.Members()
        if let body { data["message"] = .string(body) }
        for (name, value) in android?.pairs.map({ ($0, $1) }) ?? [] where !value.isNull {
            data[name] = .string(value.scalarText ?? value.text)
        }
        warnings += FCMContent.removeReserved(from: &data, "message.custom.android")
        if case .string(let key)? = data["collapse_key"], !key.isEmpty {
            options.collapseKey = key
            data["collapse_key"] = nil
        }
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

/// Builds the content for WNS and MPNS. Does not check templates: an invalid Windows template must not make Peal refuse
/// a push to other platforms.
enum PivotalWindows {
    /// The template of a toast with one text (Microsoft: "The toast template catalog").
    private static let toastTemplate = "ToastText01"

    /// - Parameter body: the message's body, for a push without Windows content.
    static func windows(
        _ custom: JSON.Members?, body: String?, _ warnings: inout [String]
    ) -> Content.PlatformContent? {
        guard let custom else {
            return body.map { _ in
                Content.PlatformContent(WNSContent(type: "toast", template: toastTemplate))
            }
        }
        var own = WNSContent(members: custom)
        for name in ["template_name", "template_fields", "options"] { own.members[name] = nil }
        let given = custom.given("template_fields")?.objectValue ?? .init()
        let type = word(custom, "type")
        own[.type] = type.map(JSON.string)
        let isToast = type == nil || type == "toast"
        let options = windowsOptions(
            custom.given("options")?.objectValue ?? .init(), isToast: isToast, &own, &warnings)
        if type == "badge" {
            own[.value] = custom.given("value") ?? given["value"] ?? given.pairs.map { $0.1 }.first
            own[.template] = nil
            return Content.PlatformContent(own, options: options)
        }
        own[.template] = custom.given("template_name", "template")
        // A toast without its own text shows the message's body. Other templates decide about their texts themselves.
        if !given.isEmpty { own[.fields] = templateFields(given, text: isToast ? body : nil) }
        if isToast, ["template", "fields", "xml", "value"].allSatisfy({ own.members[$0] == nil }) {
            own[.type] = "toast"
            own[.template] = .string(toastTemplate)
        }
        return Content.PlatformContent(own, options: options)
    }

    /// `options` of a Windows push: the headers of every notification, and the attributes of a toast. Unusable values
    /// are left out with a warning.
    /// - Returns: the lifetime, if `ttl` states one.
    private static func windowsOptions(
        _ given: JSON.Members, isToast: Bool, _ own: inout WNSContent, _ warnings: inout [String]
    ) -> PlatformOptions {
        var options = PlatformOptions()
        func take<Value>(_ name: String, _ read: (JSON) -> Value?) -> Value? {
            guard let value = given.given(name) else { return nil }
            let read = read(value)
            if read == nil { warnings.append("message.custom.windows8.options.\(name) is not usable") }
            return read
        }
        let ttl = take("ttl") { $0.tolerantInteger.flatMap { (0...Limits.ttlSecondsMax).contains($0) ? $0 : nil } }
        options.life = ttl.map(MessageOptions.Life.seconds)
        own[.tag] = take("tag", \.scalarText).map(JSON.string) ?? own[.tag]
        own[.cachePolicy] = take("cachePolicy") { value in
            value.scalarText.flatMap {
                ["cache", "no-cache"].contains($0.lowercased()) ? .string($0.lowercased()) : nil
            }
        }
        guard isToast else { return options }
        own[.launch] = take("launch", \.scalarText).map(JSON.string) ?? own[.launch]
        own[.duration] = take("duration") { value in
            value.scalarText.flatMap { ["long", "short"].contains($0.lowercased()) ? .string($0.lowercased()) : nil }
        }
        let audio: [(String, JSON?)] = [
            ("src", take("audioSrc", \.scalarText).map(JSON.string)),
            ("loop", take("audioLoop", \.tolerantFlag).map(JSON.bool)),
            ("silent", take("audioSilent", \.tolerantFlag).map(JSON.bool)),
        ]
        if audio.contains(where: { $0.1 != nil }) { own[.audio] = .compact(audio) }
        return options
    }

    private static func word(_ custom: JSON.Members, _ name: String) -> String? {
        custom.given(name)?.scalarText?.lowercased()
    }

    /// `textFieldN` has index N − 1 in the texts, and `imgSrcN` (or `imageFieldN`) in the images. Indexes without a field are null.
    /// Members with other names follow the texts, sorted by name.
    /// - Parameter text: the only text, if the members contain none.
    private static func templateFields(_ given: JSON.Members, text fallback: String?) -> JSON {
        var (texts, images, others): ([JSON], [JSON], [(String, JSON)]) = ([], [], [])
        for (name, value) in given.pairs {
            if let index = index(name, prefix: "textfield") {
                put(text(value), at: index, in: &texts)
            } else if let index = index(name, prefix: "imagefield") ?? index(name, prefix: "imgsrc") {
                put(value, at: index, in: &images)
            } else {
                others.append((name, value))
            }
        }
        texts += others.sorted { $0.0 < $1.0 }.map { text($0.1) }
        if let fallback, texts.allSatisfy({ $0.isNull || $0 == "" }) { texts = [.string(fallback)] }
        return WNSContent.parts(texts: texts.isEmpty ? nil : texts, images: images.isEmpty ? nil : images)
    }

    /// The index N − 1 for a name that ends with N; nil for other names and for a number that no template has.
    private static func index(_ name: String, prefix: String) -> Int? {
        let name = name.lowercased()
        guard name.hasPrefix(prefix), let number = Int(name.dropFirst(prefix.count)),
            (1...Limits.templateFieldsMax).contains(number)
        else { return nil }
        return number - 1
    }

    private static func put(_ value: JSON, at index: Int, in list: inout [JSON]) {
        while list.count <= index { list.append(.null) }
        list[index] = value
    }

    private static func text(_ value: JSON) -> JSON {
        value.isNull ? .null : .string(value.scalarText ?? value.text)
    }

    /// - Parameter body: the message's body, for a push without Windows Phone content.
    static func phone(_ custom: JSON.Members?, body: String?) -> Content.PlatformContent? {
        guard let custom else {
            return body.map { Content.PlatformContent(MPNSContent(toast: $0)) }
        }
        var own = MPNSContent(members: custom)
        for name in ["template_fields", "options", "template"] { own.members[name] = nil }
        let template = word(custom, "template") ?? word(custom, "type") ?? "toast"
        let given = custom.given("template_fields")?.objectValue
        switch template {
        case "toast":
            own[.type] = "toast"
            own[.fields] = given.map { toast($0, body: body) }
        case "raw":
            own[.type] = "raw"
            own[.fields] = given.map(JSON.object)
        default:
            own[.type] = "tile"
            own[.template] = template == "tile" ? nil : custom.given("template", "type")
            own[.fields] = given.map(tile)
        }
        return Content.PlatformContent(own)
    }

    /// The tile's elements by name. `tileId` is the tile, and `cycleImages` are the images of a cycle tile.
    private static func tile(_ given: JSON.Members) -> JSON {
        var members = JSON.Members()
        for (name, value) in given.pairs {
            switch name.lowercased() {
            case "tileid": members["id"] = value.isNull ? nil : text(value)
            case "cycleimages":
                for (index, image) in (value.arrayValue ?? [value]).prefix(cycleImagesMax).enumerated() {
                    members["CycleImage\(index + 1)"] = text(image)
                }
            default: members[name] = text(value)
            }
        }
        return .object(members)
    }

    /// The images of a cycle tile (Microsoft: "Cycle Tile template for Windows Phone 8").
    private static let cycleImagesMax = 9

    private static func toast(_ given: JSON.Members, body: String?) -> JSON {
        var members = ["title", "subtitle", "parameter"].map { name in (name, given[name].map(text)) }
        if let body, members.prefix(2).allSatisfy({ [nil, .null, ""].contains($0.1) }) {
            members[0].1 = .string(body)
        }
        return .compact(members)
    }
}

extension JSON.Members {
    /// The first of these members that is present; null and "" count as absent.
    fileprivate func given(_ names: String...) -> JSON? {
        names.lazy.compactMap { self[$0] }.first { !$0.isNull && $0 != "" }
    }
}
