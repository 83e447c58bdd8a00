import PealCore

/// Renders a message for APNs: receives the order and returns the payload ("Generating a remote notification") and the
/// headers ("Sending notification requests to APNs"; for channels "Sending broadcast push notification requests to
/// APNs").
enum APNsRendering {
    /// - Throws: `payload_too_large` or `invalid_field`, naming the field.
    static func notification(_ order: RenderOrder) throws(ContentRefusal) -> Notification {
        let own: APNsContent = order.content.own()
        let given = try pushType(own, order)
        var payload = try APNsPayload.make(order, own, given: given)
        let type = given ?? .derived(from: payload["aps"] ?? .null, isBackground: order.options.isBackground)
        if type == .liveactivity { payload = try APNsLiveActivity.complete(payload, order) }
        let body = payload.bytes
        let bytesMax = order.route.isBroadcast ? Limits.apnsBroadcastPayloadBytesMax : type.payloadBytesMax
        let size = PayloadSize(bytes: body.count, max: bytesMax)
        guard size.excess == 0 else {
            throw .tooLarge(
                "the APNs payload", size, for: order.route.isBroadcast ? "a broadcast" : type.rawValue,
                field: APNsPayload.largestField(order, own))
        }
        guard !order.route.isBroadcast else { return broadcast(order, body, size) }
        return Notification(
            route: order.route, path: .init(Array("/3/device/".utf8), gap: .addressHex),
            headers: try headers(order, type), body: .init(body), hasOwnTopic: type.isOwnTopic, size: size)
    }

    private static func headers(_ order: RenderOrder, _ type: APNsPushType) throws(ContentRefusal) -> [Notification
        .Header]
    {
        var headers: [Notification.Header] = [
            .init("apns-topic", order.providerAppID + type.topicSuffix), .init("apns-push-type", type.rawValue),
            .init("apns-priority", type.priority(order.options.effectivePriority)),
            .init("apns-expiration", expiration(order)),
        ]
        if let key = order.options.collapseKey {
            guard isCollapseID(key) else {
                throw .invalid(
                    .collapseKey(nil),
                    "an APNs collapse key must be 1 to \(Limits.apnsCollapseIDBytesMax) bytes without control "
                        + "characters, and must not begin or end with a space")
            }
            headers.append(.init("apns-collapse-id", key))
        }
        return headers
    }

    /// Whether the key can be the value of a field. HTTP/2 forbids blanks at either end (RFC 9113 §8.2.1): strict
    /// servers reset the stream, so that the request would count as lost and be sent again and again.
    private static func isCollapseID(_ key: String) -> Bool {
        let isPrintable = key.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
        return (1...Limits.apnsCollapseIDBytesMax).contains(key.utf8.count) && isPrintable
            && key.utf8.first != UInt8(ascii: " ") && key.utf8.last != UInt8(ascii: " ")
    }

    /// To a channel: the path holds the app without a push type's suffix, and a header holds the channel. Channels that
    /// store nothing refuse every expiry except 0, so a message without its own lifetime gets 0.
    private static func broadcast(_ order: RenderOrder, _ body: [UInt8], _ size: PayloadSize) -> Notification {
        let type = APNsPushType.liveactivity
        return Notification(
            route: order.route, path: .init(Array("/4/broadcasts/apps/\(order.providerAppID)".utf8)),
            headers: [
                .init("apns-push-type", type.rawValue),
                .init("apns-priority", type.priority(order.options.effectivePriority)),
                .init("apns-expiration", order.options.life == nil ? "0" : expiration(order)),
            ],
            body: .init(body), addressHeader: "apns-channel-id", size: size)
    }

    /// 0 means that APNs tries once and does not store the notification.
    private static func expiration(_ order: RenderOrder) -> String {
        String(max(0, order.keptUntil?.seconds ?? 0))
    }

    /// The push type that the author gave; nil if it follows from the payload.
    private static func pushType(_ own: APNsContent, _ order: RenderOrder) throws(ContentRefusal) -> APNsPushType? {
        let given = own.pushType
        let type = given?.stringValue.flatMap(APNsPushType.init(rawValue:))
        if given != nil, type == nil {
            let names = APNsPushType.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalid(APNsContent.field.member("push_type"), "push_type must be one of \(names)")
        }
        guard order.route.isBroadcast else { return type }
        guard type == nil || type == .liveactivity else {
            throw .invalid(APNsContent.field.member("push_type"), "channels support only the push type liveactivity")
        }
        return .liveactivity
    }
}

