internal import PealCore

/// Puts `uwp` (Windows 10) and `win` (also Windows 8.1) into the native API's form of a Windows notification.
enum DevtodevWindows {
    /// - Parameter isLegacy: whether the templates must be those of Windows 8.1.
    /// - Throws: `missing_field` where nothing is said; `invalid_field`.
    static func content(_ message: Tolerance, isLegacy: Bool) throws(PealError) -> Content.PlatformContent {
        let options = try DevtodevOptions(message, platform: .windows)
        let fields: [(String, JSON?)]
        if let (value, path) = message["toast"] {
            fields = try DevtodevToast.fields(value, path, isLegacy: isLegacy)
        } else if let (value, path) = message["tile"] {
            fields = try DevtodevTile.fields(value, path, isLegacy: isLegacy)
        } else if let (value, path) = message["badge"] {
            fields = try badge(value, path)
        } else if let (value, _) = message["raw"] {
            fields = [("type", "raw"), ("value", .string(Tolerance.plainText(value) ?? value.text))]
        } else {
            throw .missing("\(message.path).toast")
        }
        return Content.PlatformContent(
            fields: JSON.Members(fields.compactMap { name, value in value.map { (name, $0) } }),
            options: options.delivery)
    }

    private static func badge(_ value: JSON, _ path: String) throws(PealError) -> [(String, JSON?)] {
        if let xml = xml(value) { return [("type", "badge"), ("xml", xml)] }
        guard value.objectValue != nil else {
            return [("type", "badge"), ("value", value)]
        }
        guard let (own, _) = try Tolerance(value, path: path)["value"] else { throw .missing("\(path).value") }
        return [("type", "badge"), ("value", own)]
    }

    /// A document in place of an object.
    static func xml(_ value: JSON) -> JSON? {
        guard let text = value.stringValue, text.drop(while: \.isWhitespace).hasPrefix("<") else { return nil }
        return .string(text)
    }

    /// `text`, `text2` and, of tiles, `text3` behind the title, as far as they are given; toasts have room for three.
    static func texts(_ given: Tolerance, countMax: Int = 4) throws(PealError) -> [String] {
        var texts: [String] = []
        for name in ["title", "text", "text2", "text3"].prefix(countMax) {
            if let text = try given.freeText(name) { texts.append(text) }
        }
        return texts
    }
}
