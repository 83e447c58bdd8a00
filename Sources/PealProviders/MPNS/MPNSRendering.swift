import PealCore

/// Renders a message for MPNS: receives the order and returns the document and headers (Microsoft: "Sending push
/// notifications for Windows Phone 8", "Toasts for Windows Phone 8").
enum MPNSRendering {
    private static let declaration = Array(#"<?xml version="1.0" encoding="utf-8"?>"#.utf8)

    /// - Throws: `payload_too_large` or `invalid_field`, naming the field.
    static func notification(_ order: RenderOrder) throws(ContentRefusal) -> Notification {
        let fields = WindowsFields(order, MPNSContent.self)
        let type = try type(fields, isBackground: order.options.isBackground)
        let body: [UInt8] =
            switch type {
            case .toast: declaration + (try MPNSToast.element(fields)).bytes
            case .tile: declaration + (try MPNSTile.element(fields)).bytes
            case .raw: try raw(fields)
            }
        let size = PayloadSize(
            bytes: body.count, max: type == .raw ? Limits.mpnsRawBytesMax : Limits.mpnsPayloadBytesMax)
        guard size.excess == 0 else {
            throw .tooLarge("the MPNS payload", size, for: type.rawValue, field: fields.largestField)
        }
        let expiresAt = order.keptUntil
        let delay = delay(order.options, until: expiresAt, now: order.now)
        var headers: [Notification.Header] = [.init("content-type", "text/xml")]
        if let target = type.target { headers.append(.init("x-windowsphone-target", target)) }
        headers.append(.init("x-notificationclass", String(type.notificationClass(delay))))
        return Notification(
            route: order.route, path: .init([], gap: .addressText), headers: headers, body: .init(body),
            expiresAt: expiresAt, size: size)
    }

    /// MPNS has no expiry, only a delay in which it may batch. The author's lifetime selects the longest delay that
    /// ends before the message expires. The author's priority limits it: high is sent immediately, normal within 450
    /// seconds. Without either, the message is sent immediately.
    static func delay(
        _ options: MessageOptions, until expiresAt: Timestamp?, now: Timestamp
    ) -> MPNSType.Delay {
        let wanted: MPNSType.Delay =
            switch options.priority {
            case .high: .none
            case .normal: .within450Seconds
            case .low: .within900Seconds
            case nil: options.life == nil ? .none : .within900Seconds
            }
        return bounded(wanted, until: expiresAt, now: now)
    }

    /// The longest delay up to `wanted` that ends before the expiry.
    static func bounded(_ wanted: MPNSType.Delay, until expiresAt: Timestamp?, now: Timestamp) -> MPNSType.Delay {
        let seconds = ((expiresAt ?? now) - now).milliseconds / 1000
        return MPNSType.Delay.allCases.last { $0.rawValue <= wanted.rawValue && $0.seconds < max(seconds, 1) } ?? .none
    }

    private static func type(_ fields: WindowsFields, isBackground: Bool) throws(ContentRefusal) -> MPNSType {
        // The type may also be a tile template, such as `flipTile`.
        if let name = try fields.string(.type), MPNSType(rawValue: name) == nil, MPNSTile.Template(name: name) != nil {
            return .tile
        }
        if let given: MPNSType = try fields.word(.type) { return given }
        if let template = try fields.string(.template) {
            return MPNSTile.Template(name: template) == nil ? .toast : .tile
        }
        if fields[.fields] != nil { return .toast }
        let hasText = try !fields.lines().isEmpty
        return hasText && !isBackground ? .toast : .raw
    }

    /// `value` unchanged; otherwise `fields` as JSON; otherwise the common fields as one JSON document.
    private static func raw(_ fields: WindowsFields) throws(ContentRefusal) -> [UInt8] {
        if let value = try fields.string(.value), !value.isEmpty { return Array(value.utf8) }
        if let own = try fields.object(.fields) { return JSON.object(own).bytes }
        return fields.document.bytes
    }
}

/// The notification types of MPNS (Microsoft: "Sending push notifications for Windows Phone 8").
enum MPNSType: String, CaseIterable, Sendable {
    case toast, tile, raw

    /// `X-WindowsPhone-Target`; raw notifications have none.
    var target: String? {
        switch self {
        case .toast: "toast"
        case .tile: "token"
        case .raw: nil
        }
    }

    /// The `X-NotificationClass` of an immediate notification. Each of 450 and 900 seconds adds ten.
    private var immediateClass: Int {
        switch self {
        case .tile: 1
        case .toast: 2
        case .raw: 3
        }
    }

    /// How soon MPNS delivers a notification to the phone.
    enum Delay: Int, CaseIterable, Sendable {
        case none, within450Seconds, within900Seconds

        var seconds: Int64 { Int64(rawValue) * 450 }
    }

    func notificationClass(_ delay: Delay) -> Int { immediateClass + 10 * delay.rawValue }

    /// The delay of a notification class.
    static func delay(ofClass number: Int) -> Delay { Delay(rawValue: number / 10) ?? .none }
}
