import HTTPTypes
import PealAPI
import PealCore
import PealTesting
import Testing

@Suite("A Pivotal push for later")
struct PivotalScheduleTests {
    /// The time of the tests' clock.
    private static let now: Int64 = 1_795_219_200_000

    struct Timing: Sendable, CustomTestStringConvertible {
        let text: String
        /// Seconds until it starts; 0 = at once; nil = refused.
        let delay: Int64?
        var testDescription: String { text }
        init(_ text: String, _ delay: Int64?) { (self.text, self.delay) = (text, delay) }
    }

    @Test(
        "is scheduled unless due in less than 60 seconds",
        arguments: [
            Timing(#""scheduleIn":7200"#, 7200), Timing(#""scheduleIn":"7200""#, 7200),
            Timing(#""scheduleIn":59"#, 0), Timing(#""scheduleIn":60"#, 60), Timing(#""scheduleIn":61"#, 61),
            Timing(#""scheduleIn":0,"scheduleAt":\#(now + 61_000),"expiryTime":null"#, 61),
            Timing(#""scheduleAt":\#(now + 59_999)"#, 0), Timing(#""scheduleAt":\#(now + 60_000)"#, 60),
            Timing(#""scheduleAt":1345852800000"#, 0), Timing(#""scheduleAt":null,"scheduleIn":"""#, 0),
            Timing(#""scheduleIn":7200000"#, 7_200_000), Timing(#""scheduleAt":\#(now),"scheduleIn":5"#, nil),
            Timing(#""scheduleIn":-1"#, nil), Timing(#""scheduleIn":99999999999999"#, nil),
            Timing(#""scheduleIn":"soon""#, nil), Timing(#""scheduleAt":-5"#, nil),
            Timing(#""scheduleAt":9223372036854775807"#, nil), Timing(#""expiryTime":9223372036854775807"#, nil),
            Timing(#""scheduleIn":100,"expiryTime":\#(now + 100_000)"#, nil),
            Timing(#""scheduleIn":100,"expiryTime":\#(now + 100_001)"#, 100),
        ])
    func timing(timing: Timing) async throws {
        try await PivotalPushFixture.open { fixture, push in
            let reply = try await push(
                #"{"message":{"body":"x"},"target":{"platform":"all"},\#(timing.text)}"#)
            guard let delay = timing.delay else {
                #expect(reply.status == 400, "\(reply.text)")
                return
            }
            #expect(reply.status == 200, "\(reply.text)")
            #expect((reply.header("Warning") != nil) == (delay == 7_200_000))
            guard delay > 0 else {
                #expect(reply["receipt_id"] != nil && reply["schedule_id"] == nil)
                return
            }
            let schedule = try #require(reply["schedule_id"]?.stringValue)
            #expect(schedule.count == 16)
            let list = try await fixture.admin(.get, "…/messages?state=scheduled")
            let message = try #require(list["items"]?.arrayValue?.first)
            #expect(message["id"]?.stringValue?.replacing("-", with: "").hasPrefix(schedule) == true)
            let start = Timestamp(rfc3339: message["start_at"]?.stringValue ?? "")
            #expect(start.map { ($0 - fixture.clock.now).milliseconds / 1000 } == delay)
        }
    }

    @Test("starts at once if due sooner than configured")
    func threshold() async throws {
        try await Fixture.open(options: APIOptions { $0.pivotalImmediateSeconds = 5 }) { fixture in
            try await fixture.makePivotalKey()
            for (seconds, member) in [(4, "receipt_id"), (5, "schedule_id")] {
                let reply = try await fixture.pivotal(
                    .post, "/v1/push", #"{"message":{"body":"b"},"target":{"platform":"all"},"scheduleIn":\#(seconds)}"#
                )
                #expect(reply[member] != nil, "\(reply.text)")
            }
        }
    }

    @Test("in milliseconds by mistake is read as such if the app's settings say so")
    func heuristic() async throws {
        try await PivotalPushFixture.open(settings: ["schedule_in_millis_heuristic": true]) { fixture, push in
            let reply = try await push(
                #"{"message":{"body":"x"},"target":{"platform":"all"},"scheduleIn":7200000}"#)
            #expect(reply.header("Warning") == "299 - \"scheduleIn was read as milliseconds\"")
            let list = try await fixture.admin(.get, "…/messages?state=scheduled")
            #expect(list["items.0.start_at"] == "2026-11-21T02:00:00Z", "\(list.text)")
        }
    }

    @Test("may be looked up, changed and cancelled until it starts")
    func schedules() async throws {
        try await PivotalPushFixture.open { fixture, push in
            let made = try await push(
                #"{"message":{"body":"x"},"target":{"platform":"all"},"scheduleIn":7200}"#)
            let id = made["schedule_id"]?.stringValue ?? ""
            let at = Self.now + 7_200_000
            let object = """
                {"schedule_id":"\(id)","scheduled_for":\(at),"push":{"scheduleAt":\(at),"scheduleIn":0,\
                "expiryTime":null,"message":{"body":"x"},"target":{"platform":"all"}}}
                """
            #expect(try await fixture.pivotal(.get, "/v1/schedules/\(id)").text == object)
            #expect(try await fixture.pivotal(.get, "/v1/schedule").text == "[\(object)]")
            let changed = try await fixture.pivotal(
                .put, "/v1/schedules/\(id)", #"{"scheduleAt":\#(at + 1000),"message":{"body":"y"}}"#)
            #expect(changed["scheduled_for"]?.integerValue == at + 1000, "\(changed.text)")
            #expect(changed["push.message.body"] == "y")
            #expect(changed["push.target.platform"] == "all")
            #expect(try await fixture.pivotal(.put, "/v1/schedules/\(id)", #"{"target":{}}"#).status == 400)
            let kept = try await fixture.pivotal(
                .put, "/v1/schedule/\(id)", #"{"scheduleAt":null,"scheduleIn":0,"message":null,"target":null}"#)
            #expect(kept.text == changed.text)
            let dated = try await fixture.pivotal(.put, "/v1/schedules/\(id)", #"{"expiryTime":\#(at + 60_000)}"#)
            #expect(dated["push.expiryTime"]?.integerValue == at + 60_000, "\(dated.text)")
            let warned = try await fixture.pivotal(
                .put, "/v1/schedules/\(id)", #"{"message":{"body":"y","custom":{"android":{"from":"x"}}}}"#)
            #expect(warned.header("Warning")?.contains("removed 1 member with a name") == true, "\(warned.text)")
            _ = try await fixture.pivotal(.put, "/v1/schedules/\(id)", #"{"message":{"body":"y"}}"#)
            let early = try await fixture.pivotal(.put, "/v1/schedules/\(id)", #"{"expiryTime":\#(at)}"#)
            #expect(early.status == 400)
            let endless = try await fixture.pivotal(.put, "/v1/schedules/\(id)", #"{"expiryTime":null}"#)
            #expect(endless.text == changed.text)
            let echoed = try await fixture.pivotal(.put, "/v1/schedules/\(id)", changed["push"]?.text ?? "")
            #expect(echoed.text == changed.text)
            #expect(try await fixture.pivotal(.delete, "/v1/schedules/\(id)").status == 204)
            #expect(try await fixture.pivotal(.delete, "/v1/schedules/\(id)").status == 404)
            #expect(try await fixture.pivotal(.get, "/v1/schedules").text == "[]")
            #expect(try await fixture.pivotal(.get, "/v1/schedules/nonsense").status == 404)
        }
    }

    @Test(
        "keeps its start when a change has none, however that is written",
        arguments: ["0", "0.0", "0e3", "-0", #""00""#, #"" 0""#, #""0.0""#, #""""#, #"" ""#, "null"])
    func unsetStart(zero: String) async throws {
        try await PivotalPushFixture.open { fixture, push in
            let made = try await push(#"{"message":{"body":"x"},"target":{"platform":"all"},"scheduleIn":7200}"#)
            let path = "/v1/schedules/\(made["schedule_id"]?.stringValue ?? "")"
            for name in ["scheduleIn", "scheduleAt"] {
                let reply = try await fixture.pivotal(.put, path, #"{"\#(name)":\#(zero)}"#)
                #expect(reply["scheduled_for"] == .integer(Self.now + 7_200_000), "\(name) \(reply.text)")
            }
        }
    }

    @Test("remains scheduled while an operator pauses it, and can be cancelled")
    func paused() async throws {
        try await PivotalPushFixture.open { fixture, push in
            let earlier = try await push(#"{"message":{"body":"x"},"target":{"platform":"all"},"scheduleIn":7200}"#)
            let path = "/v1/schedules/\(earlier["schedule_id"]?.stringValue ?? "")"
            let list = try await fixture.admin(.get, "…/messages?state=scheduled")
            let message = try #require(list["items.0.id"]?.stringValue)
            fixture.clock.advance(by: .seconds(1))
            _ = try await push(#"{"message":{"body":"y"},"target":{"platform":"all"},"scheduleIn":7200}"#)
            let (shown, all) = (try await fixture.pivotal(.get, path), try await fixture.pivotal(.get, "/v1/schedules"))
            #expect(try await fixture.admin(.post, "…/messages/\(message)/pause")["state"] == "paused")
            #expect(try await fixture.pivotal(.get, path).text == shown.text)
            #expect(try await fixture.pivotal(.get, "/v1/schedules").text == all.text)
            #expect(try await fixture.pivotal(.put, path, #"{"scheduleIn":9000}"#).status == 409)
            #expect(try await fixture.pivotal(.delete, path).status == 204)
            #expect(try await fixture.pivotal(.get, path).status == 404)
        }
    }

    @Test("keeps what the native API has changed since, unless the request replaces it")
    func changedNatively() async throws {
        try await PivotalPushFixture.open { fixture, push in
            let made = try await push(#"{"message":{"body":"x"},"target":{"topics":["a"]},"scheduleIn":7200}"#)
            let path = "/v1/schedules/\(made["schedule_id"]?.stringValue ?? "")"
            let list = try await fixture.admin(.get, "…/messages")
            let id = try #require(MessageID(list["items.0.id"]?.stringValue ?? ""), "\(list.text)")
            func put(_ body: String) async throws -> MessageDraft {
                let reply = try await fixture.pivotal(.put, path, body)
                #expect(reply.status == 200, "\(reply.text)")
                return try #require(try await fixture.draft(id))
            }
            let native = try await fixture.admin(
                .patch, "…/messages/\(id)",
                [
                    "audience": ["topics": ["b"]], "content": ["body": "fixed"],
                    "options": ["rate_per_second": 7, "ttl_seconds": 600],
                ])
            #expect(native.status == 200, "\(native.text)")
            let moved = try await put(#"{"scheduleIn":9000}"#)
            let start = Timestamp(milliseconds: Self.now + 9_000_000)
            #expect(moved.content.body == .plain("fixed") && moved.audience.topics == ["b"])
            #expect(moved.options.ratePerSecond == 7 && moved.options.life == .seconds(600))
            #expect(moved.startAt == start && moved.expiresAt == start + .seconds(600))
            let end = start + .seconds(60)
            let reworded = try await put(#"{"message":{"body":"new"},"expiryTime":\#(end.milliseconds)}"#)
            #expect(reworded.content.body == .plain("new") && reworded.audience.topics == ["b"])
            #expect(reworded.options.ratePerSecond == 7 && reworded.expiresAt == end)
            let widened = try await put(#"{"target":{"topics":["c"]},"expiryTime":null}"#)
            #expect(widened.content.body == .plain("new") && widened.audience.topics == ["c"])
            let last = Timestamp(seconds: Limits.pivotalExpirationSeconds)
            #expect(widened.options.life == nil && widened.content.platforms[.ios]?.options.life == .until(last))
        }
    }

    @Test("moved to within a minute is sent at once and has a receipt")
    func soon() async throws {
        try await PivotalPushFixture.open { fixture, push in
            let made = try await push(#"{"message":{"body":"x"},"target":{"platform":"all"},"scheduleIn":7200}"#)
            let path = "/v1/schedules/\(made["schedule_id"]?.stringValue ?? "")"
            let reply = try await fixture.pivotal(.put, path, #"{"scheduleIn":59}"#)
            #expect(reply.status == 200)
            let draft = try await PivotalPushFixture.draft(fixture, reply)
            #expect(draft.startAt == fixture.clock.now)
            // It is no longer a schedule, even before the engine has processed it.
            #expect(try await fixture.pivotal(.get, path).status == 404)
            #expect(try await fixture.pivotal(.get, "/v1/schedules").text == "[]")
        }
    }
}
