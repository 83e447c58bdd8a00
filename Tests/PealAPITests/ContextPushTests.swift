import HTTPTypes
import PealAPI
import PealCore
import PealTesting
import Testing

@Suite("ContextPush")
struct ContextPushTests {
    static let schedule = "/v1/campaigns/schedule_message_for_user"
    static let cancel = "/v1/campaigns/cancel_message_for_user"

    static func open(
        options: APIOptions = APIOptions(),
        _ body:
            @escaping @Sendable (Fixture, _ call: @Sendable (String, JSON) async throws -> Fixture.Reply) async throws
            ->
            Void
    ) async throws {
        try await Fixture.open(options: options) { fixture in
            _ = try await fixture.key("contextpush", [("token", "CTX-0123456789abcdef0123456789abcdef")])
            _ = try await fixture.admin(
                .put, "…/webhooks/ctx",
                [
                    "url": "https://example.com/ctx", "kind": "contextpush",
                    "authentication": ["type": "secret", "secret": "s"],
                ])
            try await body(fixture) { path, json in
                try await fixture.call(
                    .post, path, body: json.text, authorization: "token   CTX-0123456789abcdef0123456789abcdef")
            }
        }
    }

    static func request(_ changes: [(String, JSON)] = [], content: JSON? = nil) -> JSON {
        var members = JSON.Members([
            ("bundle_id", "com.example.cheese"), ("platform", "ios"), ("user_id", "Ann"), ("campaign_id", "daily"),
            ("deliver_within_hours", 3), ("delivery_method", "context_aware"),
            ("content", content ?? ["title": "T", "body": "B"]),
        ])
        for (name, value) in changes { members[name] = value }
        return .object(members)
    }

    static func draft(_ fixture: Fixture) async throws -> MessageDraft {
        let list = try await fixture.admin(.get, "…/messages")
        let id = try #require(MessageID(list["items.0.id"]?.stringValue ?? ""), "\(list.text)")
        let draft = try await fixture.draft(id)
        return try #require(draft)
    }

    static func items(_ fixture: Fixture) async throws -> [JSON] {
        let events = try await fixture.store.read { store in
            guard let app = try store.apps(after: nil, limit: 1).first,
                let webhook = try store.webhook(app: app.key, name: "ctx")
            else { return [OutboxEvent]() }
            return try store.outboxEvents(for: webhook.reference, limit: 100)
        }
        return events.compactMap { $0.payload.flatMap { try? JSONParser.parse($0) } }
    }

    @Test("schedules with what clients really send: texts for numbers, empty members, aliases")
    func tolerant() async throws {
        try await Self.open { fixture, call in
            let content: JSON = [
                "title": "T", "subtitle": "", "body": "B", "badge": "3", "sound": "s.caf", "thread_id": "t",
                "user_info": ["n": 1, "ratio": .number("1.0")], "image_url": "https://example.com/i.jpg",
            ]
            let reply = try await call(
                Self.schedule,
                Self.request(
                    [("deliver_within_hours", "15e-1"), ("platform", "iOS"), ("idempotency_key", "")], content: content)
            )
            #expect(reply.status == 200, "\(reply.text)")
            #expect(reply["status"] == "scheduled" && reply["delivery_method"] == "context_aware")
            let draft = try await Self.draft(fixture)
            #expect(reply["idempotency_key"]?.stringValue == draft.id.description)
            #expect(draft.window?.until == fixture.clock.now + .seconds(5400))
            #expect(draft.content.badge == 3 && draft.content.sound == "s.caf" && draft.content.threadID == "t")
            let data = try JSONParser.parse(
                #"{"n":1,"ratio":1.0,"ctx_image_url":"https://example.com/i.jpg","ctx_idempotency_key":"\#(draft.id)"}"#
            )
            #expect(JSON.object(draft.content.data) == data)
            #expect(draft.content.imageURL == "https://example.com/i.jpg" && draft.content.subtitle == nil)
        }
    }

