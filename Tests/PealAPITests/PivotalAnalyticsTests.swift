import HTTPTypes
import PealAPI
import PealCore
import PealTesting
import Testing

@Suite("Pivotal analytics and heartbeat")
struct PivotalAnalyticsTests {
    private static let device = "10000000-0000-4000-8000-000000000001"

    /// A house with one iOS device in topic `t` and the heartbeat's, and a push to `t`.
    private static func open(
        settings: JSON = [:], _ body: @escaping @Sendable (House, MessageID) async throws -> Void
    ) async throws {
        try await House.open { house in
            _ = try await house.admin(.patch, "…", ["settings": ["pivotal": settings]])
            _ = try await house.key("pivotal", [("application_uuid", "app-1"), ("api_key", "application-key-1")])
            _ = try await house.key(
                "pivotal-platform",
                [("platform_uuid", "ios"), ("platform_secret", "platform-secret-1"), ("platform", "ios")])
            let put = try await house.admin(
                .put, "…/devices/\(device)",
                [
                    "platform": "ios", "address": .string(House.deviceToken),
                    "topics": ["t", .string(PivotalAnalyticsTests.topic)],
                ])
            try #require(put.status == 201)
            let push = try await house.call(
                .post, "/v1/push", body: #"{"message":{"body":"b"},"target":{"topics":["t"]}}"#,
                authorization: house.basic("app-1", "application-key-1"))
            try await body(house, try #require(MessageID(push["receipt_id"]?.stringValue ?? "")))
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

    private static func post(_ house: House, _ events: String...) async throws -> House.Reply {
        try await house.call(
            .post, "/v1/analytics", body: #"{"events":[\#(events.joined(separator: ","))]}"#,
            authorization: house.basic("ios", "platform-secret-1", spaces: "  "))
    }

    private static func counts(_ house: House, _ message: MessageID) async throws -> [Receipt.Kind: Int] {
        let id = house.app
        return try await house.store.read { store in
            try store.app(id).map { try store.receiptCounts(app: $0.key, message: message) } ?? [:]
        }
    }

    @Test("count each device once, whether told in milliseconds or seconds, once or again")
    func counting() async throws {
        try await Self.open { house, message in
            house.clock.advance(by: .seconds(100))
            let milliseconds = String(house.clock.now.milliseconds - 50_000)
            let seconds = String(house.clock.now.seconds - 40)
            let received = Self.event("push_notification_received", "\(message)", at: milliseconds)
            let opened = Self.event("push_notification_opened", "\(message)", at: seconds)
            #expect(try await Self.post(house, received, opened).status == 200)
            #expect(try await Self.post(house, opened, received).status == 200)
            #expect(try await Self.counts(house, message) == [.received: 1, .opened: 1])
            let receipt = try await house.call(
                .get, "/v1/receipts/\(message)", authorization: house.basic("app-1", "application-key-1"))
            #expect(receipt["received"] == 1 && receipt["opened"] == 1, "\(receipt.text)")
            let shown = try await house.admin(.get, "…/messages/\(message)")
            #expect(shown["receipts"] == ["received": 1, "opened": 1])
            let trail = try await house.admin(.get, "…/messages/\(message)/deliveries?device=\(Self.device)")
            let events = trail["items"]?.arrayValue ?? []
            #expect(events.compactMap { $0["event"]?.stringValue }.suffix(2) == ["received", "opened"])
            #expect(
                events.suffix(2).map { $0["at"] } == [
                    .string((house.clock.now - .seconds(50)).description),
                    .string((house.clock.now - .seconds(40)).description),
                ])
        }
    }

    @Test(
        "that mean nothing here are taken and passed over",
        arguments: [
            #"{}"#, #"{"events":null}"#, #"{"events":[]}"#, #"{"events":[5,null,"x",[],{}]}"#, #"{"events":{}}"#,
            #"{"events":[{"eventType":"pcf_push_event_type_heartbeat"}]}"#,
            #"{"events":[{"eventType":"?","deviceUuid":"\#(device)","receiptId":"x","eventTime":"e"}]}"#,
            #"{"events":[{"eventType":"pcf_push_event_type_geofence_location_triggered","deviceUuid":"\#(device)","#
                + #""geofenceId":"99","locationId":"x","eventTime":""}]}"#,
        ])
    func odd(body: String) async throws {
        try await Self.open { house, message in
            let reply = try await house.call(
                .post, "/v1/analytics", body: body, authorization: house.basic("ios", "platform-secret-1"))
            #expect(reply.status == 200, "\(reply.text)")
            #expect(try await Self.counts(house, message) == [:])
        }
    }

    @Test("of unknown devices, messages and other platforms count nothing; odd clocks are put right")
    func unknown() async throws {
        try await Self.open { house, message in
            let other = "10000000-0000-4000-8000-000000000002"
            _ = try await house.admin(.put, "…/devices/\(other)", ["platform": "android", "address": "an-fcm-address"])
            let foreign = Self.event("push_notification_opened", "\(message)", at: "1", device: other)
            let nobody = Self.event(
                "push_notification_opened", "\(message)", at: "1", device: "20000000-0000-4000-8000-000000000002")
            let lost = Self.event("push_notification_opened", "20000000-0000-4000-8000-000000000003", at: "1")
            #expect(try await Self.post(house, foreign, nobody, lost).status == 200)
            #expect(try await Self.counts(house, message) == [:])
            house.clock.advance(by: .seconds(9))
            for time in ["1", "", "99999999999999", "-5", "e"] {
                let odd = Self.event("push_notification_received", "\(message)", at: time)
                #expect(try await Self.post(house, odd).status == 200)
            }
            #expect(try await Self.counts(house, message) == [.received: 1])
        }
    }

    @Test("count the borders that phones crossed")
    func triggers() async throws {
        try await Self.open { house, _ in
            let backend = house.basic("app-1", "application-key-1")
            _ = try await house.call(
                .post, "/v1/locations", body: #"{"name":"A","lat":1,"long":2,"rad":3}"#, authorization: backend)
            _ = try await house.call(
                .post, "/v1/geofence",
                body: #"{"locations":[1],"trigger_type":"exit","expiry_time":1999999999999,"data":{"ios":{}}}"#,
                authorization: backend)
            func event(_ time: String) -> String {
                """
                {"eventType":"pcf_push_event_type_geofence_location_triggered","deviceUuid":"\(Self.device)",\
                "geofenceId":"1","locationId":"1","eventTime":"\(time)"}
                """
            }
            _ = try await Self.post(house, event("1700000000000"), event("1700000000"), event("1700000001"))
            let fence = try await house.call(.get, "/v1/geofence/1", authorization: backend)
            #expect(fence["triggered"] == 2)
        }
    }

    @Test("a heartbeat goes each minute to its topic, once, and its answers are counted")
    func heartbeat() async throws {
        try await Self.open { house, _ in
            let heartbeat = PivotalHeartbeat(house.services)
            await heartbeat.beat(at: house.clock.now)
            await heartbeat.beat(at: house.clock.now + .seconds(59))
            let listed = try await house.admin(.get, "…/messages?campaign_id=\(Self.topic)")
            #expect(listed["items"]?.arrayValue?.count == 1)
            let id = try #require(MessageID(listed["items.0.id"]?.stringValue ?? ""))
            let draft = try #require(await house.draft(id))
            let sentAt = String(house.clock.now.milliseconds)
            #expect(draft.audience.topics == [Self.topic] && draft.dialect == "pivotal")
            #expect(
                draft.content.platforms[.ios]?.fields["payload"]?.text
                    == """
                    {"pcf.push.heartbeat.sentToDeviceAt":"\(sentAt)","aps":{"content-available":1},"receiptId":"\(id)"}
                    """)
            #expect(draft.content.platforms[.android]?.fields["data"]?["receiptId"] == .string("\(id)"))
            #expect(draft.expiresAt == house.clock.now + .seconds(60))
            _ = try await Self.post(house, Self.event("heartbeat", "\(id)", at: "1"))
            #expect(try await Self.counts(house, id) == [.heartbeat: 1])
        }
    }

    @Test("heartbeats fall on the minutes of the clock, and stop with the server")
    func minutes() async throws {
        try await Self.open { house, _ in
            house.clock.advance(by: .seconds(15))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await PivotalHeartbeat(house.services).run() }
                for _ in 0..<3 {
                    await house.clock.sleepers(1)
                    house.clock.advance(by: .seconds(45))
                    await house.clock.sleepers(1)
                    house.clock.advance(by: .seconds(15))
                }
                await house.clock.sleepers(1)
                group.cancelAll()
                try await group.waitForAll()
            }
            let listed = try await house.admin(.get, "…/messages?campaign_id=\(Self.topic)")
            #expect(listed["items"]?.arrayValue?.count == 3)
        }
    }

    @Test("no heartbeat goes where the app does not allow it")
    func forbidden() async throws {
        try await Self.open(settings: ["heartbeat": false]) { house, _ in
            await PivotalHeartbeat(house.services).beat(at: house.clock.now)
            let listed = try await house.admin(.get, "…/messages?campaign_id=\(Self.topic)")
            #expect(listed["items"] == [])
        }
    }
}
