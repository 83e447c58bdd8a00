internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// `/v1/locations` and `/v1/location_groups`: the places of geofences.
struct PivotalLocations: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var endpoints: [Endpoint] { locations.endpoints + groups.endpoints }

    private var verbs: LocationVerbs { LocationVerbs(store: services.store) }

    private var locations: PivotalCollection<GeofenceLocation> {
        PivotalCollection(
            paths: ["/v1/locations", "/v1/location"], noun: "location", listName: "locations",
            totalName: "totalLocations", json: { PivotalGeofenceWriter.json($0) },
            list: { app, query in try await services.store.read { try $0.locations(app: app, query) } },
            find: { app, id in try await services.store.read { try $0.location(app: app, id: id) } },
            create: { app, call in
                let place = try call.body(PivotalGeofenceShapes.location.shape, .pivotal)
                return try await verbs.create(place, app: app, call.verb)
            },
            change: { id, body, app, call in
                // Geofences use locations: devices must fetch them again.
                try await services.geofences(try call.app(), at: call.now).updateLocation(id, app: app, call.verb) {
                    place throws(PealError) in
                    try PivotalGeofenceShapes.location.apply(body, to: &place, .pivotal, now: call.now)
                }
            },
            remove: { id, app, call in try await verbs.delete(id, app: app, call.verb) })
    }

    private var groups: PivotalCollection<LocationGroup> {
        PivotalCollection(
            paths: ["/v1/location_groups", "/v1/location_group"], noun: "location group", listName: "location_groups",
            totalName: "totalLocationGroups", json: { PivotalGeofenceWriter.json($0) },
            list: { app, query in try await services.store.read { try $0.locationGroups(app: app, query) } },
            find: { app, id in try await services.store.read { try $0.locationGroup(app: app, id: id) } },
            create: { app, call in
                let plan = try call.body(PivotalGeofenceShapes.group.shape, .pivotal)
                return try await verbs.createGroup(plan, app: app, call.verb)
            },
            change: { id, body, app, call in
                try await verbs.updateGroup(id, app: app, call.verb) { plan throws(PealError) in
                    try PivotalGeofenceShapes.group.apply(body, to: &plan, .pivotal, now: call.now)
                }
            },
            remove: { id, app, call in try await verbs.deleteGroup(id, app: app, call.verb) })
    }
}

/// The endpoints of objects that backends manage by number: list, create, read, change and delete.
struct PivotalCollection<Item: Sendable>: Sendable {
    /// The paths of the collection, which are aliases.
    let paths: [String]
    /// The name of one object in error messages.
    let noun: String
    /// The members of a page that hold the objects and their total.
    let listName: String
    let totalName: String
    let json: @Sendable (Item) -> JSON
    let list: @Sendable (AppKey, NumberedPageQuery) async throws -> NumberedPage<Item>
    let find: @Sendable (AppKey, Int64) async throws -> Item?
    let create: @Sendable (AppKey, Call) async throws -> Item
    /// Changes the members that the body contains.
    let change: @Sendable (Int64, JSON, AppKey, Call) async throws -> Item
    let remove: @Sendable (Int64, AppKey, Call) async throws -> Void

    var endpoints: [Endpoint] {
        paths.flatMap { path in
            [
                Endpoint(.get, path, .pivotalApplication(.read), answerList),
                Endpoint(.post, path, .pivotalApplication(.send), answerCreate),
                Endpoint(.get, "\(path)/:id", .pivotalApplication(.read), answerFind),
                Endpoint(.put, "\(path)/:id", .pivotalApplication(.send), answerChange),
                Endpoint(.delete, "\(path)/:id", .pivotalApplication(.send), answerRemove),
            ]
        }
    }

    private func answerList(_ call: Call) async throws -> Answer {
        let query = try PivotalGeofencePage.page(call.query)
        let page = try await list(try call.app().key, query)
        return Answer(.ok, PivotalGeofenceWriter.json(page, query, list: listName, total: totalName, json))
    }

    private func answerCreate(_ call: Call) async throws -> Answer {
        Answer(.ok, json(try await create(try call.app().key, call)))
    }

    private func answerFind(_ call: Call) async throws -> Answer {
        guard let item = try await find(try call.app().key, try call.number("id", of: noun)) else {
            throw PealError.notFound(noun)
        }
        return Answer(.ok, json(item))
    }

    private func answerChange(_ call: Call) async throws -> Answer {
        let body = try call.object()
        return Answer(.ok, json(try await change(try call.number("id", of: noun), body, try call.app().key, call)))
    }

    private func answerRemove(_ call: Call) async throws -> Answer {
        try await remove(try call.number("id", of: noun), try call.app().key, call)
        return Answer(.noContent)
    }
}
