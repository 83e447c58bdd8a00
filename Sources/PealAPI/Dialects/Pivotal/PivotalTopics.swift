internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// `/v2/topics`: topics by number, created and deleted one by one or in batches.
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
                try Shape.flag.value(of: text, named: "hasExpiry", .tolerant)
            })
        let found = try await services.store.read {
            try $0.topics(app: app, search, asked.page, now: call.now)
        }
        return Answer(.ok, asked.json(found, "topics", total: "totalTopics", item: Self.json))
    }

    private func make(_ call: Call) async throws -> Answer {
        let draft = try call.body(PivotalTopicShapes.topic, .pivotal)
        let made = try await services.verbs.topics.make(
            [(draft.name, draft.expiresAt)], app: try call.app().key, call.verb)
        return Answer(.created, made.first.map { Self.json($0.topic) } ?? .null)
    }

    private func makeBatch(_ call: Call) async throws -> Answer {
        let batch = try call.body(PivotalTopicShapes.batch.shape, .pivotal)
        let drafts = batch.topics.map { ($0.name, $0.expiresAt) }
        let made = try await services.verbs.topics.make(drafts, app: try call.app().key, call.verb)
        let new = made.filter(\.isNew).map(\.topic)
        return Answer(
            .created,
            .compact([
                ("numTopicsCreated", .integer(new.count)), ("numTopicsExisted", .integer(made.count - new.count)),
                ("topics", batch.isShown ? .array(new.map(Self.json)) : nil),
            ]))
    }

    /// - Throws: `not_found` if no current topic has the number.
    private func delete(_ call: Call) async throws -> Answer {
        guard let number = Int64(call.parameter("id")),
            try await services.verbs.topics.delete([number], app: try call.app().key, call.verb) == 1
        else { throw PealError.notFound("topic") }
        return Answer(.noContent)
    }

    private func deleteBatch(_ call: Call) async throws -> Answer {
        let numbers = try call.body(PivotalTopicShapes.numbers.shape, .pivotal)
        let count = try await services.verbs.topics.delete(numbers, app: try call.app().key, call.verb)
        return Answer(.ok, ["numTopicsDeleted": .integer(count)])
    }

    private static func json(_ topic: TopicEntry) -> JSON {
        .compact([
            ("id", .integer(topic.number)), ("name", .string(topic.name)),
            ("expireAt", topic.expiresAt.map { .integer($0.milliseconds) }),
        ])
    }
}

/// A topic to create.
struct PivotalTopicDraft: Sendable {
    /// In lower case.
    var name = ""
    /// nil if the topic never expires.
    var expiresAt: Timestamp?
    fileprivate var lifeSeconds: Int64?
}

/// Topics to create together.
struct PivotalTopicBatch: Sendable {
    var topics: [PivotalTopicDraft] = []
    /// Whether the answer contains the new topics.
    var isShown = false
}

/// The shapes of requests to create and delete topics.
enum PivotalTopicShapes {
    /// A new topic. `expireAt` and `timeToLive` exclude each other.
    static let topic = ObjectShape("PivotalNewTopic", PivotalTopicDraft(), rules: [oneEnd]) {
        Entry(required: "name", PivotalShapes.topicName) { $0.name = $1 }
        Entry("expireAt", PivotalShapes.milliseconds.described("In the future.")) { $0.expiresAt = $1 ?? nil }
        Entry("timeToLive", life) { $0.lifeSeconds = $1 }
    }.shape.checked { topic, reading throws(PealError) in
        var topic = topic
        if let seconds = topic.lifeSeconds {
            topic.expiresAt = reading.now + .seconds(seconds)
        } else if let end = topic.expiresAt, end <= reading.now {
            throw .invalid(reading.path("expireAt"), "\(reading.path("expireAt")) must be in the future")
        }
        return topic
    }

    private static let oneEnd = Rule<PivotalTopicDraft>("Give either `expireAt` or `timeToLive`, not both.") {
        topic, _, reading throws(PealError) in
        guard topic.lifeSeconds != nil, topic.expiresAt != nil else { return }
        let path = reading.path("timeToLive")
        throw .invalid(path, "\(path) and expireAt must not both be set")
    }

    private static let lifeRange = Limits.topicLifeSecondsMin...Limits.ttlSecondsMax

