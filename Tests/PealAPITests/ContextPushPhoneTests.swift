import HTTPTypes
import PealCore
import PealTesting
import Testing

@Suite("A phone with ContextPush's messages")
struct ContextPushPhoneTests {
    @Test("gets everything that it shows, including the image, as a push would contain it")
    func content() async throws {
        try await DeviceFixture.open { server in
            let phone = try await server.phone(1, [("locale", "de-AT")])
            let token = try await server.fixture.key("contextpush")["token"]?.stringValue ?? ""
            let request: JSON = [
                "bundle_id": "com.example.cheese", "platform": "ios", "user_id": "ann", "campaign_id": "daily",
                "idempotency_key": "42", "deliver_within_hours": 3, "delivery_method": "context_aware",
                "content": [
                    "default_locale": "en", "title": ["en": "Your course", "de": "Dein Kurs"], "subtitle": "S",
                    "body": ["en": "Start now!", "de": "Beginne jetzt!"], "sound": "sosumi.caf", "badge": 0,
                    "thread-id": "t", "userInfo": ["key": "value"], "imageUrl": "https://example.com/course.jpg",
                ],
            ]
            let reply = try await server.fixture.call(
                .post, "/v1/campaigns/schedule_message_for_user", body: request.text, authorization: "Token \(token)")
            #expect(reply.status == 200, "\(reply.text)")
            let shown = try await server.sync(phone)["messages.0.content"]
            #expect(shown?["title"] == "Dein Kurs" && shown?["subtitle"] == "S" && shown?["body"] == "Beginne jetzt!")
            #expect(shown?["sound"] == "sosumi.caf" && shown?["badge"] == 0 && shown?["thread_id"] == "t")
            #expect(shown?["image_url"] == "https://example.com/course.jpg")
            #expect(shown?["data"]?["key"] == "value" && shown?["data"]?["ctx_idempotency_key"] == "42")
            #expect(shown?["data"]?["ctx_image_url"] == "https://example.com/course.jpg")
        }
    }

    @Test("each device of a user that opens an alert to all of them is reported, and only once")
    func opens() async throws {
        try await ContextPushTests.open { fixture, call in
            let key = try await fixture.key("device")
            let server = DeviceFixture(
                fixture: fixture, key: try #require(key["token"]?.stringValue),
                sharedSecret: try #require(key["shared_secret"]?.stringValue))
            let settings: JSON = ["settings": ["contextpush": ["all_devices": true]]]
            #expect(try await fixture.admin(.patch, "…", settings).status == 200)
            let phones = [try await server.phone(1, user: "Ann"), try await server.phone(2, user: "Ann")]
            let reply = try await call(
                ContextPushTests.schedule, ContextPushTests.request([("delivery_method", "traditional")]))
            #expect(reply.status == 200, "\(reply.text)")
            fixture.clock.advance(by: .seconds(60))
            let now = fixture.clock.now
            _ = try await fixture.store.write(.control) { try $0.fireDueMoments(now: now, limit: 10) }
            let message = try await ContextPushTests.draft(fixture).id.description
            // Every device reports it in one request, and again under another id.
            for (number, phone) in [(1, phones[0]), (2, phones[1]), (3, phones[1]), (4, phones[0])] {
                fixture.clock.advance(by: .seconds(1))
                let events = [10, 20].map { server.event($0 + number, "opened", message) }
                let reply = try await server.call(.post, "events", JSON.array(events), as: phone.token)
                #expect(reply.status == 202 && reply["refused"] == nil, "\(reply.text)")
            }
            let opened = try await ContextPushTests.items(fixture).filter { $0["delivery_status"] == "opened" }
            let addresses = [1, 2].map { JSON.string(DeviceFixture.address($0)) }
            #expect(opened.compactMap { $0["device_token"] } == addresses, "\(opened)")
        }
    }
}
