import HTTPTypes
import PealCore
import PealTesting
import Testing

@Suite("A device and its moments")
struct DeviceMomentTests {
    @Test("a sync has the open messages of the device's user, in the device's language, until they are held")
    func sync() async throws {
        try await DeviceFixture.open { server in
            let phone = try await server.phone(1, [("locale", "de-AT")])
            let content: JSON = [
                "title": ["de": "Hallo", "en": "Hello"], "body": "B", "default_locale": "en", "badge": 3,
                "data": ["offer": 15], "category": "c",
                "ios": [
                    "payload": ["aps": ["sound": ["name": "ping"], "interruption-level": "time-sensitive"], "x": 1]
                ],
            ]
            let message = try await server.schedule("ann", content)
            _ = try await server.schedule("ben")
            let reply = try await server.sync(phone)
            #expect(reply.status == 200 && reply["messages"]?.arrayValue?.count == 1, "\(reply.text)")
            let shown = reply["messages.0"]
            #expect(shown?["id"] == .string(message) && shown?["rev"] == 1 && shown?["claimable"] == true)
            #expect(shown?["campaign"] == "daily" && shown?["start"] == "2026-11-21T00:00:00.000Z")
            #expect(shown?["fallback_at"] == "2026-11-21T01:00:00.000Z" && shown?["explore"] == "greedy")
            let own = shown?["content"]
            #expect(own?["title"] == "Hallo" && own?["body"] == "B" && own?["badge"] == 3 && own?["sound"] == "ping")
            #expect(own?["interruption_level"] == "time_sensitive" && own?["category"] == "c")
            #expect(own?["data"]?["offer"] == 15 && own?["data"]?["x"] == 1)
            #expect(own?["data"]?["peal"]?["message"] == .string(message))
            #expect(reply["rules.spacing_seconds"] == 7200)
            let held = try await server.sync(phone, have: [message: 1])
            #expect(held["messages"] == [] && held["revoked"] == [])
            _ = try await server.fixture.admin(.post, "…/messages/\(message)/cancel")
            #expect(try await server.sync(phone, have: [message: 1])["revoked"] == [.string(message)])
        }
    }

    @Test("a sync states the app's quiet hours and frequency cap, and which messages are free of them")
    func rules() async throws {
        try await DeviceFixture.open { server in
            let phone = try await server.phone()
            let none = try await server.sync(phone)["rules"]
            #expect(none == ["spacing_seconds": 7200, "wake_interval_seconds": 1800])
            _ = try await server.fixture.admin(
                .patch, "…",
                [
                    "settings": [
                        "quiet_hours": ["from": "22:00", "to": "07:05"], "frequency_cap": ["messages": 3, "hours": 48],
                    ]
                ])
            let until = (server.fixture.clock.now + .seconds(3600)).description
            for isTransactional in [false, true] {
                let sent = try await server.fixture.admin(
                    .post, "…/messages",
                    [
                        "audience": ["users": ["ann"]], "content": ["title": "T"], "method": "context_aware",
                        "schedule": ["window": ["until": .string(until)]],
                        "options": ["transactional": .bool(isTransactional)],
                    ])
                #expect(sent.status == 202, "\(sent.text)")
            }
            let reply = try await server.sync(phone)
            #expect(reply["rules.quiet_hours"] == ["from": "22:00", "to": "07:05"])
            #expect(reply["rules.frequency_cap"] == ["messages": 3, "hours": 48])
            let free = reply["messages"]?.arrayValue?.map { $0["transactional"] }
            #expect(free?.contains(true) == true && free?.contains(nil) == true)
            _ = try await server.fixture.admin(
                .patch, "…", ["settings": ["quiet_hours": .null, "frequency_cap": .null]])
            #expect(try await server.sync(phone)["rules"] == none)
        }
    }

    @Test("a sync of many messages continues where it ended")
    func pages() async throws {
        try await DeviceFixture.open { server in
            let phone = try await server.phone()
            var expected: [String] = []
            for number in 0..<120 { expected.append(try await server.schedule(seconds: Int64(3600 + number))) }
            var (found, cursor): ([String], JSON?) = ([], nil)
            repeat {
                let reply = try await server.sync(phone, cursor.map { [("cursor", $0)] } ?? [])
                let page = reply["messages"]?.arrayValue ?? []
                #expect(page.count <= 50)
                found += page.compactMap { $0["id"]?.stringValue }
                cursor = reply["next"]
            } while cursor?.stringValue != nil && found.count < 200
            #expect(cursor == .null)
            #expect(found == expected)
        }
    }

    @Test("one device gets the message, a repeated claim gets the same answer, and any other a reason")
    func claims() async throws {
        try await DeviceFixture.open { server in
            let (phone, tablet) = (try await server.phone(1), try await server.phone(2))
            let stranger = try await server.phone(3, user: "eve")
            let message = try await server.schedule()
            #expect(try await server.claim(stranger, message).status == 404)
            #expect(try await server.claim(phone, DeviceFixture.id(77)).status == 404)
            let old = try await server.claim(phone, message, rev: 0)
            #expect(old.status == 409 && old["reason"] == "superseded" && old.code == "conflict")
            for _ in 0..<2 {
                let granted = try await server.claim(phone, message)
                #expect(granted.status == 200 && granted["granted"] == true, "\(granted.text)")
                #expect(granted["show_by"] == "2026-11-21T00:10:00.000Z")
            }
            #expect(try await server.claim(tablet, message, id: 2)["reason"] == "claimed")
            #expect(try await server.claim(phone, message, id: 3)["reason"] == "claimed")
            let other = try await server.call(
                .post, "messages/\(message)/claim",
                ["device": .string(phone.device), "claim_id": .string(DeviceFixture.id(1)), "rev": 1], as: tablet.token)
            #expect(other.status == 403 && other.field == "device")
            #expect(try await server.fixture.admin(.post, "…/messages/\(message)/cancel").status == 409)
            let shown = try await server.call(
                .post, "messages/\(message)/events", [server.event(1, "shown", nil)], as: phone.token)
            #expect(shown.status == 202 && shown["refused"] == nil, "\(shown.text)")
            #expect(try await server.state(message) == .shown)
            #expect(try await server.claim(phone, message)["reason"] == "closed")
            #expect(try await server.claim(tablet, message, id: 2)["reason"] == "claimed")
        }
    }

