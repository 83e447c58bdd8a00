internal import PealCore

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
            create: { body, app, call in
                try await verbs.create(try PivotalGeofenceReader.place(body), app: app, call.verb)
            },
            change: { id, body, app, call in
                // Geofences have locations: devices are told of the change.
                try await services.geofences(try call.app(), at: call.now).updateLocation(id, app: app, call.verb) {
                    place throws(PealError) in try PivotalGeofenceReader.apply(body, to: &place)
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
            create: { body, app, call in
                try await verbs.createGroup(try PivotalGeofenceReader.group(body), app: app, call.verb)
            },
            change: { id, body, app, call in
                try await verbs.updateGroup(id, app: app, call.verb) { plan throws(PealError) in
                    try PivotalGeofenceReader.apply(body, to: &plan)
                }
            },
            remove: { id, app, call in try await verbs.deleteGroup(id, app: app, call.verb) })
    }
}
