internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// Writes the OpenAPI 3.1 document. The dialects describe their operations; the endpoints determine who may call them.
struct APIDocument: Sendable {
    let version: String
    let endpoints: [Endpoint]
    let dialects: [DialectDocument]

    /// - Parameter now: times that must be in the future are later than this.
    static func dialects(at now: Timestamp, _ options: APIOptions) -> [DialectDocument] {
        Dialects.all.compactMap { $0.document(at: now, options) } + [OperationsDocument.document]
    }

    var json: JSON {
        [
            "openapi": "3.1.0",
            "info": [
                "title": "Peal", "version": .string(version), "summary": "A push server with six APIs.",
                "description": .string(Self.text),
                "license": ["name": "Apache-2.0", "identifier": "Apache-2.0"],
            ],
            "servers": [["url": "/"]],
            "tags": .array(dialects.map { ["name": .string($0.name), "description": .string($0.text)] }),
            "paths": paths,
            "webhooks": .object(
                JSON.Members(
                    dialects.flatMap { dialect in dialect.webhooks.map { ($0.id, $0.json(tag: dialect.name)) } })),
            "components": components,
        ]
    }

    private static let text = """
        Repeated and trailing slashes in a path are ignored. HEAD is supported wherever GET is, OPTIONS everywhere. \
        The native API refuses unknown members and unknown query parameters, the others ignore them. A body may be \
        compressed with gzip. Every response has `X-Request-Id`. Every POST of the native API accepts \
        `Idempotency-Key`.
        """

    /// The documented operations that have an endpoint, by path, in the order of the dialects.
    private var paths: JSON {
        var access: [String: Access] = [:]
        for endpoint in endpoints { access["\(endpoint.method) \(endpoint.path)"] = endpoint.access }
        var paths: JSON.Members = .init()
        for dialect in dialects {
            for operation in dialect.operations {
                guard let access = access["\(operation.method) \(operation.path)"] else { continue }
                var item = paths[operation.template]?.objectValue ?? .init()
                item[operation.method.rawValue.lowercased()] = Self.json(operation, access, dialect)
                paths[operation.template] = .object(item)
            }
        }
        return .object(paths)
    }

    private static func json(_ operation: APIOperation, _ access: Access, _ dialect: DialectDocument) -> JSON {
        let inPath = operation.pathParameters.compactMap { name in dialect.pathParameters.first { $0.name == name } }
        let isRepeatable = operation.method == .post && dialect.dialect.takesIdempotencyKey
        let shared = isRepeatable && operation.namesIdempotencyKey ? [idempotencyKey] : []
        let parameters = (inPath + operation.parameters + shared).map(\.json)
        var answers = operation.answers.map { answer in
            var answer = answer
            answer.isReplayable = isRepeatable
            return (String(answer.status), answer.json)
        }
        // The operation's own answer takes precedence over the refusals with the same status.
        let own = Set(operation.answers.map(\.status))
        for (status, _) in dialect.refusals(operation.codes(access, isRepeatable: isRepeatable))
        where !own.contains(status) {
            answers.append((String(status), ["$ref": .string("#/components/responses/\(dialect.refusalName(status))")]))
        }
        return .compact([
            ("operationId", .string(operation.id)), ("summary", .string(operation.summary)),
            ("description", operation.text.map(JSON.string)), ("tags", [.string(dialect.name)]),
            ("security", access.security), ("parameters", parameters.isEmpty ? nil : .array(parameters)),
            ("requestBody", operation.body?.json), ("responses", .object(JSON.Members(answers))),
        ])
    }

    private static let idempotencyKey = APIParameter.header(
        "Idempotency-Key", .text(1...Limits.idempotencyKeyCharactersMax, pattern: "[ -~]+"),
        "For 24 hours, a repeated request with the same key gets the first answer again.")

