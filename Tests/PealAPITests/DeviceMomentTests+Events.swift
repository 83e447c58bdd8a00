import HTTPTypes
import PealCore
import PealTesting
import Testing

extension DeviceMomentTests {
    @Test("events of a device whose clock is off by days count, and none is older than its message")
    func wrongClock() async throws {
        try await DeviceFixture.open { server in
            let phone = try await server.phone()
            let message = try await server.schedule()
            _ = try await server.claim(phone, message)
            server.fixture.clock.advance(by: .seconds(60))
            for (number, type, days) in [(1, "shown", -400), (2, "opened", 400)] as [(Int, String, Int64)] {
                let at = (server.fixture.clock.now + .seconds(days * 86_400)).description
                let event: JSON = [
                    "event_id": .string(DeviceFixture.id(number)), "type": .string(type), "message": .string(message),
                    "at": .string(at),
                ]
                let reply = try await server.call(.post, "events", [event], as: phone.token)
                #expect(reply.status == 202 && reply["refused"] == nil, "\(reply.text)")
            }
            #expect(try await server.state(message) == .opened)
            let trail = try await server.fixture.admin(.get, "…/messages/\(message)/deliveries?device=\(phone.device)")
            let times = trail["items"]?.arrayValue?.compactMap { $0["at"]?.stringValue } ?? []
            #expect(times.contains { $0.hasPrefix("2026-11-21T00:00:00") }, "\(trail.text)")
            #expect(times.contains { $0.hasPrefix("2026-11-21T00:01:00") }, "\(trail.text)")
            #expect(times.allSatisfy { $0.hasPrefix("2026-11-21T00:0") }, "\(trail.text)")
        }
    }

    @Test("a message to all devices of a user is invisible to others' devices, and each of the user's may open it")
    func allDevices() async throws {
        try await DeviceFixture.open { server in
            let settings: JSON = ["settings": ["contextpush": ["all_devices": true]]]
            #expect(try await server.fixture.admin(.patch, server.fixture.path, settings).status == 200)
            let (phone, tablet) = (try await server.phone(1), try await server.phone(2))
            let (other, nobody) = (try await server.phone(3, user: "bob"), try await server.phone(4, user: nil))
            let message = try await server.schedule(seconds: 60)
            server.fixture.clock.advance(by: .seconds(61))
            let now = server.fixture.clock.now
            _ = try await server.fixture.store.write(.control) { try $0.fireDueMoments(now: now, limit: 10) }
            for stranger in [other, nobody] {
                #expect(try await server.claim(stranger, message).status == 404)
                let event = server.event(1, "opened", message)
                let reply = try await server.call(.post, "messages/\(message)/events", [event], as: stranger.token)
                #expect(reply.status == 404, "\(reply.text)")
                let batch = try await server.call(.post, "events", [event], as: stranger.token)
                #expect(batch["refused"]?.arrayValue?.count == 1, "\(batch.text)")
            }
            for (number, own) in [(2, tablet), (3, phone)] {
                let reply = try await server.call(
                    .post, "events", [server.event(number, "opened", message, [("button", "like")])], as: own.token)
                #expect(reply.status == 202 && reply["refused"] == nil, "\(reply.text)")
                let trail = try await server.fixture.admin(
                    .get, "…/messages/\(message)/deliveries?device=\(own.device)")
                let opened = trail["items"]?.arrayValue?.first { $0["event"] == "opened" }
                #expect(opened?["detail"] == "like", "\(trail.text)")
            }
            #expect(try await server.state(message) == .opened)
        }
    }

    @Test("a message without a window is invisible to devices that it was not sent to")
    func withoutWindow() async throws {
        try await DeviceFixture.open { server in
            let (own, foreign) = (try await server.phone(1), try await server.phone(2, user: "eve"))
            func send(_ audience: JSON) async throws -> String {
                let reply = try await server.fixture.admin(
                    .post, "…/messages", ["audience": audience, "content": ["title": "T"]])
                return try #require(reply["id"]?.stringValue, "\(reply.text)")
            }
            func report(_ number: Int, _ message: String, _ phone: DeviceFixture.Phone) async throws -> Fixture.Reply {
                try await server.call(
                    .post, "messages/\(message)/events", [server.event(number, "opened", message)], as: phone.token)
            }
            let message = try await send(["users": ["ann"]])
            #expect(try await report(1, message, own).status == 202)
            #expect(try await report(2, message, foreign).status == 404)
            let event = server.event(3, "opened", message)
            let batch = try await server.call(.post, "events", [event], as: foreign.token)
            #expect(batch["refused"]?.arrayValue?.count == 1, "\(batch.text)")
            let sync = try await server.sync(foreign, [("events", [event])])
            #expect(sync["refused"]?.arrayValue?.count == 1, "\(sync.text)")
            #expect(try await server.fixture.admin(.get, "…/messages/\(message)")["receipts.opened"] != 2)

            let broadcast = try await send(["all": true])
            server.fixture.clock.advance(by: .seconds(1))
            let late = try await server.phone(3, user: "joe")
            #expect(try await report(4, broadcast, foreign).status == 202)
            #expect(try await report(5, broadcast, late).status == 404)
            let later = try await server.fixture.admin(
                .post, "…/messages",
                [
                    "audience": ["all": true], "content": ["title": "T"], "schedule": ["at": "2026-12-01T00:00:00Z"],
                ])
            #expect(try await report(6, later["id"]?.stringValue ?? "", own).status == 404, "it was not sent yet")
        }
    }

