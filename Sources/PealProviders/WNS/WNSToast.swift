import PealCore

/// Writes toasts: adaptive ones (`ToastGeneric`, Windows 10 and later), and those of Windows 8's template catalogue
/// (Microsoft: "The toast template catalog").
enum WNSToast {
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

        /// Texts that the template shows; of an adaptive toast, at most.
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
    static func element(_ fields: PlatformFields) throws(PealError) -> XMLElement {
        let template: Template = try fields.word("template") ?? .generic
        let parts = try parts(template, fields)
        let children: [XMLElement] =
            if template == .generic {
                parts.texts.map { XMLElement("text", text: $0) } + parts.images.map { image($0, id: nil) }
            } else {
                parts.images.enumerated().map { image($1, id: $0 + 1) } + numbered(parts.texts, template.textCount)
            }
        let binding = XMLElement(
            "binding", [("template", try XMLText(template.rawValue, field: fields.path("template")))], children)
        var launch = try fields.text("launch")
        if launch == nil { launch = try fields.data() }
        return XMLElement(
            "toast", [("launch", launch)], [XMLElement("visual", [], [binding])] + (try audio(fields)))
    }

    /// What the author put into `fields`, or what the common fields give.
    private static func parts(_ template: Template, _ fields: PlatformFields) throws(PealError) -> TemplateFields {
        guard let own = try fields.object("fields") else {
            let image = template.imagesMax > 0 ? try fields.image() : nil
            return TemplateFields(
                texts: try texts(template, fields),
                images: image.map { [TemplateFields.Image(source: $0, alternative: nil)] } ?? [])
        }
        let parts = try TemplateFields(own, path: fields.path("fields"))
        guard parts.texts.count <= template.textCount else {
            throw .invalid(fields.path("fields.text"), "\(template.rawValue) has \(template.textCount) texts")
        }
        guard parts.images.count <= template.imagesMax else {
            throw .invalid(fields.path("fields.image"), "\(template.rawValue) has \(template.imagesMax) images")
        }
        return parts
    }

    /// Of a single text the body is the one to read, of two the title and the body.
    private static func texts(_ template: Template, _ fields: PlatformFields) throws(PealError) -> [XMLText] {
        let lines = try fields.lines()
        switch template.textCount {
        case 1: return try fields.body().map { [$0] } ?? Array(lines.prefix(1))
        case 2 where lines.count == 3: return [lines[0], lines[2]]
        default: return lines
        }
    }

    /// Windows 8's templates have each text, also where it is empty.
    private static func numbered(_ texts: [XMLText], _ count: Int) -> [XMLElement] {
        (0..<count).map { index in
            XMLElement("text", [("id", XMLText(Int64(index + 1)))], text: index < texts.count ? texts[index] : "")
        }
    }

    private static func image(_ image: TemplateFields.Image, id: Int?) -> XMLElement {
        XMLElement(
            "image", [("id", id.map { XMLText(Int64($0)) }), ("src", image.source), ("alt", image.alternative)])
    }

    /// A sound by Windows' own naming; other names are files of other platforms.
    private static func audio(_ fields: PlatformFields) throws(PealError) -> [XMLElement] {
        guard let sound = fields.content.sound,
            ["ms-winsoundevent:", "ms-appx:", "ms-appdata:"].contains(where: sound.hasPrefix)
        else { return [] }
        return [XMLElement("audio", [("src", try XMLText(sound, field: "content.sound"))])]
    }
}
