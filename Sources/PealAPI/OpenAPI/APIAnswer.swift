internal import PealCore

/// What an operation answers when all goes well.
struct APIAnswer: Sendable {
    let status: Int
    let text: String
    /// Of the body; nil where there is none.
    let schema: Schema?
    let mediaType: String
    /// Headers beside those that every answer has, by name, with what they say.
    var headers: [(name: String, schema: Schema, text: String)]

    init(
        _ status: Int, _ text: String, _ schema: Schema? = nil, mediaType: String = "application/json",
        headers: [(name: String, schema: Schema, text: String)] = []
    ) {
        self.status = status
        self.text = text
        self.schema = schema
        self.mediaType = mediaType
        self.headers = headers
    }

    var json: JSON {
        let own = headers.map { name, schema, text in
            (name, ["description": .string(text), "schema": schema.json] as JSON)
        }
        let named = JSON.Members([("X-Request-Id", ["$ref": "#/components/headers/RequestId"])] + own)
        return .compact([
            ("description", .string(text)), ("headers", .object(named)),
            ("content", schema.map { .object(JSON.Members([(mediaType, ["schema": $0.json])])) }),
        ])
    }
}
