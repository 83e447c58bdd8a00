internal import PealCore

/// Builds the APNs payload of a push: Apple's members in `aps`, then `data`, and the keys that the vendor's SDK
/// reads (https://github.com/devtodev-analytics/ios-sdk-2.0).
enum DevtodevApple {
    private static let visible = ["title", "text", "title-loc-key", "loc-key", "attachment", "interactive"]

    static func content(
        _ message: Tolerance, id: MessageID, notes: inout [String]
    ) throws(PealError) -> Content.PlatformContent {
        let options = try DevtodevOptions(message, platform: .ios)
        let given = try message.part("payload")
        var aps = JSON.Members()
        var more = JSON.Members()
        if options.isHidden {
            if let name = visible.first(where: { given[$0] != nil }) {
                throw DevtodevRefusals.hidden(message, name)
            }
            aps["content-available"] = 1
            more["_b"] = try given.badge("badge").map(JSON.integer)
        } else {
            aps = try shown(given)
            if let (key, value) = try DevtodevActions.member(given) { more[key] = value }
            try addButtons(given, &aps, &more, &notes)
            try addAttachments(given, &aps, &more)
        }
        more["_k"] = .string(id.description)
        var payload = JSON.Members([("aps", .object(aps))])
        for (name, value) in try DevtodevData.members(given, notes: &notes).pairs { payload[name] = value }
        for (name, value) in more.pairs { payload[name] = value }
        return Content.PlatformContent(APNsContent(payload: payload), options: options.delivery)
    }

    /// Alert, badge and sound.
    private static func shown(_ given: Tolerance) throws(PealError) -> JSON.Members {
        var alert = JSON.Members()
        alert["title"] = try given.freeText("title").map(JSON.string)
        alert["body"] = try given.freeText("text").map(JSON.string)
        for name in ["title-loc-key", "action-loc-key", "loc-key", "launch-image"] {
            alert[name] = try given.freeText(name).map(JSON.string)
        }
        for name in ["title-loc-args", "loc-args"] { alert[name] = try texts(given, name) }
        guard ["title", "body", "title-loc-key", "loc-key"].contains(where: { alert[$0] != nil }) else {
            throw .missing(given.path("text"))
        }
        var aps = JSON.Members([("alert", .object(alert))])
        aps["badge"] = try given.badge("badge").map(JSON.integer)
        aps["sound"] = try given.freeText("sound").map(JSON.string)
        return aps
    }

    /// A single string counts as a list of one string.
    private static func texts(_ given: Tolerance, _ name: String) throws(PealError) -> JSON? {
        guard let (value, path) = given[name] else { return nil }
        let elements = value.arrayValue ?? [value]
        try ControlCharacters.refuse(in: .array(elements), path, except: ControlCharacters.inContent)
        guard value.objectValue == nil else { throw .invalid(path, "\(path) must be an array of strings") }
        return .array(elements.map { .string(Tolerance.plainText($0) ?? $0.text) })
    }

    /// The template's id is the category. The app fetches its buttons and texts from `/v1/devtodev/categories`.
    private static func addButtons(
        _ given: Tolerance, _ aps: inout JSON.Members, _ more: inout JSON.Members, _ notes: inout [String]
    ) throws(PealError) {
        guard let interactive = try given.object("interactive") else { return }
        guard let name = try interactive.text("template") else { throw .missing(interactive.path("template")) }
        guard let template = DevtodevTemplates.all.first(where: { $0.id == name }) else {
            throw .invalid(interactive.path("template"), "\(interactive.path("template")) is unknown")
        }
        aps["category"] = .string(template.id)
        var buttons: [JSON] = []
        for button in try interactive.objects("buttons") {
            let name = try button.text("id")
            guard let known = template.buttons.first(where: { $0.id == name }) else {
                throw .invalid(button.path("id"), "\(button.path("id")) must be a button of the template")
            }
            guard let (key, value) = try DevtodevActions.member(button) else { continue }
            if known.opensApp {
                buttons.append(.object(JSON.Members([("id", .string(known.id)), (key, value)])))
            } else {
                notes.append("\(button.path("action")): a button that dismisses has no action")
            }
        }
        if !buttons.isEmpty { more["_interactive"] = ["buttons": .array(buttons)] }
    }

