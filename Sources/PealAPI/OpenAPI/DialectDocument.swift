internal import HTTPTypes
internal import PealCore

/// What one dialect adds to the document.
struct DialectDocument: Sendable {
    /// The tag of its operations, and the beginning of the names of its refusals.
    let name: String
    let text: String
    /// In whose words refusals are written.
    let envelope: Envelope
    /// The body of a refusal.
    let refusal: Schema
    /// Every parameter that stands in a path, by name.
    var pathParameters: [APIParameter] = []
    let operations: [APIOperation]
    /// Components, whose names begin with the dialect's.
    var schemas: [(name: String, schema: Schema)] = []
    /// What the server itself sends to where an app wants it: by name, the path item.
    var webhooks: [APIWebhook] = []

    /// The statuses of refusals, each with its codes.
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
        envelope.answer(PealError(code, ""), path: "/", now: Timestamp(milliseconds: 0))
    }

    private func response(_ codes: [PealError.Code]) -> JSON {
        var headers: JSON.Members = .init([("X-Request-Id", ["$ref": "#/components/headers/RequestId"])])
        let answers = codes.map(answer)
        if answers.contains(where: { $0.headers[.wwwAuthenticate] != nil }) {
            headers["WWW-Authenticate"] = ["$ref": "#/components/headers/Challenge"]
        }
        if answers.contains(where: { $0.headers[.retryAfter] != nil }) || codes.contains(.conflict) {
            headers["Retry-After"] = ["$ref": "#/components/headers/RetryAfter"]
        }
        let words = codes.map { "`\($0.rawValue)`" }.joined(separator: ", ")
        return [
            "description": .string("Refused: \(words)."), "headers": .object(headers),
            "content": ["application/json": ["schema": ["$ref": .string("#/components/schemas/\(name)Refusal")]]],
        ]
    }
}
