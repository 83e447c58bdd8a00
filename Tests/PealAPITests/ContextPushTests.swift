import HTTPTypes
import PealAPI
import PealCore
import PealTesting
import Testing

@Suite("ContextPush")
struct ContextPushTests {
    private static let schedule = "/v1/campaigns/schedule_message_for_user"
    private static let cancel = "/v1/campaigns/cancel_message_for_user"

    private static func open(
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

    private static func request(_ changes: [(String, JSON)] = [], content: JSON? = nil) -> JSON {
        var members = JSON.Members([
            ("bundle_id", "com.example.cheese"), ("platform", "ios"), ("user_id", "Ann"), ("campaign_id", "daily"),
            ("deliver_within_hours", 3), ("delivery_method", "context_aware"),
            ("content", content ?? ["title": "T", "body": "B"]),
        ])
        for (name, value) in changes { members[name] = value }
        return .object(members)
    }

    private static func draft(_ fixture: Fixture) async throws -> MessageDraft {
        let list = try await fixture.admin(.get, "…/messages")
        let id = try #require(MessageID(list["items.0.id"]?.stringValue ?? ""), "\(list.text)")
        let draft = try await fixture.draft(id)
        return try #require(draft)
    }

    private static func items(_ fixture: Fixture) async throws -> [JSON] {
        let events = try await fixture.store.read { store in
            guard let app = try store.apps(after: nil, limit: 1).first,
                let webhook = try store.webhook(app: app.key, name: "ctx")
            else { return [OutboxEvent]() }
            return try store.outboxEvents(for: webhook.reference, limit: 100)
        }
        return events.compactMap { $0.payload.flatMap { try? JSONParser.parse($0) } }
    }

    @Test("the audit log records a replacement as a change of the message")
    func auditOfReplacement() async throws {
        try await Self.open { fixture, call in
            let request = Self.request([("idempotency_key", "k")])
            _ = try await call(Self.schedule, request)
            _ = try await call(Self.schedule, Self.request([("idempotency_key", "k"), ("deliver_within_hours", 2)]))
            _ = try await call(Self.cancel, request)
            _ = try await call(Self.schedule, request)
            let rows = try await fixture.admin(.get, "…/audit?action=message")["items"]?.arrayValue ?? []
            #expect(
                rows.reversed().map { $0["action"] }
                    == ["message.send", "message.change", "message.cancel", "message.send"])
            #expect(Set(rows.map { $0["object"]?.stringValue }).count == 2)
        }
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
        "refuses with status and field",
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
        "an instant goes before hours, with or without zone and seconds, and may be seconds ahead",
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

    @Test("reads past the line ends that templates leave, and keeps those of texts")
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

    @Test("takes windows as long as the configuration says")
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

    @Test("cancels exactly, names the state when it is too late, and notifies webhooks")
    func cancelling() async throws {
        try await Self.open { fixture, call in
            let named = Self.request([("idempotency_key", "k")])
            #expect(try await call(Self.cancel, named).status == 404)
            #expect(try await call(Self.cancel, Self.request()).field == "idempotency_key")
            #expect(try await call(Self.schedule, named).status == 200)
            for _ in 0..<2 {
                let reply = try await call(Self.cancel, named)
                #expect(reply.status == 200 && reply["status"] == "cancelled")
            }
            #expect(try await call(Self.schedule, named)["status"] == "scheduled")
            let items = try await Self.items(fixture)
            let statuses = items.compactMap { $0["delivery_status"]?.stringValue }
            #expect(statuses.sorted() == ["cancelled", "pending", "pending"])
            #expect(items.allSatisfy { $0["device_token"] == nil && $0["content"] == ["title": "T", "body": "B"] })
        }
    }

    @Test("webhooks hear of a message that a phone claims, shows and opens; it can no longer be cancelled")
    func claims() async throws {
        try await Self.open { fixture, call in
            let device = try await fixture.admin(
                .put, "…/devices/10000000-0000-4000-8000-000000000001",
                ["platform": "ios", "address": .string(Fixture.deviceToken.uppercased()), "user_id": "Ann"])
            #expect(device.status == 201)
            let named = Self.request([("idempotency_key", "k")])
            _ = try await call(Self.schedule, named)
            let draft = try await Self.draft(fixture)
            let moments = MomentVerbs(store: fixture.store, engine: fixture.engine)
            let phone = try await fixture.store.read {
                try $0.device(app: draft.app, id: DeviceID("10000000-0000-4000-8000-000000000001")!)
            }
            let owner = try #require(phone)
            let open = try await fixture.store.read { try $0.moments(app: draft.app, message: draft.id) }
            let now = fixture.clock.now
            let claim = MomentClaim(
                id: ClaimID(high: 1, low: 1), target: .init(device: owner.key, route: .apnsProduction), rev: 1,
                hasLedger: true)
            var step = try await fixture.store.write(.intake) { try $0.apply(.claim(claim), to: open[0], now: now) }
            #expect(step?.moment.claim?.until == now + .seconds(600))
            let late = try await call(Self.cancel, named)
            #expect(late.status == 409 && late["error.state"] == "claimed")
            #expect(try await call(Self.schedule, named)["status"] == "pending")
            #expect(try await fixture.census()["messages"] == 1)
            for receipt in MomentReceipt.allCases where receipt != .dismissed {
                let before = try #require(step?.moment)
                step = try await fixture.store.write(.intake) {
                    try $0.apply(.receipt(receipt, device: owner.key), to: before, now: now)
                }
            }
            let items = try await Self.items(fixture)
            let statuses = items.compactMap { $0["delivery_status"]?.stringValue }
            #expect(statuses.sorted() == ["delivered", "opened", "pending", "pending"])
            // Pending first when it was scheduled, then when the phone claimed it.
            #expect(items.count { $0["delivery_method"] == "context_aware" } == 3)
            for item in items {
                #expect(item["device_token"]?.stringValue == Fixture.deviceToken.uppercased())
                #expect(item["planned_delivery_method"] == "context_aware")
                #expect(item["timestamp"] == "2026-11-21T00:00:00.000Z")
            }
            #expect(try await call(Self.cancel, named)["error.state"] == "shown")
            try await moments.report(
                DeviceTransition(
                    app: draft.app, device: owner, bundleID: "com.example.cheese", previous: .unknown,
                    current: .available, at: fixture.clock.now), id: OutboxEventID(high: 7, low: 7))
            let transition = try await Self.items(fixture).first { $0["classification"] != nil }
            #expect(transition?["classification"] == "available")
            #expect(transition?["previous_classification"] == "unknown")
        }
    }

    @Test(
        "a scheduled message is reported as pending with the device that it would reach now, each replacement again",
        arguments: ["context_aware", "traditional"])
    func pending(method: String) async throws {
        try await Self.open { fixture, call in
            let device = try await fixture.admin(
                .put, "…/devices/10000000-0000-4000-8000-000000000001",
                ["platform": "ios", "address": .string(Fixture.deviceToken), "user_id": "Ann"])
            #expect(device.status == 201)
            let changes: [(String, JSON)] = [("idempotency_key", "k"), ("delivery_method", .string(method))]
            _ = try await call(Self.schedule, Self.request(changes))
            _ = try await call(Self.schedule, Self.request(changes, content: ["title": "New", "body": "B"]))
            let nobody = Self.request([("user_id", "Ben"), ("delivery_method", .string(method))])
            _ = try await call(Self.schedule, nobody)
            let items = try await Self.items(fixture)
            #expect(items.allSatisfy { $0["delivery_status"] == "pending" && $0["delivery_method"] == "traditional" })
            #expect(items.allSatisfy { $0["planned_delivery_method"]?.stringValue == method })
            let anns = items.filter { $0["user_id"] == "Ann" }
            #expect(anns.allSatisfy { $0["device_token"]?.stringValue == Fixture.deviceToken })
            #expect(Set(anns.compactMap { $0["content"]?["title"]?.stringValue }) == ["T", "New"] && anns.count == 2)
            let bens = items.filter { $0["user_id"] == "Ben" }
            #expect(bens.count == 1 && bens.allSatisfy { $0["device_token"] == nil })
        }
    }

    @Test("messages of the native API with a window are not reported to ContextPush's webhooks")
    func nativeIsSilent() async throws {
        try await Self.open { fixture, _ in
            let until = fixture.clock.now + .seconds(3600)
            let reply = try await fixture.admin(
                .post, "…/messages",
                [
                    "audience": ["users": ["Ann"]], "content": ["body": "B"],
                    "schedule": ["window": ["until": .string("\(until)")]],
                ])
            #expect(reply.status == 202, "\(reply.text)")
            #expect(try await Self.items(fixture).isEmpty)
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

    /// Applies `event` to the moment of the newest message.
    private static func apply(_ event: MomentEvent, _ fixture: Fixture) async throws {
        let draft = try await draft(fixture)
        let now = fixture.clock.now
        try await fixture.store.write(.control) { store in
            for moment in try store.moments(app: draft.app, message: draft.id) {
                _ = try store.apply(event, to: moment, now: now)
            }
        }
    }

    @Test("a key is scheduled again after a cancellation, and after the end with another body or a day later")
    func again() async throws {
        try await Self.open { fixture, call in
            func count() async throws -> Int? { try await fixture.census()["messages"] }
            let body = Self.request([("idempotency_key", "k"), ("deliver_within_hours", 1)])
            let other = Self.request([("idempotency_key", "k"), ("deliver_within_hours", 2)])
            #expect(try await call(Self.schedule, body)["status"] == "scheduled")
            #expect(try await call(Self.cancel, body).status == 200)
            fixture.clock.advance(by: .seconds(1))
            #expect(try await call(Self.schedule, body)["status"] == "scheduled")
            #expect(try await count() == 2)
            // The user never had a device.
            fixture.clock.advance(by: .seconds(3600))
            try await Self.apply(.fallback(to: nil), fixture)
            let same = try await call(Self.schedule, body)
            #expect(same.status == 200 && same["status"] == "failed", "\(same.text)")
            // Neither white space nor another order makes another body.
            let reversed = JSON.object(JSON.Members(body.objectValue?.pairs.reversed() ?? []))
            for text in [" \(body.text) ", reversed.text] {
                let repeated = try await fixture.call(
                    .post, Self.schedule, body: text, authorization: "Token CTX-0123456789abcdef0123456789abcdef")
                #expect(repeated["status"] == "failed")
            }
            #expect(try await count() == 2)
            #expect(try await call(Self.schedule, other)["status"] == "scheduled")
            #expect(try await count() == 3)
            // Only the newest message has the name.
            #expect(try await call(Self.cancel, other).status == 200)
            fixture.clock.advance(by: .seconds(1))
            #expect(try await call(Self.schedule, body)["status"] == "scheduled")
            fixture.clock.advance(by: .seconds(86_400))
            try await Self.apply(.fallback(to: nil), fixture)
            #expect(try await call(Self.schedule, body)["status"] == "scheduled")
            #expect(try await count() == 5)
        }
    }

    @Test("a repetition after its target_delivery_time gets the present state, open or ended")
    func repeatedLate() async throws {
        try await Self.open { fixture, call in
            let end = fixture.clock.now + .seconds(3600)
            let body = Self.request([
                ("idempotency_key", "k"), ("deliver_within_hours", .null),
                ("target_delivery_time", .string(end.description)),
            ])
            let first = try await call(Self.schedule, body)
            #expect(first["status"] == "scheduled", "\(first.text)")
            fixture.clock.advance(by: .seconds(3601))
            #expect(try await call(Self.schedule, body).text == first.text)
            try await Self.apply(.fallback(to: nil), fixture)
            let ended = try await call(Self.schedule, body)
            #expect(ended.status == 200 && ended["status"] == "failed", "\(ended.text)")
            #expect(try await fixture.census()["messages"] == 1)
            let other = try await call(
                Self.schedule,
                Self.request([
                    ("idempotency_key", "k"), ("deliver_within_hours", .null), ("campaign_id", "weekly"),
                    ("target_delivery_time", .string(end.description)),
                ]))
            #expect(other.status == 400 && other.field == "target_delivery_time", "\(other.text)")
            fixture.clock.advance(by: .seconds(86_400))
            #expect(try await call(Self.schedule, body).status == 400)
        }
    }

    @Test("lives end with the window, or the app's grace time after it if a phone may choose the moment")
    func lives() async throws {
        try await Self.open { fixture, call in
            func life(_ method: JSON) async throws -> Int64 {
                fixture.clock.advance(by: .seconds(1))
                #expect(try await call(Self.schedule, Self.request([("delivery_method", method)])).status == 200)
                return (try await Self.draft(fixture).expiresAt - fixture.clock.now).milliseconds / 60_000
            }
            let traditional = try await life("traditional")
            #expect(traditional == 180)
            #expect(try await life("context_aware") == 240)
            let settings: JSON = ["settings": ["contextpush": ["grace_minutes": 5, "share": 0]]]
            #expect(try await fixture.admin(.patch, "…", settings).status == 200)
            #expect(try await life("context_aware") == 185)
            // Everybody is in the traditional arm.
            #expect(try await life(.null) == 180)
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

    @Test("one token serves the apps that it was granted, and bundle_id picks the app")
    func severalApps() async throws {
        try await Self.open { fixture, _ in
            let bread: JSON = ["name": "B", "bundle_id": "com.example.bread"]
            let cream: JSON = ["name": "C", "bundle_id": "com.example.cream"]
            let granted = try await fixture.admin(.post, "/peal/v1/apps", bread)["id"]?.stringValue ?? ""
            #expect(try await fixture.admin(.post, "/peal/v1/apps", cream).status == 201)
            let key = try await fixture.key(
                "contextpush", [("token", "CTX-of-the-owner"), ("apps", [.string(granted)])])
            let id = key["id"]?.stringValue ?? ""
            #expect(key["apps"] == [.string(fixture.app.description), .string(granted)], "\(key.text)")
            func send(_ bundle: String) async throws -> Int {
                try await fixture.call(
                    .post, Self.schedule, body: Self.request([("bundle_id", .string(bundle))]).text,
                    authorization: "Token CTX-of-the-owner"
                ).status
            }
            #expect(try await send("com.example.cheese") == 200)
            #expect(try await send("com.example.bread") == 200)
            #expect(try await send("com.example.cream") == 403)
            let path = "/peal/v1/apps/\(granted)"
            #expect(try await fixture.admin(.get, "\(path)/messages")["items"]?.arrayValue?.count == 1)
            #expect(try await fixture.census()["messages"] == 1)
            let listed = try await fixture.admin(.get, "\(path)/keys")
            #expect(listed["items.0.id"]?.stringValue == id && listed["items.0.apps"] == key["apps"])
            // Revoked for one app, it still serves the other.
            #expect(try await fixture.admin(.delete, "\(path)/keys/\(id)").status == 204)
            #expect(try await send("com.example.bread") == 403)
            #expect(try await send("com.example.cheese") == 200)
            #expect(try await fixture.admin(.get, "\(path)/keys")["items"] == [])
            #expect(try await fixture.admin(.delete, "…/keys/\(id)").status == 204)
            #expect(try await send("com.example.cheese") == 401)
        }
    }

    @Test("only the admin grants a key to another app, and only kinds of keys whose requests name the app")
    func grants() async throws {
        try await Self.open { fixture, _ in
            let id = try await fixture.admin(.post, "/peal/v1/apps", ["name": "B"])["id"] ?? .null
            let manager = try await fixture.key("native", [("scopes", ["manage", "send", "read"])])
            let bearer = "Bearer \(manager["token"]?.stringValue ?? "")"
            func create(_ body: JSON) async throws -> Fixture.Reply {
                try await fixture.call(.post, "\(fixture.path)/keys", body: body.text, authorization: bearer)
            }
            let refused = try await create(["dialect": "richie", "apps": [id]])
            #expect(refused.status == 403 && refused.field == "apps", "\(refused.text)")
            let own = try await create(["dialect": "richie", "apps": [.string(fixture.app.description)]])
            #expect(own.status == 201 && own["apps"] == nil, "\(own.text)")
            let unknown: JSON = ["dialect": "richie", "apps": ["00000000-0000-4000-8000-0000000000ff"]]
            #expect(try await fixture.admin(.post, "…/keys", unknown).field == "apps[0]")
            for dialect: JSON in ["native", "pivotal", "device"] {
                let reply = try await fixture.admin(.post, "…/keys", ["dialect": dialect, "apps": [id]])
                #expect(reply.status == 400, "\(reply.text)")
            }
            // The grant of a deleted app is gone; the key stays.
            let shared = try await fixture.key("richie", [("apps", [id])])
            #expect(try await fixture.admin(.delete, "/peal/v1/apps/\(id.stringValue ?? "")").status == 204)
            let items = try await fixture.admin(.get, "…/keys")["items"]?.arrayValue ?? []
            let listed = items.first { $0["id"] == shared["id"] }
            #expect(listed?["apps"] == [.string(fixture.app.description)])
        }
    }

    @Test("keys of other dialects do not open it, and its key opens nothing else")
    func keys() async throws {
        try await Self.open { fixture, _ in
            let body = Self.request().text
            let admin = try await fixture.admin(.post, Self.schedule, Self.request())
            #expect(admin.status == 403)
            #expect(try await fixture.call(.post, Self.schedule, body: body, authorization: nil).status == 401)
            #expect(
                try await fixture.call(.post, Self.schedule, body: body, authorization: "Token CTX-x").status == 401)
            let own = "Token CTX-0123456789abcdef0123456789abcdef"
            let bearer = own.replacing("Token", with: "Bearer")
            #expect(try await fixture.call(.post, Self.schedule, body: body, authorization: bearer).status == 401)
            #expect(try await fixture.call(.get, "\(fixture.path)/messages", authorization: own).status == 403)
            #expect(try await fixture.call(.post, "/v1/push", body: "{}", authorization: own).status == 403)
        }
    }

    @Test("a window in the native API is for users alone, and its message counts users")
    func native() async throws {
        try await Self.open { fixture, _ in
            let until = (fixture.clock.now + .seconds(3600)).description
            func send(_ more: [(String, JSON)]) async throws -> Fixture.Reply {
                var members = JSON.Members([
                    ("audience", ["users": ["ann", "ben"]]), ("content", ["body": "B"]), ("method", "context_aware"),
                    ("schedule", ["window": ["until": .string(until)]]),
                ])
                for (name, value) in more { members[name] = value }
                return try await fixture.admin(.post, "…/messages", .object(members))
            }
            let sent = try await send([])
            #expect(sent.status == 202 && sent["state"] == "scheduled" && sent["audience_estimate"] == 2)
            let path = "…/messages/\(sent["id"]?.stringValue ?? "")"
            #expect(try await fixture.admin(.get, path)["audience.devices"] == 2)
            #expect(try await send([("audience", ["all": true])]).field == "audience")
            #expect(try await send([("schedule", .null)]).field == "method")
            #expect(try await fixture.admin(.post, "\(path)/pause").status == 409)
            let changed = try await fixture.admin(.patch, path, ["audience": ["users": ["ben", "cleo", "dan"]]])
            #expect(changed["audience.devices"] == 3, "\(changed.text)")
            let cancelled = try await fixture.admin(.post, "\(path)/cancel")
            #expect(cancelled["state"] == "cancelled" && cancelled["counts.suppressed"] == 3)
            #expect(try await fixture.admin(.post, "\(path)/cancel").status == 200)
        }
    }
}

extension Double {
    fileprivate var json: JSON { .number(String(self)) }
}
