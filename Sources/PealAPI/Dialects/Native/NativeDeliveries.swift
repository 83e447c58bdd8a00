internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// The history of one delivery, and a device's timeline over messages.
struct NativeDeliveries: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func endpoints(_ app: String) -> [Endpoint] {
        [
            Endpoint(.get, "\(app)/messages/:id/deliveries", .app(.read), list),
            Endpoint(.get, "\(app)/devices/:id/deliveries", .app(.read), timeline),
        ]
    }

    private func list(_ call: Call) async throws -> Answer {
        let list = try NativeList(call.query, by: .number)
        let subject = try subject(call.query)
        let events = try await services.verbs.trail.events(
            of: try call.id("id", of: "message"), app: try call.app().key, subject, now: call.now)
        let fetched = Array(Array(events.enumerated()).dropFirst(Int(list.number ?? 0)).prefix(list.fetchCount))
        return list.answer(fetched, cursor: { NativeList.bytes($0.offset + 1) }, json: { Self.json($0.element) })
    }

    /// A device's events over messages.
    private func timeline(_ call: Call) async throws -> Answer {
        let list = try NativeList(call.query, by: .position)
        let page = try await services.verbs.trail.timeline(
            of: try call.id("id", of: "device"), app: try call.app().key,
            from: list.position.map { .init(message: $0.id, index: $0.number) }, limit: list.limit, now: call.now)
        let next = page.next.map { NativeList.bytes($0.message, $0.index) }
        return Answer(
            .ok,
            [
                "items": .array(page.entries.map(Self.json)),
                "next_cursor": next.map { .string(Base64URL.encode($0)) } ?? .null,
            ])
    }

    private static func json(_ entry: DeliveryTrail.Entry) -> JSON {
        [
            "message": .string(entry.message.description), "title": entry.title.map(JSON.string) ?? .null,
            "device": entry.event.device.map { .string($0.description) } ?? .null,
            "at": .string(entry.event.at.description), "event": .string(entry.event.name.rawValue),
            "detail": .string(entry.event.detail),
        ]
    }

    private static func json(_ event: DeliveryTrail.Event) -> JSON {
        [
            "device": event.device.map { .string($0.description) } ?? .null, "at": .string(event.at.description),
            "event": .string(event.name.rawValue), "detail": .string(event.detail),
        ]
    }

    private func subject(_ query: Query) throws(PealError) -> DeliveryTrail.Subject {
        let addresses = try AddressQuery(query, rules: services.addressRules)
        let given = ["device", "user", "address"].filter { query[$0] != nil }
        guard given.count < 2 else {
            throw .invalid(given[1], "give only one of device, user and address")
        }
        if let text = query["device"] {
            guard let id = DeviceID(text) else { throw .invalid("device", "device must be a UUID") }
            return .device(id)
        }
        if let user = query["user"] { return .user(user) }
        guard let address = query["address"] else {
            throw PealError(.missingField, "give one of device, user and address", field: "device")
        }
        return .addresses(try addresses.candidates(address))
    }
}

extension NativeDocument {
    static let deliveries: [APIOperation] = [
        APIOperation(
            id: "listDeliveries", method: .get, path: "\(app)/messages/:id/deliveries", summary: "Explain a delivery",
            text: "Give exactly one of `device`, `user` and `address`. The oldest event is first.",
            parameters: page(.number) + [
                .query("device", .uuid, "The device."), .query("user", .text, "A user, with all devices."),
            ] + address, answers: [list(of: "NativeEvent", trailEvent)], refusals: [.missingField]),
        APIOperation(
            id: "listDeviceDeliveries", method: .get, path: "\(app)/devices/:id/deliveries",
            summary: "Show what happened to messages to a device",
            text: "The newest event is first. A page may have few items although another follows.",
            parameters: page(.position), answers: [list(of: "NativeDeviceEvent", deviceEvent)]),
    ]

    private static let eventName = Schema.component("NativeEventName", .words(DeliveryTrail.Event.Name.self))

    private static let trailEvent = Schema.component(
        "NativeEvent",
        .object([
            .required("device", Schema.uuid.orNull), .required("at", .time), .required("event", eventName),
            .required("detail", .text),
        ]))

    private static let deviceEvent = Schema.component(
        "NativeDeviceEvent",
        .object([
            .required("message", .uuid), .required("title", Schema.text.orNull),
            .required("device", Schema.uuid.orNull), .required("at", .time),
            .required("event", eventName), .required("detail", .text),
        ]))
}
