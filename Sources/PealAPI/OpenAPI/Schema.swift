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
