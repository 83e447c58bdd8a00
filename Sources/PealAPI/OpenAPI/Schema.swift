internal import PealCore

/// A JSON Schema of draft 2020-12, which OpenAPI 3.1 takes as it is. Its keywords keep the order in which they were
/// given.
struct Schema: Sendable, Hashable {
    private(set) var keywords: JSON.Members

    init(_ keywords: [(String, JSON)] = []) { self.keywords = JSON.Members(keywords) }

    var json: JSON { .object(keywords) }

    /// Whatever JSON can hold.
    static let anything = Schema()

    /// A schema of the document's components, by name.
    static func named(_ name: String) -> Schema { Schema([("$ref", .string("#/components/schemas/\(name)"))]) }

    /// This schema with `keyword` set.
    func with(_ keyword: String, _ value: JSON) -> Schema {
        var schema = self
        schema.keywords[keyword] = value
        return schema
    }

    /// This schema with a sentence for people.
    func described(_ text: String) -> Schema { with("description", .string(text)) }

    /// What counts where nothing is given.
    func defaulting(to value: JSON) -> Schema { with("default", value) }

    /// Also null.
    var orNull: Schema {
        switch keywords["type"] {
        case .string(let type)?:
            var schema = with("type", [.string(type), "null"])
            if let values = keywords["enum"]?.arrayValue { schema = schema.with("enum", .array(values + [.null])) }
            if let value = keywords["const"] {
                schema.keywords["const"] = nil
                schema = schema.with("enum", [value, .null])
            }
            return schema
        case .array(let types)?: return types.contains("null") ? self : with("type", .array(types + ["null"]))
        default: return self == .anything ? self : .any(of: [self, Schema([("type", "null")])])
        }
    }

    /// Each value that suits one of `schemas` at least.
    static func any(of schemas: [Schema]) -> Schema { Schema([("anyOf", .array(schemas.map(\.json)))]) }

    /// Each value that suits exactly one of `schemas`.
    static func one(of schemas: [Schema]) -> Schema { Schema([("oneOf", .array(schemas.map(\.json)))]) }

    /// Each value that suits all of `schemas`.
    static func all(of schemas: [Schema]) -> Schema { Schema([("allOf", .array(schemas.map(\.json)))]) }
}

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

/// A member of an object that a schema describes.
struct Property: Sendable {
    let name: String
    let schema: Schema
    let isRequired: Bool

    static func required(_ name: String, _ schema: Schema) -> Property {
        Property(name: name, schema: schema, isRequired: true)
    }

    /// A member that may be missing.
    static func optional(_ name: String, _ schema: Schema) -> Property {
        Property(name: name, schema: schema, isRequired: false)
    }

    /// A member of a request that may be missing or null, which is the same.
    static func nullable(_ name: String, _ schema: Schema) -> Property {
        Property(name: name, schema: schema.orNull, isRequired: false)
    }
}

extension Schema {
    /// An object with these members, and with others that nobody looks at.
    static func object(_ properties: [Property]) -> Schema {
        var schema = Schema([("type", "object")])
        if !properties.isEmpty {
            schema = schema.with(
                "properties", .object(JSON.Members(properties.map { ($0.name, $0.schema.json) })))
        }
        let required = properties.filter(\.isRequired).map { JSON.string($0.name) }
        return required.isEmpty ? schema : schema.with("required", .array(required))
    }

    /// An object whose members have names of their own and values that suit `schema`.
    static func map(_ schema: Schema) -> Schema {
        Schema([("type", "object"), ("additionalProperties", schema.json)])
    }

    /// An object of whatever members.
    static let object = Schema([("type", "object")])

    static func list(_ items: Schema, _ range: ClosedRange<Int> = 0...Int.max) -> Schema {
        var schema = Schema([("type", "array"), ("items", items.json)])
        if range.lowerBound > 0 { schema = schema.with("minItems", .integer(range.lowerBound)) }
        if range.upperBound < .max { schema = schema.with("maxItems", .integer(range.upperBound)) }
        return schema
    }

    /// An object that also must have `names`.
    func requiring(_ names: String...) -> Schema {
        let known = keywords["required"]?.arrayValue ?? []
        return with("required", .array(known + names.map(JSON.string).filter { !known.contains($0) }))
    }
}

/// What the four adopted dialects take, as `Tolerance` reads it.
extension Schema {
    /// A text; a number or a boolean gives its own text, null and "" are absent.
    static func tolerantText(_ range: ClosedRange<Int> = 0...Int.max, pattern: String? = nil) -> Schema {
        text(range, pattern: pattern).with("type", ["string", "number", "boolean", "null"])
    }

    /// An integer, also as text; null and "" are absent.
    static let tolerantInteger = any(of: [
        integer(Int64.min...Int64.max), text(pattern: "(-?(0|[1-9][0-9]{0,17}))?"), nothing,
    ])

    /// An integer of a range, also as text; null and "" are absent.
    /// - Parameter pattern: the range as a regular expression of ECMA-262.
    static func tolerantInteger(_ range: ClosedRange<Int64>, pattern: String) -> Schema {
        any(of: [integer(range), text(pattern: "(\(pattern))?"), nothing])
    }

    /// A number, also as text; null and "" are absent.
    static let tolerantNumber = any(of: [
        number, text(pattern: "(-?(0|[1-9][0-9]{0,17})(\\.[0-9]{1,17})?)?"), nothing,
    ])

    /// A boolean, also as 0, 1 and text in any letter case; null and "" are absent.
    static let tolerantFlag = any(of: [
        flag, Schema([("enum", [0, 1])]),
        text(pattern: "([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]|0|1)?"), nothing,
    ])

    /// An object; null and "" are absent.
    static func tolerantObject(_ properties: [Property]) -> Schema { object(properties).orAbsent }

    /// A list; null and "" are absent, as is null within it.
    static func tolerantList(_ items: Schema, _ range: ClosedRange<Int> = 0...Int.max) -> Schema {
        list(items.orNull, range).orAbsent
    }

    /// Also what counts as absent: null and "".
    var orAbsent: Schema { .any(of: [self, Schema([("enum", ["", .null])])]) }

    private static let nothing = Schema([("type", "null")])
}
