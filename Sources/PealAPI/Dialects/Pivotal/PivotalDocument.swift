internal import HTTPTypes
internal import PealCore

/// The Pivotal Push API, told to the outside.
enum PivotalDocument {
    static var document: DialectDocument {
        DialectDocument(
            name: "Pivotal", text: "The API of Pivotal Push 1.8.", envelope: .pivotal, refusal: refusal,
            pathParameters: [
                .path("id", .text(1...Int.max), "Its id."),
                .path("tag", .printable(1...Limits.topicBytesMax), "A tag's name."),
                .path("platform", .text(1...Int.max), "A platform's uuid, or its word as in `os`."),
            ],
            operations: pushes + registrations + topics + tags + geofences + places + [version, health],
            schemas: PivotalSchema.components)
    }

    private static let refusal = Schema.object([
        .required("timestamp", .count), .required("status", .integer(400...599)), .required("error", .text),
        .required("message", .text), .required("path", .text),
    ])

    private static let version = APIOperation(
        id: "pivotalVersion", method: .get, path: "/v1/version", summary: "The version of the API",
        answers: [APIAnswer(200, "The version.", .object([.required("version", .word("1.8.1"))]))])

    private static let health = APIOperation(
        id: "pivotalHealth", method: .get, path: "/healthcheck", summary: "Whether the server works",
        answers: [
            APIAnswer(200, "It does.", PivotalSchema.health), APIAnswer(503, "It does not.", PivotalSchema.health),
        ])

    /// The operations of what is managed under each of `paths`; the first names them.
    static func under(_ paths: [String], _ make: (_ path: String, _ suffix: String) -> [APIOperation]) -> [APIOperation]
    {
        paths.enumerated().flatMap { index, path in make(path, index == 0 ? "" : "Alias") }
    }

    static let done = APIAnswer(204, "Done.")
}
