import HTTPTypes
import Hummingbird
import NIOCore
import PealCore
import PealTesting
import Synchronization
import Testing

@testable import PealAPI

@Suite("Messages")
struct MessageTests {
    private static let device = "10000000-0000-4000-8000-000000000001"

    private static func register(_ fixture: Fixture, topics: [JSON] = ["cheese"]) async throws {
        let reply = try await fixture.admin(
            .put, "…/devices/\(device)",
            [
                "platform": "ios", "address": .string(Fixture.deviceToken), "user_id": "u1", "topics": .array(topics),
            ])
        try #require(reply.status == 201)
    }

    @Test("answers to changes of messages are composed outside of event loops, as are reads")
    func brief() throws {
        func isBrief(_ method: HTTPRequest.Method, _ path: String) -> Bool {
            let head = HTTPRequest(
                method: method, scheme: nil, authority: nil, path: path, headerFields: [.contentLength: "2"])
            let request = Request(head: head, body: RequestBody(buffer: ByteBuffer(string: "{}")))
            return Gate.isBrief(request, RequestPath(path))
        }
        let message = "/peal/v1/apps/a/messages/b"
        for path in [message + "/cancel", message + "/pause", message + "/resume", message + ":validate"] {
            #expect(!isBrief(.post, path), "\(path)")
        }
        #expect(!isBrief(.patch, message) && !isBrief(.get, message))
        #expect(isBrief(.post, "/peal/v1/apps/a/messages") && isBrief(.patch, "/peal/v1/apps/a"))
        #expect(isBrief(.put, "/peal/v1/apps/a/devices/cancel"))
    }

    @Test("an answer is composed after the commit, unless it is kept for repetitions", arguments: [false, true])
    func composed(isKept: Bool) async throws {
        try await Fixture.open(wrapping: { ObservedStore($0) }) { fixture in
            let store = try #require(fixture.store as? ObservedStore)
            let sent = try await fixture.admin(
                .post, "…/messages",
                ["audience": ["all": true], "content": ["title": "Hello"], "schedule": ["at": "2026-11-21T01:00:00Z"]])
            let id = try #require(sent["id"]?.stringValue.flatMap { MessageID($0) })
            let app = try #require(try await store.read { try $0.app(fixture.app) }).key
            let request = IdempotentRequest(scope: [1], key: "key", digest: [2], lifeSeconds: 60)
            let call = VerbCall(actor: "test", now: fixture.clock.now, request: isKept ? request : nil)
            let reply = try await fixture.services.verbs.messages.cancel(id, app: app, call) { _ in
                Reply(status: store.isWriting ? 500 : 200, body: [])
            }
            #expect(reply.status == (isKept ? 500 : 200))
        }
    }

