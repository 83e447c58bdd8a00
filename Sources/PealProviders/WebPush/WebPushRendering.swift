import Crypto
import PealCore

/// Renders a message for Web Push: receives the order and returns the text, to be encrypted later for each browser, and
/// the headers that all browsers share.
enum WebPushRendering {
    static let urgencies = ["very-low", "low", "normal", "high"]

    /// `ttl` is the current value; the exchange writes the remaining lifetime when it sends.
    /// - Throws: `payload_too_large` or `invalid_field`, naming the field.
    static func notification(_ order: RenderOrder) throws(ContentRefusal) -> Notification {
        let fields: WebPushContent = order.content.own()
        let text = payload(order, fields)
        let size = PayloadSize(bytes: text.count, max: Limits.webPushPlaintextBytesMax)
        guard size.excess == 0 else {
            throw .tooLarge("the Web Push payload", size, field: largestField(order, fields))
        }
        let expiresAt = order.keptUntil
        var headers: [Notification.Header] = [
            .init("ttl", String(lifeSeconds(until: expiresAt, now: order.now))),
            .init("urgency", try urgency(order.options, fields)),
        ]
        if let topic = try topic(order.options, fields) { headers.append(.init("topic", topic)) }
        if !text.isEmpty {
            headers += [
                .init("content-encoding", "aes128gcm"), .init("content-type", "application/octet-stream"),
            ]
        }
        return Notification(
            route: order.route, path: .init([], gap: .addressText), headers: headers, body: .init(text),
            expiresAt: expiresAt, size: size)
    }

    /// How long a push service may keep the message, in whole seconds; 0 means deliver now or never.
    static func lifeSeconds(until expiresAt: Timestamp?, now: Timestamp) -> Int64 {
        guard let expiresAt else { return 0 }
        let seconds = (expiresAt - now).milliseconds.saturated(adding: 999).floorDivided(by: 1000)
        return min(max(0, seconds), Limits.webPushTTLSecondsMax)
    }

    private static func urgency(_ options: MessageOptions, _ fields: WebPushContent) throws(ContentRefusal) -> String {
        guard let given = fields.urgency else { return options.effectivePriority.rawValue }
        guard let word = given.stringValue, urgencies.contains(word) else {
            throw .invalid(
                WebPushContent.field.member("urgency"), "urgency must be one of \(urgencies.joined(separator: ", "))")
        }
        return word
    }

    /// The author's topic; otherwise the collapse key if it is a valid topic, or else its digest.
    private static func topic(_ options: MessageOptions, _ fields: WebPushContent) throws(ContentRefusal) -> String? {
        if let given = fields.topic {
            guard let topic = given.stringValue, isTopic(topic) else {
                throw .invalid(
                    WebPushContent.field.member("topic"),
                    "topic must be 1 to \(Limits.webPushTopicCharactersMax) letters, digits, - or _")
            }
            return topic
        }
        guard let key = options.collapseKey else { return nil }
        return isTopic(key) ? key : digest(key)
    }

    /// RFC 8030 §5.4: the alphabet of base64url.
    private static func isTopic(_ text: String) -> Bool {
        let isLegal = text.utf8.allSatisfy {
            $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
        }
        return isLegal && (1...Limits.webPushTopicCharactersMax).contains(text.utf8.count)
    }

    /// The same topic for the same text, in a form that every push service accepts: 24 bytes of SHA-256.
    static func digest(_ text: String) -> String {
        Base64URL.encode(Array(SHA256.hash(data: Array(text.utf8)).prefix(24)))
    }

    /// The author's own `payload`, otherwise the common fields; other members of `web` are deep-merged over it. A
    /// string is sent unchanged. Empty for a background message without data.
    private static func payload(_ order: RenderOrder, _ fields: WebPushContent) -> [UInt8] {
        var payload = JSON.object(commonFields(order))
        if let own = fields.payload { payload = own }
        let others = fields.others
        if payload.objectValue != nil, !others.isEmpty { payload = payload.merging(.object(others)) }
        if let text = payload.stringValue { return Array(text.utf8) }
        if payload.objectValue?.isEmpty == true, fields.members["payload"] == nil { return [] }
        return payload.bytes
    }

    private static func commonFields(_ order: RenderOrder) -> JSON.Members {
        let content = order.content
        func text(_ text: LocalizedText?) -> JSON? { order.text(text).map(JSON.string) }
        let isShown = !order.options.isBackground
        return JSON.Members(
            [
                ("title", isShown ? text(content.title) : nil), ("body", isShown ? text(content.body) : nil),
                ("image", isShown ? content.imageURL.map(JSON.string) : nil),
                ("data", content.data.isEmpty ? nil : .object(content.data)),
                ("peal", content.reference(to: order.message)),
            ].compactMap { name, value in value.map { (name, $0) } })
    }

    /// The field that takes up most of the payload.
    private static func largestField(_ order: RenderOrder, _ fields: WebPushContent) -> MessageField {
        let content = order.content
        func size(_ text: LocalizedText?) -> Int { order.text(text)?.utf8.count ?? 0 }
        var sizes = fields.members.pairs.map { (WebPushContent.field.member($0), $1.bytes.count) }
        if fields.payload == nil {
            sizes += [
                (.body, size(content.body)), (.title, size(content.title)),
                (.data, JSON.object(content.data).bytes.count),
                (.imageURL, content.imageURL?.utf8.count ?? 0),
            ]
        }
        return sizes.max { $0.1 < $1.1 }?.0 ?? .content
    }
}
