import PealCore

/// Renders a message for APNs: interface.md §5 "Platform objects", providers.md §1.4–1.5.
enum APNsRendering {
    /// - Throws: `payload_too_large` or `invalid_field`, naming the field.
    static func notification(_ order: RenderOrder) throws(PealError) -> Notification {
        let fields = order.content.platforms[.ios]?.fields ?? .init()
        let payload = try payload(order, fields)
        let aps = payload["aps"] ?? .null
        let type = try pushType(fields, aps: aps, isBackground: order.options.isBackground)
        let body = payload.bytes
        guard body.count <= type.payloadBytesMax else {
            throw PealError(
                .payloadTooLarge,
                "the APNs payload has \(body.count) bytes, \(type.payloadBytesMax) is the most for \(type.rawValue)",
                field: largestField(order, fields))
        }
        return Notification(
            route: order.route, path: .init(Array("/3/device/".utf8), gap: .addressHex),
            headers: try headers(order, type), body: .init(body))
    }

    private static func headers(_ order: RenderOrder, _ type: APNsPushType) throws(PealError) -> [Notification.Header] {
        var headers: [Notification.Header] = [
            .init("apns-topic", order.providerAppID + type.topicSuffix), .init("apns-push-type", type.rawValue),
            .init("apns-priority", priority(order.options, type)), .init("apns-expiration", expiration(order)),
        ]
        if let key = order.options.collapseKey {
            let isPrintable = key.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
            guard (1...Limits.apnsCollapseIDBytesMax).contains(key.utf8.count), isPrintable else {
                throw .invalid(
                    "options.collapse_key",
                    "on APNs a collapse key has 1 to \(Limits.apnsCollapseIDBytesMax) bytes without control characters")
            }
            headers.append(.init("apns-collapse-id", key))
        }
        return headers
    }

    /// Background pushes must have 5: 10 is an error.
    private static func priority(_ options: MessageOptions, _ type: APNsPushType) -> String {
        let isBackground = type == .background
        return switch options.priorityInForce {
        case .high: isBackground ? "5" : "10"
        case .normal: "5"
        case .low: isBackground ? "5" : "1"
        }
    }

    /// 0 = try once and never store.
    private static func expiration(_ order: RenderOrder) -> String {
        if case .seconds(0) = order.options.life { return "0" }
        return String(max(0, order.expiresAt.seconds))
    }

    private static func pushType(_ fields: JSON.Members, aps: JSON, isBackground: Bool) throws(PealError)
        -> APNsPushType
    {
        guard let given = fields["push_type"], !given.isNull else {
            return .derived(from: aps, isBackground: isBackground)
        }
        guard let type = given.stringValue.flatMap(APNsPushType.init(rawValue:)) else {
            let names = APNsPushType.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalid("content.ios.push_type", "push_type must be one of \(names)")
        }
        return type
    }

    /// The author's own `ios.payload` laid deep over what the common fields make.
    private static func payload(_ order: RenderOrder, _ fields: JSON.Members) throws(PealError) -> JSON {
        var payload = JSON.Members()
        let aps = commonAPS(order)
        if !aps.isEmpty { payload["aps"] = .object(aps) }
        for (name, value) in order.content.data.pairs {
            guard name != "aps" else {
                throw .invalid("content.data.aps", "aps belongs to Apple: its members go into content.ios.payload.aps")
            }
            payload[name] = value
        }
        if let url = order.content.imageURL, payload["image_url"] == nil { payload["image_url"] = .string(url) }
        guard let own = fields["payload"], !own.isNull else { return .object(payload) }
        guard own.objectValue != nil else {
            throw .invalid("content.ios.payload", "payload must be an object, not \(own.typeName)")
        }
        if let aps = own["aps"], aps.objectValue == nil {
            throw .invalid("content.ios.payload.aps", "aps must be an object, not \(aps.typeName)")
        }
        return JSON.object(payload).merging(own)
    }

    private static func commonAPS(_ order: RenderOrder) -> JSON.Members {
        let content = order.content
        func text(_ text: LocalizedText?) -> JSON? {
            text?.text(for: order.locale, fallback: content.defaultLocale).map(JSON.string)
        }
        var aps = JSON.Members()
        if order.options.isBackground {
            aps["content-available"] = 1
            return aps
        }
        let alert = JSON.compact([
            ("title", text(content.title)), ("subtitle", text(content.subtitle)), ("body", text(content.body)),
        ])
        if alert.objectValue?.isEmpty == false { aps["alert"] = alert }
        aps["badge"] = content.badge.map(JSON.integer)
        aps["sound"] = content.sound.map(JSON.string)
        aps["thread-id"] = content.threadID.map(JSON.string)
        aps["category"] = content.category.map(JSON.string)
        if content.imageURL != nil { aps["mutable-content"] = 1 }
        return aps
    }

    /// The field that takes most of the payload.
    private static func largestField(_ order: RenderOrder, _ fields: JSON.Members) -> String {
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
