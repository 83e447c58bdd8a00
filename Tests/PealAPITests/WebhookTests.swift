import HTTPTypes
import PealCore
import PealTesting
import Testing

@Suite("Webhooks")
struct WebhookTests {
    private static let signature: JSON = [
        "type": "signature", "secret": .string("whsec_" + Fixture.base64(String(repeating: "k", count: 24))),
    ]

    private static func body(
        _ url: String = "https://example.com/peal", kind: String = "events", _ authentication: JSON? = nil
    ) -> JSON {
        ["url": .string(url), "kind": .string(kind), "authentication": authentication ?? signature]
    }

    @Test("are created, shown without secrets, changed and deleted, and audited")
    func life() async throws {
        try await Fixture.open { fixture in
            let made = try await fixture.admin(.put, "…/webhooks/main", Self.body())
            #expect(made.status == 201, "\(made.text)")
            #expect(made["state"] == "active")
            #expect(made["authentication"] == ["type": "signature"])
            #expect(try await fixture.admin(.get, "…/webhooks/main").text == made.text)
            fixture.clock.advance(by: .seconds(1))
            let basic: JSON = ["type": "basic", "username": "u", "password": "s3cret"]
            let changed = try await fixture.admin(
                .put, "…/webhooks/main", Self.body("https://example.org/", basic))
            #expect(changed.status == 200)
            #expect(changed["authentication"] == ["type": "basic", "username": "u"])
            #expect(changed["created_at"] == made["created_at"])
            #expect(changed["changed_at"] != made["changed_at"])
            let list = try await fixture.admin(.get, "…/webhooks")
            #expect(list["items"]?.arrayValue?.map(\.text) == [changed.text])
            #expect(!list.text.contains("s3cret"))
            #expect(try await fixture.admin(.delete, "…/webhooks/main").status == 204)
            #expect(try await fixture.admin(.delete, "…/webhooks/main").code == "not_found")
            #expect(try await fixture.admin(.get, "…/webhooks/main").code == "not_found")
            let audit = try await fixture.admin(.get, "…/audit")
            #expect(audit["items.0.action"] == "webhook.delete")
            #expect(audit["items.0.object"] == "webhook main")
            #expect(audit["items.1.action"] == "webhook.put")
            #expect(!audit.text.contains("s3cret"))
        }
    }

    @Test("get their own test event, unless they are disabled or unknown")
    func test() async throws {
        try await Fixture.open { fixture in
            #expect(try await fixture.admin(.post, "…/webhooks/main/test").code == "not_found")
            for name in ["main", "other"] { _ = try await fixture.admin(.put, "…/webhooks/\(name)", Self.body()) }
            let reply = try await fixture.admin(.post, "…/webhooks/main/test", headers: ["Idempotency-Key": "k"])
            #expect(reply.status == 202 && reply.text == #"{"type":"test"}"#, "\(reply.text)")
            // The repetition queues nothing.
            _ = try await fixture.admin(.post, "…/webhooks/main/test", headers: ["Idempotency-Key": "k"])
            let id = fixture.app
            let events = try await fixture.store.read { store in
                let app = try #require(try store.app(id)?.key)
                return try store.webhooks(app: app, after: nil, limit: 9).map { webhook in
                    try store.outboxEvents(for: webhook.reference, limit: 9).map { ($0.type, $0.payload) }
                }
            }
            #expect(events.map(\.count) == [1, 0])
            #expect(events[0][0].0 == "test" && events[0][0].1 == Array(#"{"test":true}"#.utf8))
        }
    }

