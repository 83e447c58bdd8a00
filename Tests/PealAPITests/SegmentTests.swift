import HTTPTypes
import PealCore
import PealTesting
import Testing

@Suite("Segments")
struct SegmentTests {
    private static let registrations: [(String, String)] = [
        (
            "10000000-0000-4000-8000-000000000001",
            #""platform":"ios","address":"\#(String(repeating: "a1", count: 32))","user_id":"anna","topics":["news"],"#
                + #""locale":"de-AT","time_zone":"Europe/Vienna","app_version":"2.10","attributes":{"plan":"pro","age":30}"#
        ),
        (
            "10000000-0000-4000-8000-000000000002",
            #""platform":"android","address":"fcm-token-2","locale":"de","app_version":"2.9","attributes":{"age":12}"#
        ),
        (
            "10000000-0000-4000-8000-000000000003",
            #""platform":"ios","address":"\#(String(repeating: "c3", count: 32))","locale":"en","topics":["news"]"#
        ),
    ]

    private static func open(_ body: @escaping @Sendable (Fixture) async throws -> Void) async throws {
        try await Fixture.open { fixture in
            for (id, members) in registrations {
                let reply = try await fixture.adminText(
                    .put, "…/devices/\(id)", "{\(members)}")
                try #require(reply.status == 201, "\(reply.text)")
            }
            try await body(fixture)
        }
    }

