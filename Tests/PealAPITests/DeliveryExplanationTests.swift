import HTTPTypes
import PealAPI
import PealCore
import PealTesting
import Synchronization
import Testing

@Suite("Explaining a delivery")
struct DeliveryExplanationTests {
    private static let device = "10000000-0000-4000-8000-000000000001"

    private static func register(
        _ fixture: Fixture, environment: String = "production", topics: JSON = ["news"]
    ) async throws {
        let body: JSON = [
            "platform": "ios", "environment": .string(environment), "address": .string(Fixture.deviceToken),
            "user_id": "u", "topics": topics,
        ]
        let reply = try await fixture.admin(.put, "…/devices/\(Self.device)", body)
        try #require(reply.status < 300, "\(reply.text)")
    }

    private static func send(_ fixture: Fixture, _ audience: JSON, _ options: JSON = [:]) async throws -> String {
        let sent = try await fixture.admin(
            .post, "…/messages", ["audience": audience, "content": ["title": "x"], "options": options])
        try #require(sent.status == 202, "\(sent.text)")
        return sent["id"]?.stringValue ?? ""
    }

    private static func events(_ reply: Fixture.Reply) -> [String] {
        (reply["items"]?.arrayValue ?? []).map {
            "\($0["event"]?.stringValue ?? ""): \($0["detail"]?.stringValue ?? "")"
        }
    }

    /// Stores the device's outcome, as a worker does.
    private static func settle(
        _ fixture: Fixture, _ entries: [(outcome: Outcome, reason: String, attempt: Int)],
        retires: Bool = false
    ) async throws {
        var slice = try #require(fixture.engine.record.withLock { $0.taken.last })
        let key = try #require(slice.keys?.first)
        let now = fixture.clock.now
        var settlements: [Settlement] = []
        for (index, entry) in entries.enumerated() {
            let log = DeliveryLog.encode([
                DeliveryLogEntry(
                    key: key, outcome: entry.outcome, reason: entry.reason, attempt: entry.attempt, locale: nil)
            ])
            var counts = OutcomeCounts()
            counts.count(entry.outcome)
            let row = Settlement.LogRow(
                firstKey: key, lastKey: key, deviceCount: 1, sentAt: now + .seconds(index), tookMilliseconds: 40,
                data: log)
            settlements.append(
                Settlement(
                    of: slice, by: "test", to: slice.keyTo, counts: counts, logRow: row,
                    next: index == entries.count - 1 ? .done : .keep(leaseUntil: now + .seconds(30))))
            slice.cursor = slice.keyTo
        }
        if retires {
            settlements[settlements.count - 1].retirements = [
                .init(key: key, revision: 1, notAfter: now, reason: "Unregistered")
            ]
        }
        let final = settlements
        let results = try await fixture.store.write(.settle) { try $0.settle(final, now: now) }
        let isApplied = results.allSatisfy(\.isApplied)
        try #require(isApplied)
    }

    @Test("says that a device is unknown, or a user or an address")
    func unknown() async throws {
        try await Fixture.open { fixture in
            let path = "…/messages/\(try await Self.send(fixture, ["users": ["ghost"]]))/deliveries"
            for query in [
                "user=ghost", "device=\(Self.device)", "address=\(Fixture.deviceToken)",
            ] {
                let reply = try await fixture.admin(.get, "\(path)?\(query)")
                #expect(reply.status == 404, "\(query): \(reply.text)")
            }
            #expect(try await fixture.admin(.get, "…/devices/\(Self.device)/deliveries").status == 404)
        }
    }

    @Test("says that a device was retired before, or in between")
    func retired() async throws {
        try await Fixture.open { fixture in
            try await Self.register(fixture)
            let first = try await Self.send(fixture, ["users": ["u"]])
            try await Self.settle(fixture, [(.retired, "Unregistered", 1)], retires: true)
            fixture.clock.advance(by: .seconds(10))
            let second = try await Self.send(fixture, ["users": ["u"]])
            let query = "deliveries?user=u"
            let before = Self.events(try await fixture.admin(.get, "…/messages/\(first)/\(query)"))
            #expect(before.last == "retired: Unregistered", "\(before)")
            let after = Self.events(try await fixture.admin(.get, "…/messages/\(second)/\(query)"))
            #expect(after.count == 1 && after[0].hasPrefix("not_matched: it was retired at "), "\(after)")
            #expect(after[0].hasSuffix(": Unregistered"))
        }
    }

