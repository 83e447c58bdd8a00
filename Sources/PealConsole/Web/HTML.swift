/// HTML that is safe to send: literals are markup, and every interpolated value is escaped unless it is HTML itself. A
/// page is a function that returns one.
package struct HTML: Sendable, Hashable, ExpressibleByStringInterpolation {
    package let text: String

    package init(stringLiteral value: String) { text = value }

    package init(stringInterpolation: Interpolation) { text = stringInterpolation.text }

    private init(markup: String) { text = markup }

    package static let empty: HTML = ""

    /// The HTML of every element, joined.
    static func each<Items: Sequence>(_ items: Items, _ body: (Items.Element) throws -> HTML) rethrows -> HTML {
        HTML(markup: try items.map { try body($0).text }.joined())
    }

    /// `body` if the condition holds, otherwise nothing.
    static func when(_ condition: Bool, _ body: @autoclosure () -> HTML) -> HTML { condition ? body() : .empty }

    /// `body` of the value if there is one, otherwise nothing.
    static func with<Value>(_ value: Value?, _ body: (Value) -> HTML) -> HTML { value.map(body) ?? .empty }

    static func + (left: HTML, right: HTML) -> HTML { HTML(markup: left.text + right.text) }

    /// `text` for elements and for attributes in quotation marks. Escapes byte by byte: by characters, a quotation mark
    /// with a combining mark behind it would pass.
    package static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): bytes += Array("&amp;".utf8)
            case UInt8(ascii: "<"): bytes += Array("&lt;".utf8)
            case UInt8(ascii: ">"): bytes += Array("&gt;".utf8)
            case UInt8(ascii: "\""): bytes += Array("&quot;".utf8)
            case UInt8(ascii: "'"): bytes += Array("&#39;".utf8)
            case 0: bytes += Array("\u{FFFD}".utf8)
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension HTML {
    /// Collects literals and escaped values.
    package struct Interpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        package init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(literalCapacity * 2) }

        package mutating func appendLiteral(_ literal: String) { text += literal }

        package mutating func appendInterpolation(_ html: HTML) { text += html.text }

        package mutating func appendInterpolation(_ parts: [HTML]) { for part in parts { text += part.text } }

        package mutating func appendInterpolation(_ value: String) { text += HTML.escaped(value) }

        package mutating func appendInterpolation(_ value: Int) { text += String(value) }

        package mutating func appendInterpolation(_ value: Int64) { text += String(value) }

        /// Markup only if the condition holds, such as an attribute without a value.
        package mutating func appendInterpolation(if condition: Bool, _ html: HTML) {
            if condition { text += html.text }
        }
    }
}
