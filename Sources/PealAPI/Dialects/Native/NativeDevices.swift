internal import HTTPTypes
internal import PealCore

/// Devices: registered one by one or in batches, changed, listed, erased.
struct NativeDevices: Sendable {
    private let services: APIServices
    private let reader: DeviceReader

    init(_ services: APIServices) {
        self.services = services
        reader = DeviceReader(rules: services.addressRules)
    }

    func endpoints(_ app: String) -> [Endpoint] {
        [
            Endpoint(.put, "\(app)/devices/:id", .app(.devices), put),
            Endpoint(.post, "\(app)/devices", .app(.devices), create),
            Endpoint(.post, "\(app)/devices:batch", .app(.devices), batch),
            Endpoint(.get, "\(app)/devices", .app(.read), list),
            Endpoint(.get, "\(app)/devices/:id", .app(.read), get),
            Endpoint(.patch, "\(app)/devices/:id", .app(.devices), change),
            Endpoint(.delete, "\(app)/devices/:id", .app(.devices), delete),
            Endpoint(.put, "\(app)/devices/:id/topics/:topic", .app(.devices), subscribe),
            Endpoint(.delete, "\(app)/devices/:id/topics/:topic", .app(.devices), unsubscribe),
            Endpoint(.delete, "\(app)/users/:user", .app(.devices), eraseUser),
        ]
    }

    private func put(_ call: Call) async throws -> Answer {
        guard let id = DeviceID(call.parameter("id")) else { throw PealError.invalid("id", "id must be a UUID") }
        return try await register(call, id: id)
    }

    private func create(_ call: Call) async throws -> Answer {
        let given = try Self.id(try Fields(try call.object()))
        return try await register(call, id: given ?? services.newDeviceID())
    }

    private func register(_ call: Call, id: DeviceID) async throws -> Answer {
        let registration = try reader.registration(try Fields(try call.object()), id: id)
        let reply = try await services.devices.register(registration, app: try call.app().key, call.verb) { result in
            Reply(status: result.isNew ? 201 : 200, result.device.nativeJSON(at: call.now))
        }
        return Answer(reply)
    }

    private static func id(_ fields: Fields) throws(PealError) -> DeviceID? {
        guard let text = try fields.text("id") else { return nil }
        guard let id = DeviceID(text) else { throw .invalid(fields.path("id"), "\(fields.path("id")) must be a UUID") }
        return id
    }

    private func batch(_ call: Call) async throws -> Answer {
        let fields = try Fields(try call.object())
        guard let items = try fields.list("devices", countMax: Limits.devicesPerBatchMax) else {
            throw PealError.missing("devices")
        }
        guard !items.isEmpty else { throw PealError.invalid("devices", "devices must hold one at least") }
        let registrations = items.map { item in
            Result { () throws(PealError) -> DeviceRegistration in
                let fields = try Fields(item.value, path: item.path)
                return try reader.registration(fields, id: try Self.id(fields) ?? services.newDeviceID())
            }
        }
        let reply = try await services.devices.register(registrations, app: try call.app().key, call.verb) { results in
            Reply(status: 200, ["results": .array(results.enumerated().map { Self.json($1, index: $0) })])
        }
        return Answer(reply)
    }

    private static func json(_ result: DeviceVerbs.BatchResult, index: Int) -> JSON {
        switch result {
        case .success(let result):
            ["id": .string(result.device.id.description), "status": result.isNew ? "created" : "updated"]
        case .failure(let error):
            ["index": .integer(index), "error": NativeEnvelope.json(placed(error, index: index))]
        }
    }

    /// What the verb refuses of an address has no path from the body's root yet.
    private static func placed(_ error: PealError, index: Int) -> PealError {
        error.field?.hasPrefix("address") == true ? error.under("devices[\(index)]") : error
    }

    private func get(_ call: Call) async throws -> Answer {
        let (app, id): (AppKey, DeviceID) = (try call.app().key, try call.id("id", of: "device"))
        guard let device = try await services.store.read({ try $0.device(app: app, id: id) }) else {
            throw PealError.notFound("device")
        }
        return Answer(.ok, device.nativeJSON(at: call.now))
    }

    private func list(_ call: Call) async throws -> Answer {
        let list = try NativeList(call.query, by: .number)
        let app = try call.app().key
        let base = DeviceFilter(userID: call.query["user_id"], topic: call.query["topic"])
        let addresses = try AddressQuery(call.query, rules: services.addressRules)
        let filters = try call.query["address"].map { text in
            try addresses.candidates(text).map { address in
                DeviceFilter(userID: base.userID, address: address, topic: base.topic)
            }
        }
        let devices = try await services.store.read { store in
            try (filters ?? [base]).flatMap {
                try store.devices(app: app, $0, after: list.number ?? 0, limit: list.fetchCount)
            }
        }
        let sorted = devices.sorted { $0.key < $1.key }
        return list.answer(sorted, cursor: { NativeList.bytes($0.key) }, json: { $0.nativeJSON(at: call.now) })
    }

    private func change(_ call: Call) async throws -> Answer {
        let id: DeviceID = try call.id("id", of: "device")
        let json = try call.object()
        let result = try await services.devices.change(id, app: try call.app().key, call.verb) {
            [reader] device throws(PealError) in
            guard let device else { throw .notFound("device") }
            return try reader.change(of: device, try Fields(json))
        }
        return Answer(.ok, result.device.nativeJSON(at: call.now))
    }

    private func delete(_ call: Call) async throws -> Answer {
        try await services.devices.delete(try call.id("id", of: "device"), app: try call.app().key, call.verb)
        return Answer(.noContent)
    }

    private func subscribe(_ call: Call) async throws -> Answer {
        let topic = try NativeTopics.name(call)
        let device = try await services.devices.changeTopics(
            of: try call.id("id", of: "device"), app: try call.app().key, add: [topic], remove: [], call.verb)
        return Answer(.ok, device.nativeJSON(at: call.now))
    }

    private func unsubscribe(_ call: Call) async throws -> Answer {
        let topic = try NativeTopics.name(call)
        _ = try await services.devices.changeTopics(
            of: try call.id("id", of: "device"), app: try call.app().key, add: [], remove: [topic], call.verb)
        return Answer(.noContent)
    }

    private func eraseUser(_ call: Call) async throws -> Answer {
        let user = try Fields.text(.string(call.parameter("user")), "user_id")
        let count = try await services.devices.deleteUser(user, app: try call.app().key, call.verb)
        return Answer(.ok, ["user_id": .string(user), "devices": .integer(count)])
    }
}