    @Test(
        "an audience with a condition is counted exactly, without content",
        arguments: [
            (#"{"locale":"de"}"#, #"{"devices":2,"platforms":{"android":1,"ios":1}}"#),
            (#"{"and":[{"topic":"news"},{"not":{"user":"anna"}}]}"#, #"{"devices":1,"platforms":{"ios":1}}"#),
            (#"{"app_version":{"gte":"2.10"}}"#, #"{"devices":1,"platforms":{"ios":1}}"#),
            (#"{"attribute":{"name":"age","in":[12,13]}}"#, #"{"devices":1,"platforms":{"android":1}}"#),
            (#"{"attribute":{"name":"age","lt":1e400}}"#, #"{"devices":2,"platforms":{"android":1,"ios":1}}"#),
            (#"{"attribute":{"name":"plan","exists":false}}"#, #"{"devices":2,"platforms":{"android":1,"ios":1}}"#),
            (#"{"time_zone":"Europe/Vienna"}"#, #"{"devices":1,"platforms":{"ios":1}}"#),
            (#"{"device":"10000000-0000-4000-8000-000000000003"}"#, #"{"devices":1,"platforms":{"ios":1}}"#),
            (#"{"seen":{"within_days":1}}"#, #"{"devices":3,"platforms":{"android":1,"ios":2}}"#),
            (
                #"{"registered":{"after":"2020-01-01T00:00:00+02:00"}}"#,
                #"{"devices":3,"platforms":{"android":1,"ios":2}}"#
            ),
            (#"{"platform":"web"}"#, #"{"devices":0,"platforms":{}}"#),
        ])
    func counts(_ condition: String, _ count: String) async throws {
        try await Self.open { fixture in
            let reply = try await fixture.adminText(
                .post, "…/audience:count", #"{"audience":{"where":\#(condition)}}"#)
            #expect(reply.status == 200)
            #expect(reply.text == count)
            let shown = try await fixture.adminText(
                .post, "…/messages:validate", #"{"audience":{"where":\#(condition)},"content":{"body":"b"}}"#)
            #expect(shown["audience"]?.text == count, "\(shown.text)")
            let sent = try await fixture.adminText(
                .post, "…/messages", #"{"audience":{"where":\#(condition)},"content":{"body":"b"}}"#)
            #expect(sent.status == 202)
            #expect(sent["audience_estimate"] == reply["devices"])
        }
    }

    @Test(
        "what is wrong in a condition is refused and named",
        arguments: [
            (#"{}"#, "audience.where"), (#"[]"#, "audience.where"), (#"{"topics":["a"]}"#, "audience.where.topics"),
            (#"{"topic":"a","user":"b"}"#, "audience.where"), (#"{"topic":null}"#, "audience.where"),
            (#"{"and":[]}"#, "audience.where.and"), (#"{"and":{"topic":"a"}}"#, "audience.where.and"),
            (#"{"and":[{"topic":"a"},{"topc":"b"}]}"#, "audience.where.and[1].topc"),
            (#"{"not":[{"topic":"a"}]}"#, "audience.where.not"),
            (#"{"platform":"symbian"}"#, "audience.where.platform"),
            (#"{"device":"x"}"#, "audience.where.device"), (#"{"locale":"d e"}"#, "audience.where.locale"),
            (#"{"attribute":{"is":1}}"#, "audience.where.attribute.name"),
            (#"{"registered":{"after":"9999-12-31T23:59:59-00:01"}}"#, "audience.where.registered.after"),
            (#"{"attribute":{"name":"a"}}"#, "audience.where.attribute"),
            (#"{"attribute":{"name":"a","like":"x"}}"#, "audience.where.attribute.like"),
            (#"{"attribute":{"name":"a","is":{}}}"#, "audience.where.attribute.is"),
            (#"{"attribute":{"name":"a","in":[]}}"#, "audience.where.attribute.in"),
            (#"{"attribute":{"name":"a","in":[[1]]}}"#, "audience.where.attribute.in[0]"),
            (#"{"attribute":{"name":"a","gt":true}}"#, "audience.where.attribute.gt"),
            (#"{"attribute":{"name":"a","is":"x\u0000"}}"#, "audience.where.attribute.is"),
            (#"{"attribute":{"name":"a","in":["x","\u001b"]}}"#, "audience.where.attribute.in[1]"),
            (#"{"attribute":{"name":"a","lte":"\u007f"}}"#, "audience.where.attribute.lte"),
            (#"{"attribute":{"name":"a","exists":1}}"#, "audience.where.attribute.exists"),
            (#"{"app_version":"2"}"#, "audience.where.app_version"),
            (#"{"app_version":{"gte":2}}"#, "audience.where.app_version.gte"),
            (#"{"app_version":{"gte":"new"}}"#, "audience.where.app_version.gte"),
            (#"{"app_version":{}}"#, "audience.where.app_version"),
            (#"{"seen":{"within_days":0}}"#, "audience.where.seen.within_days"),
            (#"{"seen":{"within_days":1,"x":1}}"#, "audience.where.seen.x"),
            (#"{"seen":{}}"#, "audience.where.seen.within_days"),
            (#"{"registered":{"after":"yesterday"}}"#, "audience.where.registered.after"),
            (#"{"segment":"gone"}"#, "audience.where.segment"),
            (#"{"or":[{"topic":"a"},{"not":{"segment":"gone"}}]}"#, "audience.where.or[1].not.segment"),
        ])
    func refused(_ condition: String, _ field: String) async throws {
        try await Fixture.open { fixture in
            for (path, more) in [("messages", #","content":{"body":"b"}"#), ("audience:count", "")] {
                let reply = try await fixture.adminText(
                    .post, "…/\(path)", #"{"audience":{"where":\#(condition)}\#(more)}"#)
                #expect(reply.status == 400, "\(reply.text)")
                #expect(reply.field == field, "\(reply.text)")
            }
            #expect(try await fixture.census()["messages"] == 0)
        }
    }

    @Test("a condition may be large and deep within limits")
    func limits() async throws {
        try await Self.open { fixture in
            func count(_ condition: String) async throws -> Int {
                try await fixture.adminText(.post, "…/audience:count", #"{"audience":{"where":\#(condition)}}"#).status
            }
            func nested(_ depth: Int) -> String {
                String(repeating: #"{"not":"#, count: depth - 1) + #"{"topic":"a"}"#
                    + String(repeating: "}", count: depth - 1)
            }
            func wide(_ size: Int) -> String {
                #"{"or":["# + Array(repeating: #"{"topic":"a"}"#, count: size - 1).joined(separator: ",") + "]}"
            }
            let long = Array(repeating: "\"\(String(repeating: "x", count: 200))\"", count: 400).joined(separator: ",")
            let tooLong = #"{"attribute":{"name":"a","in":[\#(long)]}}"#
            for (condition, status) in [
                (nested(Limits.conditionDepthMax), 200), (nested(Limits.conditionDepthMax + 1), 400),
                (wide(Limits.conditionsMax), 200), (wide(Limits.conditionsMax + 1), 400), (tooLong, 400),
            ] {
                let given = try await count(condition)
                #expect(given == status)
            }
        }
    }

    @Test("segments are created, changed, listed, used and deleted")
    func life() async throws {
        try await Self.open { fixture in
            let german: JSON = ["where": ["locale": "de"]]
            let made = try await fixture.admin(.put, "…/segments/german", german)
            #expect(made.status == 201, "\(made.text)")
            #expect(made["where"] == ["locale": "de"])
            #expect(try await fixture.admin(.put, "…/segments/german", german).status == 200)
            let both: JSON = ["where": ["and": [["segment": "german"], ["platform": "ios"]]]]
            #expect(try await fixture.admin(.put, "…/segments/german%20phones", both).status == 201)
            let page = try await fixture.admin(.get, "…/segments?limit=1")
            #expect(page["items.0.name"] == "german")
            let cursor = try #require(page["next_cursor"]?.stringValue)
            let rest = try await fixture.admin(.get, "…/segments?limit=1&cursor=\(cursor)")
            #expect(rest["items.0.name"] == "german phones" && rest["next_cursor"] == .null)
            #expect(try await fixture.admin(.get, "…/segments/german%20phones")["where"] == both["where"])
            let audience: JSON = ["audience": ["where": ["segment": "german phones"]]]
            #expect(try await fixture.admin(.post, "…/audience:count", audience)["devices"] == 1)

            let circle = try await fixture.admin(.put, "…/segments/german", ["where": ["segment": "german phones"]])
            #expect(circle.status == 400 && circle.field == "where.segment", "\(circle.text)")
            let own = try await fixture.admin(.put, "…/segments/new", ["where": ["not": ["segment": "new"]]])
            #expect(own.status == 400 && own.field == "where.not.segment")
            let missing = try await fixture.admin(.put, "…/segments/new", ["where": ["segment": "gone"]])
            #expect(missing.status == 400 && missing["error.message"]?.stringValue?.contains("gone") == true)
            #expect(try await fixture.admin(.put, "…/segments/new", [:]).field == "where")
            #expect(try await fixture.admin(.put, "…/segments/new", ["name": "new"]).field == "name")

            #expect(try await fixture.admin(.delete, "…/segments/german").status == 204)
            #expect(try await fixture.admin(.delete, "…/segments/german").status == 404)
            #expect(try await fixture.admin(.get, "…/segments/german").status == 404)
            let dead = try await fixture.admin(.post, "…/audience:count", audience)
            #expect(dead.status == 400 && dead["error.message"]?.stringValue?.contains("german") == true)
        }
    }

    @Test("a scheduled message keeps the name of its segment and is refused a missing one in a change")
    func scheduled() async throws {
        try await Self.open { fixture in
            _ = try await fixture.admin(.put, "…/segments/german", ["where": ["locale": "de"]])
            let start = (fixture.clock.now + .seconds(3600)).description
            let sent = try await fixture.admin(
                .post, "…/messages",
                [
                    "audience": ["where": ["segment": "german"]], "content": ["body": "b"],
                    "schedule": ["at": .string(start)],
                ])
            #expect(sent["audience_estimate"] == 2, "\(sent.text)")
            let id = try #require(sent["id"]?.stringValue)
            let change = try await fixture.admin(
                .patch, "…/messages/\(id)", ["audience": ["where": ["segment": "gone"]]])
            #expect(change.status == 400 && change.field == "audience.where.segment", "\(change.text)")
            let draft = try await fixture.draft(try #require(MessageID(id)))
            #expect(draft?.audience.condition == .segment("german"))
            let window = try await fixture.admin(
                .post, "…/messages",
                [
                    "audience": ["users": ["anna"], "where": ["locale": "de"]], "content": ["body": "b"],
                    "schedule": ["window": ["until": .string(start)]],
                ])
            #expect(window.status == 400 && window.field == "audience")
        }
    }

    @Test("a key without the scope changes no segment")
    func scopes() async throws {
        try await Fixture.open { fixture in
            let key = try await fixture.key("native", [("scopes", ["read"])])
            let token = "Bearer \(key["token"]?.stringValue ?? "")"
            let path = fixture.path
            func status(_ method: HTTPRequest.Method, _ segment: String, _ body: String? = nil) async throws -> Int {
                try await fixture.call(method, "\(path)/\(segment)", body: body, authorization: token).status
            }
            #expect(try await status(.get, "segments") == 200)
            #expect(try await status(.post, "audience:count", #"{"audience":{"all":true}}"#) == 200)
            #expect(try await status(.put, "segments/a", #"{"where":{"topic":"a"}}"#) == 403)
            #expect(try await status(.delete, "segments/a") == 403)
        }
    }
}
