import Crypto
import PealCore

/// Renders a message for WNS: receives the order and returns the document and headers (Microsoft: "Push notification
/// service request and response headers"). Values that depend on the device or the time (channel URI, access token,
/// remaining lifetime, correlation vector) are added when it is sent.
enum WNSRendering {
    /// - Throws: `payload_too_large` or `invalid_field`, naming the field.
    static func notification(_ order: RenderOrder) throws(ContentRefusal) -> Notification {
        let fields = WindowsFields(order, WNSContent.self)
        let type = try type(fields, isBackground: order.options.isBackground)
        let body = try body(type, fields)
        let size = PayloadSize(bytes: body.count, max: Limits.wnsPayloadBytesMax)
        guard size.excess == 0 else { throw .tooLarge("the WNS payload", size, field: fields.largestField) }
        // Without an expiry, WNS tries once and does not cache.
        let expiresAt = order.keptUntil
        return Notification(
            route: order.route, path: .init([], gap: .addressText),
            headers: try headers(order, type, fields, expiresAt: expiresAt), body: .init(body), expiresAt: expiresAt,
            size: size)
    }

    /// The remaining lifetime for `X-WNS-TTL` in seconds, rounded down; 0 means deliver now or never.
    static func lifeSeconds(until expiresAt: Timestamp?, now: Timestamp) -> Int64 {
        max(0, ((expiresAt ?? now) - now).milliseconds / 1000)
    }

    // Type and body

    /// The author's type, or the type that the author's members imply. Otherwise a toast if there is text, a badge if
    /// only a badge is given, and raw data for the app in all other cases.
    private static func type(_ fields: WindowsFields, isBackground: Bool) throws(ContentRefusal) -> WNSType {
        if let given: WNSType = try fields.word(.type) { return given }
        if let xml = try fields.string(.xml) {
            try checkSize(xml, fields)
            return (try? XMLScanner.root(of: xml)).flatMap(WNSType.init) ?? .toast
        }
        if let template = try fields.string(.template) { return template.hasPrefix("Tile") ? .tile : .toast }
        if fields[.value] != nil { return .badge }
        if fields[.fields] != nil || fields[.launch] != nil { return .toast }
        if isBackground { return .raw }
        if try !fields.lines().isEmpty { return .toast }
        let isBare = fields.content.data.isEmpty && fields.content.imageURL == nil
        return isBare && fields.content.badge != nil ? .badge : .raw
    }

    private static func body(_ type: WNSType, _ fields: WindowsFields) throws(ContentRefusal) -> [UInt8] {
        if type == .raw { return try WNSRaw.bytes(fields) }
        if let xml = try fields.string(.xml) { return try document(xml, type, fields) }
        return switch type {
        case .toast: try WNSToast.element(fields).bytes
        case .tile: try WNSTile.element(fields).bytes
        case .badge: try WNSBadge.element(fields).bytes
        case .raw: []
        }
    }

    /// The author's own document, unchanged.
    private static func document(
        _ xml: String, _ type: WNSType, _ fields: WindowsFields
    ) throws(ContentRefusal) -> [UInt8] {
        let path = fields.field(.xml)
        for other in [WindowsMember.template, .fields, .launch, .value, .duration, .audio] where fields[other] != nil {
            throw .invalid(fields.field(other), "\(other) cannot be combined with xml, which is the whole notification")
        }
        try checkSize(xml, fields)
        _ = try XMLText(xml, field: path)
        let root: String
        do throws(XMLScanner.Fault) {
            root = try XMLScanner.root(of: xml)
        } catch {
            throw .invalid(path, "xml is not well-formed: \(error.reason) (line \(error.line))")
        }
        guard root == type.rawValue else {
            throw .invalid(path, "the root element of a \(type.rawValue) must be \(type.rawValue), not \(root)")
        }
        return Array(xml.utf8)
    }