    private static let life = Shape.integer(
        lifeRange, refusing: "must be \(lifeRange.lowerBound) to \(lifeRange.upperBound) seconds"
    ).described("Seconds.")

    /// New topics. A string is a topic with only a name.
    static let batch = ObjectShape("PivotalNewTopics", PivotalTopicBatch()) {
        Entry(
            required: "topics",
            .list(.either("PivotalTopicOrName", nameAlone, or: topic), max: Limits.topicsPerBatchMax)
        ) { $0.topics = $1 }
        Entry("returnTopics", .flag) { $0.isShown = $1 ?? false }
    }

    private static let nameAlone = Shape<PivotalTopicDraft>(
        read: { json, reading throws(PealError) in
            guard json.stringValue != nil else { throw reading.wrongType(json, "an object") }
            return PivotalTopicDraft(name: try PivotalShapes.topicName.read(json, &reading))
        }, describe: { _ in .printable(1...Limits.nameCharactersMax) })

    /// The numbers of the topics to delete.
    static let numbers = ObjectShape("PivotalTopicNumbers", [Int64]()) {
        Entry(
            required: "topicIds", .list(.integer(Int64.min...Int64.max), max: Limits.topicsPerBatchMax)
        ) { $0 = $1 }
    }
}

/// `/v1/tags…`: topics by name, which the API called tags up to version 1.5.
struct PivotalTags: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var endpoints: [Endpoint] {
        [
            Endpoint(.get, "/v1/tags", .pivotalApplication(.read), list),
            Endpoint(.get, "/v1/tags/all/:tag", .pivotalApplication(.read), devices),
            Endpoint(.get, "/v1/tags/count/:tag", .pivotalApplication(.read), count),
            Endpoint(.get, "/v1/tags/count/:platform/:tag", .pivotalApplication(.read), count),
            Endpoint(.post, "/v1/tags/batch", .pivotalApplication(.devices), subscribe),
            Endpoint(.post, "/v1/tags/:tag", .pivotalApplication(.devices), make),
            Endpoint(.delete, "/v1/tags/:tag", .pivotalApplication(.devices), delete),
            // A tag may be named `batch`: only POST has a batch path.
            Endpoint(.delete, "/v1/tags/batch", .pivotalApplication(.devices), delete),
        ]
    }

    /// The tag in the last segment of the path, in lower case.
    private static func tag(_ call: Call) throws(PealError) -> String {
        let name = call.path.segments.last ?? ""
        return try PivotalShapes.topicName.value(of: name, named: "tag")
    }

    private func list(_ call: Call) async throws -> Answer {
        let app = try call.app().key
        let page = PageNumber(number: 1, size: Limits.unpagedItemsMax)
        let topics = try await services.store.read(.heavy) {
            try $0.topics(app: app, TopicSearch(), page, now: call.now)
        }
        return Answer(.ok, ["tags": .array(topics.items.map { .string($0.name) })])
    }

    /// Answers with a bare array.
    private func devices(_ call: Call) async throws -> Answer {
        let (app, tag) = (try call.app().key, try Self.tag(call))
        let page = PageNumber(number: 1, size: Limits.unpagedItemsMax)
        let found = try await services.store.read(.heavy) { store in
            let search = DeviceSearch(routes: PivotalPlatform.allRoutes, topic: tag)
            return try store.devices(app: app, search, page, now: call.now)
        }
        return Answer(.ok, .array(found.items.map { PivotalDevice.taggedJSON($0, now: call.now) }))
    }

    /// Answers with a bare integer: the devices on every platform, or on the one whose UUID or name is in the path.
    private func count(_ call: Call) async throws -> Answer {
        let (app, tag) = (try call.app().key, try Self.tag(call))
        let platform = call.parameters["platform"]
        let count = try await services.store.read(.heavy) { store in
            var routes = PivotalPlatform.allRoutes
            if let platform {
                let named = try? PivotalPlatform.routes(named: platform)
                routes = try named ?? PivotalPlatform.routes(ofKey: platform, app: app, in: store)
            }
            return try store.deviceCount(app: app, topic: tag, routes: routes, now: call.now)
        }
        return Answer(.ok, .integer(count))
    }

    private func make(_ call: Call) async throws -> Answer {
        let tag = try Self.tag(call)
        _ = try await services.verbs.topics.make([(tag, nil)], app: try call.app().key, call.verb)
        return Answer(.ok, ["text": .string(tag)])
    }

    private func delete(_ call: Call) async throws -> Answer {
        try await services.verbs.topics.delete(try Self.tag(call), app: try call.app().key, call.verb)
        return Answer(.noContent)
    }

    /// Subscribes all devices of the batch or none. The answer lists each device that cannot be subscribed.
    private func subscribe(_ call: Call) async throws -> Answer {
        let batch = try PivotalTagBatch(try call.array(), rules: services.addressRules)
        guard batch.faults.isEmpty else { return Answer(.badRequest, .array(batch.faults)) }
        let faults = try await services.verbs.devices.subscribe(
            batch.items.map(\.draft), app: try call.app().key, call.verb)
        let refusals = zip(batch.items, faults).compactMap { item, fault in fault.map { item.json($0.message) } }
        return refusals.isEmpty ? Answer(.ok, batch.json) : Answer(.badRequest, .array(refusals))
    }
}

