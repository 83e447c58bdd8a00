internal import PealCore

/// A parameter of an operation that stands in its path, its query or its headers.
struct APIParameter: Sendable {
    enum Place: String, Sendable {
        case path, query, header
    }

    let name: String
    let place: Place
    let schema: Schema
    let text: String
    var isRequired: Bool

    static func path(_ name: String, _ schema: Schema, _ text: String) -> APIParameter {
        APIParameter(name: name, place: .path, schema: schema, text: text, isRequired: true)
    }

    static func query(_ name: String, _ schema: Schema, _ text: String) -> APIParameter {
        APIParameter(name: name, place: .query, schema: schema, text: text, isRequired: false)
    }

    static func header(_ name: String, _ schema: Schema, _ text: String) -> APIParameter {
        APIParameter(name: name, place: .header, schema: schema, text: text, isRequired: false)
    }

    var json: JSON {
        .compact([
            ("name", .string(name)), ("in", .string(place.rawValue)), ("description", .string(text)),
            ("required", isRequired ? true : nil), ("schema", schema.json),
        ])
    }
}
