internal import PealCore
internal import PealShapes
internal import PealWire

/// Builds the APNs payload of a push: Apple's members in `aps`, then `data`, and the keys that the vendor's SDK
/// reads (https://github.com/devtodev-analytics/ios-sdk-2.0).
enum DevtodevApple {
    static func content(
        _ message: DevtodevMessage<DevtodevApplePayload>, id: MessageID, notes: inout [String]
    ) throws(PealError) -> Content.PlatformContent {
        let given = message.payload
        var aps = JSON.Members()
        var more = JSON.Members()
        if message.options.isHidden {
            aps["content-available"] = 1
            aps["badge"] = given.badge.map(JSON.integer)
        } else {
            aps["alert"] = .object(given.alert)
            aps["badge"] = given.badge.map(JSON.integer)
            aps["sound"] = given.sound.map(JSON.string)
            if let (key, value) = given.action?.member { more[key] = value }
            if let interactive = given.interactive { try add(interactive, &aps, &more, &notes) }
            add(given.attachments, &aps, &more)
        }
        more["_k"] = .string(id.description)
        var payload = JSON.Members([("aps", .object(aps))])
        for (name, value) in DevtodevData.members(given.data, notes: &notes).pairs {
            payload[name] = value
        }
        for (name, value) in more.pairs { payload[name] = value }
        return Content.PlatformContent(APNsContent(payload: payload), options: message.options.delivery)
    }

    /// The template is the category, whose buttons and texts the app has from `/v1/devtodev/categories`.
    private static func add(
        _ interactive: DevtodevInteractive, _ aps: inout JSON.Members, _ more: inout JSON.Members,
        _ notes: inout [String]
    ) throws(PealError) {
        guard let template = interactive.template else { return }
        aps["category"] = .string(template.id)
        var buttons: [JSON] = []
        for button in interactive.buttons {
            guard let known = template.buttons.first(where: { $0.id == button.value.id }) else {
                throw .invalid("\(button.path).id", "\(button.path).id must be a button of the template")
            }
            guard let (key, value) = button.value.action?.member else { continue }
            if known.opensApp {
                buttons.append(.object(JSON.Members([("id", .string(known.id)), (key, value)])))
            } else {
                notes.append("\(button.path).action: a button that dismisses has no action")
            }
        }
        if !buttons.isEmpty { more["_interactive"] = ["buttons": .array(buttons)] }
    }

    /// The app's service extension loads them; iOS starts it only for `mutable-content`.
    private static func add(
        _ attachments: [DevtodevAttachment], _ aps: inout JSON.Members, _ more: inout JSON.Members
    ) {
        guard !attachments.isEmpty else { return }
        aps["mutable-content"] = 1
        more["_mediaAttachments"] = .array(
            attachments.map {
                .compact([("type", $0.type.map(JSON.string)), ("url", $0.url.map(JSON.string))])
            })
    }
}

/// Builds the FCM data message of a push. The vendor's SDK shows it from the texts under the keys below
/// (https://github.com/devtodev-analytics/package_Messaging).
enum DevtodevAndroid {
    static func content(
        _ message: DevtodevMessage<DevtodevAndroidPayload>, id: MessageID, notes: inout [String]
    ) -> Content.PlatformContent {
        let given = message.payload
        var own = DevtodevData.members(given.data, notes: &notes)
        notes += FCMContent.removeReserved(from: &own, given.data?.path ?? "data")
        var keys = given.keys
        if let (key, value) = given.action?.member { keys[key] = value }
        keys["_interactive"] = buttons(given.buttons)
        if message.options.isHidden { keys["_h"] = "1" }
        keys["_k"] = .string(id.description)
        return Content.PlatformContent(FCMContent(data: data(own, keys)), options: message.options.delivery)
    }

    /// Buttons contain their own texts.
    private static func buttons(_ given: [DevtodevAndroidButton]) -> JSON? {
        let buttons = given.map { button -> JSON in
            .compact([
                ("id", .string(button.id)), ("icon", button.icon.map(JSON.string)),
                ("text", button.text.map(JSON.string)), ("activationMode", .string(button.handling)),
                button.action?.member.map { ($0.key, $0.value as JSON?) } ?? ("", nil),
            ])
        }
        return buttons.isEmpty ? nil : .string(JSON.object(JSON.Members([("buttons", .array(buttons))])).text)
    }

    /// The author's members one by one and, if there is room, all of them as one JSON string under `data`. The SDK's
    /// keys take precedence.
    private static func data(_ own: JSON.Members, _ keys: JSON.Members) -> JSON.Members {
        var data = JSON.Members()
        for (name, value) in own.pairs where !value.isNull {
            data[name] = .string(value.asText)
        }
        for (name, value) in keys.pairs { data[name] = value }
        guard !own.isEmpty, data["data"] == nil else { return data }
        var both = data
        both["data"] = .string(JSON.object(own).text)
        return FCMContent.size(of: both) <= Limits.fcmPayloadBytesMax ? both : data
    }
}

/// `data`, the author's own members. Names that begin with `_` belong to the SDKs and `aps` to Apple; they are left
/// out.
enum DevtodevData {
    static func members(_ data: Located<JSON.Members>?, notes: inout [String]) -> JSON.Members {
        data.map { own($0.value, $0.path, &notes) } ?? .init()
    }

    private static func own(_ data: JSON.Members, _ path: String, _ notes: inout [String]) -> JSON.Members {
        let own = data.pairs.filter { !$0.0.hasPrefix("_") && $0.0 != "aps" }
        if own.count < data.count {
            notes.append("\(path): removed aps and members that begin with _, which are reserved")
        }
        return JSON.Members(own)
    }
}