    @Test(
        "says that a device was retired when the audience was fixed, after it registered again",
        arguments: [
            ["users": ["u"]], ["topics": ["news"]], ["all": true],
        ] as [JSON])
    func returned(audience: JSON) async throws {
        try await Fixture.open { fixture in
            try await Self.register(fixture)
            let first = try await Self.send(fixture, ["users": ["u"]])
            try await Self.settle(fixture, [(.retired, "Unregistered", 1)], retires: true)
            fixture.clock.advance(by: .seconds(10))
            let second = try await Self.send(fixture, audience)
            fixture.clock.advance(by: .seconds(10))
            // Twice: a later registration does not forget it.
            try await Self.register(fixture)
            fixture.clock.advance(by: .seconds(100))
            try await Self.register(fixture)
            let query = "deliveries?device=\(Self.device)"
            let before = Self.events(try await fixture.admin(.get, "…/messages/\(first)/\(query)"))
            #expect(before.last == "retired: Unregistered", "\(before)")
            let after = Self.events(try await fixture.admin(.get, "…/messages/\(second)/\(query)"))
            #expect(after.count == 1 && after[0].hasPrefix("not_matched: it was retired at "), "\(after)")
            #expect(after[0].contains(" (Unregistered) and registered again at "), "\(after)")
        }
    }

