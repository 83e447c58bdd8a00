internal import PealCore

extension Schema {
    /// A text of `range` characters, which are Unicode's code points, as JSON Schema counts.
    /// - Parameter pattern: a regular expression of ECMA-262 that holds for the whole text.
    static func text(_ range: ClosedRange<Int>, pattern: String? = nil) -> Schema {
        var schema = Schema([("type", "string")])
        if range.lowerBound > 0 { schema = schema.with("minLength", .integer(range.lowerBound)) }
        if range.upperBound < .max { schema = schema.with("maxLength", .integer(range.upperBound)) }
        return pattern.map { schema.with("pattern", .string("^\($0)$")) } ?? schema
    }

    /// A text whose whole form a regular expression of ECMA-262 tells.
    static func text(pattern: String) -> Schema { text(0...Int.max, pattern: pattern) }

    /// A text of any length.
    static let text = Schema([("type", "string")])

    /// A text of `range` characters without control characters (C0, DEL).
    static func printable(_ range: ClosedRange<Int>) -> Schema { text(range, pattern: #"[^\u0000-\u001f\u007f]*"#) }

    /// A text for people to read: of control characters only tabs and line ends.
    static let content = text(pattern: #"[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]*"#)

    /// An id, as RFC 9562 writes it. The pattern is for readers that take formats for remarks only.
    static let uuid = text(pattern: "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}").with("format", "uuid")

    /// An instant (RFC 3339).
    static let time = Schema([("type", "string"), ("format", "date-time")])

    /// An instant that lies ahead whenever a request is read. The pattern keeps out what has passed for good: the day
    /// of `now` and those before it.
    static func future(after now: Timestamp) -> Schema {
        let day = Array(now.description.prefix(10))
        let later = day.indices.compactMap { position -> String? in
            guard let digit = day[position].wholeNumberValue, digit < 9 else { return nil }
            let rest = day[(position + 1)...].map { $0 == "-" ? "-" : "[0-9]" }.joined()
            return "\(String(day[..<position]))[\(digit + 1)-9]\(rest)"
        }
        return time.described("Lies ahead.").with("pattern", .string("^(\(later.joined(separator: "|")))"))
    }

    /// An absolute URI (RFC 3986).
    static let uri = Schema([("type", "string"), ("format", "uri")])

    /// An https URL with a host, without blanks and control characters.
    static let secureLink = text(
        pattern: #"[Hh][Tt][Tt][Pp][Ss]://[^/?#\u0000-\u0020\u007f][^\u0000-\u0020\u007f]*"#)

    static let flag = Schema([("type", "boolean")])

    static let number = Schema([("type", "number")])

    /// An integer from 0.
    static let count = Schema([("type", "integer"), ("minimum", 0)])

    static let integer = Schema([("type", "integer")])

    static func integer(_ range: ClosedRange<Int64>) -> Schema {
        Schema([
            ("type", "integer"), ("minimum", .integer(range.lowerBound)), ("maximum", .integer(range.upperBound)),
        ])
    }

    /// One of these words.
    static func words(_ words: [String]) -> Schema {
        Schema([("type", "string"), ("enum", .array(words.map(JSON.string)))])
    }

    /// One of the words of an enumeration.
    static func words<Choice: RawRepresentable & CaseIterable>(_: Choice.Type) -> Schema
    where Choice.RawValue == String {
        words(Choice.allCases.map(\.rawValue))
    }

    /// This word alone.
    static func word(_ word: String) -> Schema { Schema([("type", "string"), ("const", .string(word))]) }
}
