/// The outline of a small XML document: whether it is well-formed (elements nest, attributes are quoted and unique,
/// references are known), and its first elements. Refuses documents with a DTD.
struct XMLOutline {
    /// An element's name without its prefix, and its attributes.
    struct Element: Equatable {
        let name: String
        let attributes: [String: String]
        let depth: Int
    }

    /// All elements in the order they begin.
    private(set) var elements: [Element] = []
    private var rest: Substring
    private var open: [Substring] = []

    /// Reads a whole document; nil when it is not well-formed.
    init?(_ bytes: [UInt8]) {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        guard !text.unicodeScalars.contains(where: { $0.value < 0x20 && !"\t\n\r".unicodeScalars.contains($0) }) else {
            return nil
        }
        rest = text.hasPrefix("\u{FEFF}") ? text.dropFirst() : text[...]
        if rest.hasPrefix("<?xml ") {
            guard skip(past: "?>") else { return nil }
        }
        while !rest.isEmpty {
            guard takePiece() else { return nil }
        }
        guard open.isEmpty, !elements.isEmpty else { return nil }
    }

    var root: Element? { elements.first }

    private mutating func skip(past end: String) -> Bool {
        guard let range = rest.firstRange(of: end) else { return false }
        rest = rest[range.upperBound...]
        return true
    }

    /// Text, a comment, a CDATA section, an instruction, or a tag.
    private mutating func takePiece() -> Bool {
        if rest.hasPrefix("<!--") { return skip(past: "-->") }
        if rest.hasPrefix("<![CDATA[") { return !open.isEmpty && skip(past: "]]>") }
        if rest.hasPrefix("<?") { return skip(past: "?>") }
        if rest.hasPrefix("<!") { return false }
        if rest.hasPrefix("</") { return takeEnd() }
        if rest.hasPrefix("<") { return takeStart() }
        let text = rest.prefix { $0 != "<" }
        rest = rest[text.endIndex...]
        return open.isEmpty ? text.allSatisfy(\.isWhitespace) : Self.hasGoodReferences(text)
    }

    private mutating func takeEnd() -> Bool {
        rest = rest.dropFirst(2)
        guard let name = takeName(), name == open.popLast() else { return false }
        skipSpace()
        return take(">")
    }

    private mutating func takeStart() -> Bool {
        rest = rest.dropFirst()
        guard open.count < 64, !open.isEmpty || elements.isEmpty, let name = takeName() else { return false }
        var attributes: [String: String] = [:]
        while true {
            let hadSpace = skipSpace()
            let isEmpty = take("/")
            if isEmpty || rest.first == ">" {
                let local = name.split(separator: ":").last ?? name
                elements.append(Element(name: String(local), attributes: attributes, depth: open.count))
                if !isEmpty { open.append(name) }
                return take(">")
            }
            guard hadSpace, let (key, value) = takeAttribute(), attributes.updateValue(value, forKey: key) == nil else {
                return false
            }
        }
    }

    private mutating func takeAttribute() -> (String, String)? {
        guard let name = takeName() else { return nil }
        skipSpace()
        guard take("=") else { return nil }
        skipSpace()
        guard let quote = rest.first, quote == "\"" || quote == "'" else { return nil }
        rest = rest.dropFirst()
        let value = rest.prefix { $0 != quote }
        rest = rest[value.endIndex...]
        guard take(quote), !value.contains("<"), Self.hasGoodReferences(value) else { return nil }
        return (String(name), String(value))
    }

    private mutating func takeName() -> Substring? {
        let name = rest.prefix { $0.isLetter || $0.isNumber || "_:-.".contains($0) }
        guard let first = name.first, first.isLetter || first == "_" else { return nil }
        rest = rest[name.endIndex...]
        return name
    }

    @discardableResult
    private mutating func skipSpace() -> Bool {
        let space = rest.prefix(while: \.isWhitespace)
        rest = rest[space.endIndex...]
        return !space.isEmpty
    }

    private mutating func take(_ character: Character) -> Bool {
        guard rest.first == character else { return false }
        rest = rest.dropFirst()
        return true
    }

    /// Every `&` begins one of the five predefined references or a numeric one.
    private static func hasGoodReferences(_ text: Substring) -> Bool {
        text.split(separator: "&", omittingEmptySubsequences: false).dropFirst().allSatisfy { piece in
            piece.prefixMatch(of: #/(amp|lt|gt|quot|apos|#[0-9]+|#x[0-9a-fA-F]+);/#) != nil
        }
    }
}
