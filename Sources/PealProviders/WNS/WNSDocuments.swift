import PealCore

/// Writes toasts: adaptive ones (`ToastGeneric`, Windows 10 and later), and those of Windows 8's template catalogue
/// (Microsoft: "The toast template catalog").
enum WNSToast {
    /// The toast templates; the raw value is the name in the document.
    enum Template: String, CaseIterable, Sendable {
        case generic = "ToastGeneric"
        case text01 = "ToastText01"
        case text02 = "ToastText02"
        case text03 = "ToastText03"
        case text04 = "ToastText04"
        case imageAndText01 = "ToastImageAndText01"
        case imageAndText02 = "ToastImageAndText02"
        case imageAndText03 = "ToastImageAndText03"
        case imageAndText04 = "ToastImageAndText04"

        /// How many texts the template shows; for an adaptive toast, the maximum.
        var textCount: Int {
            switch self {
            case .text01, .imageAndText01: 1
            case .text02, .text03, .imageAndText02, .imageAndText03: 2
            case .text04, .imageAndText04, .generic: 3
            }
        }

        var imagesMax: Int {
            switch self {
            case .generic: Limits.templateFieldsMax
            case .imageAndText01, .imageAndText02, .imageAndText03, .imageAndText04: 1
            case .text01, .text02, .text03, .text04: 0
            }
        }
    }

    /// - Throws: `invalid_field`, naming the field.
    static func element(_ fields: WindowsFields) throws(ContentRefusal) -> XMLElement {
        let template: Template = try fields.word(.template) ?? .generic
        let parts = try parts(template, fields)
        let children: [XMLElement] =
            if template == .generic {
                parts.texts.map { XMLElement("text", text: $0) } + parts.images.map { image($0, id: nil) }
            } else {
                parts.images.enumerated().map { image($1, id: $0 + 1) } + numbered(parts.texts, template.textCount)
            }
        let binding = XMLElement(
            "binding", [("template", try XMLText(template.rawValue, field: fields.field(.template)))], children)
        var launch = try fields.text(.launch)
        if launch == nil { launch = try fields.data() }
        let duration: Duration? = try fields.word(.duration)
        return XMLElement(
            "toast", [("launch", launch), ("duration", duration?.text)],
            [XMLElement("visual", [], [binding])] + (try audio(fields)))
    }

    /// The author's `fields`, or the common fields.
    private static func parts(_ template: Template, _ fields: WindowsFields) throws(ContentRefusal) -> TemplateFields {
        guard let own = try fields.object(.fields) else {
            let image = template.imagesMax > 0 ? try fields.image() : nil
            return TemplateFields(
                texts: try texts(template, fields),
                images: image.map { [TemplateFields.Image(source: $0, alternative: nil)] } ?? [])
        }
        let parts = try TemplateFields(own, field: fields.field(.fields))
        guard parts.texts.count <= template.textCount else {
            throw .invalid(
                fields.field(.fields).member("text"),
                "\(template.rawValue) has \(Spelling.counted(template.textCount, "text"))")
        }
        guard parts.images.count <= template.imagesMax else {
            throw .invalid(
                fields.field(.fields).member("image"),
                "\(template.rawValue) has \(Spelling.counted(template.imagesMax, "image"))")
        }
        return parts
    }

    /// With one text, the body; with two, the title and the body.
    private static func texts(_ template: Template, _ fields: WindowsFields) throws(ContentRefusal) -> [XMLText] {
        let lines = try fields.lines()
        switch template.textCount {
        case 1: return try fields.body().map { [$0] } ?? Array(lines.prefix(1))
        case 2 where lines.count == 3: return [lines[0], lines[2]]
        default: return lines
        }
    }

    /// Windows 8's templates need every text, even an empty one.
    private static func numbered(_ texts: [XMLText], _ count: Int) -> [XMLElement] {
        (0..<count).map { index in
            XMLElement("text", [("id", XMLText(Int64(index + 1)))], text: index < texts.count ? texts[index] : "")
        }
    }

    private static func image(_ image: TemplateFields.Image, id: Int?) -> XMLElement {
        XMLElement(
            "image", [("id", id.map { XMLText(Int64($0)) }), ("src", image.source), ("alt", image.alternative)])
    }

    /// How long a toast is shown.
    private enum Duration: String, CaseIterable, Sendable {
        case long, short

