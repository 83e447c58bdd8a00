import HTTPTypes
import PealAPI
import PealCore
import PealTesting
import Synchronization
import Testing

@Suite("Statistics")
struct StatisticsTests {
    private static let device = "10000000-0000-4000-8000-000000000001"

    /// Sends to one device, which accepts, and lets it report that it opened the message.
    static func deliver(_ fixture: Fixture, isTest: Bool) async throws {
        let body: JSON = ["platform": "ios", "address": .string(Fixture.deviceToken), "user_id": "u"]
        _ = try await fixture.admin(.put, "…/devices/\(Self.device)", body)
        let sent = try await fixture.admin(
            .post, "…/messages",
            ["test": .bool(isTest), "audience": ["users": ["u"]], "content": ["title": "x"]])
        let id = try #require(MessageID(sent["id"]?.stringValue ?? ""))
        let slice = try #require(fixture.engine.record.withLock { $0.taken.last })
        let key = try #require(slice.keys?.first)
        let now = fixture.clock.now
        var counts = OutcomeCounts()
        counts.count(.accepted)
        var settlement = Settlement(of: slice, by: "test", to: slice.keyTo, counts: counts, next: .done)
        settlement.added = isTest ? nil : counts
        let results = try await fixture.store.write(.settle) { [settlement] in
            try $0.settle([settlement, settlement], now: now)
        }
        // The second one counts as applied, because a commit whose answer was lost is repeated.
        try #require(results.first?.isApplied == true)
        let app = slice.id.app
        for _ in 0..<2 {
            _ = try await fixture.store.write(.rest) {
                try $0.record(
                    [Receipt.Kind.opened, .contentOpened].map { Receipt(message: id, device: key, kind: $0, at: now) },
                    app: app)
            }
        }
    }

    private static let outcomes = [
        "accepted", "rejected", "retired", "expired", "suppressed", "received", "opened", "content_opened",
    ]

    private func sums(_ reply: Fixture.Reply) -> [Int64] {
        let items = reply["items"]?.arrayValue ?? []
        return Self.outcomes.map { name in items.reduce(0) { $0 + ($1[name]?.integerValue ?? 0) } }
    }

    @Test("count once what was settled and reported", arguments: ["minute", "hour", "day"])
    func counts(step: String) async throws {
        try await Fixture.open { fixture in
            try await Self.deliver(fixture, isTest: false)
            let reply = try await fixture.admin(.get, "…/stats?step=\(step)")
            #expect(reply.status == 200 && sums(reply) == [1, 0, 0, 0, 0, 0, 1, 1], "\(reply.text)")
            let last = try #require(reply["items"]?.arrayValue?.last)
            #expect(last["accepted"] == 1, "the step that has begun is included")
            let before = fixture.clock.now - .seconds(600)
            let earlier = try await fixture.admin(
                .get, "…/stats?step=minute&from=\(before)&to=\(before + .seconds(300))")
            #expect(sums(earlier) == [0, 0, 0, 0, 0, 0, 0, 0])
            #expect(earlier["items"]?.arrayValue?.count ?? 0 >= 5)
        }
    }

    @Test("leave tests out")
    func tests() async throws {
        try await Fixture.open { fixture in
            try await Self.deliver(fixture, isTest: true)
            #expect(sums(try await fixture.admin(.get, "…/stats")) == [0, 0, 0, 0, 0, 0, 0, 0])
        }
    }

    @Test("outlive messages, in fewer and fewer rows")
    func longLife() async throws {
        try await Fixture.open { fixture in
            let from = fixture.clock.now
            try await Self.deliver(fixture, isTest: false)
            for days in [1, 3, 31, 100] {
                fixture.clock.advance(by: .seconds(days * 86_400))
                let now = fixture.clock.now
                try await Polling.repeat("pruning") {
                    try await fixture.store.write(.rest) { try $0.prune(now: now, limit: 100) } > 0
                }
                let reply = try await fixture.admin(.get, "…/stats?step=day&from=\(from)")
                #expect(sums(reply) == [1, 0, 0, 0, 0, 0, 1, 1], "after \(days) days: \(reply.text)")
            }
            #expect(try await fixture.census()["messages"] == 0)
        }
    }