    /// Before a document is scanned, because scanning a long one takes long.
    private static func checkSize(_ xml: String, _ fields: WindowsFields) throws(ContentRefusal) {
        let size = PayloadSize(bytes: xml.utf8.count, max: Limits.wnsPayloadBytesMax)
        guard size.excess == 0 else { throw .tooLarge("the WNS payload", size, field: fields.field(.xml)) }
    }

    // Headers

    private static func headers(
        _ order: RenderOrder, _ type: WNSType, _ fields: WindowsFields, expiresAt: Timestamp?
    ) throws(ContentRefusal) -> [Notification.Header] {
        let life = lifeSeconds(until: expiresAt, now: order.now)
        var headers: [Notification.Header] = [
            .init("x-wns-type", "wns/\(type.rawValue)"), .init("content-type", type.contentType),
            .init("x-wns-ttl", String(life)),
        ]
        let given: WNSCachePolicy? = try fields.word(.cachePolicy)
        if let policy = given?.rawValue ?? type.cachePolicy(isKept: life > 0) {
            headers.append(.init("x-wns-cache-policy", policy))
        }
        if let tag = try tag(order, type, fields) { headers.append(.init("x-wns-tag", tag)) }
        if let group = try label(.group, fields) { headers.append(.init("x-wns-group", group)) }
        headers.append(.init("x-wns-priority", priority(order.options)))
        headers.append(.init("x-wns-requestforstatus", "true"))
        return headers
    }

    private static func priority(_ options: MessageOptions) -> String {
        switch options.effectivePriority {
        case .high: "1"
        case .normal: "2"
        case .low: "3"
        }
    }

    /// A notification replaces the one with the same tag. A collapse key that is not a valid tag is replaced with its
    /// digest.
    private static func tag(
        _ order: RenderOrder, _ type: WNSType, _ fields: WindowsFields
    ) throws(ContentRefusal) -> String? {
        if let tag = try label(.tag, fields) { return tag }
        guard type == .toast || type == .tile, let key = order.options.collapseKey, !key.isEmpty else { return nil }
        return WNSContent.isLabel(key) ? key : Hex.encode(Array(SHA256.hash(data: Array(key.utf8)).prefix(8)))
    }

    private static func label(_ name: WindowsMember, _ fields: WindowsFields) throws(ContentRefusal) -> String? {
        guard let text = try fields.string(name) else { return nil }
        guard WNSContent.isLabel(text) else {
            throw .invalid(
                fields.field(name), "a \(name) must be 1 to \(Limits.wnsTagCharactersMax) letters and digits")
        }
        return text
    }
}

/// The notification types of WNS (learn.microsoft.com, "Push notification service request and response headers"). The
/// raw value follows `wns/` in `X-WNS-Type` and, except for raw, is the name of the document's root.
enum WNSType: String, CaseIterable, Sendable {
    case toast, tile, badge, raw

    var contentType: String { self == .raw ? "application/octet-stream" : "text/xml" }

    /// The value of `X-WNS-Cache-Policy`. A toast is cached unless the policy forbids it, so it needs no `cache`.
    func cachePolicy(isKept: Bool) -> String? {
        guard isKept else { return "no-cache" }
        return self == .toast ? nil : "cache"
    }
}

/// The values of `X-WNS-Cache-Policy`.
enum WNSCachePolicy: String, CaseIterable, Sendable {
    case cache
    case noCache = "no-cache"
}

/// Returns the bytes of raw notifications, which reach the app unchanged.
enum WNSRaw {
    /// `value` is text, or `{"base64":"…"}` for bytes; without it, the common fields become one JSON document.
    /// - Throws: `invalid_field`, naming `value`.
    static func bytes(_ fields: WindowsFields) throws(ContentRefusal) -> [UInt8] {
        let path = fields.field(.value)
        guard let value = fields[.value] else { return fields.document.bytes }
        if let text = value.stringValue, !text.isEmpty { return Array(text.utf8) }
        guard let text = value["base64"]?.stringValue, let bytes = Base64URL.decode(text), !bytes.isEmpty else {
            throw .invalid(path, "the value of a raw notification must be a string, or bytes as {\"base64\": \"…\"}")
        }
        return bytes
    }
}
