internal import PealCore

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
