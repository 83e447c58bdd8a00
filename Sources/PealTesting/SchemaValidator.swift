package import PealCore

/// Checks values against JSON Schemas (draft 2020-12), as far as the keywords go that Peal's OpenAPI document uses.
package struct SchemaValidator: Sendable {
    private let components: JSON.Members

    /// - Parameter components: the schemas that `$ref` finds, by name.
    package init(components: JSON.Members) { self.components = components }

    package func accepts(_ value: JSON, _ schema: JSON) -> Bool {
        guard case .object(let keywords) = schema else { return schema == true }
        return keywords.pairs.allSatisfy { keyword, argument in
            holds(keyword, argument, value, keywords)
        }
    }

    private func holds(_ keyword: String, _ argument: JSON, _ value: JSON, _ keywords: JSON.Members) -> Bool {
        switch keyword {
        case "$ref": accepts(value, component(argument))
        case "not": !accepts(value, argument)
        case "anyOf": elements(argument).contains { accepts(value, $0) }
        case "oneOf": elements(argument).count { accepts(value, $0) } == 1
        case "allOf": elements(argument).allSatisfy { accepts(value, $0) }
        case "type": (argument.arrayValue ?? [argument]).contains { isOf($0, value) }
        case "enum": elements(argument).contains(value)
        case "const": argument == value
        default: holdsWithin(keyword, argument, value, keywords)
        }
    }

    private func holdsWithin(
        _ keyword: String, _ argument: JSON, _ value: JSON, _ keywords: JSON.Members
    ) -> Bool {
        switch value {
        case .string(let text): holds(keyword, argument, text)
        case .number: holds(keyword, argument, number: value)
        case .array(let elements): holds(keyword, argument, elements)
        case .object(let members): holds(keyword, argument, members, keywords)
        case .null, .bool: true
        }
    }

    private func holds(_ keyword: String, _ argument: JSON, _ text: String) -> Bool {
        switch (keyword, argument) {
        case ("minLength", _): Int64(text.unicodeScalars.count) >= argument.integerValue ?? 0
        case ("maxLength", _): Int64(text.unicodeScalars.count) <= argument.integerValue ?? .max
        case ("pattern", .string(let pattern)): matches(text, pattern)
        case ("format", "date-time"): Timestamp(rfc3339: text) != nil
        default: true
        }
    }

    /// ECMA-262's expressions, as far as they are used, are Swift's when text is taken by its scalars.
    private func matches(_ text: String, _ pattern: String) -> Bool {
        guard let expression = try? Regex(pattern).matchingSemantics(.unicodeScalar) else {
            preconditionFailure("not a regular expression: \(pattern)")
        }
        return text.firstMatch(of: expression) != nil
    }

    private func holds(_ keyword: String, _ argument: JSON, number: JSON) -> Bool {
        guard let value = number.doubleValue, let limit = argument.doubleValue else { return true }
        return switch keyword {
        case "minimum": value >= limit
        case "maximum": value <= limit
        case "exclusiveMinimum": value > limit
        default: true
        }
    }

    private func holds(_ keyword: String, _ argument: JSON, _ elements: [JSON]) -> Bool {
        switch keyword {
        case "items": elements.allSatisfy { accepts($0, argument) }
        case "contains": elements.contains { accepts($0, argument) }
        case "minItems": Int64(elements.count) >= argument.integerValue ?? 0
        case "maxItems": Int64(elements.count) <= argument.integerValue ?? .max
        default: true
        }
    }

    private func holds(_ keyword: String, _ argument: JSON, _ members: JSON.Members, _ keywords: JSON.Members) -> Bool {
        switch keyword {
        case "required": elements(argument).allSatisfy { members[$0.stringValue ?? ""] != nil }
        case "properties":
            (argument.objectValue ?? .init()).pairs.allSatisfy { name, schema in
                members[name].map { accepts($0, schema) } ?? true
            }
        case "additionalProperties":
            members.pairs.allSatisfy { name, value in
                keywords["properties"]?[name] != nil || accepts(value, argument)
            }
        case "propertyNames": members.names.allSatisfy { accepts(.string($0), argument) }
        case "minProperties": Int64(members.count) >= argument.integerValue ?? 0
        case "maxProperties": Int64(members.count) <= argument.integerValue ?? .max
        default: true
        }
    }

    private func elements(_ argument: JSON) -> [JSON] { argument.arrayValue ?? [] }

    private func component(_ reference: JSON) -> JSON {
        let name = reference.stringValue?.split(separator: "/").last.map { String($0) } ?? ""
        guard let schema = components[name] else { preconditionFailure("there is no component \(name)") }
        return schema
    }

    private func isOf(_ type: JSON, _ value: JSON) -> Bool {
        switch (type, value) {
        case ("null", .null), ("boolean", .bool), ("string", .string), ("number", .number), ("array", .array),
            ("object", .object):
            true
        case ("integer", .number): value.integerValue != nil || value.doubleValue.map { $0 == $0.rounded() } == true
        default: false
        }
    }
}
