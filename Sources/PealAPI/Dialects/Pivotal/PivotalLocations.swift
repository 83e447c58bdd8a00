internal import HTTPTypes
internal import PealCore

/// `/v1/locations` and `/v1/location_groups`: the places of geofences.
struct PivotalLocations: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var endpoints: [Endpoint] {
        ["/v1/locations", "/v1/location"].flatMap { path in
            [
                Endpoint(.get, path, .pivotalApplication(.read), list),
                Endpoint(.post, path, .pivotalApplication(.send), create),
                Endpoint(.get, "\(path)/:id", .pivotalApplication(.read), get),
                Endpoint(.put, "\(path)/:id", .pivotalApplication(.send), change),
                Endpoint(.delete, "\(path)/:id", .pivotalApplication(.send), delete),
            ]
        }
            + ["/v1/location_groups", "/v1/location_group"].flatMap { path in
                [
                    Endpoint(.get, path, .pivotalApplication(.read), listGroups),
                    Endpoint(.post, path, .pivotalApplication(.send), createGroup),
                    Endpoint(.get, "\(path)/:id", .pivotalApplication(.read), getGroup),
                    Endpoint(.put, "\(path)/:id", .pivotalApplication(.send), changeGroup),
                    Endpoint(.delete, "\(path)/:id", .pivotalApplication(.send), deleteGroup),
                ]
            }
    }

    // MARK: Locations

    private func list(_ call: Call) async throws -> Answer {
        let app = try call.app().key
        let query = try PivotalGeofenceReader.page(call.query)
        let page = try await services.store.read { try $0.locations(app: app, query) }
        return Answer(
            .ok,
            PivotalGeofenceWriter.json(page, query, list: "locations", total: "totalLocations") {
                PivotalGeofenceWriter.json($0)
            })
    }

    private func create(_ call: Call) async throws -> Answer {
        let place = try PivotalGeofenceReader.place(try Tolerance(try call.object()))
        let location = try await verbs.create(place, app: try call.app().key, call.verb)
        return Answer(.ok, PivotalGeofenceWriter.json(location))
    }

    private func get(_ call: Call) async throws -> Answer {
        let (app, id) = (try call.app().key, try call.number("id", of: "location"))
        guard let location = try await services.store.read({ try $0.location(app: app, id: id) }) else {
            throw PealError.notFound("location")
        }
        return Answer(.ok, PivotalGeofenceWriter.json(location))
    }

    private func change(_ call: Call) async throws -> Answer {
        let app = try call.app()
        let body = try Tolerance(try call.object())
        let location = try await services.geofences(app, at: call.now).updateLocation(
            try call.number("id", of: "location"), app: app.key, call.verb
        ) { place throws(PealError) in try PivotalGeofenceReader.apply(body, to: &place) }
        return Answer(.ok, PivotalGeofenceWriter.json(location))
    }

    private func delete(_ call: Call) async throws -> Answer {
        try await verbs.delete(try call.number("id", of: "location"), app: try call.app().key, call.verb)
        return Answer(.noContent)
    }

    // MARK: Groups

    private func listGroups(_ call: Call) async throws -> Answer {
        let app = try call.app().key
        let query = try PivotalGeofenceReader.page(call.query)
        let page = try await services.store.read { try $0.locationGroups(app: app, query) }
        return Answer(
            .ok,
            PivotalGeofenceWriter.json(page, query, list: "location_groups", total: "totalLocationGroups") {
                PivotalGeofenceWriter.json($0)
            })
    }

    private func createGroup(_ call: Call) async throws -> Answer {
        let plan = try PivotalGeofenceReader.group(try Tolerance(try call.object()))
        let group = try await verbs.createGroup(plan, app: try call.app().key, call.verb)
        return Answer(.ok, PivotalGeofenceWriter.json(group))
    }

    private func getGroup(_ call: Call) async throws -> Answer {
        let (app, id) = (try call.app().key, try call.number("id", of: "location group"))
        guard let group = try await services.store.read({ try $0.locationGroup(app: app, id: id) }) else {
            throw PealError.notFound("location group")
        }
        return Answer(.ok, PivotalGeofenceWriter.json(group))
    }

    private func changeGroup(_ call: Call) async throws -> Answer {
        let body = try Tolerance(try call.object())
        let group = try await verbs.updateGroup(
            try call.number("id", of: "location group"), app: try call.app().key, call.verb
        ) { plan throws(PealError) in try PivotalGeofenceReader.apply(body, to: &plan) }
        return Answer(.ok, PivotalGeofenceWriter.json(group))
    }

    private func deleteGroup(_ call: Call) async throws -> Answer {
        try await verbs.deleteGroup(try call.number("id", of: "location group"), app: try call.app().key, call.verb)
        return Answer(.noContent)
    }

    private var verbs: LocationVerbs { LocationVerbs(store: services.store) }
}
