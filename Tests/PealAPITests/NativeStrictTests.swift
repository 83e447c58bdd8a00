import HTTPTypes
import PealAPI
import PealCore
import PealTesting
import Synchronization
import Testing

@Suite("The native API is strict")
struct NativeStrictTests {
    private static let sent = #""audience":{"all":true},"content":{"title":"x"}"#

    @Test(
        "refuses what it does not know, and names it",
        arguments: [
            (#"{\#(sent),"schedul":{}}"#, "schedul"),
            (#"{"audience":{"all":true,"not_topic":["a"]},"content":{"title":"x"}}"#, "audience.not_topic"),
            (#"{"audience":{"topics":["a"],"attributes":{"a":1}},"content":{"title":"x"}}"#, "audience.attributes"),
            (#"{"audience":{"all":true},"content":{"titel":"x"}}"#, "content.titel"),
            (#"{\#(sent),"options":{"ttl":5}}"#, "options.ttl"),
            (#"{"audience":{"all":true},"content":{"title":"x","ios":{"badge":1}}}"#, "content.ios.badge"),
            (#"{"audience":{"all":true},"content":{"windows":{"typ":"raw"}}}"#, "content.windows.typ"),
            (
                #"{"audience":{"all":true},"content":{"android":{"options":{"prio":"low"}}}}"#,
                "content.android.options.prio"
            ),
            (#"{\#(sent),"schedule":{"at":"2030-01-01T00:00:00Z","tz":"x"}}"#, "schedule.tz"),
            (
                #"{"audience":{"addresses":[{"platform":"ios","address":"\#(Fixture.deviceToken)","env":"x"}]},"#
                    + #""content":{"title":"x"}}"#, "audience.addresses[0].env"
            ),
        ])
    func members(body: String, field: String) async throws {
        try await Fixture.open { fixture in
            for path in ["…/messages", "…/messages:validate"] {
                let reply = try await fixture.adminText(.post, path, body)
                #expect(reply.status == 400 && reply.code == "unknown_field" && reply.field == field, "\(reply.text)")
            }
            #expect(try await fixture.census()["messages"] == 0)
        }
    }

    @Test(
        "refuses a member that is given twice, at any level",
        arguments: [
            (#"{"audience":{"users":["ann"]},"content":{"title":"x"},"audience":{"all":true}}"#, "audience"),
            (#"{"audience":{"users":["ann"],"users":["bob"]},"content":{"title":"x"}}"#, "audience.users"),
            (#"{\#(sent),"options":{"ttl_seconds":5,"ttl_\u0073econds":6}}"#, "options.ttl_seconds"),
            (#"{"audience":{"all":true},"content":{"title":"x","data":{"a":[{"b":1,"b":2}]}}}"#, "content.data.a[0].b"),
        ])
    func repeated(body: String, field: String) async throws {
        try await Fixture.open { fixture in
            for path in ["…/messages", "…/messages:validate"] {
                let reply = try await fixture.adminText(.post, path, body)
                #expect(reply.status == 400 && reply.code == "invalid_field" && reply.field == field, "\(reply.text)")
                #expect(reply["error.message"]?.stringValue?.contains("given more than once") == true)
            }
            #expect(try await fixture.census()["messages"] == 0)
        }
    }

    @Test(
        "names what is unknown, before it asks for what is missing",
        arguments: [
            (#"{"audiense":{"all":true},"content":{"title":"x"}}"#, "audiense", "did you mean audience?"),
            (#"{\#(sent),"foo":1,"schedul":{},"bar":2}"#, "foo", "; also unknown: schedul, bar"),
            (#"{\#(sent),"schedul":{},"foo":1}"#, "schedul", "did you mean schedule? also unknown: foo"),
        ])
    func unknownFirst(body: String, field: String, end: String) async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.adminText(.post, "…/messages", body)
            #expect(reply.code == "unknown_field" && reply.field == field, "\(reply.text)")
            #expect(reply["error.message"]?.stringValue?.hasSuffix(end) == true, "\(reply.text)")
        }
    }

    @Test("does not repeat a long name in full", arguments: [#""LONG":1"#, #""a":1,"LONG":1,"LONG":2"#])
    func longName(members: String) async throws {
        try await Fixture.open { fixture in
            let long = String(repeating: "x", count: 100_000)
            let reply = try await fixture.adminText(
                .post, "…/messages", "{\(members.replacing("LONG", with: long))}")
            #expect(reply.status == 400 && reply.text.utf8.count < 2000)
        }
    }

    @Test("refuses an empty list of platforms, which could mean no device or all devices")
    func noPlatforms() async throws {
        try await Fixture.open { fixture in
            let audience: JSON = ["all": true, "platforms": []]
            let reply = try await fixture.admin(
                .post, "…/messages", ["audience": audience, "content": ["title": "x"]])
            #expect(reply.status == 400 && reply.field == "audience.platforms", "\(reply.text)")
            let count = try await fixture.admin(.post, "…/audience:count", ["audience": audience])
            #expect(count.status == 400 && count.field == "audience.platforms", "\(count.text)")
        }
    }

    @Test(
        "refuses unknown members everywhere else too",
        arguments: [
            (.post, "/peal/v1/apps", #"{"name":"x","bundle":"y"}"#, "bundle"),
            (.patch, "…", #"{"settings":{"richie":{"lenient":true}}}"#, "settings.richie.lenient"),
            (.post, "…/devices", #"{"platform":"ios","address":"\#(Fixture.deviceToken)","tags":[]}"#, "tags"),
            (.post, "…/keys", #"{"dialect":"native","scope":["send"]}"#, "scope"),
            (.post, "…/audience:count", #"{"audience":{"topics":["a"],"not_topic":["b"]}}"#, "audience.not_topic"),
            (.put, "…/topics/a", #"{"expires":"2030-01-01T00:00:00Z"}"#, "expires"),
            (
                .put, "…/webhooks/main",
                #"{"url":"https://localhost/","kind":"events","authentication":{"type":"bearer","token":"t","x":1}}"#,
                "authentication.x"
            ),
            (.put, "…/credentials/mpns", #"{"cert":"x"}"#, "cert"),
        ] as [(HTTPRequest.Method, String, String, String)])
    func elsewhere(method: HTTPRequest.Method, path: String, body: String, field: String) async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.adminText(method, path, body)
            #expect(reply.code == "unknown_field" && reply.field == field, "\(reply.text)")
        }
    }

    @Test("suggests the name that was meant")
    func suggestion() async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.adminText(.post, "…/messages", #"{\#(Self.sent),"schedul":{}}"#)
            #expect(reply["error.message"]?.stringValue?.hasSuffix("did you mean schedule?") == true, "\(reply.text)")
        }
    }

    @Test(
        "refuses unknown and repeated query parameters",
        arguments: [
            ("…/messages?stat=sent", "unknown_field", "stat"),
            ("…/devices?user=u", "unknown_field", "user"),
            ("/peal/v1/apps?limi=1", "unknown_field", "limi"),
            ("…/topics/a?x", "unknown_field", "x"), ("…/topics/a?=x", "unknown_field", ""),
            ("…/messages?state=sent&state=failed", "invalid_field", "state"),
        ])
    func query(path: String, code: String, field: String) async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.admin(.get, path)
            #expect(reply.status == 400 && reply.code == code && reply.field == field, "\(reply.text)")
        }
    }

    @Test("refuses members of a body where it expects none, and accepts an empty object")
    func bodies() async throws {
        try await Fixture.open { fixture in
            let id = try await fixture.scheduled()
            let reply = try await fixture.adminText(.post, "…/messages/\(id)/cancel", #"{"reason":"x"}"#)
            #expect(reply.code == "unknown_field" && reply.field == "reason", "\(reply.text)")
            #expect(try await fixture.adminText(.post, "…/messages/\(id)/cancel", "{}").status == 200)
        }
    }

    @Test("refuses several faults together, with a list", arguments: ["devices", "users", "topics", "addresses"])
    func combination(name: String) async throws {
        try await Fixture.open { fixture in
            let items: [String: JSON] = [
                "devices": ["10000000-0000-4000-8000-000000000001"],
                "addresses": [["platform": "ios", "address": .string(Fixture.deviceToken)]],
            ]
            let audience = JSON.object(JSON.Members([("all", true), (name, items[name] ?? ["x"])]))
            let reply = try await fixture.admin(
                .post, "…/messages", ["audience": audience, "content": ["title": "x"]])
            #expect(reply.status == 400 && reply.field == "audience.\(name)", "\(reply.text)")
            let empty = JSON.object(JSON.Members([("all", true), (name, [])]))
            let fine = try await fixture.admin(.post, "…/messages", ["audience": empty, "content": ["title": "x"]])
            #expect(fine.status == 202, "\(fine.text)")
        }
    }

    @Test("passes the push networks' own members on")
    func passing() async throws {
        try await Fixture.open { fixture in
            let content: JSON = [
                "ios": ["payload": ["aps": ["alert": "x", "new-key": 1], "own": 1]], "android": ["newField": 1],
                "web": ["anything": 1], "data": ["free": 1],
            ]
            let reply = try await fixture.admin(.post, "…/messages", ["audience": ["all": true], "content": content])
            #expect(reply.status == 202, "\(reply.text)")
        }
    }

    @Test("stays tolerant in the dialects")
    func dialects() async throws {
        try await DevtodevFixture.open { devtodev in
            let reply = try await devtodev.push(#""ios":{"payload":{"text":"Hi"}},"unknown":1"#)
            #expect(reply.status < 300, "\(reply.text)")
        }
    }
}

@Suite("Native errors")
struct NativeErrorTests {
    @Test("carry the request's id, and a page that explains the code")
    func links() async throws {
        try await Fixture.open { fixture in
            let replies = [
                try await fixture.admin(.get, "…/messages/x"), try await fixture.admin(.get, "…/nothing"),
                try await fixture.call(.get, "/peal/v1/apps", authorization: nil),
                try await fixture.adminText(.post, "…/messages", "{"),
            ]
            for reply in replies {
                #expect(reply["error.request_id"]?.stringValue == reply.header("X-Request-Id"), "\(reply.text)")
                let url = try #require(reply["error.doc_url"]?.stringValue)
                #expect(url == "/docs/errors#\(reply.code ?? "")")
                let path = url.split(separator: "#")[0]
                let page = try await fixture.call(.get, String(path), authorization: nil)
                #expect(page.status == 200 && page.text.contains(#"id="\#(reply.code ?? "")""#))
            }
            let batch = try await fixture.adminText(.post, "…/devices:batch", #"{"devices":[{"platform":"x"}]}"#)
            #expect(batch["results.0.error.request_id"]?.stringValue == batch.header("X-Request-Id"), "\(batch.text)")
            #expect(batch["results.0.error.doc_url"] == "/docs/errors#invalid_field")
        }
    }

    @Test("about sizes are both 413")
    func size() async throws {
        try await Fixture.open { fixture in
            let text = JSON.string(String(repeating: "x", count: 5000))
            let reply = try await fixture.admin(
                .post, "…/messages", ["audience": ["platforms": ["ios"], "all": true], "content": ["body": text]])
            #expect(reply.status == 413 && reply.code == "payload_too_large", "\(reply.text)")
        }
        try await Fixture.open(options: APIOptions { $0.requestBodyBytesMax = 100 }) { fixture in
            let reply = try await fixture.adminText(.post, "…/messages", String(repeating: " ", count: 200))
            #expect(reply.status == 413 && reply.code == "body_too_large")
        }
    }
}

extension Fixture {
    /// A message that starts in an hour.
    func scheduled(_ more: [(String, JSON)] = []) async throws -> String {
        let at = JSON.string((clock.now + .seconds(3600)).description)
        let body: [(String, JSON)] = [
            ("audience", ["all": true]), ("content", ["title": "x"]), ("schedule", ["at": at]),
        ]
        let reply = try await admin(.post, "…/messages", .object(JSON.Members(body + more)))
        try #require(reply.status == 202, "\(reply.text)")
        return reply["id"]?.stringValue ?? ""
    }
}
