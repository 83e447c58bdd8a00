/// An element of an XML document to write.
package struct XMLElement: Sendable {
    private let name: String
    private let attributes: [(name: String, value: XMLText)]
    private let content: Content

    private enum Content: Sendable {
        case text(XMLText)
        case children([XMLElement])
    }

    /// - Parameter attributes: in written order; an attribute with nil is left out.
    package init(_ name: String, _ attributes: [(String, XMLText?)] = [], _ children: [XMLElement] = []) {
        self.init(name, attributes, .children(children))
    }

    /// - Parameter attributes: in written order; an attribute with nil is left out.
    package init(_ name: String, _ attributes: [(String, XMLText?)] = [], text: XMLText) {
        self.init(name, attributes, .text(text))
    }

    private init(_ name: String, _ attributes: [(String, XMLText?)], _ content: Content) {
        self.name = name
        self.attributes = attributes.compactMap { name, value in value.map { (name, $0) } }
        self.content = content
    }

    /// UTF-8, without an XML declaration.
    package var bytes: [UInt8] { Array(text.utf8) }

    /// The element as a string, without an XML declaration.
    package var text: String {
        var out = ""
        write(to: &out)
        return out
    }

    private func write(to out: inout String) {
        out += "<\(name)"
        for attribute in attributes { out += " \(attribute.name)=\"\(attribute.value.attribute)\"" }
        switch content {
        case .text(let text): out += ">\(text.content)</\(name)>"
        case .children(let children) where children.isEmpty: out += "/>"
        case .children(let children):
            out += ">"
            for child in children { child.write(to: &out) }
            out += "</\(name)>"
        }
    }
}

/// Text that is valid in an XML document: receives an author's text and returns it escaped. An `XMLElement` accepts no
/// other text.
package struct XMLText: Sendable, Hashable {
    package let text: String

    /// - Parameter field: The field to name when the text is refused.
    /// - Throws: `invalid_field` for control characters except tab and line ends, and for characters that XML does not
    ///   allow (XML 1.0 §2.2).
    package init(_ text: String, field: String) throws(PealError) {
        guard let legal = XMLText(legal: text) else {
            throw .invalid(field, "\(field) contains a character that XML does not allow")
        }
        self = legal
    }

    /// nil for a text with a character that XML does not allow.
    package init?(legal text: String) {
        guard text.unicodeScalars.allSatisfy(Self.isLegal) else { return nil }
        self.text = text
    }

    package init(_ number: Int64) { text = String(number) }

    /// Whether XML allows the character and it is not a control character, except for tab and line ends.
    package static func isLegal(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A, 0x0D: true
        case ..<0x20, 0x7F...0x9F, 0xFFFE, 0xFFFF: false
        default: true
        }
    }

    /// Escaped for the content of an element.
    package var content: String { escaped(isAttribute: false) }
    /// Escaped for a value in double quotes.
    package var attribute: String { escaped(isAttribute: true) }

    private func escaped(isAttribute: Bool) -> String {
        var out = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": out += "&amp;"
            case "<": out += "&lt;"
            case ">": out += "&gt;"
            case "\"": out += "&quot;"
            case "'": out += "&apos;"
            // XML parsers turn these into spaces and line feeds unless they are written as references (XML 1.0 §2.11,
            // §3.3.3).
            case "\r": out += "&#13;"
            case "\n" where isAttribute: out += "&#10;"
            case "\t" where isAttribute: out += "&#9;"
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out
    }
}

extension XMLText: ExpressibleByStringLiteral {
    /// For Peal's own text, which needs no check.
    package init(stringLiteral value: String) { text = value }
}
