import PealCore

/// `fields` of a template that names its parts: an author's members, found under the name of the element, whatever
/// their case and with or without underscores (`BackTitle`, `backTitle`, `back_title`).
struct MPNSFields: Sendable {
    private let members: JSON.Members
    private let path: String

    init(_ members: JSON.Members, path: String) {
        self.members = members
        self.path = path
    }

    /// One element for each of `names` that is given, in their order, then one for each other member as it is named.
    /// - Throws: `invalid_field`, naming the member.
    func elements(_ names: [String], except others: Set<String> = []) throws(PealError) -> [XMLElement] {
        var elements: [XMLElement] = []
        for name in names {
            if let (written, value) = member(name) { elements.append(try element(name, written, value)) }
        }
        let known = Set(names.map(Self.folded)).union(others)
        for (written, value) in members.pairs where !known.contains(Self.folded(written)) {
            guard Self.isName(written) else { throw .invalid("\(path).\(written)", "\(written) is no element's name") }
            elements.append(try element(written, written, value))
        }
        return elements
    }

    /// - Throws: `invalid_field`, naming the member.
    func text(_ name: String) throws(PealError) -> XMLText? {
        guard let (written, value) = member(name), !value.isNull else { return nil }
        return try text(written, value)
    }

    private func member(_ name: String) -> (String, JSON)? {
        members.pairs.first { Self.folded($0.0) == Self.folded(name) }
    }

    /// A null empties what the tile shows there.
    private func element(_ name: String, _ written: String, _ value: JSON) throws(PealError) -> XMLElement {
        if value.isNull { return XMLElement("wp:\(name)", [("Action", "Clear")]) }
        let text = try text(written, value)
        if name == "Count" {
            guard let count = Int(text.text), (0...99).contains(count) else {
                throw .invalid("\(path).\(written)", "a count is a whole number from 0 to 99")
            }
        }
        return XMLElement("wp:\(name)", text: text)
    }

    private func text(_ written: String, _ value: JSON) throws(PealError) -> XMLText {
        let field = "\(path).\(written)"
        switch value {
        case .string(let text): return try XMLText(text, field: field)
        case .number(let text): return try XMLText(text, field: field)
        default: throw .invalid(field, "\(written) must be a string or a number, not \(value.typeName)")
        }
    }

    private static func folded(_ name: String) -> String { name.replacing("_", with: "").lowercased() }

    private static func isName(_ text: String) -> Bool {
        let isLetter = { (byte: UInt8) in byte.isASCIIAlphanumeric && !(0x30...0x39).contains(byte) }
        return text.utf8.first.map(isLetter) ?? false && text.utf8.allSatisfy(\.isASCIIAlphanumeric)
    }
}