        var text: XMLText { self == .long ? "long" : "short" }
    }

    /// The author's `audio`; otherwise a sound under a Windows name. Other names are files on other platforms and are
    /// ignored.
    private static func audio(_ fields: WindowsFields) throws(ContentRefusal) -> [XMLElement] {
        if let own = try fields.object(.audio) {
            let field = fields.field(.audio)
            func flag(_ name: String) throws(ContentRefusal) -> XMLText? {
                guard let value = own[name], !value.isNull else { return nil }
                guard let flag = value.boolValue else {
                    throw .invalid(field.member(name), "must be true or false, not \(value.typeName)")
                }
                return flag ? "true" : "false"
            }
            var source: XMLText?
            if let given = own["src"], !given.isNull {
                guard let text = given.stringValue else {
                    throw .invalid(field.member("src"), "must be a string, not \(given.typeName)")
                }
                source = try XMLText(text, field: field.member("src"))
            }
            return [
                XMLElement("audio", [("src", source), ("loop", try flag("loop")), ("silent", try flag("silent"))])
            ]
        }
        guard let sound = fields.content.sound,
            ["ms-winsoundevent:", "ms-appx:", "ms-appdata:"].contains(where: sound.hasPrefix)
        else { return [] }
        return [XMLElement("audio", [("src", try XMLText(sound, field: .sound))])]
    }
}

/// Writes tiles: adaptive ones in every size by default, in one size if the author names it, or a template of Windows
/// 8's catalogue (Microsoft: "Create adaptive tiles", "The tile template catalog").
enum WNSTile {
    /// The sizes of adaptive tiles; the raw value is the name in the document.
    enum Size: String, CaseIterable, Sendable {
        case small = "TileSmall"
        case medium = "TileMedium"
        case wide = "TileWide"
        case large = "TileLarge"
    }

    /// The sizes at the start of the catalogue's template names, with their names in the first version (Windows 8.0),
    /// which a client without the second version uses.
    private static let catalogue: [(prefix: String, first: String?)] = [
        ("TileSquare150x150", "TileSquare"), ("TileWide310x150", "TileWide"), ("TileSquare310x310", nil),
        ("TileSquare71x71", nil),
    ]

    /// - Throws: `invalid_field`, naming the field.
    static func element(_ fields: WindowsFields) throws(ContentRefusal) -> XMLElement {
        let name = try fields.string(.template)
        let own = try fields.object(.fields)
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

    private static func parts(_ own: JSON.Members?, _ fields: WindowsFields) throws(ContentRefusal) -> TemplateFields {
        if let own { return try TemplateFields(own, field: fields.field(.fields)) }
        let image = try fields.image()
        return TemplateFields(
            texts: try fields.lines(), images: image.map { [.init(source: $0, alternative: nil)] } ?? [])
    }

    /// The first text is a caption; the others follow below it and wrap. The smallest size has room for only one.
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
        _ name: String, _ parts: TemplateFields, _ fields: WindowsFields
    ) throws(ContentRefusal) -> XMLElement {
        let (template, fallback) = try versions(of: name, fields)
        let images = parts.images.enumerated().map { index, image in
            XMLElement(
                "image", [("id", XMLText(Int64(index + 1))), ("src", image.source), ("alt", image.alternative)])
        }
        let texts = parts.texts.enumerated().map { index, text in
            XMLElement("text", [("id", XMLText(Int64(index + 1)))], text: text)
        }
        let path = fields.field(.template)
        return XMLElement(
            "binding",
            [
                ("template", try XMLText(template, field: path)),
                ("fallback", try fallback.map { text throws(ContentRefusal) in try XMLText(text, field: path) }),
            ], images + texts)
    }

