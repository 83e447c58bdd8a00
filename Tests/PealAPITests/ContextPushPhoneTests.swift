import HTTPTypes
import PealCore
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
}
