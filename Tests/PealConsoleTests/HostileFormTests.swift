import PealConsole
import PealCore
import Synchronization
import Testing

@Suite("Values that no form of the console makes") struct HostileFormTests {
    private static let huge = [String(Int64.max), String(Int64.min), "-1", "0", "1e9", "99999999999999999999"]

    @Test("do not end the process", arguments: huge)
    func numbers(number: String) async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.read, .send, .devices, .manage])
            let topics = try await fixture.get(fixture.page("topics?after=\(number)"), cookie: cookie)
            #expect(topics.status == 200)
            let compose = try await fixture.get(fixture.page("compose"), cookie: cookie)
            let secret = try #require(compose.formSecret)
            let condition = #"{"seen":{"within_days":\#(number)}}"#
            let forms: [(String, [String: String])] = [
                ("compose", ["step": "rows", "rows": number]), ("import", ["devices": "zz", "first": number]),
                ("compose", ["step": "review", "topics": "news", "title": "x", "where": condition]),
                ("compose/check", ["topics": "news", "title": "x", "where": condition]),
                ("segments", ["step": "count", "where": condition]),
                ("segments", ["step": "save", "name": "late", "where": condition]),
                ("compose", ["step": "review", "topics": "news", "title": "x", "badge": number, "ttl": number]),
            ]
            for (page, form) in forms {
                let reply = try await fixture.post(
                    fixture.page(page), form.merging(["csrf": secret]) { $1 }, cookie: cookie)
                #expect([200, 400].contains(reply.status), "\(page) \(form): \(reply.status)")
            }
        }
    }

    @Test("are refused before they are read, if they are too many")
    func fields() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.read, .send])
            let secret = try #require(try await fixture.get(fixture.page("compose"), cookie: cookie).formSecret)
            var form = ["csrf": secret, "step": "rows"]
            for number in 0..<Limits.consoleFormFieldsMax - 2 { form["a\(number)"] = "" }
            #expect(try await fixture.post(fixture.page("compose"), form, cookie: cookie).status == 200)
            form["b"] = ""
            let reply = try await fixture.post(fixture.page("compose"), form, cookie: cookie)
            #expect(reply.status == 413 && reply.text.contains("5000 fields"), "\(reply.text)")
        }
    }

    @Test("in a query are refused before they are read, if they are too many")
    func queries() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.read, .send])
            for (count, status) in [(Limits.consoleFormFieldsMax, 200), (Limits.consoleFormFieldsMax + 1, 413)] {
                let query = Array(repeating: "a", count: count).joined(separator: "&")
                for page in ["compose", "messages"] {
                    let reply = try await fixture.get(fixture.page("\(page)?\(query)"), cookie: cookie)
                    #expect(reply.status == status, "\(page) \(count): \(reply.status)")
                }
            }
        }
    }

    @Test("take memory from the budget of all bodies until they are answered")
    func memory() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.read, .send])
            let secret = try #require(try await fixture.get(fixture.page("compose"), cookie: cookie).formSecret)
            let form = ["csrf": secret, "step": "rows", "body": String(repeating: "a", count: 200_000)]
            for (most, status) in [(100_000, 503), (300_000, 200), (300_000, 200)] {
                fixture.bodies.bytesMax.withLock { $0 = most }
                #expect(try await fixture.post(fixture.page("compose"), form, cookie: cookie).status == status)
                #expect(fixture.bodies.bytesHeld.withLock { $0 } == 0)
            }
        }
    }

    @Test(
        "are refused as the API refuses them",
        arguments: [
            #"{"and":[]}"#, #"{"not":{"or":[]}}"#, #"{"attribute":{"name":"n"}}"#, #"{"topic":""}"#,
            #"{"attribute":{"name":"n","in":[]}}"#, #"{"seen":{"within_days":0}}"#, #"{"topic":"a","topic":"b"}"#,
            #"{"topic":"a","user":"b"}"#,
        ])
    func conditions(text: String) async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.read, .send, .devices])
            let secret = try #require(try await fixture.get(fixture.page("segments"), cookie: cookie).formSecret)
            let segment = try await fixture.post(
                fixture.page("segments"), ["csrf": secret, "step": "save", "name": "s", "where": text], cookie: cookie)
            #expect(segment.status == 400)
            let message = try await fixture.post(
                fixture.page("compose"), ["csrf": secret, "step": "review", "title": "x", "where": text], cookie: cookie
            )
            #expect(message.status == 400)
        }
    }

    @Test("are refused if their JSON has more values than a page reads in an instant")
    func values() async throws {
        let many = Array(repeating: #"{"topic":"a"}"#, count: Limits.consoleJSONValuesMax / 2 + 1)
        let json = #"{"or":[\#(many.joined(separator: ","))]}"#
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.read, .send, .devices])
            let secret = try #require(try await fixture.get(fixture.page("segments"), cookie: cookie).formSecret)
            let forms = [
                ("segments", ["step": "save", "name": "s", "where": json]),
                ("compose", ["step": "review", "title": "x", "where": json]),
                ("compose", ["step": "review", "title": "x", "all": "1", "data": json]),
                ("compose", ["step": "review", "title": "x", "all": "1", "ios": json]),
            ]
            for (page, form) in forms {
                let reply = try await fixture.post(
                    fixture.page(page), form.merging(["csrf": secret]) { $1 }, cookie: cookie)
                #expect(reply.status == 400 && reply.text.contains("may contain at most 10000 JSON values"), "\(form)")
            }
        }
    }

    @Test(
        "are refused for a browser too", arguments: ["Mars Base", "a\u{1}", String(repeating: "a", count: 65)])
    func browser(timeZone: String) async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.read, .devices])
            let secret = try #require(try await fixture.get(fixture.page(""), cookie: cookie).formSecret)
            let subscription = #"{"endpoint":"https://fcm.googleapis.com/fcm/send/a","keys":{"p256dh":"a","auth":"b"}}"#
            let form = ["csrf": secret, "subscription": subscription, "time_zone": timeZone]
            let reply = try await fixture.post(fixture.page("browser"), form, cookie: cookie)
            #expect(reply.status == 400 && reply.text.contains("time_zone must"), "\(reply.text)")
        }
    }

    @Test(
        "are accepted as the API accepts them",
        arguments: [
            #"{"attribute":{"is":"pro","name":"plan"}}"#, #"{"app_version":{"lt":"3","gte":"2.1"}}"#,
            #"{"registered":{"after":"2026-01-01T00:00:00+02:00"}}"#,
        ])
    func segments(text: String) async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.read, .devices])
            let secret = try #require(try await fixture.get(fixture.page("segments"), cookie: cookie).formSecret)
            let reply = try await fixture.post(
                fixture.page("segments"), ["csrf": secret, "step": "save", "name": "s", "where": text], cookie: cookie)
            #expect(reply.status == 303, "\(reply.text)")
            let edit = try await fixture.get(fixture.page("segments?edit=s"), cookie: cookie)
            #expect(edit.text.contains("name=\"name\" value=\"s\"") || edit.text.contains("value=\"s\""))
        }
    }

    @Test(
        "of a message are refused as the API refuses them",
        arguments: [
            ["badge": "9999999999"], ["image_url": "https://a b"], ["title": "a\u{7}"], ["campaign_id": "a\tb"],
            ["sound": String(repeating: "s", count: 300)], ["at": "9999-12-31T23:59", "time_zone": "UTC"],
            ["at": "2027-03-14T02:30", "time_zone": "America/New_York"],
        ] as [[String: String]])
    func messages(fields: [String: String]) async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.read, .send])
            let secret = try #require(try await fixture.get(fixture.page("compose"), cookie: cookie).formSecret)
            let form = ["csrf": secret, "step": "review", "topics": "news", "title": "x"].merging(fields) { $1 }
            #expect(try await fixture.post(fixture.page("compose"), form, cookie: cookie).status == 400)
        }
    }

    @Test("as names are refused as the API refuses them: it counts code points, not what looks like one letter")
    func names() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn()
            let secret = try #require(try await fixture.get(fixture.page("segments"), cookie: cookie).formSecret)
            let letter = "e" + String(repeating: "\u{301}", count: 300)
            let long = String(repeating: "a", count: 256)
            let forms: [(String, [String: String])] = [
                ("/console/new-app", ["name": letter]), ("/console/new-app", ["name": "Cheese", "bundle_id": long]),
                (fixture.page("segments"), ["step": "save", "name": letter, "where": #"{"topic":"news"}"#]),
                (fixture.page("keys"), ["name": letter, "scopes": "read"]),
                (fixture.page("compose"), ["step": "save_draft", "save_name": letter, "title": "T"]),
                (fixture.page("compose"), ["step": "review", "all": "1", "title": "T", "campaign_id": long]),
            ]
            for (path, form) in forms {
                let reply = try await fixture.post(path, form.merging(["csrf": secret]) { $1 }, cookie: cookie)
                #expect(reply.status == 400 && reply.text.contains("may have at most 255 characters"), "\(path)")
            }
            let topics = ["step": "review", "topics": long, "title": "T", "csrf": secret]
            #expect(try await fixture.post(fixture.page("compose"), topics, cookie: cookie).status == 400)
            let campaign = ["all": "1", "campaign_id": String(repeating: "ä", count: 255)]
            let accepted = campaign.merging(["step": "review", "title": "T", "csrf": secret]) { $1 }
            #expect(try await fixture.post(fixture.page("compose"), accepted, cookie: cookie).status == 200)
        }
    }

    @Test("need the right of the page that they lead to")
    func rights() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.devices])
            let secret = try #require(try await fixture.get(fixture.page(""), cookie: cookie).formSecret)
            let count = try await fixture.post(
                fixture.page("segments"), ["csrf": secret, "step": "count", "where": #"{"user":"u"}"#], cookie: cookie)
            #expect(count.status == 403)
            let saved = try await fixture.post(
                fixture.page("segments"), ["csrf": secret, "step": "save", "name": "s", "where": #"{"user":"u"}"#],
                cookie: cookie)
            #expect(saved.status == 303 && saved.location?.contains("segments") == false)
        }
    }

    @Test(
        "in a list keep names with commas whole",
        arguments: [
            ("a, b\nc,,a", ["a", "b", "c"]), (#""a,b", c"#, ["a,b", "c"]), (#""a ""b""", "#, [#"a "b""#]),
            (#"a"b, c"#, [#"a"b"#, "c"]), (#""open, b"#, ["open, b"]), ("", []), (#""""#, []),
        ] as [(String, [String])])
    func lists(text: String, entries: [String]) {
        #expect(Form().with("x", text).list("x") == entries)
        #expect(Form().with("x", entries.map(Form.listed).joined(separator: ",")).list("x") == entries)
    }

    @Test("in an import are refused line by line")
    func imports() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.manage, .devices])
            let secret = try #require(try await fixture.get(fixture.page("import"), cookie: cookie).formSecret)
            let address = String(repeating: "ab", count: 32)
            let wrong = [
                #""environment":"sandbx""#, #""topics":"news""#, #""attributes":[1]"#, #""id":5"#, #""unknown":1"#,
                #""state":"retired""#,
            ]
            let lines = wrong.map { #"{"platform":"ios","address":"\#(address)",\#($0)}"# }
            let exported = #"{"platform":"ios","address":"\#(address)","state":"active","user_id":null,"locale":""}"#
            let reply = try await fixture.post(
                fixture.page("import"),
                ["csrf": secret, "first": "0", "devices": (lines + [exported]).joined(separator: "\n")], cookie: cookie)
            let json = try JSONParser.parse(reply.text)
            #expect(json["refused"]?.arrayValue?.count == wrong.count && json["created"] == 1, "\(reply.text)")
        }
    }

    @Test("in an import are refused if a line has more of them than a page reads in an instant")
    func longLines() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.manage, .devices])
            let secret = try #require(try await fixture.get(fixture.page("import"), cookie: cookie).formSecret)
            let address = String(repeating: "ab", count: 32)
            let lines = [1000, Limits.consoleJSONValuesMax].map { count in
                let absent = (0..<count).map { #","x\#($0)":null"# }.joined()
                return #"{"platform":"ios","address":"\#(address)"\#(absent)}"#
            }
            let reply = try await fixture.post(
                fixture.page("import"), ["csrf": secret, "first": "0", "devices": lines.joined(separator: "\n")],
                cookie: cookie)
            let json = try JSONParser.parse(reply.text)
            #expect(json["created"] == 1 && json["refused"]?.arrayValue?.map { $0["line"] } == [2], "\(reply.text)")
        }
    }
}