    @Test(
        "are sent to public hosts over https, and to listed ones",
        arguments: [
            ("https://example.com", true), ("HTTPS://Example.COM:443/a?b=c", true), ("https://1.1.1.1/", true),
            ("http://localhost:8080/", true), ("https://10.0.0.1:8443/", true), ("http://example.com/", false),
            ("https://10.0.0.1/", false), ("https://127.0.0.1/", false), ("https://169.254.169.254/", false),
            ("https://a.localhost/", false), ("http://10.0.0.1:8443/", false), ("https://u:p@example.com/", false),
            ("https://example.com/#a", false), ("https://example.com\\@e.org/", false), ("ftp://example.com/", false),
            ("https://example.com:8443/", false), ("https://", false), ("https:///a", false), ("example.com", false),
            ("https://exämple.com/", false),
            ("https://example.com/a b", false), ("https://[::1]/", false),
            ("https://example.com/" + String(repeating: "a", count: 2048), false),
        ])
    func urls(_ url: String, isAllowed: Bool) async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.admin(.put, "…/webhooks/main", Self.body(url))
            #expect(reply.status == (isAllowed ? 201 : 400), "\(reply.text)")
            #expect(reply.field == (isAllowed ? nil : "url"))
        }
    }

    @Test(
        "are refused with the field at fault",
        arguments: [
            (#"{"kind":"events"}"#, "url"), (#"{"url":"https://e.org"}"#, "kind"),
            (#"{"url":"https://e.org","kind":"x"}"#, "kind"),
            (#"{"url":"https://e.org","kind":"events"}"#, "authentication"),
        ])
    func members(_ body: String, field: String) async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.adminText(.put, "…/webhooks/main", body)
            #expect(reply.status == 400)
            #expect(reply.field == field)
        }
    }

    @Test(
        "accept only authentication that fits into a request",
        arguments: [
            ("events", #"{"type":"bearer","token":"abc"}"#, nil),
            ("events", #"{"type":"header","name":"X-Key","value":"a b"}"#, nil),
            ("contextpush", #"{"type":"secret","secret":"abc"}"#, nil),
            ("events", #"{"type":"secret","secret":"abc"}"#, "authentication.type"),
            ("events", "{}", "authentication.type"), ("events", #"{"type":"magic"}"#, "authentication.type"),
            ("events", #"{"type":"basic","username":"a:b","password":"c"}"#, "authentication.username"),
            ("events", #"{"type":"basic","username":"a"}"#, "authentication.password"),
            ("events", #"{"type":"bearer","token":"a b"}"#, "authentication.token"),
            ("events", #"{"type":"bearer","token":"a\r\nb"}"#, "authentication.token"),
            ("events", #"{"type":"header","name":"X Key","value":"a"}"#, "authentication.name"),
            ("events", #"{"type":"header","name":"Host","value":"a"}"#, "authentication.name"),
            ("events", #"{"type":"header","name":"X-Key","value":" a"}"#, "authentication.value"),
            ("events", #"{"type":"header","name":"X-Key","value":"ä"}"#, "authentication.value"),
            ("events", #"{"type":"signature","secret":"whsec_c2hvcnQ="}"#, "authentication.secret"),
            ("events", #"{"type":"signature","secret":"not base64 at all, is it?"}"#, "authentication.secret"),
        ] as [(String, String, String?)])
    func proofs(kind: String, authentication: String, field: String?) async throws {
        try await Fixture.open { fixture in
            let proof = try JSONParser.parse(authentication)
            let reply = try await fixture.admin(.put, "…/webhooks/main", Self.body(kind: kind, proof))
            #expect(reply.status == (field == nil ? 201 : 400), "\(reply.text)")
            #expect(reply.field == field)
        }
    }

    @Test("need the right to manage, and their number is limited")
    func bounds() async throws {
        try await Fixture.open { fixture in
            let sender = try await fixture.key("native")["token"]?.stringValue ?? ""
            let refused = try await fixture.call(
                .get, "\(fixture.path)/webhooks", authorization: "Bearer \(sender)")
            #expect(refused.status == 403)
            for number in 1...Limits.webhooksPerAppMax {
                #expect(try await fixture.admin(.put, "…/webhooks/\(number)", Self.body()).status == 201)
            }
            #expect(try await fixture.admin(.put, "…/webhooks/one-more", Self.body()).code == "conflict")
            #expect(try await fixture.admin(.put, "…/webhooks/1", Self.body()).status == 200)
            let page = try await fixture.admin(.get, "…/webhooks?limit=10")
            let cursor = try #require(page["next_cursor"]?.stringValue)
            let rest = try await fixture.admin(.get, "…/webhooks?limit=10&cursor=\(cursor)")
            #expect(rest["items"]?.arrayValue?.count == Limits.webhooksPerAppMax - 10)
            #expect(rest["next_cursor"]?.isNull == true)
        }
    }

    /// Stores a failed delivery and returns its id.
    private func fail(_ fixture: Fixture, _ name: String) async throws -> WebhookDeliveryID {
        let id = WebhookDeliveryID(high: 0, low: 7)
        let (now, app) = (fixture.clock.now, fixture.app)
        try await fixture.store.write(.rest) { store in
            let key = try #require(try store.app(app)?.key)
            let webhook = try #require(try store.webhook(app: key, name: name))
            let event = OutboxEvent(id: .init(high: 1, low: 1), app: key, type: "t", payload: [], createdAt: now)
            try store.enqueue(event, for: ["events"])
            let delivery = WebhookDelivery(id: id, webhook: webhook.reference, type: "t", itemCount: 1, createdAt: now)
            var leased = try #require(
                try store.cut([event], into: delivery, body: [], owner: "me", until: now + .seconds(60)))
            leased.delivery.state = .failed
            leased.delivery.lastError = "Timeout"
            leased.delivery.endedAt = now
            _ = try store.settle(leased)
        }
        return id
    }

    @Test("list what was delivered, and retry it")
    func deliveries() async throws {
        try await Fixture.open { fixture in
            _ = try await fixture.admin(.put, "…/webhooks/main", Self.body())
            let id = try await fail(fixture, "main")
            let list = try await fixture.admin(.get, "…/webhooks/main/deliveries")
            #expect(list["items.0.id"] == .string(id.description))
            #expect(list["items.0.state"] == "failed")
            #expect(list["items.0.last_error"] == "Timeout")
            #expect(list["items.0.last_status"]?.isNull == true)
            #expect(list["items.0.next_attempt_at"]?.isNull == true)
            let path = "…/webhooks/main/deliveries/\(id)/retry"
            let retried = try await fixture.admin(.post, path, [:], headers: ["Idempotency-Key": "again"])
            #expect(retried.status == 200, "\(retried.text)")
            #expect(retried["state"] == "pending")
            #expect(retried["ended_at"]?.isNull == true)
            let replay = try await fixture.admin(.post, path, [:], headers: ["Idempotency-Key": "again"])
            #expect(replay.header("Idempotent-Replayed") == "true")
            #expect(try await fixture.admin(.post, "…/webhooks/x/deliveries/\(id)/retry").code == "not_found")
            let unknown = WebhookDeliveryID(high: 0, low: 8)
            #expect(try await fixture.admin(.post, "…/webhooks/main/deliveries/\(unknown)/retry").code == "not_found")
            #expect(try await fixture.admin(.get, "…/webhooks/x/deliveries").code == "not_found")
        }
    }

    @Test("a disabled one gets no retries until it is put again")
    func disabled() async throws {
        try await Fixture.open { fixture in
            _ = try await fixture.admin(.put, "…/webhooks/main", Self.body())
            let id = try await fail(fixture, "main")
            let (now, app) = (fixture.clock.now, fixture.app)
            try await fixture.store.write(.rest) { store in
                let key = try #require(try store.app(app)?.key)
                let webhook = try #require(try store.webhook(app: key, name: "main"))
                try store.disableWebhook(webhook.reference, now: now)
            }
            let shown = try await fixture.admin(.get, "…/webhooks/main")
            #expect(shown["state"] == "disabled")
            #expect(shown["disabled_at"] == .string(now.description))
            let path = "…/webhooks/main/deliveries/\(id)/retry"
            #expect(try await fixture.admin(.post, path).code == "conflict")
            #expect(try await fixture.admin(.put, "…/webhooks/main", Self.body())["state"] == "active")
            #expect(try await fixture.admin(.post, path).status == 200)
        }
    }
}
