import HTTPTypes
@testable import PealAPI
import PealCore
import PealTesting
import Testing

@Suite("Pivotal analytics and heartbeat")
struct PivotalAnalyticsTests {
    private static let device = "10000000-0000-4000-8000-000000000001"

    /// A fixture with one iOS device in topic `t` and the heartbeat's, and a push to `t`.
    private static func open(
        settings: JSON = [:], _ body: @escaping @Sendable (Fixture, MessageID) async throws -> Void
    ) async throws {
        try await Fixture.open { fixture in
            _ = try await fixture.admin(.patch, "…", ["settings": ["pivotal": settings]])
            try await fixture.makePivotalKey()
            _ = try await fixture.key(
                "pivotal-platform",
                [("platform_uuid", "ios"), ("platform_secret", "platform-secret-1"), ("platform", "ios")])
            let put = try await fixture.admin(
                .put, "…/devices/\(device)",
                [
                    "platform": "ios", "address": .string(Fixture.deviceToken),
                    "topics": ["t", .string(PivotalAnalyticsTests.topic)],
                ])
            try #require(put.status == 201)
            let push = try await fixture.pivotal(
                .post, "/v1/push", #"{"message":{"body":"b"},"target":{"topics":["t"]}}"#)
            try await body(fixture, try #require(MessageID(push["receipt_id"]?.stringValue ?? "")))
        }
    }

    private static let topic = "pcf.push.heartbeat"

    private static func event(
        _ type: String, _ message: String, at time: String, device: String = device
    ) -> String {
        """
        {"receiptId":"\(message)","eventType":"pcf_push_event_type_\(type)","eventTime":"\(time)",\
        "deviceUuid":"\(device)","sdkVersion":"1.7.0","platformType":"ios","platformUuid":"ios"}
        """
    }

    private static func post(_ fixture: Fixture, _ events: String...) async throws -> Fixture.Reply {
        try await fixture.call(
            .post, "/v1/analytics", body: #"{"events":[\#(events.joined(separator: ","))]}"#,
            authorization: fixture.basic("ios", "platform-secret-1", spaces: "  "))
    }

    private static func counts(_ fixture: Fixture, _ message: MessageID) async throws -> [Receipt.Kind: Int] {
        let id = fixture.app
        return try await fixture.store.read { store in
            try store.app(id).map { try store.receiptCounts(app: $0.key, message: message) } ?? [:]
        }
    }

    @Test("count each device once, in milliseconds or seconds, reported once or repeatedly")
    func counting() async throws {
        try await Self.open { fixture, message in
            fixture.clock.advance(by: .seconds(100))
            let milliseconds = String(fixture.clock.now.milliseconds - 50_000)
            let seconds = String(fixture.clock.now.seconds - 40)
            let received = Self.event("push_notification_received", "\(message)", at: milliseconds)
            let opened = Self.event("push_notification_opened", "\(message)", at: seconds)
            #expect(try await Self.post(fixture, received, opened).status == 200)
            #expect(try await Self.post(fixture, opened, received).status == 200)
            #expect(try await Self.counts(fixture, message) == [.received: 1, .opened: 1])
            let receipt = try await fixture.pivotal(.get, "/v1/receipts/\(message)")
            #expect(receipt["received"] == 1 && receipt["opened"] == 1, "\(receipt.text)")
            let shown = try await fixture.admin(.get, "…/messages/\(message)")
            let receipts: JSON = ["received": 1, "shown": 0, "opened": 1, "dismissed": 0, "content_opened": 0]
            #expect(shown["receipts"] == receipts)
            let trail = try await fixture.admin(.get, "…/messages/\(message)/deliveries?device=\(Self.device)")
            let events = trail["items"]?.arrayValue ?? []
            #expect(events.compactMap { $0["event"]?.stringValue }.suffix(2) == ["received", "opened"])
            #expect(
                events.suffix(2).map { $0["at"] } == [
                    .string((fixture.clock.now - .seconds(50)).description),
                    .string((fixture.clock.now - .seconds(40)).description),
                ])
        }
    }

    @Test("of an opened push imply that it was received")
    func openedImpliesReceived() async throws {
        try await Self.open { fixture, message in
            let opened = Self.event("push_notification_opened", "\(message)", at: " \(fixture.clock.now.seconds) ")
            let reply = try await Self.post(fixture, opened)
            #expect(reply.status == 200)
            #expect(try await Self.counts(fixture, message) == [.received: 1, .opened: 1])
            let received = Self.event("push_notification_received", "\(message)", at: "1")
            #expect(try await Self.post(fixture, received).status == 200)
            #expect(try await Self.counts(fixture, message) == [.received: 1, .opened: 1])
        }
    }

    @Test("of opened content appear in the message and its campaign")
    func contentOpened() async throws {
        try await Self.open { fixture, message in
            let (app, now) = (fixture.app, fixture.clock.now)
            let key = try await fixture.store.read { try $0.app(app)?.key }
            let fact = DeviceFact(
                device: try #require(DeviceID(Self.device)), subject: .message(message, .contentOpened), at: now)
            let count = try await fixture.services.verbs.receipts.record(
                [fact, fact], app: try #require(key), now: now
            ) {
                _ in
                true
            }
            #expect(count == 1)
            let shown = try await fixture.admin(.get, "…/messages/\(message)")
            #expect(shown["receipts"]?["content_opened"] == 1)
            #expect(shown["receipts"]?["opened"] == 0)
            let trail = try await fixture.admin(.get, "…/messages/\(message)/deliveries?device=\(Self.device)")
            #expect(trail["items"]?.arrayValue?.last?["event"] == "content_opened", "\(trail.text)")
        }
    }

    @Test(
        "that mean nothing here are accepted and ignored",
        arguments: [
            #"{}"#, #"{"events":null}"#, #"{"events":[]}"#, #"{"events":[5,null,"x",[],{}]}"#, #"{"events":{}}"#,
            #"{"events":[{"eventType":"pcf_push_event_type_heartbeat"}]}"#,
            #"{"events":[{"eventType":"?","deviceUuid":"\#(device)","receiptId":"x","eventTime":"e"}]}"#,
            #"{"events":[{"eventType":"pcf_push_event_type_geofence_location_triggered","deviceUuid":"\#(device)","#
                + #""geofenceId":"99","locationId":"x","eventTime":""}]}"#,
        ])
    func odd(body: String) async throws {
        try await Self.open { fixture, message in
            let reply = try await fixture.call(
                .post, "/v1/analytics", body: body, authorization: fixture.basic("ios", "platform-secret-1"))
            #expect(reply.status == 200, "\(reply.text)")
            #expect(try await Self.counts(fixture, message) == [:])
        }
    }

    @Test("of unknown devices, messages and other platforms do not count; wrong clocks are corrected")
    func unknown() async throws {
        try await Self.open { fixture, message in
            let other = "10000000-0000-4000-8000-000000000002"
            _ = try await fixture.admin(
                .put, "…/devices/\(other)", ["platform": "android", "address": "an-fcm-address"])
            let foreign = Self.event("push_notification_opened", "\(message)", at: "1", device: other)
            let nobody = Self.event(
                "push_notification_opened", "\(message)", at: "1", device: "20000000-0000-4000-8000-000000000002")
            let lost = Self.event("push_notification_opened", "20000000-0000-4000-8000-000000000003", at: "1")
            #expect(try await Self.post(fixture, foreign, nobody, lost).status == 200)
            #expect(try await Self.counts(fixture, message) == [:])
            fixture.clock.advance(by: .seconds(9))
            for time in ["1", "", "99999999999999", "-5", "e"] {
                let odd = Self.event("push_notification_received", "\(message)", at: time)
                #expect(try await Self.post(fixture, odd).status == 200)
            }
            #expect(try await Self.counts(fixture, message) == [.received: 1])
        }
    }

    /// The numbers of crossings after each report of these times; between them pass ten seconds.
    static let crossings: [([String], [Int64])] = [
        (["1700000000000", "1700000000", "1700000001"], [1, 1, 2]),
        // The phone's clock is ahead, by hours or by centuries, or has no time.
        (["1795305600000", "1795305600000", "1795305601"], [1, 1, 2]),
        (["99999999999999", "99999999999999"], [1, 1]), (["", "", "e"], [1, 1, 1]), (["-5", "0"], [1, 1]),
    ]

    @Test("count each border that a phone crossed once, however often the report is sent", arguments: crossings)
    func triggers(times: [String], counts: [Int64]) async throws {
        try await Self.open { fixture, _ in
            _ = try await fixture.pivotal(.post, "/v1/locations", #"{"name":"A","lat":1,"long":2,"rad":3}"#)
            _ = try await fixture.pivotal(
                .post, "/v1/geofence",
                #"{"locations":[1],"trigger_type":"exit","expiry_time":1999999999999,"data":{"ios":{}}}"#)
            func event(_ time: String) -> String {
                """
                {"eventType":"pcf_push_event_type_geofence_location_triggered","deviceUuid":"\(Self.device)",\
                "geofenceId":"1","locationId":"1","eventTime":"\(time)"}
                """
            }
            for (time, count) in zip(times, counts) {
                #expect(try await Self.post(fixture, event(time)).status == 200)
                let fence = try await fixture.pivotal(.get, "/v1/geofence/1")
                #expect(fence["triggered"] == .integer(count), "\(time)")
                fixture.clock.advance(by: .seconds(10))
            }
        }
    }

    @Test("a heartbeat is sent to its topic once each minute, and its answers are counted")
    func heartbeat() async throws {
        try await Self.open { fixture, _ in
            let heartbeat = PivotalHeartbeat(fixture.services)
            await heartbeat.beat(at: fixture.clock.now)
            await heartbeat.beat(at: fixture.clock.now + .seconds(59))
            let listed = try await fixture.admin(.get, "…/messages?campaign_id=\(Self.topic)")
            #expect(listed["items"]?.arrayValue?.count == 1)
            let id = try #require(MessageID(listed["items.0.id"]?.stringValue ?? ""))
            let draft = try #require(await fixture.draft(id))
            let sentAt = String(fixture.clock.now.milliseconds)
            #expect(draft.audience.topics == [Self.topic] && draft.dialect == "pivotal")
            #expect(
                draft.content.platforms[.ios]?.fields["payload"]?.text
                    == """
                    {"pcf.push.heartbeat.sentToDeviceAt":"\(sentAt)","aps":{"content-available":1},"receiptId":"\(id)"}
                    """)
            #expect(draft.content.platforms[.android]?.fields["data"]?["receiptId"] == .string("\(id)"))
            #expect(draft.expiresAt == fixture.clock.now + .seconds(60))
            #expect(draft.options.isTransactional)
            _ = try await Self.post(fixture, Self.event("heartbeat", "\(id)", at: "1"))
            #expect(try await Self.counts(fixture, id) == [.heartbeat: 1])
        }
    }

    @Test("heartbeats fall on the minutes of the clock, and stop with the server")
    func minutes() async throws {
        try await Self.open { fixture, _ in
            fixture.clock.advance(by: .seconds(15))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await PivotalHeartbeat(fixture.services).run() }
                for _ in 0..<3 {
                    await fixture.clock.sleepers(1)
                    fixture.clock.advance(by: .seconds(45))
                    await fixture.clock.sleepers(1)
                    fixture.clock.advance(by: .seconds(15))
                }
                await fixture.clock.sleepers(1)
                group.cancelAll()
                try await group.waitForAll()
            }
            let listed = try await fixture.admin(.get, "…/messages?campaign_id=\(Self.topic)")
            #expect(listed["items"]?.arrayValue?.count == 3)
        }
    }

    @Test("no heartbeat is sent if the app does not allow it")
    func forbidden() async throws {
        try await Self.open(settings: ["heartbeat": false]) { fixture, _ in
            await PivotalHeartbeat(fixture.services).beat(at: fixture.clock.now)
            let listed = try await fixture.admin(.get, "…/messages?campaign_id=\(Self.topic)")
            #expect(listed["items"] == [])
        }
    }
}
