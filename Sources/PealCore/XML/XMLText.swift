/// Text that may stand in an XML document: receives what an author wrote, hands it on escaped. There is no other way
/// into an `XMLElement`.
package struct XMLText: Sendable, Hashable {
    package let text: String

    /// - Parameter field: named when the text is refused.
    /// - Throws: `invalid_field` for control characters but tab and line ends, and for what XML has no place for (XML
    ///   1.0 §2.2).
    package init(_ text: String, field: String) throws(PealError) {
        guard text.unicodeScalars.allSatisfy(Self.isLegal) else {
            throw .invalid(field, "\(field) holds a control character, which XML cannot carry")
        }
        self.text = text
    }

    package init(_ number: Int64) { text = String(number) }

    /// Whether XML has a place for the character, and people can see it.
    package static func isLegal(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A, 0x0D: true
        case ..<0x20, 0x7F...0x9F, 0xFFFE, 0xFFFF: false
        default: true
        }
    }

    /// As it stands between tags.
    package var content: String { escaped(isAttribute: false) }
    /// As it stands between double quotes.
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
            // Readers turn these into blanks and line feeds unless they are written as references (XML 1.0 §2.11,
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
    /// For words of our own.
    package init(stringLiteral value: String) { text = value }
}
