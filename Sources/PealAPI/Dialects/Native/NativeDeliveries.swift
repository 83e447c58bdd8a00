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
        let events = try await DeliveryTrail(store: services.store).events(
            of: try call.id("id", of: "message"), app: try call.app().key, try subject(call.query))
        let items = events.map { event -> JSON in
            [
                "device": event.device.map { .string($0.description) } ?? .null, "at": .string(event.at.description),
                "event": .string(event.name.rawValue), "detail": .string(event.detail),
            ]
        }
        return Answer(.ok, ["items": .array(items), "next_cursor": .null])
    }

    private func subject(_ query: Query) throws(PealError) -> DeliveryTrail.Subject {
        if let text = query["device"] {
            guard let id = DeviceID(text) else { throw .invalid("device", "device must be a UUID") }
            return .device(id)
        }
        if let user = query["user"] { return .user(user) }
        guard let address = query["address"] else {
            throw PealError(.missingField, "give one of device, user and address", field: "device")
        }
        return .addresses(try AddressQuery.candidates(address, query, rules: services.addressRules))
    }
}
