internal import PealCore

/// Makes the FCM data message of a push. The vendor's SDK shows it by itself from the texts under the keys below
/// (https://github.com/devtodev-analytics/package_Messaging).
enum DevtodevAndroid {
    private static let visible = ["title", "text", "image", "interactive"]
    /// Members of the payload, and the SDK's names of them.
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
        return Content.PlatformContent(
            fields: JSON.Members([("data", .object(data(own, keys))), ("data_only", true)]),
            options: options.delivery)
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

    /// Buttons carry their texts with them.
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

    /// The author's members stand by themselves and once more, as one JSON text, under `data` where there is room; the
    /// SDK's keys win over them.
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