    @Test(
        "refuses invalid requests with status and field",
        arguments: [
            ([("platform", "tv")], 422, "platform"), ([("platform", .null)], 400, "platform"),
            ([("platform", [])], 400, "platform"), ([("bundle_id", "x")], 403, "bundle_id"),
            ([("user_id", .null)], 400, "user_id"), ([("user_id", " \u{1}")], 400, "user_id"),
            ([("user_id", ["Ann"])], 400, "user_id"),
            ([("campaign_id", .null)], 400, "campaign_id"),
            ([("deliver_within_hours", 0)], 400, "deliver_within_hours"),
            ([("deliver_within_hours", 168.01.json)], 400, "deliver_within_hours"),
            ([("deliver_within_hours", "x")], 400, "deliver_within_hours"),
            ([("deliver_within_hours", "0x3")], 400, "deliver_within_hours"),
            ([("deliver_within_hours", "infinity")], 400, "deliver_within_hours"),
            ([("deliver_within_hours", true)], 400, "deliver_within_hours"),
            ([("target_delivery_time", 1_795_000_000)], 400, "target_delivery_time"),
            ([("target_delivery_time", "2026-11-21")], 400, "target_delivery_time"),
            ([("target_delivery_time", "2026-11-20T00:00:00Z")], 400, "target_delivery_time"),
            ([("target_delivery_time", "soon")], 400, "target_delivery_time"),
            ([("delivery_method", "x")], 400, "delivery_method"), ([("content", "x")], 400, "content"),
            ([("content", ["title": "T"])], 400, "content.body"),
            ([("content", ["body": ["en": "B"]])], 400, "content.default_locale"),
            ([("content", ["body": ["en": "B"], "default_locale": "de"])], 400, "content.default_locale"),
            (
                [("content", ["title": ["en": "T"], "body": ["en": "B", "de": "B"], "default_locale": "en"])], 400,
                "content.body"
            ),
            ([("content", ["body": "B", "userInfo": 1])], 400, "content.userInfo"),
            ([("content", ["body": "B", "userInfo": ["aps": [:]]])], 400, "content.userInfo.aps"),
            ([("content", ["body": "B", "imageUrl": "ftp://x"])], 400, "content.imageUrl"),
            ([("content", ["body": "B", "imageUrl": "https://"])], 400, "content.imageUrl"),
            ([("content", ["body": "B", "imageUrl": "https:///a.png"])], 400, "content.imageUrl"),
            ([("content", ["body": "B", "badge": "+1"])], 400, "content.badge"),
            ([("content", ["body": "B", "badge": -1])], 400, "content.badge"),
            ([("content", ["body": "B", "badge": 2_147_483_648])], 400, "content.badge"),
        ] as [([(String, JSON)], Int, String?)])
    func refusals(changes: [(String, JSON)], status: Int, field: String?) async throws {
        try await Self.open { fixture, call in
            let reply = try await call(Self.schedule, Self.request(changes))
            #expect(reply.status == status, "\(reply.text)")
            #expect(reply.field == field)
            #expect(try await fixture.census()["messages"] == 0)
        }
    }

    @Test(
        "an instant precedes hours, with or without zone and seconds, and may be seconds ahead",
        arguments: [
            "2026-11-21T00:00:05Z", "2026-11-21T01:00:05+01:00", "2026-11-21T00:00:05", "2026-11-21T01:00:05+0100",
            "2026-11-21 00:00:05Z", "20261121T000005Z", "20261121T010005+01", "2026-11-21T00:00:05,0Z",
        ])
    func target(text: String) async throws {
        try await Self.open { fixture, call in
            let reply = try await call(Self.schedule, Self.request([("target_delivery_time", .string(text))]))
            #expect(reply["deliver_until"] == "2026-11-21T00:00:05Z", "\(reply.text)")
        }
    }

    @Test("ignores the line ends that templates leave, and keeps those of texts")
    func lineEnds() async throws {
        try await Self.open { fixture, call in
            let content: JSON = [
                "body": "B\n", "sound": "s.caf\r\n", "thread-id": "t\n", "badge": "3\n",
                "imageUrl": "https://example.com/i.jpg\n\n",
            ]
            let names = ["bundle_id": "com.example.cheese\n", "platform": "ios\n", "user_id": "Ann\n"]
            let changes: [(String, JSON)] =
                names.map { ($0, .string($1)) } + [
                    ("campaign_id", "daily\r\n"), ("idempotency_key", "k\n"), ("delivery_method", "traditional\n"),
                    ("deliver_within_hours", "3\n"),
                ]
            let reply = try await call(Self.schedule, Self.request(changes, content: content))
            #expect(reply.status == 200 && reply["idempotency_key"] == "k", "\(reply.text)")
            let draft = try await Self.draft(fixture)
            #expect(draft.audience.users == ["Ann"] && draft.campaignID == "daily")
            #expect(draft.content.body == .plain("B\n") && draft.content.sound == "s.caf")
            #expect(draft.content.threadID == "t" && draft.content.badge == 3)
            #expect(draft.content.data["ctx_image_url"] == "https://example.com/i.jpg")
            #expect(draft.source == content.bytes)
            #expect(try await call(Self.cancel, Self.request(changes)).status == 200)
        }
    }