    @Test("a claim is not repeated to a device that has another user by now")
    func claimOfFormerUser() async throws {
        try await DeviceFixture.open { server in
            let phone = try await server.phone()
            let message = try await server.schedule()
            #expect(try await server.claim(phone, message).status == 200)
            let taken = try await server.phone(1, user: "eve", [("device_token", .string(phone.token))])
            #expect(taken.device == phone.device)
            #expect(try await server.claim(taken, message)["reason"] == "closed")
            #expect(try await server.sync(taken, have: [message: 1])["revoked"] == [.string(message)])
            // What the former user did is still reported.
            _ = try await server.call(.post, "events", [server.event(1, "shown", message)], as: taken.token)
            #expect(try await server.state(message) == .shown)
        }
    }

    @Test("a cancelled message, one that is sent and one whose window is over are refused with their reasons")
    func refusals() async throws {
        try await DeviceFixture.open { server in
            let phone = try await server.phone()
            let cancelled = try await server.schedule()
            _ = try await server.fixture.admin(.post, "…/messages/\(cancelled)/cancel")
            #expect(try await server.claim(phone, cancelled)["reason"] == "cancelled")
            let sent = try await server.schedule(seconds: 60)
            server.fixture.clock.advance(by: .seconds(60))
            #expect(try await server.claim(phone, sent)["reason"] == "expired", "nobody has looked yet")
            let now = server.fixture.clock.now
            _ = try await server.fixture.store.write(.control) { try $0.fireDueMoments(now: now, limit: 10) }
            #expect(try await server.claim(phone, sent)["reason"] == "fallback")
        }
    }

    @Test(
        "refuses a sync and a claim that cannot be read",
        arguments: [
            ("sync", "{}"), ("sync", #"{"device":"x","have":{}}"#), ("sync", #"{"have":{}}"#),
            ("sync", #"{"device":"ID","have":{"msgs":{"x":1}}}"#), ("sync", #"{"device":"ID","have":{"msgs":[]}}"#),
            ("sync", #"{"device":"ID","have":{},"wakes":["a"]}"#), ("sync", #"{"device":"ID","have":{},"wakes":[-1]}"#),
            ("sync", #"{"device":"ID","have":{},"cursor":"x"}"#), ("sync", #"{"device":"ID","have":{},"events":{}}"#),
            ("claim", "{}"), ("claim", #"{"device":"ID","claim_id":"x","rev":1}"#),
            ("claim", #"{"device":"ID","claim_id":"40000000-0000-4000-8000-000000000001"}"#),
            ("claim", #"{"device":"ID","claim_id":"40000000-0000-4000-8000-000000000001","rev":1,"score":2}"#),
        ])
    func unreadable(path: String, body: String) async throws {
        try await DeviceFixture.open { server in
            let phone = try await server.phone()
            let message = try await server.schedule()
            let path = path == "claim" ? "messages/\(message)/claim" : path
            let reply = try await server.fixture.call(
                .post, "/peal/device/v1/\(path)", body: body.replacing("ID", with: phone.device),
                authorization: "Bearer \(phone.token)")
            #expect(reply.status == 400 && reply.code != nil, "\(reply.text)")
            #expect(try await server.state(message) == .open)
        }
    }

    @Test("a score is a number from 0 to 1", arguments: ["1e400", "-1e400", "2", "-0.5"])
    func scores(score: String) async throws {
        try await DeviceFixture.open { server in
            let phone = try await server.phone()
            let message = try await server.schedule()
            let reply = try await server.fixture.call(
                .post, "/peal/device/v1/messages/\(message)/claim",
                body: """
                    {"device":"\(phone.device)","claim_id":"\(DeviceFixture.id(1))","rev":1,"score":\(score)}
                    """, authorization: "Bearer \(phone.token)")
            #expect(reply.status == 400 && reply.field == "score", "\(reply.text)")
            #expect(reply.text.contains("score must be a number from 0 to 1"), "\(reply.text)")
        }
    }

    @Test("payloads name their message only in apps with a device key")
    func references() async throws {
        try await DeviceFixture.open { server in
            _ = try await server.phone()
            let id = try #require(MessageID(try await server.schedule()))
            #expect(try await server.fixture.draft(id)?.content.namesMessage == true)
        }
        try await Fixture.open { fixture in
            let sent = try await fixture.admin(
                .post, "…/messages", ["audience": ["all": true], "content": ["title": "T"]])
            let id = try #require(sent["id"]?.stringValue.flatMap { MessageID($0) })
            #expect(try await fixture.draft(id)?.content.namesMessage == false)
        }
    }
}
