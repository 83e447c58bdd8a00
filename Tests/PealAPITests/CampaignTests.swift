import HTTPTypes
import PealAPI
import PealCore
import PealTesting
import Testing

@Suite("Campaigns")
struct CampaignTests {
    @Test("are the sum of their messages, whichever dialect sent them")
    func sum() async throws {
        try await DevtodevFixture.open { devtodev in
            let ios = #""ios":{"payload":{"text":"Hi"}}"#
            _ = try await devtodev.push(ios, audience: DevtodevFixture.nobody, #""campaign_tag":"spring","#)
            _ = try await devtodev.push(ios, audience: DevtodevFixture.nobody, #""campaign_tag":"autumn","#)
            let address: JSON = ["platform": "ios", "address": .string(Fixture.deviceToken)]
            let native = try await devtodev.fixture.admin(
                .post, "…/messages",
                ["campaign_id": "spring", "audience": ["addresses": [address]], "content": ["body": "Hi"]])
            #expect(native.status == 202)
            let reply = try await devtodev.fixture.admin(.get, "…/campaigns/spring")
            #expect(
                reply.text == #"{"id":"spring","messages":2,"audience":1,"accepted":0,"failed":0,"pending":1,"#
                    + #""received":0,"opened":0,"content_opened":0,"reasons":{}}"#)
            #expect(try await devtodev.fixture.admin(.get, "…/campaigns/winter").code == "not_found")
        }
    }

    @Test("are listed by name, a page at a time")
    func list() async throws {
        try await DevtodevFixture.open { devtodev in
            let ios = #""ios":{"payload":{"text":"Hi"}}"#
            #expect(try await devtodev.fixture.admin(.get, "…/campaigns").text == #"{"items":[],"next_cursor":null}"#)
            for name in ["c", "a", "b", "a", "é"] {
                _ = try await devtodev.push(ios, audience: DevtodevFixture.nobody, #""campaign_tag":"\#(name)","#)
            }
            _ = try await devtodev.push(ios)
            let whole = try await devtodev.fixture.admin(.get, "…/campaigns")
            let names = whole["items"]?.arrayValue?.compactMap { $0["id"]?.stringValue }
            #expect(names == ["a", "b", "c", "é"])
            #expect(whole["items.0"] == (try await devtodev.fixture.admin(.get, "…/campaigns/a")).json)
            #expect(whole["items.0.messages"] == 2 && whole["next_cursor"] == .null)
            let first = try await devtodev.fixture.admin(.get, "…/campaigns?limit=2")
            let cursor = first["next_cursor"]?.stringValue ?? ""
            let second = try await devtodev.fixture.admin(.get, "…/campaigns?limit=2&cursor=\(cursor)")
            #expect(second["items"]?.arrayValue?.compactMap { $0["id"]?.stringValue } == ["c", "é"])
            #expect(second["next_cursor"] == .null)
            #expect(try await devtodev.fixture.admin(.get, "…/campaigns?limit=0").code == "invalid_field")
        }
    }

    @Test("state the result of their experiment, from matured messages whose method the author did not choose")
    func experiment() async throws {
        try await DeviceFixture.open { server in
            let fixture = server.fixture
            var arms: [String: (users: Int, opens: Int)] = ["context_aware": (0, 0), "traditional": (0, 0)]
            for number in 1...40 {
                let phone = try await server.phone(number, user: "u\(number)")
                let until = (fixture.clock.now + .seconds(3600)).description
                let sent = try await fixture.admin(
                    .post, "…/messages",
                    [
                        "audience": ["users": [.string("u\(number)")]], "content": ["title": "T"],
                        "schedule": ["window": ["until": .string(until)]], "campaign_id": "daily",
                    ])
                let message = try #require(sent["id"]?.stringValue)
                let id = try #require(MessageID(message))
                let now = fixture.clock.now
                let moment = try await fixture.store.write(.control) { store in
                    _ = try store.fireDueMoments(now: now, limit: 10)
                    let app = try #require(try store.app(fixture.app)?.key)
                    return try #require(try store.moments(app: app, message: id).first)
                }
                let arm = moment.plannedArm.name
                arms[arm]?.users += 1
                guard number % 3 == 0 else { continue }
                if moment.plannedArm == .contextAware { _ = try await server.claim(phone, message, id: number) }
                _ = try await server.call(
                    .post, "events", [server.event(number, "opened", message)], as: phone.token)
                arms[arm]?.opens += 1
            }
            _ = try await server.schedule("u1")
            #expect(try await fixture.admin(.get, "…/campaigns/daily")["experiment.arms.traditional.users"] == 0)
            fixture.clock.advance(by: .seconds(25 * 3600 + 60))
            let reply = try await fixture.admin(.get, "…/campaigns/daily")
            for (name, expected) in arms {
                let arm = reply["experiment.arms.\(name)"]
                #expect(arm?["users"] == .integer(expected.users) && arm?["messages"] == .integer(expected.users))
                #expect(arm?["opens"] == .integer(expected.opens), "\(name): \(reply.text)")
            }
            let aware = reply["experiment.arms.context_aware"]
            #expect(aware?["shown_by_phone"] == .integer(arms["context_aware"]?.opens ?? 0), "\(reply.text)")
            let ways = ExperimentFacts.Way.allCases.compactMap { aware?[$0.rawValue]?.integerValue }.reduce(0, +)
            #expect(ways >= Int64(arms["context_aware"]?.users ?? 0))
            #expect(reply["experiment.looks"]?.arrayValue?.count == 1)
            #expect(reply["experiment.sample_ratio.sound"] == true)
            #expect(reply["experiment.devices.without_sdk"] == 0)
            let counted = ["unknown", "available", "unavailable"].compactMap {
                reply["experiment.devices.\($0)"]?.integerValue
            }
            #expect(counted.reduce(0, +) == 40, "\(reply.text)")
            let delays = reply["experiment.delays"]?.arrayValue ?? []
            #expect(
                delays.count == ExperimentFacts.delayLimits.count + 1 && delays.last?["minutes_max"]?.isNull == true)
            let opens = delays.compactMap { $0["context_aware"]?.integerValue }.reduce(0, +)
            #expect(Int(opens) == arms["context_aware"]?.opens)
            let guardrails = reply["experiment.guardrails"]?.arrayValue ?? []
            #expect(
                guardrails.compactMap { $0["name"]?.stringValue }
                    == ["failed", "dismissed", "no_session", "app_removed", "notifications_off"])
            #expect(guardrails.allSatisfy { $0["worse"] == false })
            #expect(
                guardrails[3]["context_aware"]?["of"] == .integer(arms["context_aware"]?.users ?? 0), "\(reply.text)")
            #expect(reply["experiment.contexts"]?.arrayValue?.isEmpty == true)
            let check = reply["experiment.model_check"]
            #expect(check?["weights"]?.arrayValue?.first?["feature"] == "unlocked", "\(reply.text)")
            #expect(
                check?["calibration"]?.arrayValue?.isEmpty == true && check?["windows"]?.arrayValue?.isEmpty == true)
            #expect(reply["experiment.verdict"] == "undecided" && reply["experiment.share"] == .number("0.5"))
            #expect(reply["experiment.interval"]?.arrayValue?.count == 2, "\(reply.text)")
            #expect(reply["experiment.advised_share"]?.isNull == true && reply["experiment.per_user"] == false)
            try await Self.changeShare(fixture, after: reply)
        }
    }

    /// Another share ends the run with its result and begins one without figures.
    private static func changeShare(_ fixture: Fixture, after earlier: Fixture.Reply) async throws {
        let path = "…/campaigns/daily/experiment"
        for body: JSON in [["share": .number("1.5")], ["share": "x"], [:], ["share": 1, "salt": "s"]] {
            let refused = try await fixture.admin(.post, path, body)
            #expect(refused.status == 400, "\(body.text): \(refused.text)")
        }
        #expect(try await fixture.admin(.post, "…/campaigns/other/experiment", ["share": 1]).code == "not_found")
        #expect(try await fixture.admin(.post, path, ["share": .number("0.5")]).code == "conflict")
        fixture.clock.advance(by: .seconds(1))
        let change = try await fixture.admin(.post, path, ["share": .number("0.95")])
        #expect(change.status == 200 && change["share"] == .number("0.95") && change["former_share"] == .number("0.5"))
        #expect(change["verdict"] == "undecided" && change["lift_interval"]?.arrayValue?.count == 2, "\(change.text)")
        let opens = earlier["experiment.arms.context_aware.opens"]
        #expect(change["arms.context_aware.opens"] == opens)
        let later = try await fixture.admin(.get, "…/campaigns/daily")
        #expect(later["experiment.changes"]?.arrayValue == [change.json])
        #expect(later["experiment.share"] == .number("0.95") && later["experiment.verdict"] == "undecided")
        #expect(later["experiment.salt"] == earlier["experiment.salt"])
        #expect(later["experiment.arms.traditional.users"] == 0, "\(later.text)")
        #expect(try await fixture.admin(.get, "…/audit").text.contains("experiment.share"))
    }

    @Test("of many messages are read page by page")
    func many() async throws {
        try await Fixture.open { fixture in
            let (id, clock, services) = (fixture.app, fixture.clock, fixture.services)
            let count = Limits.listItemsMax + 1
            try await fixture.store.write(.intake) { store in
                let app = try #require(try store.app(id)?.key)
                for _ in 0..<count {
                    try store.insertMessage(
                        MessageDraft(
                            id: services.randomness.timeOrderedIdentifier(at: clock.now), app: app, dialect: "native",
                            campaignID: "c", audience: Audience(), content: Content(), createdAt: clock.now,
                            expiresAt: clock.now))
                }
            }
            #expect(try await fixture.admin(.get, "…/campaigns/c")["messages"] == .integer(count))
        }
    }
}
