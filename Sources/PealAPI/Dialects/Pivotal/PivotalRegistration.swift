internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// `/v1/registration`: how the vendor's SDKs register their devices.
struct PivotalRegistration: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var endpoints: [Endpoint] {
        [
            Endpoint(.post, "/v1/registration", .pivotalPlatform, create),
            Endpoint(.get, "/v1/registration/count", .pivotalPlatform, count),
            Endpoint(.get, "/v1/registration/:id", .pivotalPlatform, get),
            Endpoint(.put, "/v1/registration/:id", .pivotalPlatform, change),
            Endpoint(.delete, "/v1/registration/:id", .pivotalPlatform, delete),
        ]
    }

    /// The devices of the calling platform key.
    private struct Realm: Sendable {
        let app: App
        let key: APIKey
        let platform: Platform

        init(_ call: Call) throws(PealError) {
            app = try call.app()
            (key, platform) = try call.platformKey()
        }

        /// A device that Peal moved to the other environment, because APNs knows it only there, still belongs to the
        /// key that registered it.
        func holds(_ device: Device) -> Bool {
            guard PivotalPlatform.family(platform).contains(device.platform) else { return false }
            // Only APNs has two environments.
            guard device.platform == .ios else { return true }
            return [device.environment, device.detail.environmentDisproved].contains(key.environment ?? .production)
        }

        func reader(_ rules: AddressRules) -> PivotalDevice {
            PivotalDevice(rules: rules, platform: platform, environment: key.environment ?? .production)
        }

        func json(_ device: Device, now: Timestamp) -> JSON {
            PivotalDevice.json(device, variant: key.publicHalf, now: now)
        }
    }

    private func create(_ call: Call) async throws -> Answer {
        let realm = try Realm(call)
        let body = try call.body(PivotalRegistrationShapes.whole.shape, .pivotal)
        let userID = try await userID(body.userID, realm.app, now: call.now)
        let registration = try realm.reader(services.addressRules).registration(
            body, id: services.newDeviceID(at: call.now), over: nil, userID: userID, isWhole: true, now: call.now)
        let reply = try await services.verbs.devices.register(registration, app: realm.app.key, call.verb) { result in
            Reply(status: 200, realm.json(result.device, now: call.now))
        }
        return Answer(reply)
    }

    private func change(_ call: Call) async throws -> Answer {
        let realm = try Realm(call)
        let body = try call.body(PivotalRegistrationShapes.change.shape, .pivotal)
        let id: DeviceID = try call.id("id", of: "device")
        let userID = try await userID(body.userID, realm.app, now: call.now)
        let reader = realm.reader(services.addressRules)
        let result = try await services.verbs.devices.change(id, app: realm.app.key, call.verb) {
            known throws(PealError) in
            if known == nil, !realm.app.settings[PivotalSettings.upsertOnPut] { throw .notFound("device") }
            if let known, !realm.holds(known) { throw .notFound("device") }
            return try reader.registration(
                body, id: id, over: known, userID: userID, isWhole: false,
                now: call.now)
        }
        return Answer(.ok, realm.json(result.device, now: call.now))
    }

    private func get(_ call: Call) async throws -> Answer {
        let realm = try Realm(call)
        let id: DeviceID = try call.id("id", of: "device")
        let device = try await services.store.read { try $0.device(app: realm.app.key, id: id) }
        guard let device, realm.holds(device) else { throw PealError.notFound("device") }
        return Answer(.ok, realm.json(device, now: call.now))
    }

    private func delete(_ call: Call) async throws -> Answer {
        let realm = try Realm(call)
        try await services.verbs.devices.delete(
            try call.id("id", of: "device"), app: realm.app.key, where: { realm.holds($0) }, call.verb)
        return Answer(.noContent)
    }

    /// Answers with a bare integer.
    private func count(_ call: Call) async throws -> Answer {
        let realm = try Realm(call)
        let routes = PivotalPlatform.family(realm.platform).map { Route($0, realm.key.environment ?? .production) }
        let count = try await services.store.read(.heavy) { store in
            try routes.reduce(0) { try $0 + store.deviceCount(app: realm.app.key, route: $1) }
        }
        return Answer(.ok, .integer(count))
    }

    private static let userIDName = "custom_user_id"

    /// The vendor's SDKs limit the id to 255 characters, not bytes.
    private func checked(_ id: String) throws(PealError) -> String {
        let (name, max) = (Self.userIDName, Limits.nameCharactersMax)
        let text = try Shape.text(bytes: Limits.userIDBytesMax).value(of: id, named: name)
        guard text.unicodeScalars.count <= max else {
            throw .invalid(name, "\(name) may be at most \(max) characters long")
        }
        return text
    }

    /// The user id that the body contains, verified if the app requires it; nil if there is none.
    private func userID(_ given: String?, _ app: App, now: Timestamp) async throws -> String? {
        guard app.settings[PivotalSettings.verifyCustomUserID] else {
            return try given.map(checked)
        }
        guard let signed = given else { return nil }
        let secrets = try await services.store.read { store in
            let keys = try store.keys(app: app.key)
            let valid = keys.filter { $0.dialect == .pivotal && ($0.expiresAt.map { $0 > now } ?? true) }
            return try valid.compactMap { key in
                try store.storedKey(.pivotal, publicHalf: key.publicHalf)?.sharedSecret
            }
        }
        let name = Self.userIDName
        let id = try SignedUser(signed, member: name, secrets: secrets, now: now).id(
            of: name, "\(name) must be signed with the application's shared secret"
        ) { .invalid(name, $0) }
        return try checked(id)
    }
}

/// `GET /v2/registrations` and `GET /v2/custom_user_ids`: an app's devices in pages, and its users.
struct PivotalRegistrations: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var endpoints: [Endpoint] {
        [
            Endpoint(.get, "/v2/registrations", .pivotalApplication(.read), list),
            Endpoint(.get, "/v2/custom_user_ids", .pivotalApplication(.read), users),
        ]
    }

    /// Lists the devices that match all of `q`, `platform`, `platformUuid` and `topic`.
    private func list(_ call: Call) async throws -> Answer {
        let app = try call.app().key
        let asked = try PivotalPage(call.query, sizeMin: 0)
        let named = try PivotalPlatform.routes(named: call.query["platform"] ?? "all")
        let platformUUID = call.query["platformUuid"] ?? call.query["variantUuid"]
        let topic = (call.query["topic"] ?? call.query["tag"]).map(PivotalShapes.lowered)
        let part = call.query["q"]
        let found = try await services.store.read(.heavy) { store in
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
        let users = try await services.store.read(.heavy) {
            try $0.userIDs(app: app, containing: part, limit: Limits.unpagedItemsMax)
        }
        return Answer(.ok, ["custom_user_ids": .array(users.map(JSON.string))])
    }
}
