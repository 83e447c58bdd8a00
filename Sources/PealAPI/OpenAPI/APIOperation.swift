internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// Describes one method of one path. The endpoint of the same method and path determines who may call it, and so its
/// security and some of its refusals.
struct APIOperation: Sendable {
    /// Unique in the whole document. Generated clients use it as the method's name.
    let id: String
    let method: HTTPRequest.Method
    /// As the endpoint writes it, with parameters as `:name`.
    let path: String
    let summary: String
    var text: String? = nil
    /// The parameters in the query and the headers. The dialect describes those in the path.
    var parameters: [APIParameter] = []
    var body: APIBody? = nil
    let answers: [APIAnswer]
    /// The error codes besides those of every operation of its kind.
    var refusals: [PealError.Code] = []
    /// Whether the document lists `Idempotency-Key` among the parameters of a POST that accepts it. false if the
    /// created object can be deleted: a test program that tries every parameter would mistake the repeated first answer
    /// for a new object.
    var namesIdempotencyKey = true

    /// The names of the parameters in the path.
    var pathParameters: [String] {
        path.split(separator: "/").filter { $0.hasPrefix(":") }.map { String($0.dropFirst()) }
    }

    /// The path as the document writes it, with parameters as `{name}`.
    var template: String { Self.template(of: path) }

    /// - Parameter path: the path as an endpoint writes it.
    static func template(of path: String) -> String {
        "/"
            + path.split(separator: "/").map { $0.hasPrefix(":") ? "{\($0.dropFirst())}" : String($0) }
            .joined(separator: "/")
    }

    /// All error codes that a caller may receive.
    /// - Parameter isRepeatable: whether the operation accepts `Idempotency-Key`.
    func codes(_ access: Access, isRepeatable: Bool) -> Set<PealError.Code> {
        // Every operation refuses an invalid escape and U+0000 in a query.
        var codes: Set<PealError.Code> = [.invalidField, .unavailable, .internal]
        codes.formUnion(refusals)
        if access.isGuarded { codes.formUnion([.unauthorized, .forbidden, .rateLimited]) }
        if !pathParameters.isEmpty { codes.insert(.notFound) }
        // The native API also refuses an unknown parameter and an unexpected body.
        codes.insert(.unknownField)
        if method != .get { codes.formUnion([.invalidJSON, .bodyTooLarge, .unsupportedMediaType, .rateLimited]) }
        if body != nil { codes.formUnion([.invalidJSON, .missingField, .notSupported]) }
        if isRepeatable { codes.formUnion([.conflict, .idempotencyMismatch]) }
        return codes
    }
}

extension APIOperation {
    /// The operation of an API that refuses query parameters without a value.
    var withoutEmptyParameters: APIOperation {
        var operation = self
        operation.parameters = parameters.map { parameter in
            guard parameter.location == .query, parameter.schema["type"] == "string",
                parameter.schema["minLength"] == nil, parameter.schema["enum"] == nil, parameter.schema.allowsEmptyText
            else { return parameter }
            return APIParameter(
                name: parameter.name, location: .query, schema: parameter.schema.with("minLength", 1),
                text: parameter.text, isRequired: parameter.isRequired)
        }
        return operation
    }
}

extension Schema {
    /// Whether the pattern, if there is one, matches a text without characters.
    fileprivate var allowsEmptyText: Bool {
        guard let pattern = self["pattern"]?.stringValue, let regex = try? Regex(pattern) else { return true }
        return "".wholeMatch(of: regex) != nil
    }
}

/// A parameter of an operation: in its path, its query or its headers.
struct APIParameter: Sendable {
    enum Location: String, Sendable {
        case path, query, header
    }

    let name: String
    let location: Location
    let schema: Schema
    let text: String
    var isRequired: Bool

    static func path(_ name: String, _ schema: Schema, _ text: String) -> APIParameter {
        APIParameter(name: name, location: .path, schema: schema, text: text, isRequired: true)
    }

    /// No parameter of a query may contain U+0000 (`Query`).
    static func query(_ name: String, _ schema: Schema, _ text: String) -> APIParameter {
        let isAnyText = schema["type"] == "string" && ["pattern", "format", "enum"].allSatisfy { schema[$0] == nil }
        return APIParameter(
            name: name, location: .query, schema: isAnyText ? schema.with("pattern", #"^[^\u0000]*$"#) : schema,
            text: text, isRequired: false)
    }

    static func header(_ name: String, _ schema: Schema, _ text: String) -> APIParameter {
        APIParameter(name: name, location: .header, schema: schema, text: text, isRequired: false)
    }

    var json: JSON {
        .compact([
            ("name", .string(name)), ("in", .string(location.rawValue)), ("description", .string(text)),
            ("required", isRequired ? true : nil), ("schema", schema.json),
        ])
    }
}

/// The body that an operation accepts: JSON that is valid under a schema.
struct APIBody: Sendable {
    let schema: Schema
    /// Valid bodies by name.
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

/// An operation's answer if it succeeds.
struct APIAnswer: Sendable {
    let status: Int
    let text: String
    /// The schema of the body; nil if there is no body.
    let schema: Schema?
    let mediaType: String
    /// The headers besides those of every answer: name, schema and description.
    var headers: [(name: String, schema: Schema, text: String)]
    /// Whether it is stored and returned again for a repeated `Idempotency-Key`.
    var isReplayable = false

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
        var named = JSON.Members([("X-Request-Id", ["$ref": "#/components/headers/RequestId"])] + own)
        if isReplayable { named["Idempotent-Replayed"] = ["$ref": "#/components/headers/IdempotentReplayed"] }
        return .compact([
            ("description", .string(text)), ("headers", .object(named)),
            ("content", schema.map { .object(JSON.Members([(mediaType, ["schema": $0.json])])) }),
        ])
    }
}

/// A request that the server sends to an app's webhook.
struct APIWebhook: Sendable {
    let id: String
    let summary: String
    let text: String
    let headers: [APIParameter]
    let body: APIBody

    /// The path item of the webhook.
    func json(tag: String) -> JSON {
        let taken: JSON = [
            "description": "Accepted. Any other status is retried, except 410, which disables the webhook."
        ]
        return [
            "post": .compact([
                ("operationId", .string(id)), ("summary", .string(summary)), ("description", .string(text)),
                ("tags", [.string(tag)]), ("parameters", .array(headers.map(\.json))), ("requestBody", body.json),
                ("responses", ["2XX": taken]),
            ])
        ]
    }
}
