internal import HTTPTypes
internal import PealCore

/// `/v1/tags…`: topics as the API's versions up to 1.5 called them, by name.
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
            // A tag may be called so: only POST means batches.
            Endpoint(.delete, "/v1/tags/batch", .pivotalApplication(.devices), delete),
        ]
    }

    /// The tag that the path ends with, in lower case.
    private static func tag(_ call: Call) throws(PealError) -> String {
        let name = call.path.segments.last ?? ""
        return try Fields.text(.string(name), "tag", bytesMax: Limits.topicBytesMax).lowercased()
    }

    private func list(_ call: Call) async throws -> Answer {
        let app = try call.app().key
        let page = PageNumber(number: 1, size: Limits.unpagedItemsMax)
        let topics = try await services.store.read {
            try $0.topics(app: app, TopicSearch(), page, now: call.now)
        }
        return Answer(.ok, ["tags": .array(topics.items.map { .string($0.name) })])
    }

    /// A bare array.
    private func devices(_ call: Call) async throws -> Answer {
        let (app, tag) = (try call.app().key, try Self.tag(call))
        let page = PageNumber(number: 1, size: Limits.unpagedItemsMax)
        let found = try await services.store.read { store in
            let search = DeviceSearch(routes: PivotalPlatform.allRoutes, topic: tag)
            return try store.devices(app: app, search, page, now: call.now)
        }
        return Answer(.ok, .array(found.items.map { PivotalDevice.taggedJSON($0, now: call.now) }))
    }

    /// A bare integer: on every platform, or on that which the path names by its uuid or its word.
    private func count(_ call: Call) async throws -> Answer {
        let (app, tag) = (try call.app().key, try Self.tag(call))
        let platform = call.parameters["platform"]
        let count = try await services.store.read { store in
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
        _ = try await services.topics.make([(tag, nil)], app: try call.app().key, call.verb)
        return Answer(.ok, ["text": .string(tag)])
    }

    private func delete(_ call: Call) async throws -> Answer {
        try await services.topics.delete(try Self.tag(call), app: try call.app().key, call.verb)
        return Answer(.noContent)
    }

    /// All of the batch or none of it; which devices could not be subscribed is told one by one.
    private func subscribe(_ call: Call) async throws -> Answer {
        let batch = try PivotalTagBatch(try call.array(), rules: services.addressRules)
        guard batch.faults.isEmpty else { return Answer(.badRequest, .array(batch.faults)) }
        let faults = try await services.devices.subscribe(
            batch.items.map(\.draft), app: try call.app().key, call.verb)
        let told = zip(batch.items, faults).compactMap { item, fault in fault.map { item.json($0.message) } }
        return told.isEmpty ? Answer(.ok, batch.json) : Answer(.badRequest, .array(told))
    }
}
