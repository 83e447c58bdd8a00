internal import HTTPTypes
internal import PealCore
internal import PealWire

/// The paths of the devtodev Push API.
struct DevtodevRoutes: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var all: [Endpoint] {
        [
            Endpoint(.post, "/api/v1/push/send", .userToken, DevtodevPush(services).send),
            Endpoint(.get, "/v1/devtodev/categories", .everybody, Self.categories),
        ]
    }

    /// The templates with their texts, from which apps build notification categories. Without `locale` in the query,
    /// `Accept-Language` determines the language.
    @Sendable private static func categories(_ call: Call) async throws -> Answer {
        let tags = call.query["locale"].map { [$0] } ?? AcceptLanguage.tags(call.headers[.acceptLanguage])
        let language = ButtonLabels.language(for: tags)
        var answer = Answer(.ok, .array(ButtonTemplates.all.map { json($0, language) }))
        answer.headers[.cacheControl] = "public, max-age=\(Limits.devtodevCategoriesCachedSeconds)"
        answer.headers[.vary] = "Accept-Language"
        answer.headers[.contentLanguage] = language
        return answer
    }

    private static func json(_ template: ButtonTemplate, _ language: String) -> JSON {
        let buttons = template.buttons.map { button -> JSON in
            [
                "id": .string(button.id), "text": .string(ButtonLabels.text(button.id, in: language)),
                "activationMode": button.opensApp ? "foreground" : "background",
            ]
        }
        return ["id": .string(template.id), "buttons": .array(buttons)]
    }
}

/// Reads the header in which a client lists its preferred languages (RFC 9110 §12.5.4).
enum AcceptLanguage {
    /// The language tags, most preferred first, without `*` and without refused tags (`q=0`).
    static func tags(_ header: String?) -> [String] {
        let ranges = (header ?? "").split(separator: ",").prefix(rangesMax).map {
            range -> (tag: String, weight: Double) in
            let parts = range.split(separator: ";").map { $0.filter { !$0.isWhitespace } }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) }
            return (parts.first ?? "", weight ?? 1)
        }
        let wanted = ranges.filter { $0.weight > 0 && $0.tag != "*" && !$0.tag.isEmpty }
        return wanted.enumerated().sorted { left, right in
            (right.element.weight, left.offset) < (left.element.weight, right.offset)
        }.map(\.element.tag)
    }

    private static let rangesMax = 32
}
