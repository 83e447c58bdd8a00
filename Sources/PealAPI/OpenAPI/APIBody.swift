internal import PealCore

/// The body that an operation takes: JSON that suits a schema.
struct APIBody: Sendable {
    let schema: Schema
    /// By name; each is a body that is accepted.
    var examples: [(name: String, value: JSON)] = []
    var isRequired = true

    var json: JSON {
        let shown = examples.map { ($0.name, ["value": $0.value] as JSON) }
        let media: JSON = .compact([
            ("schema", schema.json), ("examples", shown.isEmpty ? nil : .object(JSON.Members(shown))),
        ])
        return ["required": .bool(isRequired), "content": ["application/json": media]]
    }
}
