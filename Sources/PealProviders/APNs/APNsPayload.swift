import PealCore

/// The JSON that a device gets: the common fields as Apple names them, and the author's own payload laid deep over
/// them, unknown members included.
enum APNsPayload {
    /// - Parameter given: the push type that is known before the payload is; nil = it follows from the payload.
    /// - Throws: `invalid_field`, naming the field.
    static func make(
        _ order: RenderOrder, _ fields: JSON.Members, given: APNsPushType?
    ) throws(PealError) -> JSON {
        let own = try own(fields)
        let isLiveActivity = given == .liveactivity || given == nil && own["aps"]?["event"]?.stringValue != nil
        var payload = JSON.Members()
        let aps = commonAPS(order, isLiveActivity: isLiveActivity)
        if !aps.isEmpty { payload["aps"] = .object(aps) }
        for (name, value) in order.content.data.pairs {
            guard name != "aps" else {
                throw .invalid("content.data.aps", "aps belongs to Apple: its members go into content.ios.payload.aps")
            }
            payload[name] = value
        }
        if let url = order.content.imageURL, payload["image_url"] == nil { payload["image_url"] = .string(url) }
        return JSON.object(payload).merging(own)
    }

    private static func own(_ fields: JSON.Members) throws(PealError) -> JSON {
        guard let own = fields["payload"], !own.isNull else { return .object(.init()) }
        guard own.objectValue != nil else {
            throw .invalid("content.ios.payload", "payload must be an object, not \(own.typeName)")
        }
        if let aps = own["aps"], aps.objectValue == nil {
            throw .invalid("content.ios.payload.aps", "aps must be an object, not \(aps.typeName)")
        }
        return own
    }

    private static func commonAPS(_ order: RenderOrder, isLiveActivity: Bool) -> JSON.Members {
        let content = order.content
        func text(_ text: LocalizedText?) -> JSON? {
            text?.text(for: order.locale, fallback: content.defaultLocale).map(JSON.string)
        }
        var aps = JSON.Members()
        if order.options.isBackground, !isLiveActivity {
            aps["content-available"] = 1
            return aps
        }
        // The alert of a Live Activity holds its sound.
        var alert = JSON.Members(
            [("title", text(content.title)), ("subtitle", text(content.subtitle)), ("body", text(content.body))]
                .compactMap { name, value in value.map { (name, $0) } })
        let sound = content.sound.map(JSON.string)
        if isLiveActivity, !alert.isEmpty { alert["sound"] = sound }
        if !alert.isEmpty { aps["alert"] = .object(alert) }
        guard !isLiveActivity else { return aps }
        aps["badge"] = content.badge.map(JSON.integer)
        aps["sound"] = sound
        aps["thread-id"] = content.threadID.map(JSON.string)
        aps["category"] = content.category.map(JSON.string)
        if content.imageURL != nil { aps["mutable-content"] = 1 }
        return aps
    }

    /// The field that takes most of the payload.
    static func largestField(_ order: RenderOrder, _ fields: JSON.Members) -> String {
        let content = order.content
        func size(_ text: LocalizedText?) -> Int {
            text?.text(for: order.locale, fallback: content.defaultLocale)?.utf8.count ?? 0
        }
        let sizes: [(String, Int)] = [
            ("content.body", size(content.body)), ("content.title", size(content.title)),
            ("content.subtitle", size(content.subtitle)),
            ("content.data", content.data.isEmpty ? 0 : JSON.object(content.data).bytes.count),
            ("content.ios.payload", fields["payload"]?.bytes.count ?? 0),
            ("content.image_url", content.imageURL?.utf8.count ?? 0),
        ]
        return sizes.max { $0.1 < $1.1 }?.0 ?? "content"
    }
}
