internal import HTTPTypes
internal import PealCore

/// `GET /v2/registrations` and `GET /v2/custom_user_ids`: an app's devices by pages, and its users.
struct PivotalRegistrations: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var endpoints: [Endpoint] {
        [
            Endpoint(.get, "/v2/registrations", .pivotalApplication(.read), list),
            Endpoint(.get, "/v2/custom_user_ids", .pivotalApplication(.read), users),
        ]
    }

    /// Narrowed by `q`, `platform`, `platformUuid` and `topic`, all of them together.
    private func list(_ call: Call) async throws -> Answer {
        let app = try call.app().key
        let asked = try PivotalPage(call.query, sizeMin: 0)
        let named = try PivotalPlatform.routes(named: call.query["platform"] ?? "all")
        let platformUUID = call.query["platformUuid"] ?? call.query["variantUuid"]
        let topic = (call.query["topic"] ?? call.query["tag"])?.lowercased()
        let part = call.query["q"]
        let found = try await services.store.read { store in
            var routes = named
            if let platformUUID {
                let own = try PivotalPlatform.routes(ofKey: platformUUID, app: app, in: store)
                routes = routes.filter(own.contains)
            }
            let search = DeviceSearch(routes: routes, topic: topic, containing: part)
            return try store.devices(app: app, search, asked.page, now: call.now)
        }
        let json = asked.json(
            found, "registrations", total: "totalRegistrations", item: PivotalDevice.listedJSON)
        return Answer(.ok, json)
    }

    private func users(_ call: Call) async throws -> Answer {
        let app = try call.app().key
        let part = call.query["q"]
        let users = try await services.store.read {
            try $0.userIDs(app: app, containing: part, limit: Limits.unpagedItemsMax)
        }
        return Answer(.ok, ["custom_user_ids": .array(users.map(JSON.string))])
    }
}