    @Test("different spellings of one locale are the same set")
    func spellings() async throws {
        try await Self.open { fixture, call in
            let content: JSON = [
                "title": ["EN": "t", "de_AT": "u"], "body": ["en": "b", "de-at": "c"], "default_locale": "En",
            ]
            #expect(try await call(Self.schedule, Self.request(content: content)).status == 200)
            let draft = try await Self.draft(fixture)
            for (device, title, body) in [("de-AT", "u", "c"), ("fr", "t", "b"), ("EN_us", "t", "b")] {
                let locale = draft.content.contentLocale(forDevice: device)
                let fallback = draft.content.defaultLocale
                #expect(draft.content.title?.text(for: locale, fallback: fallback) == title)
                #expect(draft.content.body?.text(for: locale, fallback: fallback) == body)
            }
        }
    }

    @Test("accepts windows up to the configured length")
    func configured() async throws {
        try await Self.open(options: APIOptions { $0.contextPushWindowSecondsMax = 7200 }) { fixture, call in
            for (hours, status) in [(2, 200), (2.001, 400)] as [(Double, Int)] {
                let reply = try await call(Self.schedule, Self.request([("deliver_within_hours", hours.json)]))
                #expect(reply.status == status, "\(reply.text)")
            }
            for (seconds, status) in [(7200, 200), (7201, 400)] as [(Int64, Int)] {
                let time = (fixture.clock.now + .seconds(seconds)).description
                let reply = try await call(Self.schedule, Self.request([("target_delivery_time", .string(time))]))
                #expect(reply.status == status, "\(reply.text)")
            }
        }
    }

    @Test("states the configured window in its document")
    func documented() async throws {
        try await Fixture.open(options: APIOptions { $0.contextPushWindowSecondsMax = 7200 }) { fixture in
            let document = try await fixture.call(.get, "/openapi.json", authorization: nil)
            let hours = document["components.schemas.ContextPushSchedule.properties.deliver_within_hours"]
            #expect(hours?["maximum"] == 2, "\(document.text)")
        }
    }

    @Test(
        "an empty user_id, as in the vendor's examples, is accepted with a warning; no device has it",
        arguments: ["", "\n"])
    func nobody(user: String) async throws {
        try await Self.open { fixture, call in
            let reply = try await call(Self.schedule, Self.request([("user_id", .string(user))]))
            #expect(reply.status == 200 && reply["status"] == "scheduled", "\(reply.text)")
            #expect(reply.header("Warning")?.contains("user_id") == true)
            #expect(try await Self.draft(fixture).audience.users == [""])
            let named = Self.request([("user_id", .string(user)), ("idempotency_key", "k")])
            #expect(try await call(Self.schedule, named).status == 200)
            #expect(try await call(Self.cancel, named).status == 200)
        }
    }

    @Test("a campaign's id has at most 255 characters, as natively", arguments: [(255, 200), (256, 400)])
    func campaign(count: Int, status: Int) async throws {
        try await Self.open { fixture, call in
            let name = String(repeating: "朝", count: count)
            let reply = try await call(Self.schedule, Self.request([("campaign_id", .string(name))]))
            #expect(reply.status == status, "\(reply.text)")
            guard status == 200 else { return }
            let campaign = try await fixture.admin(.get, "…/campaigns/\(PercentCoding.encode(name))")
            #expect(campaign["messages"] == 1, "\(campaign.text)")
        }
    }

    @Test("names that FCM reserves are left out of the data with a warning")
    func reserved() async throws {
        try await Self.open { fixture, call in
            let content: JSON = ["body": "B", "userInfo": ["from": "me", "google.x": 1, "lesson": 7]]
            let reply = try await call(Self.schedule, Self.request([("platform", "android")], content: content))
            #expect(reply.status == 200 && reply.header("Warning")?.contains("2 members") == true, "\(reply.text)")
            #expect(try await Self.draft(fixture).content.data.names == ["lesson", "ctx_idempotency_key"])
            let ios = try await call(Self.schedule, Self.request(content: content))
            #expect(ios.status == 200 && ios.header("Warning") == nil)
        }
    }
}

extension Double {
    fileprivate var json: JSON { .number(String(self)) }
}
