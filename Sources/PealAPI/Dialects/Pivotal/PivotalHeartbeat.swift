internal import Logging
internal import PealCore

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
            services.logger.error("heartbeats could not be sent", metadata: ["error": "\(error)"])
        }
    }

    private func beat(_ app: App, at now: Timestamp) async {
        do {
            _ = try await services.messages.send(
                try draft(app, at: now), VerbCall(actor: "heartbeat", now: now)
            ) { _ in Reply(status: 200, body: []) }
        } catch let error as PealError where error.code == .conflict {
            // Another process on the same store was first.
        } catch {
            services.logger.error(
                "a heartbeat could not be sent", metadata: ["app": "\(app.id)", "error": "\(error)"])
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
        let reader = PivotalReader(lifeSecondsMax: services.options.messageLifeSeconds)
        var draft = try reader.draft(push, id: Self.id(app, at: now), app: app, createdAt: now, now: now).draft
        draft.campaignID = Self.topic
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