/// The JSON that a device receives: the common fields under Apple's names, with the author's own payload deep-merged
/// over them, including unknown members.
enum APNsPayload {
    /// Under this name the SDK's notification service extension looks for the image.
    static let imageKey = "ctx_image_url"
    /// The SDK's category of notifications without buttons. iOS reports the dismissal of a notification only if its
    /// category asks for that (UNNotificationCategoryOptions, `customDismissAction`).
    static let plainCategory = "peal"

    /// - Parameter given: the push type, if it is known before the payload; nil if it follows from the payload.
    /// - Throws: `invalid_field`, naming the field.
    static func make(
        _ order: RenderOrder, _ content: APNsContent, given: APNsPushType?
    ) throws(ContentRefusal) -> JSON {
        let own = try givenPayload(content)
        let isLiveActivity = given == .liveactivity || given == nil && own["aps"]?["event"]?.stringValue != nil
        var payload = JSON.Members()
        let isReported = isReported(order, own["aps"] ?? .null, given: given)
        let aps =
            order.options.isBackground && !isLiveActivity || given == .background
            ? JSON.Members([("content-available", 1)])
            : commonAPS(order, isLiveActivity: isLiveActivity, isReported: isReported)
        if !aps.isEmpty { payload["aps"] = .object(aps) }
        for (name, value) in order.content.data.pairs {
            guard name != "aps" else {
                throw .invalid(.dataMember("aps"), "aps is reserved; put its members into the payload for iOS")
            }
            payload[name] = value
        }
        if let url = order.content.imageURL, payload[imageKey] == nil { payload[imageKey] = .string(url) }
        if payload["peal"] == nil, !order.route.isBroadcast {
            payload["peal"] = order.content.reference(to: order.message)
        }
        return JSON.object(payload).merging(own)
    }

    private static func givenPayload(_ content: APNsContent) throws(ContentRefusal) -> JSON {
        guard let own = content.payload else { return .object(.init()) }
        guard own.objectValue != nil else {
            throw .invalid(APNsContent.field.member("payload"), "payload must be an object, not \(own.typeName)")
        }
        if let aps = own["aps"], aps.objectValue == nil {
            throw .invalid(APNsLiveActivity.field, "aps must be an object, not \(aps.typeName)")
        }
        return own
    }

    /// Whether it is an alert whose arrival and end the SDK reports.
    private static func isReported(_ order: RenderOrder, _ own: JSON, given: APNsPushType?) -> Bool {
        let content = order.content
        guard given ?? .alert == .alert, !order.route.isBroadcast, content.reference(to: order.message) != nil else {
            return false
        }
        if let alert = own["alert"] { return !alert.isNull }
        return content.title != nil || content.subtitle != nil || content.body != nil
    }

    private static func commonAPS(_ order: RenderOrder, isLiveActivity: Bool, isReported: Bool) -> JSON.Members {
        let content = order.content
        func text(_ text: LocalizedText?) -> JSON? { order.text(text).map(JSON.string) }
        // The alert of a Live Activity contains its sound.
        var alert = JSON.Members(
            [("title", text(content.title)), ("subtitle", text(content.subtitle)), ("body", text(content.body))]
                .compactMap { name, value in value.map { (name, $0) } })
        let sound = content.sound.map(JSON.string)
        if isLiveActivity, !alert.isEmpty { alert["sound"] = sound }
        var aps = JSON.Members()
        if !alert.isEmpty { aps["alert"] = .object(alert) }
        guard !isLiveActivity else { return aps }
        aps["badge"] = content.badge.map(JSON.integer)
        aps["sound"] = sound
        aps["thread-id"] = content.threadID.map(JSON.string)
        aps["category"] = (content.category ?? (isReported ? plainCategory : nil)).map(JSON.string)
        // Both the image and the report are the work of the notification service extension.
        if content.imageURL != nil || isReported { aps["mutable-content"] = 1 }
        return aps
    }

