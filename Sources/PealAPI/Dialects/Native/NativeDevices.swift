internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// Devices: register one or a batch, change, list and erase.
struct NativeDevices: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

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
        return try await register(call, try call.body(NativeDeviceShapes.draft.shape, .nativeDraft), id: id)
    }

    private func create(_ call: Call) async throws -> Answer {
        let given = try call.body(NativeDeviceShapes.draftWithID.shape, .nativeDraft)
        return try await register(call, given, id: given.id ?? services.newDeviceID(at: call.now))
    }

    private func register(_ call: Call, _ given: NativeDeviceDraft, id: DeviceID) async throws -> Answer {
        let registration = try given.registration(id: id, services.addressRules)
        let reply = try await services.verbs.devices.register(
            registration, app: try call.app().key, isAudited: true, call.verb
        ) { result in
            Reply(status: result.isNew ? 201 : 200, result.device.nativeJSON(at: call.now))
        }
        return Answer(reply)
    }

    private func batch(_ call: Call) async throws -> Answer {
        let registrations = try call.body(Self.batch.shape, .nativeDraft).enumerated().map { index, item in
            Result { () throws(PealError) -> DeviceRegistration in
                let given = try item.get()
                do throws(PealError) {
                    let id = given.id ?? services.newDeviceID(at: call.now)
                    return try given.registration(id: id, services.addressRules)
                } catch {
                    throw error.under("devices[\(index)]")
                }
            }
        }
        let reply = try await services.verbs.devices.register(registrations, app: try call.app().key, call.verb) {
            Reply(status: 200, body: Self.answer($0, requestID: call.requestID))
        }
        return Answer(reply)
    }

    /// An error in one device does not affect the others.
    static let batch = ObjectShape("NativeDeviceBatch", [Result<NativeDeviceDraft, PealError>]()) {
        Entry(
            required: "devices",
            .list(
                NativeDeviceShapes.draftWithID.shape.deferred(), min: 1, max: Limits.devicesPerBatchMax,
                refusingEmpty: "must contain at least one device")
        ) { $0 = $1 }
    }

    /// Written as bytes: a JSON value for each device would cost as much as reading the device.
    private static func answer(_ results: [DeviceVerbs.BatchResult], requestID: String) -> [UInt8] {
        var out = Array(#"{"results":["#.utf8)
        out.reserveCapacity(64 * results.count)
        for (index, result) in results.enumerated() {
            if index > 0 { out.append(UInt8(ascii: ",")) }
            switch result {
            case .success(let device):
                let status = device.isNew ? "created" : "updated"
                out.append(contentsOf: #"{"id":"\#(device.id.description)","status":"\#(status)"}"#.utf8)
            case .failure(let error):
                let problem = NativeEnvelope.json(prefixed(error, index: index), requestID: requestID)
                (["index": .integer(index), "error": problem] as JSON).write(to: &out)
            }
        }
        out.append(contentsOf: "]}".utf8)
        return out
    }

    /// Adds the path from the body's root to an error that the verb reports for a device.
    private static func prefixed(_ error: PealError, index: Int) -> PealError {
        guard let field = error.field, field == "topics" || field.hasPrefix("address") else { return error }
        return error.under("devices[\(index)]")
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
        let base = DeviceFilter(userID: call.query["user_id"], topic: call.query["topic"], at: call.now)
        let addresses = try AddressQuery(call.query, rules: services.addressRules)
        let filters = try call.query["address"].map { text in
            try addresses.candidates(text).map { address in
                DeviceFilter(userID: base.userID, address: address, topic: base.topic, at: call.now)
            }
        }
        let (devices, isComplete) = try await services.store.checkedList(.heavy) { store, more in
            try (filters ?? [base]).flatMap {
                try store.devices(app: app, $0, after: list.number ?? 0, limit: list.fetchCount + more)
            }
        }
        let sorted = devices.sorted { $0.key < $1.key }
        return list.answer(
            sorted, isComplete: isComplete, cursor: { NativeList.bytes($0.key) },
            json: { $0.nativeJSON(at: call.now) })
    }

    private func change(_ call: Call) async throws -> Answer {
        let id: DeviceID = try call.id("id", of: "device")
        let json = try call.object()
        let result = try await services.verbs.devices.change(id, app: try call.app().key, isAudited: true, call.verb) {
            [rules = services.addressRules] device throws(PealError) in
            guard let device else { throw .notFound("device") }
            var given = NativeDeviceDraft(changing: device)
            try NativeDeviceShapes.change.apply(json, to: &given, .native, now: call.now)
            return try given.registration(changing: device, rules)
        }
        return Answer(.ok, result.device.nativeJSON(at: call.now))
    }

    private func delete(_ call: Call) async throws -> Answer {
        try await services.verbs.devices.delete(try call.id("id", of: "device"), app: try call.app().key, call.verb)
        return Answer(.noContent)
    }

    private func subscribe(_ call: Call) async throws -> Answer {
        let topic = try call.text("topic")
        let device = try await services.verbs.devices.changeTopics(
            of: try call.id("id", of: "device"), app: try call.app().key, add: [topic], remove: [], call.verb)
        return Answer(.ok, device.nativeJSON(at: call.now))
    }

    private func unsubscribe(_ call: Call) async throws -> Answer {
        let topic = try call.text("topic")
        _ = try await services.verbs.devices.changeTopics(
            of: try call.id("id", of: "device"), app: try call.app().key, add: [], remove: [topic], call.verb)
        return Answer(.noContent)
    }

    private func eraseUser(_ call: Call) async throws -> Answer {
        let user = try Shape.text(bytes: Limits.userIDBytesMax).value(of: call.parameter("user"), named: "user_id")
        let count = try await services.verbs.devices.deleteUser(user, app: try call.app().key, call.verb)
        return Answer(.ok, ["user_id": .string(user), "devices": .integer(count)])
    }
}

/// Resolves an address in a query to the addresses that it can be: the text alone does not show the push network.
struct AddressQuery {
    private let routes: [Route]
    private let rules: AddressRules

    /// Reads the parameters `platform` and `environment`, which narrow the routes.
    /// - Throws: `invalid_field` for an unknown value, and without an address to narrow.
    init(_ query: Query, rules: AddressRules) throws(PealError) {
        let platform = try query["platform"].map { name throws(PealError) in
            try NativeShapes.platform.value(of: name, named: "platform")
        }
        let environment = try query["environment"].map { name throws(PealError) in
            try NativeShapes.environment.value(of: name, named: "environment")
        }
        for name in ["platform", "environment"] where query[name] != nil && query["address"] == nil {
            throw .invalid(name, "\(name) requires address")
        }
        routes = Route.allCases.filter { route in
            Platform.addressable.contains(route.platform) && (platform.map { $0 == route.platform } ?? true)
                && (environment.map { $0 == route.environment } ?? true)
        }
        self.rules = rules
    }

    /// Every address that `text` can be; empty if none matches the platform and environment.
    /// - Throws: `invalid_field` if it cannot be an address of any push network.
    func candidates(_ text: String) throws(PealError) -> [Address] {
        // Every valid address matches the loosest form.
        guard AddressRules.isOpaqueToken(text) else {
            throw .invalid("address", "address is not a valid address for any push network")
        }
        return routes.compactMap { rules.address(text, on: $0) }
    }
}

extension Device {
    /// The device in the native API's answers.
    func nativeJSON(at now: Timestamp) -> JSON {
        var members: [(String, JSON?)] = [
            ("id", .string(id.description)), ("platform", .string(platform.rawValue)),
            ("environment", .string(environment.rawValue)),
            ("address", detail.addressAsSent.map(JSON.string) ?? address.json),
            ("user_id", userID.map(JSON.string) ?? .null),
            ("topics", .array(topics(at: now).sorted().map(JSON.string))),
            ("locale", locale.map(JSON.string) ?? .null), ("time_zone", timeZone.map(JSON.string) ?? .null),
            ("os_version", detail.osVersion.map(JSON.string)), ("app_version", detail.appVersion.map(JSON.string)),
            ("alias", detail.alias.map(JSON.string)), ("model", detail.model.map(JSON.string)),
            ("manufacturer", detail.manufacturer.map(JSON.string)), ("vendor_os", detail.vendorOS.map(JSON.string)),
        ]
        if !detail.identifiers.isEmpty {
            let pairs = detail.identifiers.sorted { $0.key < $1.key }.map { ($0.key, JSON.string($0.value)) }
            members.append(("identifiers", .object(JSON.Members(pairs))))
        }
        if !detail.attributes.isEmpty { members.append(("attributes", .object(detail.attributes))) }
        members += [
            ("state", retirement == nil ? "active" : "retired"),
            ("registered_at", .string(registeredAt.description)),
            ("retired_at", retirement.map { .string($0.at.description) }),
            ("retired_reason", retirement.map { .string($0.reason) }),
        ]
        return .compact(members)
    }
}

extension NativeDocument {
    private static let device = "\(app)/devices/:id"
    private static let shown = APIAnswer(200, "The device.", shownDevice)
    private static let made = APIAnswer(201, "The new device.", shownDevice)

    static func registrations(_ describing: Describing) -> [APIOperation] {
        [
            APIOperation(
                id: "putDevice", method: .put, path: device, summary: "Register or replace a device",
                body: APIBody(schema: NativeDeviceShapes.draft.schema(describing), examples: [("ios", example)]),
                answers: [shown, made], refusals: [.conflict]),
            APIOperation(
                id: "createDevice", method: .post, path: "\(app)/devices", summary: "Register a device",
                text: "Without an id, the server generates one.",
                body: APIBody(schema: NativeDeviceShapes.draftWithID.schema(describing), examples: [("ios", example)]),
                answers: [shown, made], namesIdempotencyKey: false),
            APIOperation(
                id: "registerDevices", method: .post, path: "\(app)/devices:batch",
                summary: "Register many devices in one transaction",
                text: "Stores the valid devices and reports the invalid ones.",
                body: APIBody(
                    schema: NativeDevices.batch.schema(describing),
                    examples: [("one", ["devices": [example]])]),
                answers: [
                    APIAnswer(
                        200, "The result for each device, in order.",
                        .component("NativeBatchResults", .object([.required("results", .list(batchResult))])))
                ]),
            APIOperation(
                id: "changeDevice", method: .patch, path: device, summary: "Change a device",
                text: "Absent members keep their values; null clears a member. A retired device requires its address.",
                body: APIBody(
                    schema: NativeDeviceShapes.change.change("NativeDeviceChange", describing),
                    examples: [("user", ["user_id": "ann"])]),
                answers: [shown], refusals: [.conflict]),
        ]
    }

    static let devices: [APIOperation] = [
        APIOperation(
            id: "listDevices", method: .get, path: "\(app)/devices", summary: "List devices",
            parameters: page(.number) + [
                .query("user_id", .text, "Only devices of this user."),
                .query("topic", .text, "Only devices in this topic."),
            ] + address, answers: [list(of: "NativeDevice", shownDevice)]),
        APIOperation(id: "getDevice", method: .get, path: device, summary: "Show a device", answers: [shown]),
        APIOperation(
            id: "deleteDevice", method: .delete, path: device, summary: "Delete a device",
            answers: [APIAnswer(204, "Deleted.")]),
        APIOperation(
            id: "subscribe", method: .put, path: "\(device)/topics/:topic", summary: "Subscribe a device to a topic",
            answers: [shown], refusals: [.conflict]),
        APIOperation(
            id: "unsubscribe", method: .delete, path: "\(device)/topics/:topic",
            summary: "Unsubscribe a device from a topic",
            answers: [APIAnswer(204, "The device is not subscribed to the topic.")],
            refusals: [.conflict]),
        APIOperation(
            id: "eraseUser", method: .delete, path: "\(app)/users/:user",
            summary: "Erase a user's devices and history",
            answers: [
                APIAnswer(
                    200, "The number of deleted devices.",
                    .component(
                        "NativeErasure", .object([.required("user_id", .text), .required("devices", .count)])))
            ]),
    ]

    /// The parameters that identify a device by its address.
    static let address: [APIParameter] = [
        .query(
            "address", .text(0...Limits.addressBytesMax, pattern: #"[!#-\[\]-~]*"#),
            "A device token, channel URI or Web Push endpoint."),
        .query("platform", platform, "With `address`: only addresses of this platform."),
        .query("environment", environment, "With `address`: only addresses of this environment."),
    ]

    private static let example: JSON = [
        "platform": "ios", "environment": "sandbox", "address": .string(String(repeating: "0a", count: 32)),
        "user_id": "ann", "topics": ["news"], "locale": "de-AT", "time_zone": "Europe/Vienna",
    ]
}

extension NativeDocument {
    private static let batchResult = Schema.component(
        "NativeBatchResult",
        .one(of: [
            .component(
                "NativeBatchSuccess",
                .object([
                    .required("id", .uuid),
                    .required("status", .component("NativeBatchStatus", .words(["created", "updated"]))),
                ])),
            .component(
                "NativeBatchFailure", .object([.required("index", .count), .required("error", error)])),
        ]))

    private static let texts = ["os_version", "app_version", "alias", "model", "manufacturer", "vendor_os"]

    private static let shownAddress = Schema.component("NativeShownAddress", .any(of: [.text, .openObject]))

    private static let shownDevice = Schema.component(
        "NativeDevice",
        .object(
            [
                .required("id", .uuid), .required("platform", shownPlatform),
                .required("environment", shownEnvironment),
                .required("address", shownAddress), .required("user_id", Schema.text.orNull),
                .required("topics", .list(.text)), .required("locale", Schema.text.orNull),
                .required("time_zone", Schema.text.orNull),
                .optional("identifiers", .component("NativeShownIdentifiers", .map(.text))),
                .optional("attributes", .openObject),
                .required("state", .component("NativeDeviceState", .words(["active", "retired"]))),
                .required("registered_at", .time), .optional("retired_at", .time), .optional("retired_reason", .text),
            ] + texts.map { .optional($0, .text) }))
}