    @Test(
        "says that a device registered too late, even while the message is being sent",
        arguments: [
            ["where": ["platform": "ios"]], ["all": true],
        ] as [JSON])
    func late(audience: JSON) async throws {
        try await Fixture.open { fixture in
            let other: JSON = [
                "platform": "ios", "environment": "production", "address": .string(String(repeating: "cd", count: 32)),
            ]
            let reply = try await fixture.admin(.put, "…/devices/10000000-0000-4000-8000-000000000002", other)
            try #require(reply.status < 300, "\(reply.text)")
            let id = try await Self.send(fixture, audience)
            fixture.clock.advance(by: .seconds(10))
            try await Self.register(fixture)
            let events = Self.events(
                try await fixture.admin(.get, "…/messages/\(id)/deliveries?device=\(Self.device)"))
            #expect(
                events.count == 1 && events[0].hasPrefix("not_matched: it has been active on apns production since "),
                "\(events)")
        }
    }

    @Test("says that the environment is another one")
    func environment() async throws {
        try await Fixture.open { fixture in
            try await Self.register(fixture, environment: "sandbox")
            let id = try await Self.send(fixture, ["users": ["u"]], ["environment": "production"])
            let events = Self.events(try await fixture.admin(.get, "…/messages/\(id)/deliveries?user=u"))
            #expect(
                events == ["not_matched: its environment is sandbox, and the message is for production"], "\(events)")
        }
    }

    @Test("shows that a device was healed, and where it was sent to")
    func healed() async throws {
        try await Fixture.open { fixture in
            try await Self.register(fixture)
            let id = try await Self.send(fixture, ["users": ["u"]])
            try await Self.settle(fixture, [(.accepted, "EnvironmentHealed", 1)])
            let events = Self.events(try await fixture.admin(.get, "…/messages/\(id)/deliveries?user=u"))
            #expect(
                events.dropFirst() == [
                    "sent: attempt 1 over apns production",
                    "healed: unknown in production; sent over apns sandbox, where the device belongs now",
                    "accepted: EnvironmentHealed",
                ], "\(events)")
        }
    }

    @Test("does not call sent what Peal refused or held back itself, or what it sent once")
    func unsent() async throws {
        try await Fixture.open { fixture in
            try await Self.register(fixture)
            let id = try await Self.send(fixture, ["users": ["u"]])
            try await Self.settle(
                fixture, [(.moved, "LateAnswer", 1), (.moved, "RouteStopped", 1), (.rejected, "x", 2)])
            let events = Self.events(try await fixture.admin(.get, "…/messages/\(id)/deliveries?user=u"))
            #expect(
                events.dropFirst() == [
                    "sent: attempt 1 over apns production", "deferred: LateAnswer", "deferred: RouteStopped",
                    "sent: attempt 2 over apns production", "rejected: x",
                ], "\(events)")
            let other = try await Self.send(fixture, ["users": ["u"]])
            try await Self.settle(fixture, [(.rejected, "HostNotAllowed", 0)])
            let refused = Self.events(try await fixture.admin(.get, "…/messages/\(other)/deliveries?user=u"))
            #expect(refused.dropFirst() == ["rejected: HostNotAllowed"], "\(refused)")
        }
    }

    @Test("says why a message waits: paused, its route closed, its results not stored")
    func waiting() async throws {
        try await Fixture.open { fixture in
            try await Self.register(fixture)
            let id = try await Self.send(fixture, ["users": ["u"]])
            let path = "…/messages/\(id)"
            func last() async throws -> String {
                Self.events(try await fixture.admin(.get, "\(path)/deliveries?user=u")).last ?? ""
            }
            #expect(try await last() == "pending: sending; no result from a network yet")
            let slice = try #require(fixture.engine.record.withLock { $0.taken.last })
            let now = fixture.clock.now
            _ = try await fixture.store.write(.control) { store in
                try store.setGate(
                    RouteGate(
                        ActiveRoute(app: slice.id.app, route: slice.id.route), .paused, closedUntil: now + .seconds(30),
                        reason: "ServiceUnavailable"))
            }
            let closed = "apns production is paused until \(now + .seconds(30)): ServiceUnavailable"
            #expect(try await last() == "pending: sending; no result from a network yet; \(closed)")
            _ = try await fixture.admin(.post, "\(path)/pause")
            #expect(try await last() == "pending: the message is paused; no result from a network yet; \(closed)")
            _ = try await fixture.admin(.post, "\(path)/resume")
            var counts = OutcomeCounts()
            counts.count(.accepted)
            let settlement = Settlement(of: slice, by: "test", to: slice.keyTo, counts: counts, next: .done)
            let result = try await fixture.store.write(.settle) {
                try $0.quarantine(settlement, reason: "disk full", keepsAnswers: false, now: now)
            }
            try #require(result.isQuarantined)
            #expect(try await last() == "quarantined: the results of its slice cannot be stored: disk full")
        }
    }

    @Test("says that a device left the audience before its turn")
    func left() async throws {
        try await Fixture.open { fixture in
            try await Self.register(fixture)
            let id = try await Self.send(fixture, ["users": ["u"]])
            let slice = try #require(fixture.engine.record.withLock { $0.taken.last })
            let settlement = Settlement(of: slice, by: "test", to: slice.keyTo, counts: OutcomeCounts(), next: .done)
            let now = fixture.clock.now
            _ = try await fixture.store.write(.settle) { try $0.settle([settlement], now: now) }
            let events = Self.events(try await fixture.admin(.get, "…/messages/\(id)/deliveries?user=u"))
            #expect(events.last?.hasSuffix("never handed to a network") == true, "\(events)")
        }
    }

    @Test("shows a device's events of all messages, the newest first, page by page")
    func timeline() async throws {
        try await Fixture.open { fixture in
            try await Self.register(fixture)
            var ids: [String] = []
            for reason in ["A", "B", "C"] {
                ids.append(try await Self.send(fixture, ["users": ["u"]]))
                try await Self.settle(fixture, [(.rejected, reason, 1)])
                _ = try await Self.send(fixture, ["users": ["somebody else"]])
                fixture.clock.advance(by: .seconds(60))
            }
            let path = "…/devices/\(Self.device)/deliveries"
            let whole = try await fixture.admin(.get, path)
            let events = Self.events(whole)
            let of = { (reason: String) in
                ["rejected: \(reason)", "sent: attempt 1 over apns production", "matched: by its user"]
            }
            #expect(events == of("C") + of("B") + of("A"), "\(whole.text)")
            #expect(whole["items.0.message"]?.stringValue == ids[2] && whole["items.0.title"] == "x")
            #expect(whole["next_cursor"] == .null)
            for limit in [1, 2, 4, 9] {
                var (found, cursor): ([String], String?) = ([], nil)
                repeat {
                    let page = try await fixture.admin(
                        .get, "\(path)?limit=\(limit)" + (cursor.map { "&cursor=\($0)" } ?? ""))
                    #expect((page["items"]?.arrayValue?.count ?? 0) <= limit)
                    found += Self.events(page)
                    cursor = page["next_cursor"]?.stringValue
                } while cursor != nil
                #expect(found == events, "\(limit) at a time")
            }
        }
    }
}
