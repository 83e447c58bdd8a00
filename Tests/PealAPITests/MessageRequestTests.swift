import HTTPTypes
import PealCore
import PealTesting
import Synchronization
import Testing

@testable import PealAPI

@Suite("What was asked for")
struct MessageRequestTests {
    private static let device = "10000000-0000-4000-8000-000000000001"

    @Test("is shown as it was given, in the answer and later")
    func given() async throws {
        try await Fixture.open { fixture in
            let body = #"""
                {"content":{"title":{"de":"Servus","en":"Hello"},"data":{"n":1.0}},"audience":{"users":["b","a","a"]},
                "options":{"ttl_seconds":60,"environment":"development"},"campaign_id":"spring",
                "schedule":{"at":"2030-01-01T01:00:00+01:00"}}
                """#
            let accepted = try await fixture.adminText(.post, "…/messages", body)
            let request = try JSONParser.parse(body)
            #expect(accepted.status == 202 && accepted["request"] == request, "\(accepted.text)")
            let path = "…/messages/\(accepted["id"]?.stringValue ?? "")"
            #expect(try await fixture.admin(.get, path)["request"] == request)
            let changed = try await fixture.adminText(.patch, path, #"{"options":null,"content":{"body":"New"}}"#)
            var members = try #require(request.objectValue)
            members["options"] = nil
            members["content"] = ["body": "New"]
            #expect(changed["request"] == .object(members), "\(changed.text)")
            #expect(try await fixture.admin(.get, path)["request"] == .object(members))
            #expect(try await fixture.admin(.post, "\(path)/cancel")["request"] == .object(members))
        }
    }

    @Test("of another dialect is shown in native members, and can be sent again through the native API")
    func translated() async throws {
        try await DevtodevFixture.open { devtodev in
            let sent = try await devtodev.push(#""ios":{"payload":{"text":"Hi"}}"#, #""campaign_tag":"spring","#)
            #expect(sent.status < 300, "\(sent.text)")
            let list = try await devtodev.fixture.admin(.get, "…/messages?dialect=devtodev")
            let id = try #require(list["items.0.id"]?.stringValue)
            let shown = try await devtodev.fixture.admin(.get, "…/messages/\(id)")
            let request = try #require(shown["request"])
            #expect(request["content"]?["ios"] != nil && request["campaign_id"] == "spring", "\(request.text)")
            #expect(list["items.0.audience_summary"]?.stringValue?.isEmpty == false)
            #expect(list["items.0.request"] == nil)
        }
    }

    @Test(
        "is one line in lists",
        arguments: [
            (#"{"all":true}"#, "all devices"), (#"{"topics":["a","b"],"users":["u"]}"#, "topics a, b or user u"),
            (#"{"all":true,"platforms":["ios"],"not_topics":["x"]}"#, "all devices; only ios; not topic x"),
            (#"{"devices":["\#(device)"],"interactive_only":true}"#, "1 device; only interactive"),
            (#"{"topics":["1","2","3","4","5","6"]}"#, "6 topics"),
        ])
    func audience(audience: String, line: String) async throws {
        try await Fixture.open { fixture in
            let sent = try await fixture.adminText(
                .post, "…/messages", #"{"audience":\#(audience),"content":{"title":"A\n title","body":"text"}}"#)
            let list = try await fixture.admin(.get, "…/messages")
            #expect(list["items.0.audience_summary"] == .string(line), "\(list.text)")
            #expect(list["items.0.title"] == "A title")
            let shown = try await fixture.admin(.get, "…/messages/\(sent["id"]?.stringValue ?? "")")
            #expect(shown["title"] == "A title" && shown["audience_summary"] == .string(line))
        }
    }

    @Test(
        "has a title from the first text that exists",
        arguments: [
            (#"{"title":{"de":"Servus","en":"Hello"}}"#, "Hello"), (#"{"body":"Only text"}"#, "Only text"),
            (#"{"ios":{"payload":{"aps":{"alert":{"title":"T","body":"B"}}}}}"#, "T"),
            (#"{"ios":{"payload":{"aps":{"alert":"B"}}}}"#, "B"),
            (#"{"android":{"notification":{"title":"N"}}}"#, "N"), (#"{"data":{"a":1}}"#, nil),
            (#"{"android":{"data_only":true,"data":{"title":"D","body":"B"}}}"#, "D"),
            (#"{"android":{"data_only":true,"data":{"message":"M"}}}"#, "M"),
            (#"{"android":{"notification":{"body":"N"},"data":{"title":"D"}}}"#, "N"),
            (#"{"android":{"data_only":true,"data":{"title":"A"}},"ios":{"payload":{"aps":{"alert":"I"}}}}"#, "A"),
            (#"{"android":{"data_only":true,"data":{"alert":"A"}},"ios":{"payload":{"aps":{"alert":"I"}}}}"#, "I"),
            (#"{"windows_phone":{"type":"toast","fields":{"title":"P"}}}"#, "P"),
        ] as [(String, String?)])
    func title(content: String, title: String?) async throws {
        try await Fixture.open { fixture in
            _ = try await fixture.adminText(
                .post, "…/messages", #"{"audience":{"all":true},"content":\#(content)}"#)
            let list = try await fixture.admin(.get, "…/messages")
            #expect(list["items.0.title"] == title.map(JSON.string) ?? .null, "\(list.text)")
        }
    }

    @Test(
        "reaches only platforms for which the content has something",
        arguments: [
            (#"{"windows":{"type":"raw","value":"x"}}"#, ["windows"]),
            (#"{"ios":{"payload":{"a":1}},"web":{"options":{"priority":"low"}}}"#, ["ios"]),
            (#"{"ios":{"payload":{"a":1}},"android":{"options":{"background":true}}}"#, ["ios", "android"]),
            (#"{"badge":0,"ios":{"payload":{"a":1}}}"#, Platform.addressable.map(\.rawValue)),
        ])
    func platforms(content: String, names: [String]) async throws {
        try await Fixture.open { fixture in
            let sent = try await fixture.adminText(
                .post, "…/messages", #"{"audience":{"all":true},"content":\#(content)}"#)
            #expect(sent.status == 202, "\(sent.text)")
            let id = try #require(MessageID(sent["id"]?.stringValue ?? ""))
            let draft = try #require(await fixture.draft(id))
            let reached = Set(Platform.addressable).subtracting(draft.content.absentPlatforms)
            #expect(Set(reached.map(\.rawValue)) == Set(names))
        }
    }

    @Test("cannot become empty when it no longer wakes apps")
    func woken() async throws {
        try await Fixture.open { fixture in
            let sent = try await fixture.adminText(
                .post, "…/messages",
                #"""
                {"audience":{"all":true},"content":{},"options":{"background":true},
                "schedule":{"at":"2030-01-01T00:00:00Z"}}
                """#)
            let path = "…/messages/\(sent["id"]?.stringValue ?? "")"
            #expect(try await fixture.adminText(.patch, path, #"{"options":null}"#).field == "content")
            let changed = try await fixture.adminText(.patch, path, #"{"options":null,"content":{"body":"b"}}"#)
            #expect(changed.status == 200, "\(changed.text)")
        }
    }

    @Test("is found by time, text and state")
    func filters() async throws {
        try await Fixture.open { fixture in
            for (title, body) in [("Käse 100%", "Brie"), ("Milk_1", "fresh"), ("Butter", "fresh")] {
                _ = try await fixture.admin(
                    .post, "…/messages",
                    ["audience": ["users": ["nobody"]], "content": ["title": .string(title), "body": .string(body)]])
                fixture.clock.advance(by: .seconds(60))
            }
            func titles(_ query: String) async throws -> [String] {
                let reply = try await fixture.admin(.get, "…/messages?\(query)")
                try #require(reply.status == 200, "\(reply.text)")
                return (reply["items"]?.arrayValue ?? []).compactMap { $0["title"]?.stringValue }
            }
            #expect(try await titles("text=k%C3%84se") == ["Käse 100%"])
            #expect(try await titles("text=100%25") == ["Käse 100%"])
            #expect(try await titles("text=k_1") == ["Milk_1"])
            #expect(try await titles("text=k%251") == [])
            #expect(try await titles("text=FRESH") == ["Butter", "Milk_1"])
            let now = fixture.clock.now
            let times = (0...3).map { (now - .seconds(180 - 60 * $0)).description }
            #expect(try await titles("from=\(times[1])") == ["Butter", "Milk_1"])
            #expect(try await titles("to=\(times[1])") == ["Käse 100%"])
            #expect(try await titles("from=\(times[1])&to=\(times[2])") == ["Milk_1"])
            #expect(try await titles("text=fresh&limit=1&state=sent") == ["Butter"])
            for query in ["from=yesterday", "from=\(times[2])&to=\(times[1])", "state=open"] {
                #expect(try await fixture.admin(.get, "…/messages?\(query)").status == 400)
            }
        }
    }

    @Test("changes `unreachable` only where a phone may choose the moment")
    func unreachable() async throws {
        try await Fixture.open { fixture in
            let until = (fixture.clock.now + .seconds(7200)).description
            let sent = try await fixture.admin(
                .post, "…/messages",
                [
                    "audience": ["users": ["ann"]], "content": ["title": "x"], "method": "context_aware",
                    "schedule": ["window": ["until": .string(until)]], "options": ["unreachable": "best_hour"],
                ])
            #expect(sent.status == 202, "\(sent.text)")
            let path = "…/messages/\(sent["id"]?.stringValue ?? "")"
            let later = "…/messages/\(try await fixture.scheduled())"
            let changes: [(String, JSON, Int)] = [
                (path, ["method": "traditional"], 400), (path, ["options": ["unreachable": "now"]], 200),
                (path, ["method": "ab_test"], 200),
                (path, ["options": ["unreachable": "deadline"], "method": "traditional"], 400),
                (path, ["options": .null, "method": "traditional"], 200),
                (path, ["options": ["unreachable": "now"]], 400), (later, ["options": ["unreachable": "now"]], 400),
                (later, ["options": ["unreachable": .null]], 200),
            ]
            for (path, change, status) in changes {
                let reply = try await fixture.admin(.patch, path, change)
                #expect(reply.status == status, "\(change.text): \(reply.text)")
                if status == 400 { #expect(reply.field == "options.unreachable") }
            }
        }
    }

    @Test(
        "with a delivery window is empty if none of its users had a device",
        arguments: [
            (true, ["NoDevice": 2], true), (true, ["NoDevice": 1, "QuietHours": 1], false), (true, [:], false),
            (false, ["NoDevice": 2], false),
        ] as [(Bool, [String: Int], Bool)])
    func emptyWindow(hasWindow: Bool, reasons: [String: Int], isEmpty: Bool) {
        let now = Timestamp(milliseconds: 0)
        var draft = MessageDraft(
            id: MessageID(high: 1, low: 1), app: 1, dialect: "native", audience: Audience(), content: Content(),
            options: MessageOptions(), createdAt: now, expiresAt: now)
        if hasWindow { draft.window = DeliveryWindow(until: now, method: .traditional, graceSeconds: 0) }
        var message = Message(draft)
        var counts = OutcomeCounts()
        (counts.suppressed, counts.reasons) = (2, reasons)
        for state in [Message.State.sending, .sent] {
            message.state = state
            let report = MessageReport(message: message, platforms: [.ios: counts])
            #expect(report.isEmpty == (isEmpty && state == .sent))
            #expect((report.nativeJSON["empty"] == true) == report.isEmpty)
        }
    }

    @Test("says when no device was reached")
    func empty() async throws {
        try await Fixture.open { fixture in
            let sent = try await fixture.admin(
                .post, "…/messages", ["audience": ["topics": ["nobody"]], "content": ["title": "x"]])
            #expect(sent["state"] == "sent" && sent["empty"] == true, "\(sent.text)")
            let path = "…/messages/\(sent["id"]?.stringValue ?? "")"
            #expect(try await fixture.admin(.get, path)["empty"] == true)
            let later = try await fixture.admin(.get, "…/messages/\(try await fixture.scheduled())")
            #expect(later["empty"] == nil && later["resent"] == 0)
        }
    }
}

@Suite("Test messages")
struct TestMessageTests {
    private static let device = "10000000-0000-4000-8000-000000000001"

    @Test("are for devices and users only, at most a hundred")
    func audience() async throws {
        try await Fixture.open { fixture in
            let users = (1...101).map { JSON.string("u\($0)") }
            let audiences: [(JSON, Int)] = [
                (["users": ["u"]], 202), (["devices": [.string(Self.device)], "users": ["u"]], 202),
                (["users": ["u"], "platforms": ["ios"]], 202), (["users": .array(users)], 400),
                (["all": true], 400), (["topics": ["a"], "users": ["u"]], 400),
                (["addresses": [["platform": "ios", "address": .string(Fixture.deviceToken)]]], 400),
            ]
            for (audience, status) in audiences {
                let reply = try await fixture.admin(
                    .post, "…/messages", ["test": true, "audience": audience, "content": ["title": "x"]])
                #expect(reply.status == status, "\(reply.text)")
                if status == 400 { #expect(reply.field == "audience") }
            }
        }
    }

    @Test("belong to no campaign and no window, and say that they are tests")
    func campaign() async throws {
        try await Fixture.open { fixture in
            let until = JSON.string((fixture.clock.now + .seconds(600)).description)
            let body: [(String, JSON)] = [
                ("test", true), ("audience", ["users": ["u"]]), ("content", ["title": "x"]), ("campaign_id", "spring"),
            ]
            let sent = try await fixture.admin(.post, "…/messages", .object(JSON.Members(body)))
            let shown = try await fixture.admin(.get, "…/messages/\(sent["id"]?.stringValue ?? "")")
            #expect(shown["test"] == true && shown["campaign_id"] == nil, "\(shown.text)")
            #expect(shown["request.campaign_id"] == "spring" && shown["request.test"] == true)
            #expect(try await fixture.admin(.get, "…/campaigns/spring").status == 404)
            #expect(try await fixture.admin(.get, "…/campaigns")["items"] == [])
            let window = try await fixture.admin(
                .post, "…/messages", .object(JSON.Members(body + [("schedule", ["window": ["until": until]])])))
            #expect(window.status == 400 && window.field == "schedule.window", "\(window.text)")
        }
    }

    @Test("keep few recipients when they are changed")
    func change() async throws {
        try await Fixture.open { fixture in
            let at = JSON.string((fixture.clock.now + .seconds(3600)).description)
            let sent = try await fixture.admin(
                .post, "…/messages",
                [
                    "test": true, "audience": ["users": ["u"]], "content": ["title": "x"], "schedule": ["at": at],
                ])
            let path = "…/messages/\(sent["id"]?.stringValue ?? "")"
            #expect(try await fixture.admin(.patch, path, ["audience": ["all": true]]).field == "audience")
            let fine = try await fixture.admin(.patch, path, ["audience": ["users": ["v"]]])
            #expect(fine.status == 200 && fine["test"] == true, "\(fine.text)")
        }
    }
}