    /// The app's service extension loads the attachments; iOS starts it only for `mutable-content`.
    private static func addAttachments(
        _ given: Tolerance, _ aps: inout JSON.Members, _ more: inout JSON.Members
    ) throws(PealError) {
        var attachments: [JSON] = []
        for attachment in try given.objects("attachment") {
            guard let type = try attachment.text("type"), ["image", "audio", "video"].contains(type) else {
                throw .invalid(attachment.path("type"), "\(attachment.path("type")) must be image, audio or video")
            }
            let url = try attachment.text("url", bytesMax: Limits.imageURLBytesMax)
            guard let url, url.lowercased().hasPrefix("https://"), !url.contains(" ") else {
                throw .invalid(attachment.path("url"), "\(attachment.path("url")) must be an https URL")
            }
            attachments.append(["type": .string(type), "url": .string(url)])
        }
        guard !attachments.isEmpty else { return }
        aps["mutable-content"] = 1
        more["_mediaAttachments"] = .array(attachments)
    }
}

/// Builds the FCM data message of a push. The vendor's SDK shows it from the texts under the keys below
/// (https://github.com/devtodev-analytics/package_Messaging).
enum DevtodevAndroid {
    private static let visible = ["title", "text", "image", "interactive"]
    /// The payload's members, and the SDK's names for them.
    private static let names = [
        ("title", "title"), ("text", "alert"), ("small_icon", "icon"), ("icon", "_largeIcon"), ("color", "color"),
        ("sound", "sound"), ("image", "_banner"), ("led_color", "_led"), ("tag", "tag"), ("group", "_group"),
        ("channel_id", "_channel_id"), ("badge_icon_type", "_badge_icon_type"),
    ]

    static func content(
        _ message: Tolerance, id: MessageID, notes: inout [String]
    ) throws(PealError) -> Content.PlatformContent {
        let options = try DevtodevOptions(message, platform: .android)
        let given = try message.part("payload")
        if options.isHidden, let name = visible.first(where: { given[$0] != nil }) {
            throw DevtodevRefusals.hidden(message, name)
        }
        let own = try DevtodevData.members(given, notes: &notes)
        var keys = try keys(given)
        guard options.isHidden || keys["alert"] != nil || keys["title"] != nil else {
            throw .missing(given.path("text"))
        }
        if let (key, value) = try DevtodevActions.member(given) { keys[key] = value }
        keys["_interactive"] = try buttons(given)
        if options.isHidden { keys["_h"] = "1" }
        keys["_k"] = .string(id.description)
        return Content.PlatformContent(FCMContent(data: data(own, keys)), options: options.delivery)
    }

    private static func keys(_ given: Tolerance) throws(PealError) -> JSON.Members {
        var keys = JSON.Members()
        for (name, key) in names { keys[key] = try given.freeText(name).map(JSON.string) }
        for name in ["color", "led_color"] {
            guard let text = try given.freeText(name) else { continue }
            guard text.hasPrefix("#"), text.utf8.count == 7, Hex.decode(String(text.dropFirst())) != nil else {
                throw .invalid(given.path(name), "\(given.path(name)) must be written #RRGGBB")
            }
        }
        keys["badge"] = try given.integer("badge").map { .string(String($0)) }
        keys["_vibration"] = try given.flag("vibration").map { $0 ? "true" : "false" }
        return keys
    }

    /// Buttons include their texts.
    private static func buttons(_ given: Tolerance) throws(PealError) -> JSON? {
        var buttons: [JSON] = []
        for button in try given.part("interactive").objects("buttons") {
            guard let id = try button.text("id") else { throw .missing(button.path("id")) }
            let handling = try button.text("handling") ?? "foreground"
            guard ["foreground", "background"].contains(handling) else {
                throw .invalid(
                    button.path("handling"), "\(button.path("handling")) must be foreground or background")
            }
            var members = JSON.Members([("id", .string(id))])
            members["icon"] = try button.freeText("icon").map(JSON.string)
            members["text"] = try button.freeText("text").map(JSON.string)
            members["activationMode"] = .string(handling)
            if let (key, value) = try DevtodevActions.member(button) { members[key] = value }
            buttons.append(.object(members))
        }
        return buttons.isEmpty ? nil : .string(JSON.object(JSON.Members([("buttons", .array(buttons))])).text)
    }

