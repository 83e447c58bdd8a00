internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// `/v1/geofence`, where backends manage geofences, and `GET /v1/geofences`, from which devices fetch them.
struct PivotalGeofences: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    /// Backends may use the plural path too, except to list: `GET /v1/geofences` is for devices.
    var endpoints: [Endpoint] {
        let managed = ["/v1/geofence", "/v1/geofences"].flatMap { path in
            [
                Endpoint(.post, path, .pivotalApplication(.send), create),
                Endpoint(.get, "\(path)/:id", .pivotalApplication(.read), get),
                Endpoint(.put, "\(path)/:id", .pivotalApplication(.send), change),
                Endpoint(.delete, "\(path)/:id", .pivotalApplication(.send), delete),
            ]
        }
        return managed + [
            Endpoint(.get, "/v1/geofence", .pivotalApplication(.read), list),
            Endpoint(.get, "/v1/geofences", .pivotalPlatform, share),
        ]
    }

    private func create(_ call: Call) async throws -> Answer {
        let app = try call.app()
        let plan = try call.body(PivotalGeofenceShapes.geofence.shape, .pivotal)
        let geofence = try await verbs(app, call).create(plan, app: app.key, call.verb)
        return Answer(.ok, PivotalGeofenceWriter.json(geofence))
    }

    private func list(_ call: Call) async throws -> Answer {
        let app = try call.app().key
        let query = try PivotalGeofencePage.page(call.query)
        let page = try await services.store.read { try $0.geofences(app: app, query) }
        return Answer(
            .ok,
            PivotalGeofenceWriter.json(page, query, list: "geofences", total: "totalGeofences") {
                PivotalGeofenceWriter.json($0)
            })
    }

    /// With `triggered`, how often devices reported a crossing; the original API has no such member.
    private func get(_ call: Call) async throws -> Answer {
        let (app, id) = (try call.app().key, try call.number("id", of: "geofence"))
        let found = try await services.store.read { store in
            try store.geofence(app: app, id: id).map { ($0, try store.triggerCount(app: app, geofence: id)) }
        }
        guard let (geofence, count) = found else { throw PealError.notFound("geofence") }
        var members = PivotalGeofenceWriter.json(geofence).objectValue ?? .init()
        members["triggered"] = .integer(count)
        return Answer(.ok, .object(members))
    }

    private func change(_ call: Call) async throws -> Answer {
        let app = try call.app()
        let body = try call.object()
        let geofence = try await verbs(app, call).update(
            try call.number("id", of: "geofence"), app: app.key, call.verb
        ) { plan throws(PealError) in
            try PivotalGeofenceShapes.geofence.apply(body, to: &plan, .pivotal, now: call.now)
        }
        return Answer(.ok, PivotalGeofenceWriter.json(geofence))
    }

    private func delete(_ call: Call) async throws -> Answer {
        let app = try call.app()
        try await verbs(app, call).delete(try call.number("id", of: "geofence"), app: app.key, call.verb)
        return Answer(.noContent)
    }

    /// The changes for the device since `timestamp`; all geofences if it is 0. The key determines the platform.
    private func share(_ call: Call) async throws -> Answer {
        let app = try call.app()
        let platform = try call.platformKey().platform
        let known = try PivotalGeofencePage.changedAfter(call.query)
        let share = try await verbs(app, call).share(
            of: call.query["device_uuid"].flatMap { DeviceID($0) }, platforms: PivotalPlatform.family(platform),
            app: app.key, since: known, now: call.now)
        return Answer(.ok, PivotalGeofenceWriter.json(share))
    }

    private func verbs(_ app: App, _ call: Call) -> GeofenceVerbs { services.geofences(app, at: call.now) }
}

extension APIServices {
    /// The geofence verbs for one request.
    func geofences(_ app: App, at now: Timestamp) -> GeofenceVerbs {
        let update = PivotalGeofenceUpdate(app: app, options: options, now: now)
        return GeofenceVerbs(store: store, engine: engine) { audience throws(PealError) in
            try update.draft(audience, id: newMessageID(at: now))
        }
    }
}

extension Call {
    /// A number in the path.
    /// - Throws: `not_found` for an invalid number, because no object can have it.
    func number(_ name: String, of what: String) throws(PealError) -> Int64 {
        guard let number = Int64(parameter(name)), number > 0 else { throw .notFound(what) }
        return number
    }
}

/// Writes the push that makes the SDKs fetch their geofences: a silent push on iOS, a data message on Android. A
/// backend could send the same push through `/v1/push`, and the same code reads it.
struct PivotalGeofenceUpdate: Sendable {
    let app: App
    let options: APIOptions
    let now: Timestamp

    /// The member that the SDKs look for at the top level of a payload.
    private static let flag = "pivotal.push.geofence_update_available"
    /// If several updates wait for an offline device, the last one is enough.
    private static let collapseKey = "pivotal.push.geofence_update"

    func draft(_ audience: GeofenceAudience, id: MessageID) throws(PealError) -> MessageDraft {
        let start = max(now, audience.startsAt ?? now)
        let push: JSON = [
            "message": [
                "custom": [
                    "ios": ["content-available": true, "extra": [Self.flag: "true"]],
                    "android": [Self.flag: "true", "collapse_key": .string(Self.collapseKey)],
                ]
            ],
            "target": Self.target(audience), "expiryTime": .integer(audience.expiresAt.milliseconds),
        ]
        let reader = PivotalReader(options)
        var draft = try reader.draft(push, id: id, app: app, createdAt: now, now: start).draft
        draft.content.platforms[.ios]?.options.collapseKey = Self.collapseKey
        // It is silent, so it neither waits for quiet hours nor counts towards a frequency cap.
        draft.options.isTransactional = true
        if start > now {
            draft.startAt = start
            draft.source = push.bytes
        }
        return draft
    }

    private static func target(_ audience: GeofenceAudience) -> JSON {
        let platforms: [JSON]
        switch audience.reaches {
        case [.ios]: platforms = ["ios"]
        case [.android]: platforms = ["android"]
        default: platforms = ["ios", "android"]
        }
        let topics = audience.topics.map { $0.sorted().map(JSON.string) } ?? []
        return ["platforms": .array(platforms), "topics": .array(topics)]
    }
}

/// `/v1/locations` and `/v1/location_groups`: the locations of geofences.
struct PivotalLocations: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var endpoints: [Endpoint] { locations.endpoints + groups.endpoints }

    private var verbs: LocationVerbs { services.verbs.locations }

    private var locations: PivotalCollection<GeofenceLocation> {
        PivotalCollection(
            paths: ["/v1/locations", "/v1/location"], noun: "location", listName: "locations",
            totalName: "totalLocations", json: { PivotalGeofenceWriter.json($0) },
            list: { app, query in try await services.store.read { try $0.locations(app: app, query) } },
            find: { app, id in try await services.store.read { try $0.location(app: app, id: id) } },
            create: { app, call in
                let circle = try call.body(PivotalGeofenceShapes.location.shape, .pivotal)
                return try await verbs.create(circle, app: app, call.verb)
            },
            change: { id, body, app, call in
                // Geofences use locations: devices must fetch them again.
                try await services.geofences(try call.app(), at: call.now).updateLocation(id, app: app, call.verb) {
                    circle throws(PealError) in
                    try PivotalGeofenceShapes.location.apply(body, to: &circle, .pivotal, now: call.now)
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
    let list: @Sendable (AppKey, NumberedPageQuery) async throws -> ResultPage<Item>
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
