internal import PealCore
internal import PealShapes

/// A message for Windows. The error in its notification is thrown when the notification is needed.
struct DevtodevWindowsMessage: Sendable {
    let options: DevtodevOptions
    let notification: Result<WNSContent, PealError>

    /// - Throws: `missing_field` for an object without content; `invalid_field`.
    func content() throws(PealError) -> Content.PlatformContent {
        Content.PlatformContent(try notification.get(), options: options.delivery)
    }
}

/// What `uwp` (Windows 10) and `win` (also Windows 8.1) contain: options, and one of `toast`, `tile`, `badge` and
/// `raw`, of which the first counts. Those after it are not checked.
enum DevtodevWindowsShapes {
    /// - Parameter isLegacy: whether the templates must be those of Windows 8.1.
    static func message(isLegacy: Bool) -> Shape<DevtodevWindowsMessage> {
        let notification = notification(isLegacy: isLegacy).deferred()
        return Shape { json, reading throws(PealError) in
            let options = try outline.read(json, &reading)
            return DevtodevWindowsMessage(options: options, notification: try notification.read(json, &reading))
        } describe: { describing in
            outline.describe(describing)
        }
    }

    private static let outline = ObjectShape(
        "DevtodevWindows", DevtodevOptions(),
        "Give one of `toast`, `tile`, `badge` and `raw`. If several are given, the first in this order applies."
    ) {
        Entry("options", DevtodevOptionsShapes.windows.shape) { if let options = $1 { $0 = options } }
        Entry("toast", Shape.anything.described { _ in documentOrObject }) { _, _ in }
        // Not checked next to a toast, so the schema states no form.
        Entry("tile", Shape.anything.described("XML, or an object like that of `toast`.")) { _, _ in }
        for name in ["badge", "raw"] { Entry(name, .anything) { _, _ in } }
    }.shape

    private static let documentOrObject = Schema.component(
        "DevtodevNotification",
        .any(of: [
            .text(pattern: #"[ \t\r\n]*<[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]*"#), .openObject,
        ]))

    private static func notification(isLegacy: Bool) -> Shape<WNSContent> {
        let kinds = [
            ("toast", document("toast", or: DevtodevToast.shape(isLegacy: isLegacy))),
            ("tile", document("tile", or: DevtodevTile.shape(isLegacy: isLegacy))),
            ("badge", document("badge", or: badge)), ("raw", raw),
        ]
        return Shape { json, reading throws(PealError) in
            for (name, shape) in kinds {
                guard let value = json[name], !reading.policy.isAbsent(value) else { continue }
                reading.enter(name)
                let content = try shape.read(value, &reading)
                reading.leave()
                return content
            }
            throw .missing(reading.path("toast"))
        } describe: { _ in
            .anything
        }
    }

    /// An XML document of the author's own, or what `shape` reads.
    private static func document(_ type: String, or shape: Shape<WNSContent>) -> Shape<WNSContent> {
        Shape { json, reading throws(PealError) in
            if let text = json.stringValue, text.drop(while: \.isWhitespace).hasPrefix("<") {
                return WNSContent(type: type, xml: text)
            }
            return try shape.read(json, &reading)
        } describe: { describing in
            shape.describe(describing)
        }
    }

    /// A number or a glyph, alone or as `value` of an object.
    private static let badge = Shape<WNSContent> { json, reading throws(PealError) in
        guard let members = json.objectValue else { return WNSContent(type: "badge", value: json) }
        guard let value = members["value"], !reading.policy.isAbsent(value) else {
            throw .missing(reading.path("value"))
        }
        return WNSContent(type: "badge", value: value)
    } describe: { _ in
        .anything
    }

    private static let raw = Shape<JSON>.anything.map { WNSContent(type: "raw", value: .string($0.asText)) }

    static let image = Shape.text(bytes: Limits.imageURLBytesMax)
}

/// A toast, which has room for three texts.
private struct DevtodevToast: Sendable {
    var texts: [String] = []
    var image: String?
    var scenario: String?
    /// The app's launch argument.
    var launch: String?
    // Needed only without `launch`, and checked only then.
    var data: Result<Located<JSON.Members>, PealError>?
    var action: Result<DevtodevAction, PealError>?

    static func shape(isLegacy: Bool) -> Shape<WNSContent> {
        object.shape.checked { toast, reading throws(PealError) in
            try toast.content(isLegacy: isLegacy, reading)
        }
    }

    private static let object = ObjectShape("DevtodevToast", DevtodevToast()) {
        for name in ["title", "text", "text2"] {
            Entry(name, .content) { toast, text in if let text { toast.texts.append(text) } }
        }
        Entry("image", DevtodevWindowsShapes.image) { $0.image = $1 }
        Entry("launch", .content) { $0.launch = $1 }
        Entry("scenario", .text()) { $0.scenario = $1 == "default" ? nil : $1 }
        Entry("data", DevtodevPartShapes.data.deferred()) { $0.data = $1 }
        Entry("action", DevtodevPartShapes.action.shape.deferred()) { $0.action = $1 }
    }