    private var components: JSON {
        let schemas = dialects.flatMap { dialect in
            [("\(dialect.name)Refusal", dialect.refusal.json)] + dialect.components.map { ($0.name, $0.schema.json) }
        }
        return [
            "schemas": .object(JSON.Members(schemas)),
            "responses": .object(JSON.Members(dialects.flatMap(\.responses))),
            "headers": Self.headers, "parameters": ["IdempotencyKey": Self.idempotencyKey.json],
            "securitySchemes": Access.securitySchemes(of: endpoints),
        ]
    }

    private static let headers: JSON = [
        "RequestId": [
            "description": "The id of the request in the server's log.", "required": true,
            "schema": Schema.text(pattern: "[0-9a-f]{16}").json,
        ],
        "Challenge": [
            "description": "The required authentication (RFC 9110 §11.6.1).", "required": true,
            "schema": Schema.text.json,
        ],
        "RetryAfter": ["description": "Seconds to wait before a retry.", "schema": Schema.count.json],
        "IdempotentReplayed": [
            "description": "Present if this is the stored answer to a request with the same `Idempotency-Key`.",
            "schema": Schema.words(["true"]).json,
        ],
    ]
}

/// What one dialect adds to the document.
struct DialectDocument: Sendable {
    /// The tag of its operations, and the prefix of its refusals' component names.
    let name: String
    let text: String
    /// The dialect that the operations belong to and whose envelope refusals use.
    let dialect: any Dialect
    /// The schema of a refusal's body.
    let refusal: Schema
    /// All parameters in paths, by name.
    var pathParameters: [APIParameter] = []
    let operations: [APIOperation]
    /// Components. Their names begin with the dialect's name.
    var schemas: [(name: String, schema: Schema)] = []
    /// The requests that the server sends to the app's own URLs.
    var webhooks: [APIWebhook] = []

    /// The listed components, and those that schemas refer to.
    var components: [(name: String, schema: Schema)] {
        let bodies = operations.compactMap(\.body?.schema) + webhooks.map(\.body.schema)
        let answers = operations.flatMap(\.answers).compactMap(\.schema)
        let parameters = (pathParameters + operations.flatMap(\.parameters)).map(\.schema)
        var carried: [String: Schema] = [:]
        for schema in bodies + answers + parameters + [refusal] + schemas.map(\.schema) {
            carried.merge(schema.components) { first, _ in first }
        }
        return schemas + carried.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// The HTTP statuses of refusals, each with its error codes.
    func refusals(_ codes: Set<PealError.Code>) -> [(status: Int, codes: [PealError.Code])] {
        let statuses = Dictionary(grouping: PealError.Code.allCases.filter(codes.contains)) { answer($0).status.code }
        return statuses.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// The name of the component that all refusals with `status` share.
    func refusalName(_ status: Int) -> String { "\(name)Refusal\(status)" }

    /// The refusals as components.
    var responses: [(String, JSON)] {
        refusals(Set(PealError.Code.allCases)).map { status, codes in (refusalName(status), response(codes)) }
    }

    private func answer(_ code: PealError.Code) -> Answer {
        dialect.envelope.answer(PealError(code, ""), path: "/", now: Timestamp(milliseconds: 0))
    }

    private func response(_ codes: [PealError.Code]) -> JSON {
        var headers: JSON.Members = .init([("X-Request-Id", ["$ref": "#/components/headers/RequestId"])])
        let answers = codes.map(answer)
        if answers.contains(where: { $0.headers[.wwwAuthenticate] != nil }) {
            headers["WWW-Authenticate"] = ["$ref": "#/components/headers/Challenge"]
        }
        if codes.contains(where: { PealError($0, "").retrySeconds != nil || $0 == .conflict }) {
            headers["Retry-After"] = ["$ref": "#/components/headers/RetryAfter"]
        }
        let words = codes.map { "`\($0.rawValue)`" }.joined(separator: ", ")
        return [
            "description": .string("Refused: \(words)."), "headers": .object(headers),
            "content": ["application/json": ["schema": ["$ref": .string("#/components/schemas/\(name)Refusal")]]],
        ]
    }
}
