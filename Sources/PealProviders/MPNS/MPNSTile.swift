import PealCore

/// Writes tiles: Windows Phone 7's, and the flip, cycle and iconic tiles of Windows Phone 8 (Microsoft: "Flip Tile
/// template for Windows Phone 8", and its siblings).
enum MPNSTile {
    enum Template: String, CaseIterable, Sendable {
        case plain, flip, cycle, iconic

        /// `flip`, `flipTile` and `FlipTile` are the same; `tile` is Windows Phone 7's.
        init?(name: String) {
            let folded = name.lowercased()
            if folded == "tile" {
                self = .plain
            } else {
                self.init(rawValue: folded.hasSuffix("tile") ? String(folded.dropLast(4)) : folded)
            }
        }

        /// The name in the document; nil = none, the first version.
        var name: XMLText? {
            switch self {
            case .plain: nil
            case .flip: "FlipTile"
            case .cycle: "CycleTile"
            case .iconic: "IconicTile"
            }
        }

        /// What it shows, in the schema's order.
        var elements: [String] {
            switch self {
            case .plain: ["BackgroundImage", "Count", "Title", "BackBackgroundImage", "BackTitle", "BackContent"]
            case .flip:
                [
                    "SmallBackgroundImage", "WideBackgroundImage", "WideBackBackgroundImage", "WideBackContent",
                    "BackgroundImage", "Count", "Title", "BackBackgroundImage", "BackTitle", "BackContent",
                ]
            case .cycle:
                ["SmallBackgroundImage"] + (1...9).map { "CycleImage\($0)" } + ["Count", "Title"]
            case .iconic:
                [
                    "SmallIconImage", "IconImage", "WideContent1", "WideContent2", "WideContent3", "Count", "Title",
                    "BackgroundColor",
                ]
            }
        }

        /// Where an image and a body of the common fields go; nil = nowhere.
        var places: (image: String, body: String?) {
            switch self {
            case .plain, .flip: ("BackgroundImage", "BackContent")
            case .cycle: ("CycleImage1", nil)
            case .iconic: ("IconImage", "WideContent1")
            }
        }
    }

    /// - Throws: `invalid_field`, naming the field.
    static func element(_ fields: PlatformFields) throws(PealError) -> XMLElement {
        let template = try template(fields)
        var id: XMLText?
        let parts: [XMLElement]
        if let own = try fields.object("fields") {
            let members = MPNSFields(own, path: fields.path("fields"))
            id = try members.text("id")
            parts = try members.elements(template.elements, except: ["id"])
        } else {
            parts = try common(template, fields)
        }
        let version: XMLText? = template == .plain ? nil : "2.0"
        return XMLElement(
            "wp:Notification", [("xmlns:wp", "WPNotification"), ("Version", version)],
            [XMLElement("wp:Tile", [("Id", id), ("Template", template.name)], parts)])
    }

    private static func template(_ fields: PlatformFields) throws(PealError) -> Template {
        let called = try fields.string("type").flatMap { Template(name: $0) } ?? .plain
        guard let name = try fields.string("template") else { return called }
        guard let template = Template(name: name) else {
            throw .invalid(fields.path("template"), "template must be flip, cycle or iconic, or absent")
        }
        return template
    }

    private static func common(_ template: Template, _ fields: PlatformFields) throws(PealError) -> [XMLElement] {
        var values: [String: XMLText] = [:]
        values["Title"] = try fields.title()
        values["Count"] = fields.content.badge.map { XMLText(min(max($0, 0), 99)) }
        values[template.places.image] = try fields.image()
        if let place = template.places.body { values[place] = try fields.body() }
        return template.elements.compactMap { name in values[name].map { XMLElement("wp:\(name)", text: $0) } }
    }
}
