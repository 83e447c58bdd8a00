internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// Topics: list with device counts, create, set an expiry, and remove.
struct NativeTopics: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func endpoints(_ app: String) -> [Endpoint] {
        [
            Endpoint(.get, "\(app)/topics", .app(.read), list),
            Endpoint(.get, "\(app)/topics/:topic", .app(.read), get),
            Endpoint(.get, "\(app)/topics/:topic/growth", .app(.read), growth),
            Endpoint(.put, "\(app)/topics/:topic", .app(.devices), put),
            Endpoint(.delete, "\(app)/topics/:topic", .app(.devices), delete),
        ]
    }

    private func list(_ call: Call) async throws -> Answer {
        let list = try NativeList(call.query, by: .name)
        let app = try call.app().key
        let topics = try await services.store.read(.heavy) {
            try $0.topics(app: app, after: list.name, limit: list.fetchCount, now: call.now)
        }
        return list.answer(topics, cursor: { Array($0.name.utf8) }, json: Self.json)
    }

    private func get(_ call: Call) async throws -> Answer {
        let (app, name) = (try call.app().key, try call.text("topic"))
        guard let topic = try await services.store.read(.heavy, { try $0.topic(app: app, name: name, now: call.now) })
        else {
            throw PealError.notFound("topic")
        }
        return Answer(.ok, Self.json(topic))
    }

    /// One item for each of the last days, the oldest first.
    private func growth(_ call: Call) async throws -> Answer {
        let (app, name) = (try call.app().key, try call.text("topic"))
        var days = Self.growthDays
        if let text = call.query["days"] {
            guard let number = Int(text), (1...Limits.growthDaysMax).contains(number) else {
                throw PealError.invalid("days", "days must be a number from 1 to \(Limits.growthDaysMax)")
            }
            days = number
        }
        let count = days
        let growth = try await services.store.read(.heavy) {
            try $0.growth(app: app, topic: name, days: count, now: call.now)
        }
        guard let growth else { throw PealError.notFound("topic") }
        let items = growth.days.map { day -> JSON in
            [
                "at": .string(day.at.description), "joined": .integer(day.joined), "devices": .integer(day.devices),
            ]
        }
        return Answer(.ok, ["items": .array(items)])
    }

    fileprivate static let growthDays = 30

    /// Without a body, the topic never expires.
    private func put(_ call: Call) async throws -> Answer {
        let expiry = call.body.isEmpty ? nil : try call.body(Self.expiry.shape, .native)
        let topic = try await services.verbs.topics.put(
            try call.text("topic"), expiresAt: expiry, app: try call.app().key, call.verb)
        return Answer(.ok, Self.json(topic))
    }

    fileprivate static let expiry = ObjectShape("NativeTopicDraft", Timestamp?.none) {
        Entry("expires_at", .future) { $0 = $1 }
    }

    private func delete(_ call: Call) async throws -> Answer {
        try await services.verbs.topics.delete(try call.text("topic"), app: try call.app().key, call.verb)
        return Answer(.noContent)
    }

    private static func json(_ topic: Topic) -> JSON {
        .compact([
            ("name", .string(topic.name)), ("devices", .integer(topic.deviceCount)),
            ("expires_at", topic.expiresAt.map { .string($0.description) }),
        ])
    }
}

extension NativeDocument {
    static func topics(_ describing: Describing) -> [APIOperation] {
        [
            APIOperation(
                id: "listTopics", method: .get, path: "\(app)/topics", summary: "List the topics that have not expired",
                parameters: page(.name), answers: [list(of: "NativeTopic", topic)]),
            APIOperation(
                id: "getTopic", method: .get, path: "\(app)/topics/:topic", summary: "Show a topic",
                answers: [APIAnswer(200, "The topic.", topic)]),
            APIOperation(
                id: "getTopicGrowth", method: .get, path: "\(app)/topics/:topic/growth",
                summary: "Show how a topic grew",
                text: "Counts the current subscribers by the day on which they joined.",
                parameters: [
                    .query(
                        "days",
                        .integer(1...Int64(Limits.growthDaysMax)).defaulting(to: .integer(NativeTopics.growthDays)),
                        "How many days, the last one being today.")
                ],
                answers: [
                    APIAnswer(
                        200, "One item for each day.",
                        .component(
                            "NativeTopicGrowth",
                            .object([
                                .required(
                                    "items",
                                    .list(
                                        .component(
                                            "NativeTopicDay",
                                            .object([
                                                .required("at", .time), .required("joined", .count),
                                                .required("devices", .count),
                                            ])), 1...Limits.growthDaysMax))
                            ])))
                ]),
            APIOperation(
                id: "putTopic", method: .put, path: "\(app)/topics/:topic",
                summary: "Create a topic or change its expiry",
                body: APIBody(schema: NativeTopics.expiry.schema(describing), isRequired: false),
                answers: [APIAnswer(200, "The topic.", topic)]),
            APIOperation(
                id: "deleteTopic", method: .delete, path: "\(app)/topics/:topic",
                summary: "Delete a topic and its subscriptions", answers: [APIAnswer(204, "Deleted.")]),
        ]
    }

    private static let topic = Schema.component(
        "NativeTopic",
        .object([.required("name", .text), .required("devices", .count), .optional("expires_at", .time)]))
}
