internal import PealCore

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
