import HTTPTypes
import PealCore
import PealTesting
import Testing

@Suite("Rules in requests")
struct RulesTests {
    @Test("rules of an app are shown, replaced as a whole, and removed by null")
    func settings() async throws {
        try await Fixture.open { fixture in
            let rules: JSON = [
                "quiet_hours": ["from": "22:00", "to": "07:00"], "frequency_cap": ["messages": 3, "hours": 24],
                "rate_per_second": 500, "default_time_zone": "Europe/Vienna",
            ]
            let changed = try await fixture.admin(.patch, "", ["settings": rules], isApp: true)
            #expect(changed.status == 200, "\(changed.text)")
            for name in AppSettings.ruleNames { #expect(changed["settings.\(name)"] == rules[name]) }
            #expect(changed["settings.pivotal.send_receipt"] == true)
            let fewer = try await fixture.admin(
                .patch, "", ["settings": ["quiet_hours": .null, "richie": ["lenient_json": false]]], isApp: true)
            #expect(fewer["settings.quiet_hours"] == nil)
            #expect(fewer["settings.rate_per_second"] == 500)
            #expect(fewer["settings.richie.lenient_json"] == false)
            let made = try await fixture.admin(.post, "/peal/v1/apps", ["name": "b", "settings": rules])
            #expect(made.status == 201 && made["settings.quiet_hours"] == rules["quiet_hours"], "\(made.text)")
        }
    }

    @Test(
        "invalid rules are refused and named",
        arguments: [
            (#"{"quiet_hours":{"from":"22:00"}}"#, "settings.quiet_hours.to"),
            (#"{"quiet_hours":{"from":"22:00","to":"22:00"}}"#, "settings.quiet_hours.to"),
            (#"{"quiet_hours":{"from":"24:00","to":"07:00"}}"#, "settings.quiet_hours.from"),
            (#"{"quiet_hours":{"from":"7:00","to":"08:00"}}"#, "settings.quiet_hours.from"),
            (#"{"quiet_hours":{"from":"22:00","to":"07:00","zone":"x"}}"#, "settings.quiet_hours.zone"),
            (#"{"frequency_cap":{"messages":0,"hours":1}}"#, "settings.frequency_cap.messages"),
            (#"{"frequency_cap":{"messages":1}}"#, "settings.frequency_cap.hours"),
            (#"{"rate_per_second":0}"#, "settings.rate_per_second"),
            (#"{"rate_per_second":1.5}"#, "settings.rate_per_second"),
            (#"{"default_time_zone":"Europe/Atlantis"}"#, "settings.default_time_zone"),
        ])
    func refused(_ settings: String, _ field: String) async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.call(
                .patch, fixture.path, body: #"{"settings":\#(settings)}"#,
                authorization: "Bearer \(Fixture.adminToken)")
            #expect(reply.status == 400 && reply.field == field, "\(reply.text)")
        }
    }

    @Test("a message in recipients' time zones starts where the day begins, whatever its offset")
    func recipientTimeZone() async throws {
        try await Fixture.open { fixture in
            func send(_ schedule: String, _ options: String = "{}") async throws -> Fixture.Reply {
                try await fixture.adminText(
                    .post, "…/messages",
                    #"{"audience":{"topics":["t"]},"content":{"body":"b"},"schedule":\#(schedule),"options":\#(options)}"#
                )
            }
            for text in ["2027-01-02T09:00:00Z", "2027-01-02T09:00:00+01:00", "2027-01-02T09:00:00.000-05:00"] {
                let reply = try await send(#"{"at":"\#(text)","in":"recipient_time_zone"}"#, #"{"ttl_seconds":3600}"#)
                #expect(reply["state"] == "scheduled", "\(reply.text)")
                let id = try #require(reply["id"]?.stringValue)
                let shown = try await fixture.admin(.get, "…/messages/\(id)")
                #expect(shown["start_at"] == "2027-01-01T19:00:00Z")
                #expect(shown["expires_at"] == "2027-01-02T22:00:00Z")
                let draft = try await fixture.draft(try #require(MessageID(id)))
                #expect(draft?.options.recipientsTime?.description == "2027-01-02T09:00:00Z")
                let moved = try await fixture.admin(
                    .patch, "…/messages/\(id)", ["schedule": ["at": "2027-01-03T09:00:00Z"]])
                #expect(moved["start_at"] == "2027-01-03T09:00:00Z")
                let later = try await fixture.draft(try #require(MessageID(id)))
                #expect(later?.options.recipientsTime == nil)
            }
            let late = try await send(#"{"at":"2020-01-02T09:00:00Z","in":"recipient_time_zone"}"#)
            #expect(late.status == 202)
            let wrong = try await send(#"{"at":"2027-01-02T09:00:00Z","in":"sender_time_zone"}"#)
            #expect(wrong.status == 400 && wrong.field == "schedule.in", "\(wrong.text)")
            #expect(try await send(#"{"in":"recipient_time_zone"}"#).field == "schedule.at")
        }
    }

    @Test("the rate of a message can be changed while it is sent, and nothing else can")
    func rate() async throws {
        try await Fixture.open { fixture in
            _ = try await fixture.admin(
                .put, "…/devices/10000000-0000-4000-8000-000000000001",
                ["platform": "ios", "address": .string(Fixture.deviceToken)])
            let sent = try await fixture.admin(
                .post, "…/messages",
                [
                    "audience": ["all": true], "content": ["body": "b"],
                    "options": ["rate_per_second": 5, "transactional": true, "ttl_seconds": 600],
                ])
            #expect(sent["state"] == "sending", "\(sent.text)")
            let id = try #require(sent["id"]?.stringValue)
            let message = try #require(MessageID(id))
            #expect(try await fixture.draft(message)?.options.isTransactional == true)
            let changed = try await fixture.admin(
                .patch, "…/messages/\(id)", ["options": ["rate_per_second": 50]])
            #expect(changed.status == 200, "\(changed.text)")
            #expect(
                changed["request.options"]
                    == ["rate_per_second": 50, "transactional": true, "ttl_seconds": 600], "\(changed.text)")
            let options = try await fixture.draft(message)?.options
            #expect(options?.ratePerSecond == 50 && options?.isTransactional == true && options?.life == .seconds(600))
            let more: JSON = ["options": ["rate_per_second": 50, "priority": "low"]]
            #expect(try await fixture.admin(.patch, "…/messages/\(id)", more).status == 409)
            #expect(
                try await fixture.admin(.patch, "…/messages/\(id)", ["options": ["rate_per_second": 0]]).status == 400)
            let removed = try await fixture.admin(
                .patch, "…/messages/\(id)", ["options": ["rate_per_second": .null]])
            #expect(removed.status == 200)
            #expect(removed["request.options"] == ["transactional": true, "ttl_seconds": 600], "\(removed.text)")
            #expect(try await fixture.draft(message)?.options.ratePerSecond == nil)
        }
    }
}

extension Fixture {
    fileprivate func admin(
        _ method: HTTPRequest.Method, _ path: String, _ body: JSON, isApp: Bool
    ) async throws -> Reply { try await admin(method, isApp ? self.path : path, body) }
}
