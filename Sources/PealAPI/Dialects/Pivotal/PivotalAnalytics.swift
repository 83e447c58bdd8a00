internal import HTTPTypes
internal import Logging
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
        let family = PivotalPlatform.family(try call.platformKey().platform)
        let events = try call.object()["events"]?.arrayValue ?? []
        let facts = events.prefix(Limits.analyticsEventsMax).compactMap(Self.fact)
        try await services.verbs.receipts.record(facts, app: app.key, now: call.now) { device in
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
    private static func fact(_ event: JSON) -> DeviceFact? {
        guard let device = event["deviceUuid"]?.scalarText.flatMap({ DeviceID($0) }),
            let type = event["eventType"]?.scalarText?.lowercased()
        else { return nil }
        let at = event["eventTime"].flatMap(instant)
        if let kind = kinds[type] {
            guard let message = event["receiptId"]?.scalarText.flatMap({ MessageID($0) }) else { return nil }
            return DeviceFact(device: device, subject: .message(message, kind), at: at)
        }
        guard type == triggered, let geofence = event["geofenceId"]?.tolerantInteger else { return nil }
        let location = event["locationId"]?.tolerantInteger ?? 0
        return DeviceFact(device: device, subject: .geofence(geofence, location: location), at: at)
    }

    /// iOS sends milliseconds, Android seconds: the magnitude shows which.
    private static func instant(_ json: JSON) -> Timestamp? {
        guard let number = json.tolerantInteger, number > 0 else { return nil }
        return number < 100_000_000_000 ? Timestamp(seconds: number) : Timestamp(milliseconds: number)
    }
}

/// The heartbeat of the original server: once a minute, a push to the devices in the topic `pcf.push.heartbeat` of
/// every app whose settings allow it. A device that receives it proves that the whole path works.
struct PivotalHeartbeat: Sendable {
    private let services: APIServices

    /// The topic, and the campaign id of the heartbeat's messages.
    static let topic = "pcf.push.heartbeat"
    private static let interval = Limits.pivotalHeartbeatSeconds * 1000

    init(_ services: APIServices) { self.services = services }

    /// Beats at each full minute until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            let now = services.time.now.milliseconds
            let next = (now.floorDivided(by: Self.interval) + 1) * Self.interval
            do {
                try await services.time.sleep(for: .milliseconds(next - now))
            } catch {
                return
            }
            await beat(at: services.time.now)
        }
    }

    /// Sends one heartbeat to each app.
    func beat(at now: Timestamp) async {
        do {
            let apps = try await services.store.read { try $0.apps(withTopic: Self.topic, now: now) }
            for app in apps where app.settings[PivotalSettings.heartbeat] { await beat(app, at: now) }
        } catch {
            services.logger.error("cannot send heartbeats", metadata: ["error": "\(error)"])
        }
    }

    private func beat(_ app: App, at now: Timestamp) async {
        do {
            _ = try await services.verbs.messages.send(
                try draft(app, at: now), VerbCall(actor: Actor("heartbeat"), now: now), mayBeTaken: true
            ) { _ in Reply(status: 200, body: []) }
        } catch let error as PealError where error.code == .conflict {
            // Another process on the same store was first.
        } catch {
            services.logger.error(
                "cannot send a heartbeat", metadata: ["app": "\(app.id)", "error": "\(error)"])
        }
    }

    private func draft(_ app: App, at now: Timestamp) throws(PealError) -> MessageDraft {
        let sentAt = JSON.string(String(now.milliseconds))
        let push: JSON = [
            "message": [
                "custom": [
                    "ios": ["content-available": true, "extra": ["pcf.push.heartbeat.sentToDeviceAt": sentAt]],
                    "android": [
                        "pcf.push.heartbeat.sentToDeviceAt": sentAt, "pcf.push.heartbeat.sentAt": sentAt,
                        "collapse_key": .string(Self.topic),
                    ],
                ]
            ],
            "target": ["topics": [.string(Self.topic)]],
            "expiryTime": .integer(now.milliseconds + Self.interval),
        ]
        var app = app
        // Without the receipt id, a device cannot send a receipt.
        app.settings[PivotalSettings.sendReceipt] = true
        let reader = PivotalReader(services.options)
        var draft = try reader.draft(push, id: Self.id(app, at: now), app: app, createdAt: now, now: now).draft
        draft.campaignID = Self.topic
        // Otherwise an app's frequency cap would be used up by heartbeats.
        draft.options.isTransactional = true
        draft.content.platforms[.ios]?.options.collapseKey = Self.topic
        return draft
    }

    /// The same id in every process for one app and minute, so that only one process sends. It is a version 8 UUID (RFC
    /// 9562 §5.8), which sorts by time among the others.
    static func id(_ app: App, at now: Timestamp) -> MessageID {
        let minute = UInt64(bitPattern: now.milliseconds.floorDivided(by: interval) * interval)
        return MessageID(
            high: minute << 16 | 0x8000 | app.id.high & 0x0FFF, low: app.id.low & ~(0b11 << 62) | 0b10 << 62)
    }
}
