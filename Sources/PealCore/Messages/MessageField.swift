/// A part of a message that an error can name. The message's dialect spells it as in its requests.
package enum MessageField: Sendable, Hashable {
    /// The whole content of the message.
    case content
    case title, subtitle, body, imageURL, badge, sound, threadID, category
    /// The author's own data.
    case data
    case dataMember(String)
    /// The message's own collapse key, or the one for a platform.
    case collapseKey(Platform?)
    /// A platform's own object, or a path in it, such as `payload.aps` or `fields.text[2]`.
    case platform(Platform, String)

    /// A member of this object.
    package func member(_ name: String) -> MessageField {
        guard case .platform(let platform, let path) = self else { return self }
        return .platform(platform, path.isEmpty ? name : "\(path).\(name)")
    }

    /// An element of this list.
    package func element(_ index: Int) -> MessageField {
        guard case .platform(let platform, let path) = self else { return self }
        return .platform(platform, "\(path)[\(index)]")
    }

    /// The platform whose own object holds the field; nil for a field that all platforms share.
    package var platform: Platform? {
        switch self {
        case .platform(let platform, _): platform
        case .collapseKey(let platform): platform
        case .content, .title, .subtitle, .body, .imageURL, .badge, .sound, .threadID, .category, .data, .dataMember:
            nil
        }
    }
}

extension MessageField: CustomStringConvertible {
    package var description: String {
        switch self {
        case .content: "content"
        case .title: "title"
        case .subtitle: "subtitle"
        case .body: "body"
        case .imageURL: "image_url"
        case .badge: "badge"
        case .sound: "sound"
        case .threadID: "thread_id"
        case .category: "category"
        case .data: "data"
        case .dataMember(let name): "data.\(name)"
        case .collapseKey(let platform): platform.map { "\($0).collapse_key" } ?? "collapse_key"
        case .platform(let platform, let path): path.isEmpty ? platform.rawValue : "\(platform).\(path)"
        }
    }
}

/// Why a network cannot send a message.
package struct ContentRefusal: Error, Hashable, Sendable {
    package let code: PealError.Code
    package let field: MessageField
    /// One sentence for the author. It does not contain the field's path, which depends on the dialect.
    package let message: String
    /// The size of a payload that is too large; nil for any other reason.
    package let size: PayloadSize?

    package init(_ code: PealError.Code, _ message: String, field: MessageField, size: PayloadSize? = nil) {
        self.code = code
        self.message = message
        self.field = field
        self.size = size
    }

    package static func invalid(_ field: MessageField, _ message: String) -> ContentRefusal {
        ContentRefusal(.invalidField, message, field: field)
    }

    package static func missing(_ field: MessageField, _ message: String) -> ContentRefusal {
        ContentRefusal(.missingField, message, field: field)
    }

    /// - Parameters:
    ///   - payload: what is too large, such as "the FCM payload".
    ///   - kind: the kind of notification that has this maximum; nil if all kinds have it.
    ///   - field: the largest field.
    package static func tooLarge(
        _ payload: String, _ size: PayloadSize, for kind: String? = nil, field: MessageField
    ) -> ContentRefusal {
        let maximum = kind.map { "the maximum for \($0)" } ?? "the maximum"
        return ContentRefusal(
            .payloadTooLarge, "\(payload) has \(size.bytes) bytes; \(maximum) is \(size.max)", field: field, size: size)
    }

    /// The error as a dialect reports it.
    /// - Parameter spelling: returns the dialect's path of a field.
    package func error(spelling: (MessageField) -> String) -> PealError {
        PealError(code, message, field: spelling(field))
    }
}
