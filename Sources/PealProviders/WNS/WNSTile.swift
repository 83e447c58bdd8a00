import PealCore

/// Writes tiles: adaptive ones in every size by default, one size where the author names it, or a template of Windows
/// 8's catalogue (Microsoft: "Create adaptive tiles", "The tile template catalog").
enum WNSTile {
    enum Size: String, CaseIterable, Sendable {
        case small = "TileSmall"
        case medium = "TileMedium"
        case wide = "TileWide"
        case large = "TileLarge"
    }

    /// Sizes that a name of the catalogue begins with, and what their first version (Windows 8.0) was called: who knows
    /// no second version takes that one.
    private static let catalogue: [(prefix: String, first: String?)] = [
        ("TileSquare150x150", "TileSquare"), ("TileWide310x150", "TileWide"), ("TileSquare310x310", nil),
        ("TileSquare71x71", nil),
    ]

    /// - Throws: `invalid_field`, naming the field.
    static func element(_ fields: PlatformFields) throws(PealError) -> XMLElement {
        let name = try fields.string("template")
        let own = try fields.object("fields")
        guard let name else {
            let parts = try parts(own, fields)
            return tile([], Size.allCases.map { adaptive($0, parts) })
        }
        let parts = try parts(own, fields)
        if let size = Size(rawValue: name) { return tile([], [adaptive(size, parts)]) }
        return tile([("version", "2")], [try numbered(name, parts, fields)])
    }

    private static func tile(_ attributes: [(String, XMLText?)], _ bindings: [XMLElement]) -> XMLElement {
        XMLElement("tile", [], [XMLElement("visual", attributes, bindings)])
    }

    private static func parts(_ own: JSON.Members?, _ fields: PlatformFields) throws(PealError) -> TemplateFields {
        if let own { return try TemplateFields(own, path: fields.path("fields")) }
        let image = try fields.image()
        return TemplateFields(
            texts: try fields.lines(), images: image.map { [.init(source: $0, alternative: nil)] } ?? [])
    }

    /// The first text is a caption, the others stand below it and wrap; the smallest size has room for one alone.
    private static func adaptive(_ size: Size, _ parts: TemplateFields) -> XMLElement {
        var children = parts.images.prefix(size == .small ? 1 : Limits.templateFieldsMax).map { image in
            XMLElement(
                "image", [("placement", "background"), ("src", image.source), ("alt", image.alternative)])
        }
        for (index, text) in parts.texts.prefix(size == .small ? 1 : Limits.templateFieldsMax).enumerated() {
            let style: XMLText = index == 0 ? "caption" : "captionSubtle"
            children.append(
                XMLElement(
                    "text", [("hint-style", style), ("hint-wrap", index == 0 ? nil : "true")], text: text))
        }
        return XMLElement("binding", [("template", XMLText(of: size))], children)
    }

    private static func numbered(
        _ name: String, _ parts: TemplateFields, _ fields: PlatformFields
    ) throws(PealError) -> XMLElement {
        let (template, fallback) = try versions(of: name, fields)
        let images = parts.images.enumerated().map { index, image in
            XMLElement(
                "image", [("id", XMLText(Int64(index + 1))), ("src", image.source), ("alt", image.alternative)])
        }
        let texts = parts.texts.enumerated().map { index, text in
            XMLElement("text", [("id", XMLText(Int64(index + 1)))], text: text)
        }
        let path = fields.path("template")
        return XMLElement(
            "binding",
            [
                ("template", try XMLText(template, field: path)),
                ("fallback", try fallback.map { text throws(PealError) in try XMLText(text, field: path) }),
            ], images + texts)
    }

    /// The name in the catalogue's second version, and in its first where it has one.
    private static func versions(
        of name: String, _ fields: PlatformFields
    ) throws(PealError) -> (template: String, fallback: String?) {
        let isName = name.utf8.allSatisfy(\.isASCIIAlphanumeric)
        for (prefix, first) in catalogue where isName {
            if name.hasPrefix(prefix), name.count > prefix.count {
                let rest = String(name.dropFirst(prefix.count))
                return (name, rest.contains("IconWithBadge") ? nil : first.map { $0 + rest })
            }
            // After the sizes themselves: TileSquare310x310 begins with TileSquare too.
            guard let first, name.hasPrefix(first), name.utf8.dropFirst(first.utf8.count).first.map(isLetter) ?? false
            else { continue }
            return (prefix + name.dropFirst(first.count), name)
        }
        throw .invalid(
            fields.path("template"),
            "template must be TileSmall, TileMedium, TileWide, TileLarge or a name of the tile template catalogue")
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric && !(0x30...0x39).contains(byte)
    }
}

extension XMLText {
    /// The name of an adaptive tile's size.
    fileprivate init(of size: WNSTile.Size) {
        switch size {
        case .small: self = "TileSmall"
        case .medium: self = "TileMedium"
        case .wide: self = "TileWide"
        case .large: self = "TileLarge"
        }
    }
}
