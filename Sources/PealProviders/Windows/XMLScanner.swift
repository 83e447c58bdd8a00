import PealCore

/// Checks whether an author's document is well-formed XML (XML 1.0, Namespaces in XML 1.0), as far as push payloads
/// need it: ASCII names, the five predefined entities, no document type and no processing instructions. Receives the
/// text and returns the root's local name.
struct XMLScanner {
    /// Why a document is refused.
    struct Fault: Error, Hashable {
        let reason: String
        let line: Int
    }

    private struct Open {
        let name: [UInt8]
        /// Namespace prefixes declared by this element or an enclosing one.
        let prefixes: Set<[UInt8]>
    }

    private let bytes: [UInt8]
    private var position = 0
    private var open: [Open] = []

    private init(_ text: String) { bytes = Array(text.utf8) }

    /// The local name of the document's root.
    static func root(of text: String) throws(Fault) -> String {
        var scanner = XMLScanner(text)
        return try scanner.document()
    }

    private mutating func document() throws(Fault) -> String {
        _ = skip("\u{FEFF}")
        if starts(with: "<?xml"), position + 5 < bytes.count, Self.isSpace(bytes[position + 5]) { try declaration() }
        try betweenTags()
        guard skip("<"), let root = try startTag() else { throw fault("the document has no element") }
        while !open.isEmpty { try content() }
        try betweenTags()
        guard position == bytes.count else { throw fault("text follows the root element") }
        return String(decoding: root.split(separator: UInt8(ascii: ":")).last ?? root[...], as: UTF8.self)
    }

    private mutating func declaration() throws(Fault) {
        position += 5
        let attributes = try attributes()
        guard skip("?>") else { throw fault("the declaration is not closed") }
        for (name, value) in attributes {
            let value = String(decoding: value, as: UTF8.self).lowercased()
            switch String(decoding: name, as: UTF8.self) {
            case "version" where value == "1.0": continue
            case "encoding" where value == "utf-8": continue
            case "standalone" where value == "yes" || value == "no": continue
            default: throw fault("only version 1.0 and UTF-8 may be declared")
            }
        }
        guard attributes.first?.name == Array("version".utf8) else { throw fault("the declaration has no version") }
    }

    /// Skips white space and comments outside the root.
    private mutating func betweenTags() throws(Fault) {
        while true {
            skipSpace()
            guard skip("<!--") else { break }
            try comment()
        }
        if starts(with: "<?") { throw fault("processing instructions are not allowed") }
        if starts(with: "<!") { throw fault("a document type is not allowed") }
    }

    private mutating func comment() throws(Fault) {
        while !starts(with: "--") {
            guard position < bytes.count else { throw fault("a comment is not closed") }
            position += 1
        }
        guard skip("-->") else { throw fault("a comment contains --") }
    }

    /// Reads one part of an element's content.
    private mutating func content() throws(Fault) {
        if skip("<!--") { return try comment() }
        if skip("<![CDATA[") { return try skipData() }
        if starts(with: "<!") { throw fault("a document type is not allowed") }
        if starts(with: "<?") { throw fault("processing instructions are not allowed") }
        if skip("</") { return try endTag() }
        if skip("<") {
            _ = try startTag()
            return
        }
        if skip("&") { return try reference() }
        guard position < bytes.count else { throw fault("an element is not closed") }
        if starts(with: "]]>") { throw fault("]]> in text") }
        position += 1
    }

    private mutating func skipData() throws(Fault) {
        while !skip("]]>") {
            guard position < bytes.count else { throw fault("a CDATA section is not closed") }
            position += 1
        }
    }

    /// Reads a start tag after `<`. Returns its name; nil if none follows at the top level.
    private mutating func startTag() throws(Fault) -> [UInt8]? {
        guard let name = name() else {
            if open.isEmpty { return nil }
            throw fault("an element has no name")
        }
        let attributes = try attributes()
        var prefixes = open.last?.prefixes ?? [Array("xml".utf8)]
        for (attribute, value) in attributes where attribute.starts(with: "xmlns:".utf8) {
            guard !value.isEmpty else { throw fault("a namespace has no name") }
            prefixes.insert(Array(attribute.dropFirst(6)))
        }
        for name in [name] + attributes.map(\.name) where !name.starts(with: "xmlns:".utf8) {
            try checkPrefix(name, prefixes)
        }
        if skip("/>") { return name }
        guard skip(">") else { throw fault("a tag is not closed") }
        guard open.count < Limits.xmlDepthMax else { throw fault("elements are nested too deeply") }
        open.append(Open(name: name, prefixes: prefixes))
        return name
    }