    @Test(
        "to every form of audience are accepted, counted and stored as written",
        arguments: [
            (#"{"all":true}"#, 1), (#"{"devices":["\#(device)"]}"#, 1), (#"{"users":["u1","u2"]}"#, 1),
            (#"{"topics":["cheese"]}"#, 1), (#"{"topics":["milk"]}"#, 0),
            (#"{"addresses":[{"platform":"ios","address":"\#(Fixture.deviceToken)"}]}"#, 1),
            (#"{"addresses":[{"platform":"ios","environment":"sandbox","address":"abababababababab"}]}"#, 1),
            (#"{"all":true,"platforms":["android"]}"#, 0),
            (#"{"all":true,"platforms":["ios","web"],"interactive_only":true}"#, 1),
            (#"{"users":["u1"],"topics":["cheese"],"devices":["\#(device)"]}"#, 1),
        ])
    func audiences(audience: String, count: Int) async throws {
        try await Fixture.open { fixture in
            try await Self.register(fixture)
            let reply = try await fixture.adminText(
                .post, "…/messages", #"{"audience":\#(audience),"content":{"title":"x"}}"#)
            #expect(reply.status == 202, "\(reply.text)")
            #expect(reply["audience_estimate"]?.integerValue == Int64(count), "\(reply.text)")
            let id = try #require(MessageID(reply["id"]?.stringValue ?? ""))
            let stored = try #require(await fixture.draft(id)).audience
            let given = try JSONParser.parse(audience)
            #expect(stored.includesAll == (given["all"]?.boolValue ?? false))
            #expect(stored.devices.map { JSON.string($0.description) } == given["devices"]?.arrayValue ?? [])
            #expect(stored.users.map(JSON.string) == given["users"]?.arrayValue ?? [])
            #expect(stored.topics.map(JSON.string) == given["topics"]?.arrayValue ?? [])
            #expect(stored.addresses.count == given["addresses"]?.arrayValue?.count ?? 0)
            #expect(stored.interactiveOnly == (given["interactive_only"]?.boolValue ?? false))
            #expect(
                Set(stored.platforms?.map(\.rawValue) ?? [])
                    == Set(given["platforms"]?.arrayValue?.compactMap(\.stringValue) ?? []))
            let validated = try await fixture.adminText(
                .post, "…/messages:validate", #"{"audience":\#(audience),"content":{"title":"x"}}"#)
            #expect(validated["audience.devices"]?.integerValue == Int64(count), "\(validated.text)")
        }
    }

    @Test("without the topics that are excluded")
    func exclusion() async throws {
        try await Fixture.open { fixture in
            try await Self.register(fixture, topics: ["cheese", "quiet"])
            let reply = try await fixture.admin(
                .post, "…/messages:validate",
                ["audience": ["topics": ["cheese"], "not_topics": ["quiet"]], "content": ["title": "x"]])
            #expect(reply["audience.devices"] == 0, "\(reply.text)")
        }
    }

    @Test("keep their content and the options of each platform")
    func content() async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.adminText(
                .post, "…/messages",
                """
                {"audience":{"all":true},"campaign_id":"spring","content":{"title":{"en":"Hi","de-AT":"Servus"},
                "body":"b","badge":0,"data":{"z":1.0,"a":12345678901234567890,"e":1e999},
                "ios":{"payload":{"aps":{"sound":"s"}},"options":{"priority":"low","ttl_seconds":0,"background":true}},
                "android":{"data_only":true}},"options":{"priority":"normal","ttl_seconds":60,"collapse_key":"c",
                "environment":"sandbox","lost_answer":"drop"}}
                """)
            #expect(reply.status == 202, "\(reply.text)")
            let id = try #require(MessageID(reply["id"]?.stringValue ?? ""))
            let draft = try #require(await fixture.draft(id))
            #expect(draft.campaignID == "spring")
            #expect(draft.content.title == .localized(["en": "Hi", "de-AT": "Servus"]))
            #expect(draft.content.defaultLocale == "en")
            #expect(JSON.object(draft.content.data).text == #"{"z":1.0,"a":12345678901234567890,"e":1e999}"#)
            let ios = try #require(draft.content.platforms[.ios])
            #expect(JSON.object(ios.fields).text == #"{"payload":{"aps":{"sound":"s"}}}"#)
            #expect(ios.options.priority == .low)
            #expect(ios.options.life == .seconds(0))
            #expect(ios.options.isBackground == true)
            #expect(draft.options.life == .seconds(60))
            #expect(draft.options.environment == .sandbox)
            #expect(draft.options.lostAnswer == .drop)
            #expect(draft.expiresAt > fixture.clock.now + .seconds(60))
        }
    }

    @Test("to few devices are leased to the engine in the transaction that accepts them")
    func direct() async throws {
        try await Fixture.open { fixture in
            try await Self.register(fixture)
            let reply = try await fixture.admin(
                .post, "…/messages", ["audience": ["users": ["u1"]], "content": ["title": "x"]])
            #expect(reply["state"] == "sending")
            let taken = fixture.engine.record.withLock { $0.taken }
            #expect(taken.count == 1)
            #expect(taken.first?.id.message.description == reply["id"]?.stringValue)
            #expect(taken.first?.id.route == .apnsProduction)
            let shown = try await fixture.admin(.get, "…/messages/\(reply["id"]?.stringValue ?? "")")
            #expect(shown["audience"] == ["devices": 1, "platforms": ["ios": 1]], "\(shown.text)")
            #expect(shown["counts.pending"] == 1)
            #expect(shown["by_platform.ios.pending"] == 1)
            #expect(shown["reasons"] == [:])
        }
    }

    @Test("to a topic are divided into slices for the engine, and those to no device count as sent")
    func bulk() async throws {
        try await Fixture.open { fixture in
            try await Self.register(fixture)
            let reply = try await fixture.admin(
                .post, "…/messages", ["audience": ["topics": ["cheese"]], "content": ["title": "x"]])
            #expect(reply["state"] == "sending", "\(reply.text)")
            #expect(fixture.engine.record.withLock { $0.taken.isEmpty && $0.wakes == 1 })
            let nobody = try await fixture.admin(
                .post, "…/messages", ["audience": ["users": ["nobody"]], "content": ["title": "x"]])
            #expect(nobody["state"] == "sent")
            #expect(nobody["audience_estimate"] == 0)
        }
    }

    @Test("with a start time wait for it, and may be changed until then")
    func scheduled() async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.admin(
                .post, "…/messages",
                [
                    "audience": ["all": true], "content": ["title": "x"],
                    "schedule": ["at": "2026-11-21T02:00:00+01:00"], "options": ["ttl_seconds": 60],
                ])
            #expect(reply["state"] == "scheduled", "\(reply.text)")
            let path = "…/messages/\(reply["id"]?.stringValue ?? "")"
            let shown = try await fixture.admin(.get, path)
            #expect(shown["start_at"] == "2026-11-21T01:00:00Z")
            #expect(shown["expires_at"] == "2026-11-21T01:01:00Z")
            let changed = try await fixture.admin(
                .patch, path, ["content": ["title": "y"], "schedule": ["at": "2026-11-21T03:00:00Z"]])
            #expect(changed["expires_at"] == "2026-11-21T03:01:00Z", "\(changed.text)")
            let bad = try await fixture.admin(.patch, path, ["audience": ["users": [1]]])
            #expect(bad.field == "audience.users[0]")
            #expect(try await fixture.admin(.get, "…/messages?state=scheduled")["items"]?.arrayValue?.count == 1)
            #expect(try await fixture.admin(.get, "…/messages?state=sent")["items"]?.arrayValue?.isEmpty == true)

            #expect(try await fixture.admin(.post, "\(path)/pause")["state"] == "paused")
            #expect(try await fixture.admin(.post, "\(path)/pause")["state"] == "paused")
            #expect(try await fixture.admin(.patch, path, ["content": ["title": "z"]]).status == 409)
            #expect(try await fixture.admin(.post, "\(path)/resume")["state"] == "scheduled")
            #expect(try await fixture.admin(.post, "\(path)/cancel")["state"] == "cancelled")
            #expect(try await fixture.admin(.post, "\(path)/cancel")["state"] == "cancelled")
            #expect(try await fixture.admin(.post, "\(path)/resume").status == 409)
            #expect(try await fixture.admin(.post, "\(path)/pause").status == 409)
            #expect(try await fixture.admin(.patch, path, ["content": ["title": "z"]]).status == 409)
        }
    }

    @Test("that are being sent can be paused, resumed and cancelled; sent ones cannot")
    func moving() async throws {
        try await Fixture.open { fixture in
            try await Self.register(fixture)
            let reply = try await fixture.admin(
                .post, "…/messages", ["audience": ["topics": ["cheese"]], "content": ["title": "x"]])
            let path = "…/messages/\(reply["id"]?.stringValue ?? "")"
            #expect(try await fixture.admin(.post, "\(path)/pause")["state"] == "paused")
            #expect(try await fixture.admin(.post, "\(path)/resume")["state"] == "sending")
            #expect(try await fixture.admin(.post, "\(path)/cancel")["state"] == "cancelled")
            #expect(fixture.engine.record.withLock { $0.interrupted.count } == 3)
            let nobody = try await fixture.admin(
                .post, "…/messages", ["audience": ["users": ["nobody"]], "content": ["title": "x"]])
            let sent = try await fixture.admin(.post, "…/messages/\(nobody["id"]?.stringValue ?? "")/cancel")
            #expect(sent.status == 409)
            #expect(sent.code == "conflict")
        }
    }

    @Test("with quarantined slices continue when resumed, even with a delivery window", arguments: [false, true])
    func quarantined(hasWindow: Bool) async throws {
        try await Fixture.open { fixture in
            try await Self.register(fixture)
            let until = fixture.clock.now + .seconds(3600)
            var members = JSON.Members([("audience", ["users": ["u1"]]), ("content", ["title": "x"])])
            if hasWindow {
                members["method"] = "context_aware"
                members["schedule"] = ["window": ["until": .string(until.description)]]
            }
            let reply = try await fixture.admin(.post, "…/messages", .object(members))
            let path = "…/messages/\(reply["id"]?.stringValue ?? "")"
            #expect(try await fixture.admin(.post, "\(path)/resume").status == (hasWindow ? 409 : 200))
            fixture.clock.advance(by: .seconds(3601))
            #expect(try await fixture.quarantineAll() == 1)
            let resumed = try await fixture.admin(.post, "\(path)/resume")
            #expect(resumed.status == 200, "\(resumed.text)")
            let census = try await fixture.store.read { try $0.census() }
            #expect(census.slicesQuarantined == 0 && census.slicesReady == 1)
        }
    }

    @Test("are shown as the exact requests that would be made, with payloads that are too large")
    func validate() async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.admin(
                .post, "…/messages:validate",
                [
                    "audience": ["all": true],
                    "content": ["title": ["en": "Hi", "de": "Hallo"], "default_locale": "en"],
                ])
            #expect(reply["valid"] == true, "\(reply.text)")
            #expect(reply["requests.0.locale"] == "de")
            #expect(reply["requests.0.path"] == "/3/device/{address}")
            #expect(reply["requests.0.headers.apns-topic"] == "com.example.cheese")
            #expect(reply["requests.0.body"] == ["title": "Hallo"])
            #expect(reply["requests.0.body_bytes"] == 17)
            #expect(try await fixture.census()["messages"] == 0)
            let long = try await fixture.admin(
                .post, "…/messages:validate",
                ["audience": ["all": true], "content": ["body": .string(String(repeating: "x", count: 5000))]])
            #expect(long["valid"] == false)
            #expect(long["requests.0.error.field"] == "content.body")
        }
    }

    @Test("have a trail that says why a device matched or did not, and until when it waits")
    func trail() async throws {
        try await Fixture.open { fixture in
            try await Self.register(fixture)
            let reply = try await fixture.admin(
                .post, "…/messages", ["audience": ["topics": ["cheese"]], "content": ["title": "x"]])
            let path = "…/messages/\(reply["id"]?.stringValue ?? "")/deliveries"
            for query in ["device=\(Self.device)", "user=u1", "address=\(Fixture.deviceToken)"] {
                let trail = try await fixture.admin(.get, "\(path)?\(query)")
                #expect(
                    trail["items"]?.arrayValue?.compactMap { $0["event"]?.stringValue } == ["matched", "pending"],
                    "\(trail.text)")
                #expect(trail["items.0.detail"] == "by topic cheese")
                #expect(trail["items.0.device"] == .string(Self.device))
            }
            let other = try await fixture.admin(
                .post, "…/messages", ["audience": ["topics": ["milk"]], "content": ["title": "x"]])
            let none = try await fixture.admin(
                .get, "…/messages/\(other["id"]?.stringValue ?? "")/deliveries?device=\(Self.device)")
            #expect(none["items.0.event"] == "not_matched")
            let unknown = try await fixture.admin(.get, "\(path)?device=10000000-0000-4000-8000-0000000000ff")
            #expect(unknown.status == 404)
        }
    }

    @Test("that are settled show every user's outcome, and the trail explains it")
    func settled() async throws {
        try await Fixture.open { fixture in
            try await Self.register(fixture)
            let reply = try await fixture.admin(
                .post, "…/messages", ["audience": ["users": ["u1"]], "content": ["title": "x"]])
            let slice = try #require(fixture.engine.record.withLock { $0.taken.first })
            let key = try #require(slice.keys?.first)
            let now = fixture.clock.now
            let log = DeliveryLog.encode([
                DeliveryLogEntry(key: key, outcome: .retired, reason: "Unregistered", attempt: 1, locale: "de")
            ])
            var counts = OutcomeCounts()
            counts.count(.retired, reason: "Unregistered")
            let settlement = Settlement(
                of: slice, by: "test", to: slice.keyTo, counts: counts,
                logRow: .init(
                    firstKey: key, lastKey: key, deviceCount: 1, sentAt: now, tookMilliseconds: 40, data: log),
                next: .done)
            let results = try await fixture.store.write(.settle) { try $0.settle([settlement], now: now) }
            try #require(results.first?.isApplied == true)

            let shown = try await fixture.admin(.get, "…/messages/\(reply["id"]?.stringValue ?? "")")
            #expect(shown["state"] == "sent", "\(shown.text)")
            #expect(shown["counts.retired"] == 1)
            #expect(shown["counts.pending"] == 0)
            #expect(shown["reasons"] == ["Unregistered": 1])
            let trail = try await fixture.admin(
                .get, "…/messages/\(reply["id"]?.stringValue ?? "")/deliveries?device=\(Self.device)")
            let events = trail["items"]?.arrayValue?.compactMap { item in
                item["event"]?.stringValue.map { "\($0): \(item["detail"]?.stringValue ?? "")" }
            }
            #expect(
                events == [
                    "matched: by its user", "sent: attempt 1 over apns production, rendered in de",
                    "retired: Unregistered",
                ], "\(trail.text)")
        }
    }
}

extension Fixture {
    /// Starts due work, then quarantines every ready slice for iOS. Returns how many.
    fileprivate func quarantineAll() async throws -> Int {
        try await store.write(.control) { [app, now = clock.now] writer in
            _ = try writer.fireDueMoments(now: now, limit: 10)
            // Slices of small messages are leased when they are accepted.
            _ = try writer.takeBackLeases(endedBefore: Timestamp(milliseconds: .max))
            let key = try #require(try writer.app(app)).key
            let route = ActiveRoute(app: key, route: .apnsProduction)
            let slices = try writer.lease(route, limit: 10, owner: "me", until: now + .seconds(30), now: now)
            for slice in slices {
                let settlement = Settlement(of: slice, by: "me", to: slice.keyTo, next: .done)
                _ = try writer.quarantine(settlement, reason: "damaged", keepsAnswers: false, now: now)
            }
            return slices.count
        }
    }
}