    @Test("have the documented numbers of steps", arguments: [("minute", 60), ("hour", 24), ("day", 30)])
    func usualSteps(step: String, count: Int) async throws {
        try await Fixture.open { fixture in
            // The current step has just begun, and it is partly over.
            for elapsed in [0, 45_296_789] {
                fixture.clock.advance(by: .milliseconds(elapsed))
                let items = try await fixture.admin(.get, "…/stats?step=\(step)")["items"]?.arrayValue
                #expect(items?.count == count)
            }
        }
    }

    @Test(
        "are limited by the number of steps that an answer would have",
        arguments: [
            ("00:00:00", "11:20:00", 5000), ("00:00:59", "11:20:00", 5000), ("00:00:00", "11:20:01", nil),
            ("00:00:59", "11:20:01", nil),
        ] as [(String, String, Int?)])
    func limit(from: String, to: String, count: Int?) async throws {
        try await Fixture.open { fixture in
            let span = "from=2026-01-01T\(from)Z&to=2026-01-04T\(to)Z"
            let reply = try await fixture.admin(.get, "…/stats?step=minute&\(span)")
            #expect(reply["items"]?.arrayValue?.count == count)
            #expect(reply.status == (count == nil ? 400 : 200) && reply.field == (count == nil ? "from" : nil))
        }
    }

    @Test("begin with the first instant that can be written")
    func earliest() async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.admin(.get, "…/stats?step=day&to=0000-01-01T00:00:01Z")
            #expect(reply["items"]?.arrayValue?.map { $0["at"] } == ["0000-01-01T00:00:00Z"], "\(reply.text)")
        }
    }

    @Test(
        "refuse an invalid period",
        arguments: [
            ("step=week", "step"), ("from=x", "from"), ("to=2020-01-01T00:00:00Z&from=2021-01-01T00:00:00Z", "from"),
            ("step=minute&from=2020-01-01T00:00:00Z", "from"),
        ])
    func refusals(query: String, field: String) async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.admin(.get, "…/stats?\(query)")
            #expect(reply.status == 400 && reply.field == field, "\(reply.text)")
        }
    }
}

@Suite("Progress")
struct ProgressTests {
    @Test("of a message that has ended is one event and the end")
    func ended() async throws {
        try await Fixture.open { fixture in
            let sent = try await fixture.admin(
                .post, "…/messages", ["audience": ["topics": ["nobody"]], "content": ["title": "x"]])
            let id = sent["id"]?.stringValue ?? ""
            let reply = try await fixture.admin(.get, "…/messages/\(id)/events")
            #expect(reply.header("Content-Type") == "text/event-stream; charset=utf-8")
            let events = reply.text.split(separator: "\n\n").map(String.init)
            #expect(events.count == 2 && events[0].hasPrefix("event: progress\ndata: {"), "\(reply.text)")
            let data = try #require(events.last?.split(separator: "\n").last?.dropFirst("data: ".count))
            #expect(try JSONParser.parse(String(data))["state"] == "sent")
            let unknown = try await fixture.admin(.get, "…/messages/10000000-0000-4000-8000-000000000001/events")
            #expect(unknown.status == 404)
        }
    }

    @Test("is limited for each app, and a stream that has ended makes room")
    func limit() async throws {
        try await Fixture.open { fixture in
            let sent = try await fixture.admin(
                .post, "…/messages", ["audience": ["topics": ["nobody"]], "content": ["title": "x"]])
            let path = "…/messages/\(sent["id"]?.stringValue ?? "")/events"
            for _ in 0...Limits.progressStreamsPerAppMax {
                #expect(try await fixture.admin(.get, path).status == 200)
            }
        }
    }
}
