import PealCore

/// Writes badges (Microsoft: "Badge notifications for Windows apps").
enum WNSBadge {
    private static let glyphs: Set<String> = [
        "none", "activity", "alarm", "alert", "attention", "available", "away", "busy", "error", "newMessage", "paused",
        "playing", "unavailable",
    ]

    /// - Throws: `missing_field` or `invalid_field`, naming `value`.
    static func element(_ fields: PlatformFields) throws(PealError) -> XMLElement {
        XMLElement("badge", [("value", try value(fields))])
    }

    /// A number from 0, which clears the badge, or a glyph's name. More than 99 is shown as `99+`, and may be given so.
    private static func value(_ fields: PlatformFields) throws(PealError) -> XMLText {
        let path = fields.path("value")
        guard let value = fields["value"] ?? fields.content.badge.map(JSON.integer) else { throw .missing(path) }
        if let text = value.stringValue {
            if glyphs.contains(text) { return try XMLText(text, field: path) }
            if text == "99+" { return XMLText(100) }
        }
        let isDigit = { (byte: UInt8) in (0x30...0x39).contains(byte) }
        let digits = value.stringValue.flatMap { $0.utf8.allSatisfy(isDigit) ? Int64($0) : nil }
        guard let number = value.integerValue ?? digits, (0...Int64(Int32.max)).contains(number) else {
            throw .invalid(
                path, "a badge is a whole number from 0, 99+, or one of \(glyphs.sorted().joined(separator: ", "))")
        }
        return XMLText(number)
    }
}
