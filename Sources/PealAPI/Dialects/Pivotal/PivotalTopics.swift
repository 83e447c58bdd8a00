internal import HTTPTypes
internal import PealCore

/// `/v2/topics`: topics by number, made and removed one by one or in batches.
struct PivotalTopics: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var endpoints: [Endpoint] {
        [
            Endpoint(.get, "/v2/topics", .pivotalApplication(.read), list),
            Endpoint(.post, "/v2/topics", .pivotalApplication(.devices), make),
            Endpoint(.delete, "/v2/topics/:id", .pivotalApplication(.devices), delete),
            Endpoint(.post, "/v2/topics/batch", .pivotalApplication(.devices), makeBatch),
            Endpoint(.delete, "/v2/topics/batch", .pivotalApplication(.devices), deleteBatch),
        ]
    }

    private func list(_ call: Call) async throws -> Answer {
        let app = try call.app().key
        let asked = try PivotalPage(call.query, sizeMin: 1)
        let search = TopicSearch(
            containing: call.query["q"],
            hasExpiry: try call.query["hasExpiry"].map { text throws(PealError) in
                try Tolerance.flag(.string(text), "hasExpiry")
            })
        let found = try await services.store.read {
            try $0.topics(app: app, search, asked.page, now: call.now)
        }
        return Answer(.ok, asked.json(found, "topics", total: "totalTopics", item: Self.json))
    }

    private func make(_ call: Call) async throws -> Answer {
        let draft = try PivotalTopicReader.draft(try Tolerance(try call.object()), now: call.now)
        let made = try await services.topics.make([draft], app: try call.app().key, call.verb)
        return Answer(.created, made.first.map { Self.json($0.topic) } ?? .null)
    }

    private func makeBatch(_ call: Call) async throws -> Answer {
        let body = try Tolerance(try call.object())
        let drafts = try PivotalTopicReader.drafts(body, now: call.now)
        let isShown = try body.flag("returnTopics") ?? false
        let made = try await services.topics.make(drafts, app: try call.app().key, call.verb)
        let new = made.filter(\.isNew).map(\.topic)
        return Answer(
            .created,
            .compact([
                ("numTopicsCreated", .integer(new.count)), ("numTopicsExisted", .integer(made.count - new.count)),
                ("topics", isShown ? .array(new.map(Self.json)) : nil),
            ]))
    }

    /// - Throws: `not_found` for a number that no living topic has.
    private func delete(_ call: Call) async throws -> Answer {
        guard let number = Int64(call.parameter("id")),
            try await services.topics.delete([number], app: try call.app().key, call.verb) == 1
        else { throw PealError.notFound("topic") }
        return Answer(.noContent)
    }

    private func deleteBatch(_ call: Call) async throws -> Answer {
        let numbers = try PivotalTopicReader.numbers(try Tolerance(try call.object()))
        let count = try await services.topics.delete(numbers, app: try call.app().key, call.verb)
        return Answer(.ok, ["numTopicsDeleted": .integer(count)])
    }

    private static func json(_ topic: TopicEntry) -> JSON {
        .compact([
            ("id", .integer(topic.number)), ("name", .string(topic.name)),
            ("expireAt", topic.expiresAt.map { .integer($0.milliseconds) }),
        ])
    }
}
