internal import PealCore

/// Builds the content for WNS from `uwp` (Windows 10) or `win` (also Windows 8.1).
enum DevtodevWindows {
    /// - Parameter isLegacy: whether the templates must be those of Windows 8.1.
    /// - Throws: `missing_field` for an object without content; `invalid_field`.
    static func content(
        _ given: DevtodevWindowsMessage, isLegacy: Bool
    ) throws(PealError) -> Content.PlatformContent {
        let (message, options) = (given.members, given.options)
        let own: WNSContent
        if let (value, path) = message["toast"] {
            own = try DevtodevToast.content(value, path, isLegacy: isLegacy)
        } else if let (value, path) = message["tile"] {
            own = try DevtodevTile.content(value, path, isLegacy: isLegacy)
        } else if let (value, path) = message["badge"] {
            own = try badge(value, path)
        } else if let (value, _) = message["raw"] {
            own = WNSContent(type: "raw", value: .string(Tolerance.plainText(value) ?? value.text))
        } else {
            throw .missing("\(message.path).toast")
        }
        return Content.PlatformContent(own, options: options.delivery)
    }

    private static func badge(_ value: JSON, _ path: String) throws(PealError) -> WNSContent {
        if let xml = xml(value) { return WNSContent(type: "badge", xml: xml) }
        guard value.objectValue != nil else {
            return WNSContent(type: "badge", value: value)
        }
        guard let (own, _) = try Tolerance(value, path: path)["value"] else { throw .missing("\(path).value") }
        return WNSContent(type: "badge", value: own)
    }

    /// An XML document that the request contains instead of an object; nil if it contains none.
    static func xml(_ value: JSON) -> String? {
        guard let text = value.stringValue, text.drop(while: \.isWhitespace).hasPrefix("<") else { return nil }
        return text
    }

    /// `title`, `text`, `text2` and, for tiles, `text3`, if present. Toasts have room for three.
    static func texts(_ given: Tolerance, countMax: Int = 4) throws(PealError) -> [String] {
        var texts: [String] = []
        for name in ["title", "text", "text2", "text3"].prefix(countMax) {
            if let text = try given.freeText(name) { texts.append(text) }
        }
        return texts
    }
}

/// Builds a toast.
enum DevtodevToast {
    static func content(_ value: JSON, _ path: String, isLegacy: Bool) throws(PealError) -> WNSContent {
        if let xml = DevtodevWindows.xml(value) { return WNSContent(type: "toast", xml: xml) }
        let given = try Tolerance(value, path: path)
        let texts = try DevtodevWindows.texts(given, countMax: 3)
        guard !texts.isEmpty else { throw .missing(given.path("text")) }
        let image = try given.text("image", bytesMax: Limits.imageURLBytesMax)
        let launch = try launch(given)
        let scenario = try given.text("scenario").flatMap { $0 == "default" ? nil : $0 }
        if let scenario, !isLegacy {
            let document = try document(given, scenario, texts, image, launch)
            return WNSContent(type: "toast", xml: document.text)
        }
        let template: String? = isLegacy ? "Toast\(image == nil ? "" : "ImageAnd")Text0\(number(texts))" : nil
        return WNSContent(
            type: "toast", template: template,
            fields: WNSContent.parts(texts: texts.map(JSON.string), images: image.map { [.string($0)] }),
            launch: launch)
    }

    /// The number of the catalogue's template with that many texts.
    private static func number(_ texts: [String]) -> Int { texts.count == 1 ? 1 : texts.count == 2 ? 2 : 4 }

    /// The app's launch argument: as given, otherwise `data` and the action as one JSON string.
    private static func launch(_ given: Tolerance) throws(PealError) -> String? {
        if let launch = try given.freeText("launch") { return launch }
        var notes: [String] = []
        var data = try DevtodevData.members(given, notes: &notes)
        if let (key, value) = try DevtodevActions.member(given) { data[key] = value }
        return data.isEmpty ? nil : JSON.object(data).text
    }

    /// Templates have no scenario, so the toast is written here (Microsoft: "Toast schema").
    private static func document(
        _ given: Tolerance, _ scenario: String, _ texts: [String], _ image: String?, _ launch: String?
    ) throws(PealError) -> XMLElement {
        var inner: [XMLElement] = []
        for text in texts { inner.append(XMLElement("text", text: try XMLText(text, field: given.path("text")))) }
        if let image {
            inner.append(XMLElement("image", [("src", try XMLText(image, field: given.path("image")))]))
        }
        let binding = XMLElement("binding", [("template", "ToastGeneric")], inner)
        let scenario = try XMLText(scenario, field: given.path("scenario"))
        let told = try launch.map { launch throws(PealError) in try XMLText(launch, field: given.path("launch")) }
        return XMLElement(
            "toast", [("scenario", scenario), ("launch", told)], [XMLElement("visual", [], [binding])])
    }
}

/// Builds a tile.
enum DevtodevTile {
    private static let sizes: [(name: String, template: XMLText)] = [
        ("small", "TileSmall"), ("medium", "TileMedium"), ("wide", "TileWide"), ("large", "TileLarge"),
    ]

    static func content(_ value: JSON, _ path: String, isLegacy: Bool) throws(PealError) -> WNSContent {
        if let xml = DevtodevWindows.xml(value) { return WNSContent(type: "tile", xml: xml) }
        let given = try Tolerance(value, path: path)
        if !isLegacy, let xml = try document(given) { return WNSContent(type: "tile", xml: xml.text) }
        let texts = try DevtodevWindows.texts(given)
        let image = try given.text("image", bytesMax: Limits.imageURLBytesMax)
        guard !texts.isEmpty || image != nil else { throw .missing(given.path("text")) }
        var template = try given.text("template")
        if isLegacy, template == nil { template = legacyTemplate(texts, image) }
        return WNSContent(
            type: "tile", template: template,
            fields: WNSContent.parts(texts: texts.map(JSON.string), images: image.map { [.string($0)] }))
    }

    /// The template from the tile catalogue: a header and text, an image, or both in turn.
    private static func legacyTemplate(_ texts: [String], _ image: String?) -> String {
        if image == nil { return "TileSquare150x150Text02" }
        return texts.isEmpty ? "TileSquare150x150Image" : "TileSquare150x150PeekImageAndText02"
    }

    /// A tile with a different content for each size; nil if no size is given.
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
