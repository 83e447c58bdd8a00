internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// `POST /v1/analytics`: reports of the vendor's SDKs about pushes and geofences. The SDKs send a report again until
/// the answer is 2xx, so unusable events are ignored and the answer is 200.
struct PivotalAnalytics: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var endpoints: [Endpoint] { [Endpoint(.post, "/v1/analytics", .pivotalPlatform, take)] }

    private func take(_ call: Call) async throws -> Answer {
        let app = try call.app()
        guard let platform = call.caller.key?.platform else {
            throw PealError(.forbidden, "this key belongs to no platform")
        }
        let events = try call.object()["events"]?.arrayValue ?? []
        let facts = events.prefix(Limits.analyticsEventsMax).compactMap { Self.fact($0, now: call.now) }
        let family = PivotalPlatform.family(platform)
        try await services.receipts.record(facts, app: app.key, now: call.now) { device in
            family.contains(device.platform)
        }
        return Answer(.ok, .object(.init()))
    }

    private static let kinds: [String: Receipt.Kind] = [
        "pcf_push_event_type_push_notification_received": .received,
        "pcf_push_event_type_push_notification_opened": .opened,
        "pcf_push_event_type_heartbeat": .heartbeat,
    ]
    private static let triggered = "pcf_push_event_type_geofence_location_triggered"

    /// The fact to store for one event; nil if the event contains nothing to store.
    private static func fact(_ event: JSON, now: Timestamp) -> DeviceFact? {
        guard let device = text(event, "deviceUuid").flatMap({ DeviceID($0) }), let type = text(event, "eventType")
        else { return nil }
        let at = text(event, "eventTime").flatMap(instant) ?? now
        if let kind = kinds[type.lowercased()] {
            guard let message = text(event, "receiptId").flatMap({ MessageID($0) }) else { return nil }
            return DeviceFact(device: device, subject: .message(message, kind), at: at)
        }
        guard type.lowercased() == triggered, let geofence = text(event, "geofenceId").flatMap({ Int64($0) }) else {
            return nil
        }
        let location = text(event, "locationId").flatMap { Int64($0) } ?? 0
        return DeviceFact(device: device, subject: .geofence(geofence, location: location), at: at)
    }

    private static func text(_ event: JSON, _ name: String) -> String? {
        event[name]?.scalarText
    }

    /// iOS sends milliseconds, Android seconds: the magnitude shows which.
    private static func instant(_ text: String) -> Timestamp? {
        guard let number = JSON.number(text).integerValue, number > 0 else { return nil }
        return number < 100_000_000_000 ? Timestamp(seconds: number) : Timestamp(milliseconds: number)
    }
}