/// Reads `POST /v1/tags/batch`: a list of devices, each with its `device_uuid` or `registration_token` and its `tags`.
struct PivotalTagBatch {
    struct Item {
        /// `device_uuid` or `registration_token`.
        let name: String
        let value: String
        let draft: SubscriptionDraft

        /// The error for this device.
        func json(_ message: String) -> JSON { PivotalTagBatch.fault(name, value, message) }
    }

    private(set) var items: [Item] = []
    /// The errors as the answer lists them.
    private(set) var faults: [JSON] = []

    /// - Throws: `invalid_field` for anything except a list of objects, and for a list that is too long.
    init(_ elements: [JSON], rules: AddressRules) throws(PealError) {
        let given = try Self.taggings.value(of: .array(elements), .pivotal, now: Timestamp(milliseconds: 0))
        for tagging in given {
            let name = tagging.uuid == nil ? "registration_token" : "device_uuid"
            let value = tagging.uuid ?? tagging.deviceToken ?? ""
            do {
                items.append(Item(name: name, value: value, draft: try Self.draft(tagging, name, value, rules)))
            } catch {
                faults.append(Self.fault(name, value, error.message))
            }
        }
    }

    private struct Tagging: Sendable {
        var uuid: String?
        var deviceToken: String?
        var tags: [Result<[String], PealError>] = []
    }

    static func schema(_ describing: Describing) -> Schema { taggings.describe(describing) }

    /// The shape of one device accepts any value, so that an error in one device is reported for that device only.
    private static let taggings = Shape.list(
        ObjectShape("PivotalTagging", Tagging()) {
            Entry("device_uuid", Shape.anything) { $0.uuid = $1?.scalarText }
            Entry("registration_token", Shape.anything) { $0.deviceToken = $1?.scalarText }
            for name in ["tags", "topics"] {
                Entry(name, names.deferred().described(by: names.describe)) {
                    if let tags = $1 { $0.tags.append(tags) }
                }
            }
        }.shape, max: Limits.devicesPerBatchMax)

    private static let names = PivotalShapes.topicsOfDevice

    private static func draft(
        _ tagging: Tagging, _ name: String, _ value: String, _ rules: AddressRules
    ) throws(PealError) -> SubscriptionDraft {
        guard !value.isEmpty else {
            throw PealError(.missingField, "device_uuid or registration_token is required", field: name)
        }
        var tags: [String] = []
        for names in tagging.tags { tags += try names.get() }
        let topics = tags.distinctTexts
        if name == "device_uuid" {
            guard let id = DeviceID(value) else { throw .notFound("device") }
            return SubscriptionDraft(target: .device(id), topics: topics)
        }
        // The token alone does not show the push network.
        let addresses = PivotalPlatform.allRoutes.filter { $0 != .webPush }.compactMap { route in
            try? rules.address(.string(value), platform: route.platform, environment: route.environment)
        }
        return SubscriptionDraft(target: .addresses(addresses), topics: topics)
    }

    private static func fault(_ name: String, _ value: String, _ message: String) -> JSON {
        .object(JSON.Members([(name, .string(value)), ("error", .string(message))]))
    }

    /// The subscribed devices, as the request identified them.
    var json: JSON {
        let values = { (name: String) in
            JSON.array(items.filter { $0.name == name }.map { .string($0.value) })
        }
        return ["device_uuid": values("device_uuid"), "registration_token": values("registration_token")]
    }
}