    /// The template's name in the catalogue's second version, and in its first version if it has one.
    private static func versions(
        of name: String, _ fields: WindowsFields
    ) throws(ContentRefusal) -> (template: String, fallback: String?) {
        let isName = name.utf8.allSatisfy(\.isASCIIAlphanumeric)
        for (prefix, first) in catalogue where isName {
            if name.hasPrefix(prefix), name.count > prefix.count {
                let rest = String(name.dropFirst(prefix.count))
                return (name, rest.contains("IconWithBadge") ? nil : first.map { $0 + rest })
            }
            // Checked after the sizes, because TileSquare310x310 also begins with TileSquare.
            guard let first, name.hasPrefix(first), name.utf8.dropFirst(first.utf8.count).first.map(isLetter) ?? false
            else { continue }
            return (prefix + name.dropFirst(first.count), name)
        }
        throw .invalid(
            fields.field(.template),
            "template must be TileSmall, TileMedium, TileWide, TileLarge or a name from the tile template catalogue")
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

/// Writes badges (Microsoft: "Badge notifications for Windows apps").
enum WNSBadge {
    private static let glyphs: Set<String> = [
        "none", "activity", "alarm", "alert", "attention", "available", "away", "busy", "error", "newMessage", "paused",
        "playing", "unavailable",
    ]

    /// - Throws: `missing_field` or `invalid_field`, naming `value`.
    static func element(_ fields: WindowsFields) throws(ContentRefusal) -> XMLElement {
        XMLElement("badge", [("value", try value(fields))])
    }

    /// A number, where 0 clears the badge, or a glyph's name. Windows shows numbers above 99 as `99+`, which is also
    /// allowed.
    private static func value(_ fields: WindowsFields) throws(ContentRefusal) -> XMLText {
        let path = fields.field(.value)
        guard let value = fields[.value] ?? fields.content.badge.map(JSON.integer) else {
            throw .missing(path, "a badge requires a value")
        }
        if let text = value.stringValue {
            if glyphs.contains(text) { return try XMLText(text, field: path) }
            if text == "99+" { return XMLText(100) }
        }
        let isDigit = { (byte: UInt8) in (0x30...0x39).contains(byte) }
        let digits = value.stringValue.flatMap { $0.utf8.allSatisfy(isDigit) ? Int64($0) : nil }
        guard let number = value.tolerantInteger ?? digits, (0...Int64(Int32.max)).contains(number) else {
            throw .invalid(
                path, "a badge must be a whole number, 99+ or one of \(glyphs.sorted().joined(separator: ", "))")
        }
        return XMLText(number)
    }
}

/// The `fields` of a template with numbered texts and images: `{"text":[…],"image":[…]}`. A null makes a text empty. An
/// image is a URL, or `{"src":…,"alt":…}`.
struct TemplateFields: Sendable {
    /// An image's URL and its alternative text.
    struct Image: Sendable {
        let source: XMLText
        let alternative: XMLText?
    }

    let texts: [XMLText]
    let images: [Image]

    /// - Throws: `invalid_field`, naming the element.
    init(_ members: JSON.Members, field: MessageField) throws(ContentRefusal) {
        var texts: [XMLText] = []
        for (index, value) in try Self.list(members["text"], field.member("text")).enumerated() {
            texts.append(try Self.text(value, field.member("text").element(index)) ?? "")
        }
        var images: [Image] = []
        for (index, value) in try Self.list(members["image"], field.member("image")).enumerated() {
            images.append(try Self.image(value, field.member("image").element(index)))
        }
        self.texts = texts
        self.images = images
    }

    init(texts: [XMLText], images: [Image]) {
        self.texts = texts
        self.images = images
    }

    private static func list(_ value: JSON?, _ field: MessageField) throws(ContentRefusal) -> [JSON] {
        guard let value, !value.isNull else { return [] }
        guard let list = value.arrayValue else { throw .invalid(field, "must be a list, not \(value.typeName)") }
        guard list.count <= Limits.templateFieldsMax else {
            throw .invalid(field, "must have at most \(Limits.templateFieldsMax) elements")
        }
        return list
    }

    private static func text(_ value: JSON, _ field: MessageField) throws(ContentRefusal) -> XMLText? {
        if value.isNull { return nil }
        guard let text = value.stringValue else { throw .invalid(field, "must be a string, not \(value.typeName)") }
        return try XMLText(text, field: field)
    }

    private static func image(_ value: JSON, _ field: MessageField) throws(ContentRefusal) -> Image {
        guard value.objectValue != nil else {
            return Image(source: try text(value, field) ?? "", alternative: nil)
        }
        guard let source = try text(value["src"] ?? .null, field.member("src")) else {
            throw .missing(field.member("src"), "an image requires src")
        }
        return Image(source: source, alternative: try text(value["alt"] ?? .null, field.member("alt")))
    }
}
