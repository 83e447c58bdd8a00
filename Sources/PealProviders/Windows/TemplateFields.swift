import PealCore

/// `fields` of a template that numbers its texts and images: `{"text":[…],"image":[…]}`. A null keeps the place of a
/// text that stays empty. An image is its address, or `{"src":…,"alt":…}`.
struct TemplateFields: Sendable {
    struct Image: Sendable {
        let source: XMLText
        let alternative: XMLText?
    }

    let texts: [XMLText]
    let images: [Image]

    /// - Throws: `invalid_field`, naming the element.
    init(_ members: JSON.Members, path: String) throws(PealError) {
        var texts: [XMLText] = []
        for (index, value) in try Self.list(members["text"], "\(path).text").enumerated() {
            texts.append(try Self.text(value, "\(path).text[\(index)]") ?? "")
        }
        var images: [Image] = []
        for (index, value) in try Self.list(members["image"], "\(path).image").enumerated() {
            images.append(try Self.image(value, "\(path).image[\(index)]"))
        }
        self.texts = texts
        self.images = images
    }

    init(texts: [XMLText], images: [Image]) {
        self.texts = texts
        self.images = images
    }

    private static func list(_ value: JSON?, _ field: String) throws(PealError) -> [JSON] {
        guard let value, !value.isNull else { return [] }
        guard let list = value.arrayValue else { throw .invalid(field, "must be a list, not \(value.typeName)") }
        guard list.count <= Limits.templateFieldsMax else {
            throw .invalid(field, "there are at most \(Limits.templateFieldsMax)")
        }
        return list
    }

    private static func text(_ value: JSON, _ field: String) throws(PealError) -> XMLText? {
        if value.isNull { return nil }
        guard let text = value.stringValue else { throw .invalid(field, "must be a string, not \(value.typeName)") }
        return try XMLText(text, field: field)
    }

    private static func image(_ value: JSON, _ field: String) throws(PealError) -> Image {
        guard value.objectValue != nil else {
            return Image(source: try text(value, field) ?? "", alternative: nil)
        }
        guard let source = try text(value["src"] ?? .null, "\(field).src") else { throw .missing("\(field).src") }
        return Image(source: source, alternative: try text(value["alt"] ?? .null, "\(field).alt"))
    }
}