    /// The author's members one by one and, if there is room, all of them as one JSON string under `data`. The SDK's
    /// keys take precedence.
    private static func data(_ own: JSON.Members, _ keys: JSON.Members) -> JSON.Members {
        var data = JSON.Members()
        for (name, value) in own.pairs where !value.isNull {
            data[name] = .string(Tolerance.plainText(value) ?? value.text)
        }
        for (name, value) in keys.pairs { data[name] = value }
        guard !own.isEmpty, data["data"] == nil else { return data }
        let document = JSON.object(own).text
        let bytes = data.pairs.reduce("data".utf8.count + document.utf8.count) { sum, member in
            sum + member.0.utf8.count + (member.1.stringValue?.utf8.count ?? 0)
        }
        if bytes <= Limits.fcmPayloadBytesMax { data["data"] = .string(document) }
        return data
    }
}

/// Reads `options` of one platform's message.
struct DevtodevOptions {
    let isHidden: Bool
    var delivery: PlatformOptions

    /// From this value on, a number in `expire` is an instant: first in seconds, from the next limit on in milliseconds
    /// since 1970.
    private static let earliestSeconds: Int64 = 1_000_000_000
    private static let earliestMilliseconds: Int64 = 1_000_000_000_000
    /// 9999-12-31T23:59:59Z.
    private static let latestSeconds: Int64 = 253_402_300_799

    init(_ message: Tolerance, platform: Platform) throws(PealError) {
        let options = try message.part("options")
        isHidden = platform == .windows ? false : try options.flag("hidden") ?? false
        delivery = PlatformOptions()
        delivery.priority = try Self.priority(options)
        delivery.life = try Self.life(options)
        let bytesMax = platform == .ios ? Limits.devtodevCollapseKeyBytesMax : Limits.nameCharactersMax
        delivery.collapseKey = try options.text("collapse_key", bytesMax: bytesMax)
        if isHidden { delivery.isBackground = true }
        guard platform == .ios else { return }
        delivery.environment = try options.flag("sandbox") ?? false ? .sandbox : .production
        if isHidden, delivery.priority == .high {
            throw DevtodevRefusals.hidden(message, "priority high on iOS")
        }
    }

    private static func priority(_ options: Tolerance) throws(PealError) -> MessageOptions.Priority {
        guard let text = try options.text("priority") else { return .normal }
        switch text.lowercased() {
        case "high": return .high
        case "normal": return .normal
        default: throw .invalid(options.path("priority"), "\(options.path("priority")) must be high or normal")
        }
    }

    private static func life(_ options: Tolerance) throws(PealError) -> MessageOptions.Life {
        guard let number = try options.integer("expire") else { return .seconds(Limits.devtodevLifeSeconds) }
        switch number {
        case 0..<earliestSeconds: return .seconds(min(number, Limits.ttlSecondsMax))
        case earliestSeconds..<earliestMilliseconds where number <= latestSeconds:
            return .until(Timestamp(seconds: number))
        case earliestMilliseconds...latestSeconds * 1000: return .until(Timestamp(milliseconds: number))
        default:
            throw .invalid(
                options.path("expire"), "\(options.path("expire")) must be seconds from now, or an instant")
        }
    }
}

/// The action of a tap, under the keys that the vendor's SDKs read in a payload.
enum DevtodevActions {
    private static let keys = [("url", "_u"), ("deeplink", "_d"), ("share", "_s")]

    /// The action in `object`; if there are several, the first of `url`, `deeplink` and `share`.
    static func member(_ object: Tolerance) throws(PealError) -> (String, JSON)? {
        guard let action = try object.object("action") else { return nil }
        var members: [(String, JSON)] = []
        for (name, key) in keys {
            if let text = try action.freeText(name) { members.append((key, .string(text))) }
        }
        return members.first
    }
}

/// Reads `data`, the author's own members. Leaves out names that begin with `_`, which belong to the SDKs, and `aps`,
/// which is Apple's.
enum DevtodevData {
    static func members(_ payload: Tolerance, notes: inout [String]) throws(PealError) -> JSON.Members {
        guard let data = try payload.object("data") else { return .init() }
        try ControlCharacters.refuse(in: .object(data.members), data.path, except: ControlCharacters.inContent)
        let own = data.members.pairs.filter { !$0.0.hasPrefix("_") && $0.0 != "aps" }
        if own.count < data.members.count {
            notes.append("\(data.path): aps and what begins with _ are reserved and were left out")
        }
        return JSON.Members(own)
    }
}
