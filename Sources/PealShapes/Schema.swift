package import PealCore

/// A JSON Schema (draft 2020-12), which OpenAPI 3.1 uses unchanged. Keywords keep their order. A schema carries the
/// components that it refers to, so that the writer of the document can collect them.
package struct Schema: Sendable, Hashable {
    private var keywords: JSON.Members
    /// The components by name.
    package private(set) var components: [String: Schema] = [:]

    package init(_ keywords: [(String, JSON)] = []) { self.keywords = JSON.Members(keywords) }

    package var json: JSON { .object(keywords) }

    package subscript(keyword: String) -> JSON? { keywords[keyword] }

    /// Any JSON value.
    package static let anything = Schema()

    /// A reference to a schema of the document's components.
    package static func named(_ name: String) -> Schema {
        Schema([("$ref", .string("#/components/schemas/\(name)"))])
    }

    /// Makes `schema` a component of the document and returns a reference to it. A reference is returned as it is.
    package static func component(_ name: String, _ schema: Schema) -> Schema {
        guard schema["$ref"] == nil else { return schema }
        var reference = named(name).carrying([schema])
        var own = schema
        own.components = [:]
        reference.components[name] = own
        return reference
    }

    /// A word of the API as a part of a component's name: `web_push` becomes `WebPush`.
    package static func componentName(_ word: String) -> String {
        word.split(separator: "_").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    /// This schema, also carrying the components of `others`.
    func carrying(_ others: [Schema]) -> Schema {
        var schema = self
        for other in others {
            schema.components.merge(other.components) { mine, theirs in
                assert(mine.json == theirs.json, "two components have the same name")
                return mine
            }
        }
        return schema
    }

    /// This schema with `keyword` set.
    package func with(_ keyword: String, _ value: JSON) -> Schema {
        var schema = self
        schema.keywords[keyword] = value
        return schema
    }

    package func without(_ keyword: String) -> Schema {
        var schema = self
        schema.keywords[keyword] = nil
        return schema
    }

    /// This schema with a description.
    package func described(_ text: String) -> Schema { with("description", .string(text)) }

    /// This schema with the default for an absent value.
    package func defaulting(to value: JSON) -> Schema { with("default", value) }

    /// Allows null. Client generators duplicate nullable objects and enumerations, so those become a union of two named
    /// schemas.
    package var orNull: Schema {
        guard without("description") != .anything else { return self }
        guard let type = self["type"], type != "object", self["enum"] == nil, self["const"] == nil else {
            return or(.component("Null", Schema([("type", "null")])))
        }
        let types = type.arrayValue ?? [type]
        return with("type", .array(types.contains("null") ? types : types + ["null"]))
    }

    /// Values that are valid under this schema or `other`.
    func or(_ other: Schema) -> Schema {
        guard let choices = self["anyOf"]?.arrayValue else { return .any(of: [self, other]) }
        return with("anyOf", .array(choices + [other.json])).carrying([other])
    }

    /// In place of an empty object.
    package static let emptyList = component(
        "EmptyList", Schema([("type", "array"), ("items", [:]), ("maxItems", 0)]))

    /// Whether it is an object without required members and rules.
    var allowsEmptyObject: Bool {
        let name = self["$ref"]?.stringValue?.split(separator: "/").last.map { String($0) }
        let schema = name.flatMap { components[$0] } ?? self
        return schema["type"] == "object" && schema["required"] == nil && schema["not"] == nil
    }

    /// Values that are valid under at least one of `schemas`.
    package static func any(of schemas: [Schema]) -> Schema {
        Schema([("anyOf", .array(schemas.map(\.json)))]).carrying(schemas)
    }

    /// Values that are valid under exactly one of `schemas`.
    package static func one(of schemas: [Schema]) -> Schema {
        Schema([("oneOf", .array(schemas.map(\.json)))]).carrying(schemas)
    }
}

extension Schema {
    /// A string whose length in Unicode code points, as JSON Schema counts, is in `range`.
    /// - Parameter pattern: a regular expression (ECMA-262) for the whole string.
    package static func text(_ range: ClosedRange<Int>, pattern: String? = nil) -> Schema {
        var schema = Schema([("type", "string")])
        if range.lowerBound > 0 { schema = schema.with("minLength", .integer(range.lowerBound)) }
        if range.upperBound < .max { schema = schema.with("maxLength", .integer(range.upperBound)) }
        return pattern.map { schema.with("pattern", .string("^\($0)$")) } ?? schema
    }

    /// A string that matches a regular expression (ECMA-262) as a whole.
    package static func text(pattern: String) -> Schema { text(0...Int.max, pattern: pattern) }

    /// A string of any length.
    package static let text = Schema([("type", "string")])

    /// A string of `range` characters without control characters (C0, DEL).
    package static func printable(_ range: ClosedRange<Int>) -> Schema {
        text(range, pattern: #"[^\u0000-\u001f\u007f]*"#)
    }

    /// A string for people to read. Its only control characters are tabs and line ends.
    package static let content = text(pattern: #"[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]*"#)

    /// An id (RFC 9562). The pattern is for validators that ignore formats.
    package static let uuid = text(pattern: "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}").with("format", "uuid")

    /// An instant (RFC 3339).
    package static let time = Schema([("type", "string"), ("format", "date-time")])

    /// An instant that is in the future when a request is read. The pattern excludes the days that are over in every
    /// time zone: with an offset such as -12:00, a time of the day before `now` may be in the future.
    package static func future(after now: Timestamp) -> Schema {
        let day = Array((now - .seconds(2 * 86_400)).description.prefix(10))
        let later = day.indices.compactMap { position -> String? in
            guard let digit = day[position].wholeNumberValue, digit < 9 else { return nil }
            let rest = day[(position + 1)...].map { $0 == "-" ? "-" : "[0-9]" }.joined()
            return "\(String(day[..<position]))[\(digit + 1)-9]\(rest)"
        }
        return time.described("In the future.").with("pattern", .string("^(\(later.joined(separator: "|")))"))
    }

    /// An https URL with a host, without blanks and control characters.
    package static let secureLink = text(
        pattern: #"[Hh][Tt][Tt][Pp][Ss]://[^/?#\u0000-\u0020\u007f][^\u0000-\u0020\u007f]*"#)

    package static let flag = Schema([("type", "boolean")])

    package static let number = Schema([("type", "number")])

    /// An integer from 0.
    package static let count = Schema([("type", "integer"), ("minimum", 0)])

    package static let integer = Schema([("type", "integer")])

    package static func integer(_ range: ClosedRange<Int64>) -> Schema {
        Schema([
            ("type", "integer"), ("minimum", .integer(range.lowerBound)), ("maximum", .integer(range.upperBound)),
        ])
    }

    /// One of these words.
    package static func words(_ words: [String]) -> Schema {
        Schema([("type", "string"), ("enum", .array(words.map(JSON.string)))])
    }

    /// The raw values of an enumeration.
    package static func words<Choice: RawRepresentable & CaseIterable>(_: Choice.Type) -> Schema
    where Choice.RawValue == String {
        words(Choice.allCases.map(\.rawValue))
    }

    /// One of these words in any letter case.
    package static func caseless(_ words: [String]) -> Schema {
        let patterns = words.map { $0.map { $0.isLetter ? "[\($0.uppercased())\($0.lowercased())]" : "\($0)" } }
        return text(pattern: "(?:\(patterns.map { $0.joined() }.joined(separator: "|")))")
    }

    /// Only this word.
    package static func word(_ word: String) -> Schema { Schema([("type", "string"), ("const", .string(word))]) }
}

/// A member in the schema of an object.
package struct Property: Sendable {
    package let name: String
    package let schema: Schema
    package let isRequired: Bool

    package static func required(_ name: String, _ schema: Schema) -> Property {
        Property(name: name, schema: schema, isRequired: true)
    }

    /// An optional member.
    package static func optional(_ name: String, _ schema: Schema) -> Property {
        Property(name: name, schema: schema, isRequired: false)
    }

    /// A member of a request that may be missing or null, with the same meaning.
    package static func nullable(_ name: String, _ schema: Schema) -> Property {
        Property(name: name, schema: schema.orNull, isRequired: false)
    }
}

extension Schema {
    /// An object with these members. Others are allowed and ignored.
    package static func object(_ properties: [Property]) -> Schema {
        var schema = Schema([("type", "object")])
        if !properties.isEmpty {
            schema = schema.with(
                "properties", .object(JSON.Members(properties.map { ($0.name, $0.schema.json) })))
        }
        let required = properties.filter(\.isRequired).map { JSON.string($0.name) }
        if !required.isEmpty { schema = schema.with("required", .array(required)) }
        return schema.carrying(properties.map(\.schema))
    }

    /// An object with arbitrary names, whose values are valid under `schema`.
    package static func map(_ schema: Schema) -> Schema {
        Schema([("type", "object"), ("additionalProperties", schema.json)]).carrying([schema])
    }

    /// An object with any members.
    package static let object = Schema([("type", "object")])

    package static func list(_ items: Schema, _ range: ClosedRange<Int> = 0...Int.max) -> Schema {
        var schema = Schema([("type", "array"), ("items", items.json)]).carrying([items])
        if range.lowerBound > 0 { schema = schema.with("minItems", .integer(range.lowerBound)) }
        if range.upperBound < .max { schema = schema.with("maxItems", .integer(range.upperBound)) }
        return schema
    }
}