    @Test("events count once, in any order, and for the device that has the message")
    func events() async throws {
        try await DeviceFixture.open { server in
            let (phone, tablet) = (try await server.phone(1), try await server.phone(2))
            let message = try await server.schedule()
            _ = try await server.claim(phone, message)
            let opened = server.event(2, "opened", message, [("button", "like")])
            let late = server.event(1, "shown", message)
            let foreign = try await server.call(.post, "events", [server.event(9, "opened", message)], as: tablet.token)
            #expect(foreign.status == 202)
            #expect(try await server.state(message) == .claimed, "the tablet does not have it")
            for _ in 0..<3 {
                let reply = try await server.call(.post, "events", [opened, late], as: phone.token)
                #expect(reply.status == 202 && reply["refused"] == nil, "\(reply.text)")
            }
            #expect(try await server.state(message) == .opened)
            let trail = try await server.fixture.admin(.get, "…/messages/\(message)/deliveries?device=\(phone.device)")
            let names = trail["items"]?.arrayValue?.compactMap { $0["event"]?.stringValue } ?? []
            #expect(Set(names).isSuperset(of: ["received", "shown", "opened"]), "\(trail.text)")
            let counts = try await server.fixture.admin(.get, "…/messages/\(message)")["receipts"]
            #expect(
                counts == ["received": 1, "shown": 1, "opened": 1, "dismissed": 0, "content_opened": 0],
                "what the tablet reported does not count: \(counts.map(\.text) ?? "")")
        }
    }

    @Test("the trail of a device that got nothing says that another one got it, or why its user got nothing")
    func trailsOfOthers() async throws {
        try await DeviceFixture.open { server in
            let (phone, tablet) = (try await server.phone(1), try await server.phone(2))
            let (shown, toNobody) = (try await server.schedule(), try await server.schedule("bob", seconds: 60))
            _ = try await server.claim(phone, shown)
            _ = try await server.call(.post, "events", [server.event(1, "shown", shown)], as: phone.token)
            server.fixture.clock.advance(by: .seconds(61))
            let now = server.fixture.clock.now
            _ = try await server.fixture.store.write(.control) { try $0.fireDueMoments(now: now, limit: 10) }
            let late = try await server.phone(3, user: "bob")
            func last(_ message: String, _ phone: DeviceFixture.Phone) async throws -> String? {
                let trail = try await server.fixture.admin(
                    .get, "…/messages/\(message)/deliveries?device=\(phone.device)")
                return trail["items"]?.arrayValue?.last.map {
                    "\($0["event"]?.stringValue ?? ""): \($0["detail"]?.stringValue ?? "")"
                }
            }
            #expect(try await last(shown, phone) == "shown: ")
            #expect(
                try await last(shown, tablet)
                    == "left_out: another device of its user got it; never handed to a network")
            #expect(try await last(toNobody, late) == "suppressed: NoDevice")
        }
    }

    @Test("an invalid event of a batch is refused alone")
    func badEvents() async throws {
        try await DeviceFixture.open { server in
            let phone = try await server.phone()
            let (mine, other) = (try await server.schedule(), try await server.schedule("eve"))
            let old = (server.fixture.clock.now - .seconds(31 * 86_400)).description
            let events: [JSON] = [
                server.event(1, "received", mine), server.event(2, "received", other),
                server.event(3, "flown", mine), server.event(4, "received", nil), 5, ["type": "received"],
                ["event_id": .string(DeviceFixture.id(6)), "type": "app_opened", "at": .string(old)],
                server.event(7, "shown", mine, [("snapshot", .string(String(repeating: "A", count: 60)))]),
                server.event(8, "content_opened", nil, [("content", "guid-1")]),
                server.event(9, "app_opened", nil, [("hour", 7)]), server.event(10, "app_opened", nil, [("hour", 24)]),
                server.event(11, "received", DeviceFixture.id(99)),
            ]
            let reply = try await server.call(.post, "events", .array(events), as: phone.token)
            #expect(reply.status == 202)
            let refused = reply["refused"]?.arrayValue ?? []
            let codes = refused.map { [$0["event_id"]?.stringValue ?? "", $0["code"]?.stringValue ?? ""] }
            let expected: Set<[String]> = [
                [DeviceFixture.id(2), "not_found"], [DeviceFixture.id(3), "invalid_field"],
                [DeviceFixture.id(4), "invalid_field"], ["", "invalid_field"], [DeviceFixture.id(6), "invalid_field"],
                [DeviceFixture.id(7), "invalid_field"], [DeviceFixture.id(10), "invalid_field"],
                [DeviceFixture.id(11), "not_found"],
            ]
            #expect(Set(codes) == expected)
            #expect(codes.count == 9)
            for body: JSON in [[], ["a": 1], .array(Array(repeating: 1, count: 201))] {
                #expect(try await server.call(.post, "events", body, as: phone.token).status == 400)
            }
            let unseen = try await server.call(
                .post, "messages/\(other)/events", [server.event(20, "received", nil)], as: phone.token)
            #expect(unseen.status == 404)
            let named = try await server.call(
                .post, "messages/\(mine)/events", [server.event(21, "received", other)], as: phone.token)
            #expect(named["refused.0.code"] == "invalid_field")
        }
    }

    @Test("receipts of a plain message count for it, and one of each kind per device")
    func plainReceipts() async throws {
        try await DeviceFixture.open { server in
            let phone = try await server.phone()
            let sent = try await server.fixture.admin(
                .post, "…/messages", ["audience": ["users": ["ann"]], "content": ["title": "T"]])
            let message = try #require(sent["id"]?.stringValue)
            for number in 1...3 {
                _ = try await server.call(
                    .post, "events",
                    [server.event(number, "received", message), server.event(number + 10, "opened", message)],
                    as: phone.token)
            }
            let shown = try await server.fixture.admin(.get, "…/messages/\(message)")
            #expect(shown["receipts"] == ["received": 1, "shown": 1, "opened": 1, "dismissed": 0, "content_opened": 0])
        }
    }
}
