import HTTPTypes
import PealAPI
import PealCore
import PealTesting
import Testing

extension ContextPushTests {
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

    @Test("webhooks are notified of a message that a phone claims, shows and opens; it can no longer be cancelled")
    func claims() async throws {
        try await Self.open { fixture, call in
            let device = try await fixture.admin(
                .put, "…/devices/10000000-0000-4000-8000-000000000001",
                ["platform": "ios", "address": .string(Fixture.deviceToken.uppercased()), "user_id": "Ann"])
            #expect(device.status == 201)
            let named = Self.request([("idempotency_key", "k")])
            _ = try await call(Self.schedule, named)
            let draft = try await Self.draft(fixture)
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
            let worked = DeviceTransition(
                app: draft.app, device: owner, bundleID: "com.example.cheese", previous: .unknown,
                current: .available, at: fixture.clock.now)
            try await fixture.store.write(.control) { try $0.report(worked, id: OutboxEventID(high: 7, low: 7)) }
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

    @Test("a repetition after its target_delivery_time gets the current state, open or ended")
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

    @Test("messages end with the window, or the app's grace time after it if a phone may choose the moment")
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