    private func checkPrefix(_ name: [UInt8], _ prefixes: Set<[UInt8]>) throws(Fault) {
        let parts = name.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count <= 2, parts.allSatisfy({ $0.first.map(Self.isNameStart) ?? false }) else {
            throw fault("a name is invalid")
        }
        guard parts.count == 1 || prefixes.contains(Array(parts[0])) else {
            throw fault("a namespace prefix is not declared")
        }
    }

    private mutating func endTag() throws(Fault) {
        guard let name = name(), name == open.last?.name else { throw fault("an end tag matches no start tag") }
        skipSpace()
        guard skip(">") else { throw fault("a tag is not closed") }
        open.removeLast()
    }

    private mutating func attributes() throws(Fault) -> [(name: [UInt8], value: [UInt8])] {
        var attributes: [(name: [UInt8], value: [UInt8])] = []
        var names: Set<[UInt8]> = []
        while skipSpace(), let name = name() {
            guard names.insert(name).inserted else { throw fault("an attribute occurs twice") }
            skipSpace()
            guard skip("=") else { throw fault("an attribute has no value") }
            skipSpace()
            attributes.append((name, try quoted()))
        }
        return attributes
    }

    private mutating func quoted() throws(Fault) -> [UInt8] {
        guard let quote = ["\"", "'"].first(where: { starts(with: $0) }) else {
            throw fault("an attribute's value is not quoted")
        }
        position += 1
        let start = position
        while !starts(with: quote) {
            guard position < bytes.count, bytes[position] != UInt8(ascii: "<") else {
                throw fault("an attribute's value is not closed")
            }
            if skip("&") { try reference() } else { position += 1 }
        }
        position += 1
        return Array(bytes[start..<position - 1])
    }

    /// Reads a reference after `&`.
    private mutating func reference() throws(Fault) {
        let name = bytes[position...].prefix(12).prefix { $0 != UInt8(ascii: ";") }
        position += name.count
        guard skip(";") else { throw fault("& does not begin a reference") }
        let text = String(decoding: name, as: UTF8.self)
        if ["amp", "lt", "gt", "quot", "apos"].contains(text) { return }
        let isHex = text.hasPrefix("#x")
        let digits = text.dropFirst(isHex ? 2 : 1)
        guard text.hasPrefix("#"), digits.utf8.allSatisfy({ $0.isASCIIAlphanumeric }),
            let number = UInt32(digits, radix: isHex ? 16 : 10), let scalar = Unicode.Scalar(number),
            XMLText.isLegal(scalar)
        else { throw fault("a reference is undefined") }
    }

    // Bytes

    private mutating func name() -> [UInt8]? {
        guard position < bytes.count, Self.isNameStart(bytes[position]) else { return nil }
        let name = bytes[position...].prefix { Self.isNameStart($0) || Self.isNameRest($0) }
        position += name.count
        return Array(name)
    }

    private static func isNameStart(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric && !(0x30...0x39).contains(byte) || byte == UInt8(ascii: "_")
    }

    private static func isNameRest(_ byte: UInt8) -> Bool { byte.isASCIIAlphanumeric || "-.:".utf8.contains(byte) }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

    private func starts(with text: String) -> Bool { bytes[position...].starts(with: text.utf8) }

    private mutating func skip(_ text: String) -> Bool {
        guard starts(with: text) else { return false }
        position += text.utf8.count
        return true
    }

    /// Returns whether there was any white space.
    @discardableResult
    private mutating func skipSpace() -> Bool {
        let count = bytes[position...].prefix(while: Self.isSpace).count
        position += count
        return count > 0
    }

    private func fault(_ reason: String) -> Fault {
        Fault(reason: reason, line: 1 + bytes[..<position].count { $0 == 0x0A })
    }
}
