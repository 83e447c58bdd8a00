internal import HTTPTypes
internal import PealCore

/// The trail of one delivery.
struct NativeDeliveries: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func endpoints(_ app: String) -> [Endpoint] {
        [Endpoint(.get, "\(app)/messages/:id/deliveries", .app(.read), list)]
    }

    private func list(_ call: Call) async throws -> Answer {
        let list = try NativeList(call.query, by: .number)
        let subject = try subject(call.query)
        let events = try await DeliveryTrail(store: services.store).events(
            of: try call.id("id", of: "message"), app: try call.app().key, subject)
        let fetched = Array(Array(events.enumerated()).dropFirst(Int(list.number ?? 0)).prefix(list.fetchCount))
        return list.answer(fetched, cursor: { NativeList.bytes($0.offset + 1) }, json: { Self.json($0.element) })
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
