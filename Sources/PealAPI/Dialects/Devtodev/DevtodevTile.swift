internal import PealCore

/// Puts a tile into the native API's form.
enum DevtodevTile {
    private static let sizes: [(name: String, template: XMLText)] = [
        ("small", "TileSmall"), ("medium", "TileMedium"), ("wide", "TileWide"), ("large", "TileLarge"),
    ]

    static func fields(_ value: JSON, _ path: String, isLegacy: Bool) throws(PealError) -> [(String, JSON?)] {
        if let xml = DevtodevWindows.xml(value) { return [("type", "tile"), ("xml", xml)] }
        let given = try Tolerance(value, path: path)
        if !isLegacy, let xml = try document(given) { return [("type", "tile"), ("xml", .string(xml.text))] }
        let texts = try DevtodevWindows.texts(given)
        let image = try given.text("image", bytesMax: Limits.imageURLBytesMax)
        guard !texts.isEmpty || image != nil else { throw .missing(given.path("text")) }
        var template = try given.text("template")
        if isLegacy, template == nil { template = legacyTemplate(texts, image) }
        return [
            ("type", "tile"), ("template", template.map(JSON.string)),
            (
                "fields",
                .compact([
                    ("text", .array(texts.map(JSON.string))), ("image", image.map { .array([.string($0)]) }),
                ])
            ),
        ]
    }

    /// Of the tile template catalogue: a header and a text, an image, or both in turn.
    private static func legacyTemplate(_ texts: [String], _ image: String?) -> String {
        if image == nil { return "TileSquare150x150Text02" }
        return texts.isEmpty ? "TileSquare150x150Image" : "TileSquare150x150PeekImageAndText02"
    }

    /// A tile whose sizes say different things; nil where no size is given.
    private static func document(_ given: Tolerance) throws(PealError) -> XMLElement? {
        var bindings: [XMLElement] = []
        for (name, template) in sizes {
            guard let size = try given.object(name) else { continue }
            bindings.append(XMLElement("binding", [("template", template)], try contents(of: size)))
        }
        guard !bindings.isEmpty else { return nil }
        return XMLElement("tile", [], [XMLElement("visual", [], bindings)])
    }

    private static func contents(of size: Tolerance) throws(PealError) -> [XMLElement] {
        var contents: [XMLElement] = []
        if let image = try size.text("image", bytesMax: Limits.imageURLBytesMax) {
            let source = try XMLText(image, field: size.path("image"))
            contents.append(XMLElement("image", [("placement", "background"), ("src", source)]))
        }
        for (index, text) in try DevtodevWindows.texts(size).enumerated() {
            let style: XMLText = index == 0 ? "caption" : "captionSubtle"
            let line = try XMLText(text, field: size.path("text"))
            contents.append(XMLElement("text", [("hint-style", style)], text: line))
        }
        return contents
    }
}
