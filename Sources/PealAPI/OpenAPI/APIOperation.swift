internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// One method of one path, told to the outside. Who may call it, and so its security and a part of its refusals, comes
/// from the endpoint of the same method and path.
struct APIOperation: Sendable {
    /// Unique in the whole document: what generated clients call it.
    let id: String
    let method: HTTPRequest.Method
    /// As the endpoint writes it: `:name` is a parameter.
    let path: String
    let summary: String
    var text: String? = nil
    /// Those of the query and the headers; those of the path are the dialect's.
    var parameters: [APIParameter] = []
    var body: APIBody? = nil
    let answers: [APIAnswer]
    /// Beside those that every operation of its kind has.
    var refusals: [PealError.Code] = []
    /// Whether `Idempotency-Key` stands among the parameters of a POST that takes it. Not where what is made can be
    /// deleted: programs that try every parameter would take the first answer, given again, for a new thing.
    var namesIdempotencyKey = true

    /// The names of the parameters in the path.
    var pathParameters: [String] {
        path.split(separator: "/").filter { $0.hasPrefix(":") }.map { String($0.dropFirst()) }
    }

    /// As the document writes it: `{name}` is a parameter.
    var template: String { Self.template(of: path) }

    /// - Parameter path: as an endpoint writes it.
    static func template(of path: String) -> String {
        "/"
            + path.split(separator: "/").map { $0.hasPrefix(":") ? "{\($0.dropFirst())}" : String($0) }
            .joined(separator: "/")
    }

    /// Every code that a caller may be told.
    /// - Parameter isRepeatable: whether it takes `Idempotency-Key`.
    func codes(_ access: Access, isRepeatable: Bool) -> Set<PealError.Code> {
        // A broken escape in a query is refused everywhere.
        var codes: Set<PealError.Code> = [.invalidField, .unavailable, .internal]
        codes.formUnion(refusals)
        if access.isGuarded { codes.formUnion([.unauthorized, .forbidden, .rateLimited]) }
        if !pathParameters.isEmpty { codes.insert(.notFound) }
        if method != .get { codes.formUnion([.bodyTooLarge, .unsupportedMediaType, .rateLimited]) }
        if body != nil { codes.formUnion([.invalidJSON, .missingField, .notSupported]) }
        if isRepeatable { codes.formUnion([.conflict, .idempotencyMismatch]) }
        return codes
    }
}

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

/// A request that the server itself sends to where an app wants to be told.
struct APIWebhook: Sendable {
    let id: String
    let summary: String
    let text: String
    let headers: [APIParameter]
    let body: APIBody

    /// A path item.
    func json(tag: String) -> JSON {
        let taken: JSON = ["description": "Taken. Anything but 2xx is sent again, but 410, which ends the webhook."]
        return [
            "post": .compact([
                ("operationId", .string(id)), ("summary", .string(summary)), ("description", .string(text)),
                ("tags", [.string(tag)]), ("parameters", .array(headers.map(\.json))), ("requestBody", body.json),
                ("responses", ["2XX": taken]),
            ])
        ]
    }
}
