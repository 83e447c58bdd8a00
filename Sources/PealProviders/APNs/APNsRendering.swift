import PealCore

/// Renders a message for APNs: the payload of "Generating a remote notification", the headers of "Sending notification
/// requests to APNs", and for channels those of "Sending broadcast push notification requests to APNs".
enum APNsRendering {
    /// - Throws: `payload_too_large` or `invalid_field`, naming the field.
    static func notification(_ order: RenderOrder) throws(PealError) -> Notification {
        let fields = order.content.platforms[.ios]?.fields ?? .init()
        let given = try pushType(fields, order)
        var payload = try APNsPayload.make(order, fields, given: given)
        let type = given ?? .derived(from: payload["aps"] ?? .null, isBackground: order.options.isBackground)
        if type == .liveactivity { payload = try APNsLiveActivity.complete(payload, order) }
        let body = payload.bytes
        let bytesMax = order.route.isBroadcast ? Limits.apnsBroadcastPayloadBytesMax : type.payloadBytesMax
        guard body.count <= bytesMax else {
            let kind = order.route.isBroadcast ? "a broadcast" : type.rawValue
            throw PealError(
                .payloadTooLarge, "the APNs payload has \(body.count) bytes, \(bytesMax) is the most for \(kind)",
                field: APNsPayload.largestField(order, fields))
        }
        guard !order.route.isBroadcast else { return broadcast(order, body) }
        return Notification(
            route: order.route, path: .init(Array("/3/device/".utf8), gap: .addressHex),
            headers: try headers(order, type), body: .init(body))
    }

    private static func headers(_ order: RenderOrder, _ type: APNsPushType) throws(PealError) -> [Notification.Header] {
        var headers: [Notification.Header] = [
            .init("apns-topic", order.providerAppID + type.topicSuffix), .init("apns-push-type", type.rawValue),
            .init("apns-priority", type.priority(order.options.priorityInForce)),
            .init("apns-expiration", expiration(order)),
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

    /// To a channel: the app is in the path, without the suffix of any push type, and the channel in a header. Channels
    /// that store nothing refuse every expiry but 0, which is what a message without a life of its own says.
    private static func broadcast(_ order: RenderOrder, _ body: [UInt8]) -> Notification {
        let type = APNsPushType.liveactivity
        return Notification(
            route: order.route, path: .init(Array("/4/broadcasts/apps/\(order.providerAppID)".utf8)),
            headers: [
                .init("apns-push-type", type.rawValue),
                .init("apns-priority", type.priority(order.options.priorityInForce)),
                .init("apns-expiration", order.options.life == nil ? "0" : expiration(order)),
            ],
            body: .init(body), addressHeader: "apns-channel-id")
    }

    /// 0 = try once and never store.
    private static func expiration(_ order: RenderOrder) -> String {
        if case .seconds(0) = order.options.life { return "0" }
        return String(max(0, order.expiresAt.seconds))
    }

    /// What the author says that the push is; nil leaves it to the payload.
    private static func pushType(_ fields: JSON.Members, _ order: RenderOrder) throws(PealError) -> APNsPushType? {
        let given = fields["push_type"].flatMap { $0.isNull ? nil : $0 }
        let type = given?.stringValue.flatMap(APNsPushType.init(rawValue:))
        if given != nil, type == nil {
            let names = APNsPushType.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalid("content.ios.push_type", "push_type must be one of \(names)")
        }
        guard order.route.isBroadcast else { return type }
        guard type == nil || type == .liveactivity else {
            throw .invalid("content.ios.push_type", "channels carry the push type liveactivity alone")
        }
        return .liveactivity
    }
}
