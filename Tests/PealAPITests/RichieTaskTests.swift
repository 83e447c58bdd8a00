import HTTPTypes
import PealAPI
import PealCore
import Testing

@Suite("Richie tasks")
struct RichieTaskTests {
    private static let payloads = #""payloads":{"ios":{"aps":{"alert":{"body":"b"}}}}"#
    private static let long = String(repeating: "x", count: 4097)

    struct Refused: Sendable, CustomTestStringConvertible {
        let body: String
        let status: Int
        let word: String
        var testDescription: String { word }
        init(_ body: String, _ word: String, status: Int = 400) {
            (self.body, self.status, self.word) = (body, status, word)
        }
        /// To all users.
        init(payloads: String, _ word: String, status: Int = 400) {
            self.init(#"{"app_id":"an-app","topics":["all_users"],"payloads":\#(payloads)}"#, word, status: status)
        }
    }

    @Test(
        "are refused in one sentence that names what is wrong, and nothing is stored",
        arguments: [
            Refused("", "line 1, column 1"), Refused("{\"topics\":\n [,]}", "line 2, column 3"),
            Refused("[]", "object"), Refused("{}", "app_id"),
            Refused(#"{"app_id":"an-app",\#(payloads)}"#, "topics"),
            Refused(#"{"app_id":"an-app","topics":[],"external_user_ids":[],\#(payloads)}"#, "topics"),
            Refused(#"{"app_id":"an-app","topics":null,"external_user_ids":"",\#(payloads)}"#, "topics"),
            Refused(#"{"app_id":"an-app","topics":"news",\#(payloads)}"#, "topics"),
            Refused(#"{"app_id":"an-app","topics":["x"]}"#, "payloads"),
            Refused(#"{"app_id":"another-app","topics":["x"],\#(payloads)}"#, "app", status: 404),
            Refused(#"{"app_id":{},"topics":["x"],\#(payloads)}"#, "app_id"),
            Refused(payloads: "{}", "payloads"), Refused(payloads: #"{"web":{}}"#, "payloads"),
            Refused(payloads: #"{"ios":"b"}"#, "payloads.ios"),
            Refused(payloads: #"{"ios":{"aps":"b"}}"#, "payloads.ios.aps"),
            Refused(payloads: #"{"ios":{"aps":{"content-available":1}}}"#, "payloads.ios.aps.alert.body"),
            Refused(payloads: #"{"ios":{"aps":{"alert":{"title":"t","body":""}}}}"#, "payloads.ios.aps.alert.body"),
            Refused(
                payloads: #"{"ios":{"aps":{"alert":["b"]}}}"#, "payloads.ios.aps.alert must be a string or an object"),
            Refused(payloads: #"{"ios":{"aps":{"alert":{"body":{}}}}}"#, "payloads.ios.aps.alert.body"),
            Refused(
                payloads: #"{"ios":{"aps":{"alert":"b","content-available":"yes"}}}"#,
                "payloads.ios.aps.content-available"),
            Refused(payloads: #"{"ios":{"aps":{"alert":"b","issue-page":"ten"}}}"#, "payloads.ios.aps.issue-page"),
            Refused(payloads: #"{"ios":{"aps":{"alert":"b","badge":"+1"}}}"#, "payloads.ios.aps.badge"),
            Refused(payloads: #"{"ios":{"aps":{"alert":"b","badge":-1}}}"#, "payloads.ios.aps.badge"),
            Refused(payloads: #"{"android":{"body":"b"}}"#, "payloads.android.data"),
            Refused(payloads: #"{"android":{"data":{"title":"t"}}}"#, "payloads.android.data.body"),
            Refused(payloads: #"{"android":{"data":{"body":"\u0007"}}}"#, "payloads.android.data.body"),
            Refused(payloads: #"{"android":{"data":{"body":"\#(long)"}}}"#, "payloads.android", status: 413),
            Refused(payloads: #"{"ios":{"aps":{"alert":"\#(long)"}}}"#, "payloads.ios", status: 413),
        ])
    func refused(refused: Refused) async throws {
        try await RichieFixture.open { richie in
            let reply = try await richie.post(refused.body)
            #expect(reply.status == refused.status, "\(reply.text)")
            let sentence = try #require(reply["error"]?.stringValue, "\(reply.text)")
            #expect(sentence.contains(refused.word), "\(sentence)")
            #expect(reply.json.objectValue?.names == ["error"])
            #expect(try await richie.fixture.census()["messages"] == 0)
        }
    }

    @Test(
        "link to https, and to http where the app allows it",
        arguments: [
            ("https://example.com/a?b#c", true, true), ("HTTPS://example.com", true, true),
            ("http://example.com/a", false, true), ("ftp://example.com", false, false), ("https://", false, false),
            ("https:///a", false, false), ("https://example.com/a b", false, false), ("example.com", false, false),
        ])
    func links(link: String, isTaken: Bool, isTakenWithHTTP: Bool) async throws {
        for (setting, expected) in [(false, isTaken), (true, isTakenWithHTTP)] {
            try await RichieFixture.open(settings: ["allow_http_links": .bool(setting)]) { richie in
                let key = #""external-browser-url":"\#(link)""#
                for payloads in [
                    #"{"ios":{"aps":{"alert":{"body":"b",\#(key)}}}}"#, #"{"ios":{"aps":{"alert":"b",\#(key)}}}"#,
                    #"{"ios":{"aps":{"alert":"b"},\#(key)}}"#, #"{"android":{"data":{"body":"b",\#(key)}}}"#,
                    #"{"android":{"data":{"alert":{"body":"b",\#(key)}}}}"#,
                ] {
                    let reply = try await richie.send(payloads)
                    #expect(reply.status == (expected ? 201 : 400), "\(payloads) \(reply.text)")
                    if !expected { #expect(reply.text.contains("external-browser-url")) }
                }
            }
        }
    }

    @Test(
        "take 1,000 topics and 10,000 users, and ignore names that nothing can have",
        arguments: [
            ("topics", 1000, 201), ("topics", 1001, 400), ("external_user_ids", 10_000, 201),
            ("external_user_ids", 10_001, 400),
        ])
    func limits(name: String, count: Int, status: Int) async throws {
        try await RichieFixture.open { richie in
            let elements = (0..<count).map { #""e\#($0)""# }.joined(separator: ",")
            let reply = try await richie.post(#"{"app_id":"an-app","\#(name)":[\#(elements)],\#(Self.payloads)}"#)
            #expect(reply.status == status, "\(reply.text)")
            let odd = #"[null,"",{},["x"],"\u0000","\#(Self.long)"]"#
            let nobody = try await richie.draft(
                try await richie.post(#"{"app_id":"an-app","\#(name)":\#(odd),\#(Self.payloads)}"#))
            #expect(nobody.audience.isEmpty)
        }
    }

    @Test("accept as many as the configuration allows")
    func configured() async throws {
        let options = APIOptions {
            $0.richieTopicsMax = 2
            $0.richieUsersMax = 1
        }
        try await RichieFixture.open(options: options) { richie in
            for (names, status) in [
                (#""topics":["a","b"]"#, 201), (#""topics":["a","b","c"]"#, 400),
                (#""external_user_ids":["a"]"#, 201), (#""external_user_ids":["a","b"]"#, 400),
            ] {
                let reply = try await richie.post(#"{"app_id":"an-app",\#(names),\#(Self.payloads)}"#)
                #expect(reply.status == status, "\(reply.text)")
            }
            let document = try await richie.fixture.call(.get, "/openapi.json", authorization: nil)
            let task = document["components.schemas.RichieTask.properties"]
            #expect(task?["topics"]?["maxItems"] == 2 && task?["external_user_ids"]?["maxItems"] == 1)
        }
    }

    @Test("may have trailing commas, missing commas and comments, unless the app refuses them")
    func lenient() async throws {
        let body = #"{"app_id":"an-app" /* ours */ "topics":["all_users",],\#(Self.payloads),}"#
        try await RichieFixture.open(settings: ["lenient_json": false]) { richie in
            let status = try await richie.post(body).status
            #expect(status == 400)
        }
        try await RichieFixture.open { richie in
            #expect(try await richie.post(body).status == 201)
            for broken in ["{,}", #"{"a":[,]}"#, #"{"a":1,,}"#, #"{"a":[1,,]}"#, #"{"a":1 b:2}"#] {
                let text = try await richie.post(broken).text
                #expect(text.contains("line 1, column"), "\(broken)")
            }
        }
    }

    @Test("with one key are sent to the app that they name, among those that it was granted")
    func severalApps() async throws {
        try await RichieFixture.open { richie in
            let fixture = richie.fixture
            let other = try await fixture.admin(.post, "/peal/v1/apps", ["name": "B", "richie_app_id": "b-app"])
            let id = other["id"] ?? .null
            _ = try await fixture.key("richie", [("username", "owner"), ("password", "secret-2"), ("apps", [id])])
            func send(_ app: String, _ user: String, _ secret: String) async throws -> Int {
                let body = #"{"app_id":"\#(app)","topics":["all_users"],\#(Self.payloads)}"#
                return try await fixture.call(
                    .post, RichieFixture.path, body: body, authorization: fixture.basic(user, secret)
                ).status
            }
            #expect(try await send("an-app", "owner", "secret-2") == 201)
            #expect(try await send("b-app", "owner", "secret-2") == 201)
            #expect(try await send("c-app", "owner", "secret-2") == 404)
            #expect(try await send("b-app", "publisher", "secret-1") == 403)
            let path = "/peal/v1/apps/\(id.stringValue ?? "")/messages"
            #expect(try await fixture.admin(.get, path)["items"]?.arrayValue?.count == 1)
        }
    }

    @Test("pass analytics keys with dashes or nesting on, with a warning for each")
    func analytics() async throws {
        try await RichieFixture.open { richie in
            let reply = try await richie.send(
                #"""
                {"ios":{"aps":{"alert":{"body":"b","custom_key":"v","custom-key":"w","nested":{"a":[1]}}}},
                 "android":{"data":{"body":"b","custom_key":"v","other-key":1,"list":[1]}}}
                """#)
            let warning = reply.header("Warning") ?? ""
            #expect(warning.contains(#"299 - "payloads.ios.aps.alert has 1 key with a dash"#), "\(warning)")
            #expect(warning.contains(#"299 - "payloads.ios.aps.alert has 1 key with a nested value"#), "\(warning)")
            #expect(warning.contains("payloads.android.data has 1 key with a dash"), "\(warning)")
            #expect(!warning.contains("custom") && !warning.contains("other"))
            let ios = RichieFixture.fields(try await richie.draft(reply), .ios) ?? ""
            #expect(ios.contains(#""custom-key":"w","nested":{"a":[1]}"#), "\(ios)")
            let beside = try await richie.send(
                #"{"ios":{"aps":{"alert":{"body":"b"},"my-key":1,"n":{"a":1}},"your-key":2,"m":{"a":1}}}"#)
            let words = beside.header("Warning") ?? ""
            for path in ["payloads.ios.aps", "payloads.ios"] {
                #expect(words.contains(#"299 - "\#(path) has 1 key with a dash"#), "\(words)")
                #expect(words.contains(#"299 - "\#(path) has 1 key with a nested value"#), "\(words)")
            }
            let plain = try await richie.send(
                #"{"ios":{"aps":{"alert":{"body":"b","custom_key":"v"},"thread-id":"t","sound":{"name":"s"}}}}"#)
            #expect(plain.status == 201 && plain.header("Warning") == nil)
        }
    }

    @Test("require the app's key")
    func access() async throws {
        try await RichieFixture.open { richie in
            let fixture = richie.fixture
            let body = #"{"app_id":"an-app","topics":["all_users"],\#(Self.payloads)}"#
            for authorization in [nil, fixture.basic("publisher", "wrong"), "Bearer x", "Basic !"] {
                let reply = try await fixture.call(.post, RichieFixture.path, body: body, authorization: authorization)
                #expect(reply.status == 401 && reply["error"]?.stringValue != nil)
                #expect(reply.header("WWW-Authenticate")?.hasPrefix("Basic ") == true)
            }
            try await fixture.makePivotalKey()
            let pivotal = fixture.pivotalBackend
            #expect(try await fixture.call(.post, RichieFixture.path, body: body, authorization: pivotal).status == 403)
            let admin = "Bearer \(Fixture.adminToken)"
            #expect(try await fixture.call(.post, RichieFixture.path, body: body, authorization: admin).status == 403)
            #expect(
                try await fixture.call(.post, "/v1/push", body: "{}", authorization: richie.authorization).status == 403
            )
            _ = try await fixture.key(
                "richie", [("username", "reader"), ("scopes", ["read"]), ("password", "secret-2")])
            let reader = fixture.basic("reader", "secret-2")
            #expect(try await fixture.call(.post, RichieFixture.path, body: body, authorization: reader).status == 403)
        }
    }

    @Test("name the key's app by either of its ids; another app's is forbidden")
    func apps() async throws {
        try await RichieFixture.open { richie in
            _ = try await richie.fixture.admin(.post, "/peal/v1/apps", ["name": "Other", "richie_app_id": "their-app"])
            func status(_ id: String) async throws -> Int {
                try await richie.post(#"{"app_id":\#(id),"topics":["all_users"],\#(Self.payloads)}"#).status
            }
            #expect(try await status(#""\#(richie.fixture.app)""#) == 201)
            #expect(try await status(#""\#("\(richie.fixture.app)".uppercased())""#) == 201)
            #expect(try await status(#""their-app""#) == 403)
            #expect(try await status(#""AN-APP""#) == 404)
            _ = try await richie.fixture.admin(.patch, "…", ["richie_app_id": "17"])
            #expect(try await status("17") == 201)
        }
    }

    @Test("are accepted under any spelling of the path and any usual name of the body, by POST only")
    func manners() async throws {
        try await RichieFixture.open { richie in
            let body = #"{"app_id":"an-app","topics":["all_users"],\#(Self.payloads)}"#
            let spaced = richie.authorization.replacing("Basic ", with: "bAsIc \t ")
            for path in ["/push/v2/admin/task/", "//push//v2/admin/task", "/push/v2/admin/task?x=1"] {
                #expect(try await richie.fixture.call(.post, path, body: body, authorization: spaced).status == 201)
            }
            for type in ["text/plain", "application/x-www-form-urlencoded", "", "application/json; charset=utf-8"] {
                #expect(try await richie.post(body, headers: ["Content-Type": type]).status == 201)
            }
            #expect(try await richie.post(body, headers: ["Content-Type": "image/png"]).status == 415)
            for method in [HTTPRequest.Method.get, .put, .delete] {
                let reply = try await richie.fixture.call(method, RichieFixture.path, authorization: nil)
                #expect(reply.status == 405 && reply.header("Allow") == "POST, OPTIONS")
                #expect(reply["error"]?.stringValue != nil)
            }
            let unknown = try await richie.fixture.call(.post, "/push/v2/admin/tasks", authorization: nil)
            #expect(unknown.status == 404 && unknown["error"]?.stringValue != nil)
        }
    }

    @Test("are new ones when they are repeated, whatever their ids")
    func repeated() async throws {
        try await RichieFixture.open { richie in
            let body = #"{"app_id":"an-app","topics":["all_users"],\#(Self.payloads)}"#
            let first = try await richie.post(body, headers: ["Idempotency-Key": "one"])
            let second = try await richie.post(body, headers: ["Idempotency-Key": "one"])
            #expect(first.status == 201 && second.status == 201 && first.text != second.text)
        }
    }
}