    /// The field that takes up most of the payload.
    static func largestField(_ order: RenderOrder, _ own: APNsContent) -> MessageField {
        let content = order.content
        func size(_ text: LocalizedText?) -> Int { order.text(text)?.utf8.count ?? 0 }
        let sizes: [(MessageField, Int)] = [
            (.body, size(content.body)), (.title, size(content.title)),
            (.subtitle, size(content.subtitle)),
            (.data, content.data.isEmpty ? 0 : JSON.object(content.data).bytes.count),
            (APNsContent.field.member("payload"), own.payload?.bytes.count ?? 0),
            (.imageURL, content.imageURL?.utf8.count ?? 0),
        ]
        return sizes.max { $0.1 < $1.1 }?.0 ?? .content
    }
}

/// The push types of APNs ("Sending notification requests to APNs", "Know when to use push types"). The raw value is
/// the value of `apns-push-type`.
enum APNsPushType: String, CaseIterable, Sendable {
    case alert, background, controls, complication, fileprovider, liveactivity, location, mdm, pushtotalk, voip, widgets

    /// What follows the bundle id in `apns-topic`. For `mdm` the topic is the UID of the certificate's subject, which
    /// is then the credential's bundle id.
    var topicSuffix: String {
        switch self {
        case .alert, .background, .mdm: ""
        case .controls: ".push-type.controls"
        case .complication: ".complication"
        case .fileprovider: ".pushkit.fileprovider"
        case .liveactivity: ".push-type.liveactivity"
        case .location: ".location-query"
        case .pushtotalk: ".voip-ptt"
        case .voip: ".voip"
        case .widgets: ".push-type.widgets"
        }
    }

    /// Whether APNs may refuse it while it accepts plain pushes of the same app: the type has its own topic, or belongs
    /// to another kind of certificate.
    var isOwnTopic: Bool { !topicSuffix.isEmpty || self == .mdm }

    var payloadBytesMax: Int { self == .voip ? Limits.apnsVoIPPayloadBytesMax : Limits.apnsPayloadBytesMax }

    /// Certificates allow only the topics that Apple wrote into them, and never location queries.
    var needsToken: Bool { self == .location }

    /// `apns-priority`: 10 delivers immediately, 5 considers power, 1 never wakes the device. Background pushes must
    /// have 5 (10 is an error), push-to-talk pushes 10; Live Activities and location queries allow only 10 and 5.
    func priority(_ priority: MessageOptions.Priority) -> String {
        switch (self, priority) {
        case (.background, _): "5"
        case (.pushtotalk, _), (_, .high): "10"
        case (_, .normal), (.liveactivity, _), (.location, _): "5"
        case (_, .low): "1"
        }
    }

    /// Derives the type if the author gave none.
    static func derived(from aps: JSON, isBackground: Bool) -> APNsPushType {
        if aps["event"]?.stringValue != nil { return .liveactivity }
        let isContentAvailable = aps["content-available"]?.integerValue == 1
        return !APNsContent.isVisible(aps) && (isContentAvailable || isBackground) ? .background : .alert
    }
}

/// Completes the payload of a Live Activity ("Starting and updating Live Activities with ActivityKit push
/// notifications"). Checks only what APNs or the device would silently ignore; the rest is up to the author.
enum APNsLiveActivity {
    static let field = APNsContent.field.member("payload").member("aps")

    /// Adds the timestamp, by which the device drops outdated updates, and checks the members that a start needs. The
    /// timestamp stays the same when the message is repeated: otherwise a repetition would replace a newer update.
    /// - Throws: `invalid_field`, naming the member.
    static func complete(_ payload: JSON, _ order: RenderOrder) throws(ContentRefusal) -> JSON {
        guard var members = payload.objectValue else { return payload }
        var aps = members["aps"]?.objectValue ?? .init()
        if aps["event"]?.stringValue == "start" {
            guard !order.route.isBroadcast else {
                throw .invalid(
                    field.member("event"), "a broadcast can update or end Live Activities but not start one")
            }
            for name in ["attributes-type", "attributes", "alert"] where aps[name].map(\.isNull) ?? true {
                throw .invalid(field.member(name), "a push that starts a Live Activity requires \(name)")
            }
        }
        if aps["timestamp"].map(\.isNull) ?? true { aps["timestamp"] = .integer(order.startedAt.seconds) }
        members["aps"] = .object(aps)
        return .object(members)
    }
}