    private func content(isLegacy: Bool, _ reading: borrowing Reading) throws(PealError) -> WNSContent {
        guard !texts.isEmpty else { throw .missing(reading.path("text")) }
        let launch = try launchArgument()
        if let scenario, !isLegacy {
            let document = try document(scenario, launch, reading)
            return WNSContent(type: "toast", xml: document.text)
        }
        // The number of the catalogue's template with that many texts.
        let number = texts.count == 1 ? 1 : texts.count == 2 ? 2 : 4
        return WNSContent(
            type: "toast", template: isLegacy ? "Toast\(image == nil ? "" : "ImageAnd")Text0\(number)" : nil,
            fields: WNSContent.parts(texts: texts.map(JSON.string), images: image.map { [.string($0)] }),
            launch: launch)
    }

    /// The app's launch argument: as given, otherwise `data` and the action as one JSON string.
    private func launchArgument() throws(PealError) -> String? {
        if let launch { return launch }
        var notes: [String] = []
        var members = DevtodevData.members(try data?.get(), notes: &notes)
        if let (key, value) = try action?.get().member { members[key] = value }
        return members.isEmpty ? nil : JSON.object(members).text
    }

    /// Templates have no scenario, so the toast is written here (Microsoft: "Toast schema").
    private func document(
        _ scenario: String, _ launch: String?, _ reading: borrowing Reading
    ) throws(PealError) -> XMLElement {
        var inner: [XMLElement] = []
        for text in texts { inner.append(XMLElement("text", text: try XMLText(text, field: reading.path("text")))) }
        if let image {
            inner.append(XMLElement("image", [("src", try XMLText(image, field: reading.path("image")))]))
        }
        let binding = XMLElement("binding", [("template", "ToastGeneric")], inner)
        var attributes: [(String, XMLText?)] = [
            ("scenario", try XMLText(scenario, field: reading.path("scenario")))
        ]
        if let launch { attributes.append(("launch", try XMLText(launch, field: reading.path("launch")))) }
        return XMLElement("toast", attributes, [XMLElement("visual", [], [binding])])
    }
}

/// A tile, or what it shows in one size.
private struct DevtodevTile: Sendable {
    var texts: [String] = []
    var image: String?
    var template: String?

    static func shape(isLegacy: Bool) -> Shape<WNSContent> {
        isLegacy ? flat(isLegacy: true) : sizedOrFlat
    }

    /// A tile with a different content for each size; without any size, one content for all.
    private static let sizedOrFlat = Shape<WNSContent> { json, reading throws(PealError) in
        let bindings = try sizes.read(json, &reading)
        guard !bindings.isEmpty else { return try flat(isLegacy: false).read(json, &reading) }
        let tile = XMLElement("tile", [], [XMLElement("visual", [], bindings)])
        return WNSContent(type: "tile", xml: tile.text)
    } describe: { describing in
        sizes.describe(describing)
    }

    private static let templates: [(size: String, template: XMLText)] = [
        ("small", "TileSmall"), ("medium", "TileMedium"), ("wide", "TileWide"), ("large", "TileLarge"),
    ]

    private static let sizes = ObjectShape("DevtodevTileSizes", [XMLElement]()) {
        for (size, template) in templates {
            Entry(size, contents) { bindings, contents in
                guard let contents else { return }
                bindings.append(XMLElement("binding", [("template", template)], contents))
            }
        }
    }.shape

    private static let contents = ObjectShape("DevtodevTileSize", DevtodevTile()) { parts }.shape.checked {
        tile, reading throws(PealError) in
        var contents: [XMLElement] = []
        if let image = tile.image {
            let source = try XMLText(image, field: reading.path("image"))
            contents.append(XMLElement("image", [("placement", "background"), ("src", source)]))
        }
        for (index, text) in tile.texts.enumerated() {
            let style: XMLText = index == 0 ? "caption" : "captionSubtle"
            let line = try XMLText(text, field: reading.path("text"))
            contents.append(XMLElement("text", [("hint-style", style)], text: line))
        }
        return contents
    }

    private static func flat(isLegacy: Bool) -> Shape<WNSContent> {
        object.shape.checked { tile, reading throws(PealError) in
            guard !tile.texts.isEmpty || tile.image != nil else { throw .missing(reading.path("text")) }
            return WNSContent(
                type: "tile", template: tile.template ?? (isLegacy ? tile.legacyTemplate : nil),
                fields: WNSContent.parts(
                    texts: tile.texts.map(JSON.string), images: tile.image.map { [.string($0)] }))
        }
    }

    private static let object = ObjectShape("DevtodevTile", DevtodevTile()) {
        parts
        Entry("template", .text()) { $0.template = $1 }
    }

    private static let parts: [Entry<DevtodevTile>] =
        [Entry("image", DevtodevWindowsShapes.image) { $0.image = $1 }]
        + ["title", "text", "text2", "text3"].map { name in
            Entry(name, .content) { tile, text in if let text { tile.texts.append(text) } }
        }

    /// The template from the tile catalogue: a header and text, an image, or both in turn.
    private var legacyTemplate: String {
        if image == nil { return "TileSquare150x150Text02" }
        return texts.isEmpty ? "TileSquare150x150Image" : "TileSquare150x150PeekImageAndText02"
    }
}
