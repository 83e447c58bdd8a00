import PealCore

/// Writes toasts: two texts, and the page of the app that a tap opens.
enum MPNSToast {
    /// - Throws: `invalid_field`, naming the field.
    static func element(_ fields: WindowsFields) throws(ContentRefusal) -> XMLElement {
        let texts = try texts(fields)
        let names = ["wp:Text1", "wp:Text2", "wp:Param"]
        let parts = zip(names, texts).compactMap { name, text in text.map { XMLElement(name, text: $0) } }
        return XMLElement(
            "wp:Notification", [("xmlns:wp", "WPNotification")], [XMLElement("wp:Toast", [], parts)])
    }

    /// The author's `title`, `subtitle` and `parameter`; without `fields`, the title and the body. If only one of them
    /// is given, it comes first.
    private static func texts(_ fields: WindowsFields) throws(ContentRefusal) -> [XMLText?] {
        if let own = try fields.object(.fields) {
            let members = MPNSFields(own, field: fields.field(.fields))
            return [try members.text("title"), try members.text("subtitle"), try members.text("parameter")]
        }
        let lines = try fields.lines()
        return lines.count == 3 ? [lines[0], lines[2]] : lines
    }
}

/// Writes tiles: Windows Phone 7's, and the flip, cycle and iconic tiles of Windows Phone 8 (Microsoft: "Flip Tile
/// template for Windows Phone 8" and the pages of the other templates).
enum MPNSTile {
    /// The tile templates; `plain` is Windows Phone 7's.
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

        /// The template's name in the document; nil for Windows Phone 7's tile.
        var name: XMLText? {
            switch self {
            case .plain: nil
            case .flip: "FlipTile"
            case .cycle: "CycleTile"
            case .iconic: "IconicTile"
            }
        }

        /// The elements of the tile, in the schema's order.
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

        /// The elements for the image and body of the common fields; nil if the template has none.
        var commonElements: (image: String, body: String?) {
            switch self {
            case .plain, .flip: ("BackgroundImage", "BackContent")
            case .cycle: ("CycleImage1", nil)
            case .iconic: ("IconImage", "WideContent1")
            }
        }
    }

    /// - Throws: `invalid_field`, naming the field.
    static func element(_ fields: WindowsFields) throws(ContentRefusal) -> XMLElement {
        let template = try template(fields)
        var id: XMLText?
        let parts: [XMLElement]
        if let own = try fields.object(.fields) {
            let members = MPNSFields(own, field: fields.field(.fields))
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

    private static func template(_ fields: WindowsFields) throws(ContentRefusal) -> Template {
        let called = try fields.string(.type).flatMap { Template(name: $0) } ?? .plain
        guard let name = try fields.string(.template) else { return called }
        guard let template = Template(name: name) else {
            throw .invalid(fields.field(.template), "template must be flip, cycle, iconic or absent")
        }
        return template
    }

    private static func common(_ template: Template, _ fields: WindowsFields) throws(ContentRefusal) -> [XMLElement] {
        var values: [String: XMLText] = [:]
        values["Title"] = try fields.title()
        values["Count"] = fields.content.badge.map { XMLText(min(max($0, 0), 99)) }
        values[template.commonElements.image] = try fields.image()
        if let element = template.commonElements.body { values[element] = try fields.body() }
        return template.elements.compactMap { name in values[name].map { XMLElement("wp:\(name)", text: $0) } }
    }
}

/// The `fields` of a template with named parts. Finds an author's member by the element's name, ignoring case and
/// underscores (`BackTitle`, `backTitle`, `back_title`).
struct MPNSFields: Sendable {
    private let members: JSON.Members
    private let field: MessageField
    /// The first member of each folded name, as written, with its value.
    private let byName: [String: (String, JSON)]

    init(_ members: JSON.Members, field: MessageField) {
        self.members = members
        self.field = field
        byName = Dictionary(members.pairs.map { (Self.folded($0), ($0, $1)) }) { first, _ in first }
    }

    /// One element for each of `names` that is given, in that order, then one for each other member under its own name.
    /// - Throws: `invalid_field`, naming the member.
    func elements(_ names: [String], except others: Set<String> = []) throws(ContentRefusal) -> [XMLElement] {
        var elements: [XMLElement] = []
        for name in names {
            if let (written, value) = member(name) { elements.append(try element(name, written, value)) }
        }
        let known = Set(names.map(Self.folded)).union(others)
        for (written, value) in members.pairs where !known.contains(Self.folded(written)) {
            guard Self.isName(written) else {
                throw .invalid(field.member(written), "\(written) is not a valid element name")
            }
            elements.append(try element(written, written, value))
        }
        return elements
    }

    /// - Throws: `invalid_field`, naming the member.
    func text(_ name: String) throws(ContentRefusal) -> XMLText? {
        guard let (written, value) = member(name), !value.isNull else { return nil }
        return try text(written, value)
    }

    private func member(_ name: String) -> (String, JSON)? { byName[Self.folded(name)] }

    /// A null clears that part of the tile.
    private func element(_ name: String, _ written: String, _ value: JSON) throws(ContentRefusal) -> XMLElement {
        if value.isNull { return XMLElement("wp:\(name)", [("Action", "Clear")]) }
        let text = try text(written, value)
        if name == "Count" {
            guard let count = Int(text.text), (0...99).contains(count) else {
                throw .invalid(field.member(written), "a count must be a whole number from 0 to 99")
            }
        }
        return XMLElement("wp:\(name)", text: text)
    }

    private func text(_ written: String, _ value: JSON) throws(ContentRefusal) -> XMLText {
        let field = field.member(written)
        switch value {
        case .string(let text), .number(let text): return try XMLText(text, field: field)
        case .null, .bool, .array, .object:
            throw .invalid(field, "\(written) must be a string or a number, not \(value.typeName)")
        }
    }

    private static func folded(_ name: String) -> String { name.replacing("_", with: "").lowercased() }

    private static func isName(_ text: String) -> Bool {
        let isLetter = { (byte: UInt8) in byte.isASCIIAlphanumeric && !(0x30...0x39).contains(byte) }
        return text.utf8.first.map(isLetter) ?? false && text.utf8.allSatisfy(\.isASCIIAlphanumeric)
    }
}
