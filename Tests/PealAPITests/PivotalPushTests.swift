import HTTPTypes
import PealAPI
import PealCore
import PealTesting
import Synchronization
import Testing

@Suite("Pivotal push")
struct PivotalPushTests {
    private static func open(
        settings: JSON = [:],
        _ body:
            @escaping @Sendable (Fixture, _ push: @Sendable (String) async throws -> Fixture.Reply) async throws -> Void
    ) async throws {
        try await Fixture.open { fixture in
            _ = try await fixture.admin(.patch, "…", ["settings": ["pivotal": settings]])
            _ = try await fixture.key("pivotal", [("application_uuid", "app-1"), ("api_key", "application-key-1")])
            for index in 1...3 {
                let reply = try await fixture.admin(
                    .put, "…/devices/10000000-0000-4000-8000-00000000000\(index)",
                    [
                        "platform": "ios", "address": .string(String(repeating: "0\(index)", count: 32)),
                        "user_id": .string("u\(index)"), "topics": index == 3 ? ["other"] : ["local_seminars"],
                        "os_version": index == 1 ? "7.1" : "17.0",
                    ])
                try #require(reply.status == 201)
            }
            let authorization = fixture.basic("app-1", "application-key-1", spaces: "  ")
            try await body(fixture) { text in
                try await fixture.call(.post, "/v1/push", body: text, authorization: authorization)
            }
        }
    }

    private static func draft(_ fixture: Fixture, _ reply: Fixture.Reply) async throws -> MessageDraft {
        let id = try #require(MessageID(reply["receipt_id"]?.stringValue ?? ""), "\(reply.text)")
        return try #require(await fixture.draft(id))
    }

    /// The seed's "local_seminars" example, with its expiry as given.
    private static func seminar(expiry: String) -> String {
        """
        {
          "message": {
            "body": "Town Hall This Thursday: Forging, Cheese, And You"
          },
          "target": {
            "topics": [ "local_seminars" ]
          },
          "expiryTime": \(expiry)
        }
        """
    }

    @Test("of the documented example reaches the topic once, and verbatim answers 200 though it has expired")
    func seminars() async throws {
        try await Self.open { fixture, push in
            let live = try await push(Self.seminar(expiry: "1895219200000"))
            #expect(live.status == 200)
            let draft = try await Self.draft(fixture, live)
            #expect(live.text == #"{"receipt_id":"\#(draft.id)"}"#)
            #expect(draft.audience.topics == ["local_seminars"])
            #expect(draft.options.life == .until(Timestamp(milliseconds: 1_895_219_200_000)))
            #expect(
                draft.content.platforms[.ios]?.fields["payload"]?.text == #"{"receiptId":"\#(draft.id)"}"#)
            #expect(draft.content.body == .plain("Town Hall This Thursday: Forging, Cheese, And You"))
            let shown = try await fixture.admin(.get, "…/messages/\(draft.id)")
            #expect(shown["audience.devices"] == 2, "\(shown.text)")

            let verbatim = try await push(Self.seminar(expiry: "1459468800000"))
            #expect(verbatim.status == 200)
            let expired = try await Self.draft(fixture, verbatim)
            #expect(expired.expiresAt == Timestamp(milliseconds: 1_459_468_800_000))
            #expect(expired.startAt == nil)
        }
    }

    @Test(
        "without a body has content only for the platforms for which it says something",
        arguments: [
            (#"{"custom":{"ios":{"alert":"a"}}}"#, [Platform.ios]), (#"{"custom":{"android":{"a":1}}}"#, [.android]),
            (
                #"{"custom":{"ios":{"badge":0},"windows8":{"type":"badge","value":1},"android":null}}"#,
                [.ios, .windows]
            ),
            (#"{"custom":{"ios":{"extra":{"a":1}}}}"#, [.ios]),
            (#"{"custom":{"ios":{"content-available":true}}}"#, [.ios]),
            (#"{"custom":{"ios":{},"android":{"a":1},"windows8":{},"windowsPhone":{"template":null}}}"#, [.android]),
            (#"{"custom":{"ios":{"alert":{"title":""},"sound":null,"extra":{},"content-available":false}}}"#, []),
            (#"{"custom":{"android":{"from":"x","collapse_key":"k"}}}"#, []),
            (#"{"custom":{"windows8":{"type":"toast"},"windowsPhone":{"template":"toast"}}}"#, []),
            (#"{"custom":{"windows8":{"options":{"tag":"a"},"template_fields":{"textField1":""}}}}"#, []),
            (#"{"custom":{"windowsPhone":{"template_fields":{"Title":"x"}}}}"#, [.windowsPhone]),
            (#"{"custom":{"android":{}}}"#, []), (#"{"custom":{"ios":{"alert":""}}}"#, []),
            (#"{"body":"b","custom":{"ios":{"alert":"a"}}}"#, nil),
        ] as [(String, [Platform]?)])
    func absent(message: String, named: [Platform]?) async throws {
        try await Self.open { fixture, push in
            let reply = try await push(#"{"message":\#(message),"target":{"platform":"all"}}"#)
            let content = try await Self.draft(fixture, reply).content
            #expect(content.absentPlatforms == named.map { Set(Platform.allCases).subtracting($0) } ?? [])
            if let named { #expect(Set(content.platforms.keys) == Set(named)) }
        }
    }

    @Test("counts an empty Android message and collapse key as absent")
    func emptyAndroid() async throws {
        try await Self.open { fixture, push in
            let reply = try await push(
                #"""
                {"message":{"body":"B","custom":{"android":{"message":"","collapse_key":"","own":""}}},
                 "target":{"platform":"all"}}
                """#)
            let draft = try await Self.draft(fixture, reply)
            let android = draft.content.platforms[.android]
            let receipt = JSON.string(draft.id.description)
            #expect(android?.fields["data"] == ["message": "B", "own": "", "receiptId": receipt])
            #expect(android?.options.collapseKey == nil)
        }
    }

    @Test("leaves out names that FCM reserves, with a warning")
    func reserved() async throws {
        try await Self.open { fixture, push in
            let reply = try await push(
                #"""
                {"message":{"custom":{"android":
                   {"from":"x","message_type":"y","google.a":1,"gcm.notification.b":2,"k":3}}},
                 "target":{"platform":"all"}}
                """#)
            #expect(reply.status == 200 && reply.header("Warning")?.contains("4 members") == true, "\(reply.text)")
            let draft = try await Self.draft(fixture, reply)
            let data = draft.content.platforms[.android]?.fields["data"]
            #expect(data == ["k": "3", "receiptId": .string(draft.id.description)])
        }
    }

    @Test("starts at once if due sooner than configured")
    func threshold() async throws {
        try await Fixture.open(options: APIOptions { $0.pivotalImmediateSeconds = 5 }) { fixture in
            _ = try await fixture.key("pivotal", [("application_uuid", "app-1"), ("api_key", "application-key-1")])
            for (seconds, member) in [(4, "receipt_id"), (5, "schedule_id")] {
                let reply = try await fixture.call(
                    .post, "/v1/push",
                    body: #"{"message":{"body":"b"},"target":{"platform":"all"},"scheduleIn":\#(seconds)}"#,
                    authorization: fixture.basic("app-1", "application-key-1"))
                #expect(reply[member] != nil, "\(reply.text)")
            }
        }
    }

    @Test("does not know the keys of the other realm, and each realm has its own challenge")
    func realms() async throws {
        try await Self.open { fixture, _ in
            _ = try await fixture.key(
                "pivotal-platform",
                [("platform_uuid", "ios-1"), ("platform_secret", "platform-secret-1"), ("platform", "ios")])
            _ = try await fixture.key("richie", [("username", "publisher"), ("password", "secret-1")])
            let application = fixture.basic("app-1", "application-key-1")
            let platform = fixture.basic("ios-1", "platform-secret-1")
            let push = #"{"message":{"body":"b"},"target":{"platform":"all"}}"#
            let onPush = try await fixture.call(.post, "/v1/push", body: push, authorization: platform)
            #expect(onPush.status == 401)
            #expect(onPush.header("WWW-Authenticate") == #"Basic realm="Push application""#)
            let onDevices = try await fixture.call(
                .post, "/v1/registration", body: #"{"registration_token":"\#(Fixture.deviceToken)"}"#,
                authorization: application)
            #expect(onDevices.status == 401)
            #expect(onDevices.header("WWW-Authenticate") == #"Basic realm="Push platform""#)
            // A key of another dialect stays forbidden.
            let richie = try await fixture.call(
                .post, "/v1/push", body: push, authorization: fixture.basic("publisher", "secret-1"))
            #expect(richie.status == 403)
        }
    }

    @Test("makes the complete iOS payload, receipt at the top level and nobody's extra over it")
    func payload() async throws {
        try await Self.open { fixture, push in
            let reply = try await push(
                """
                {"message":{"body":"default","custom":{"ios":{"alert":{"action-loc-key":"k","loc-args":["a",null,2],
                "title":"T","title-loc-args":null,"launch-image":"Default.png"},"category":"C","badge":"0",
                "sound":"default","content-available":true,"extra":{"story":"u","aps":{"x":1},"receiptId":"evil"}},
                "android":{"n":1,"o":{"a":[true]},"collapse_key":"ck"},
                "windows8":{"template_name":"TileSquareBlock","template_fields":{"textField2":"b","textField1":"a"},
                "type":"tile"},"windowsPhone":{"template":"toast","template_fields":{"subtitle":"s"}}}},
                "target":{"platform":"all"}}
                """)
            let draft = try await Self.draft(fixture, reply)
            #expect(
                draft.content.platforms[.ios]?.fields["payload"]?.text
                    == """
                    {"story":"u","aps":{"alert":{"action-loc-key":"k","loc-args":["a","","2"],"title":"T",\
                    "launch-image":"Default.png","body":"default"},"category":"C","badge":0,"sound":"default",\
                    "content-available":1},"receiptId":"\(draft.id)"}
                    """)
            let android = try #require(draft.content.platforms[.android])
            #expect(
                JSON.object(android.fields).text
                    == """
                    {"data":{"message":"default","n":"1","o":"{\\"a\\":[true]}","receiptId":"\(draft.id)"},\
                    "data_only":true}
                    """)
            #expect(android.options.collapseKey == "ck")
            #expect(draft.content.platforms[.windows]?.fields["fields"] == ["text": ["a", "b"]])
            #expect(draft.content.platforms[.windowsPhone]?.fields["type"] == "toast")
            #expect(
                draft.content.platforms[.ios]?.options.life == .until(Timestamp(seconds: 2_147_483_647)))
            #expect(draft.expiresAt == fixture.clock.now + .seconds(28 * 24 * 3600))
        }
        try await Self.open(settings: ["send_receipt": false]) { fixture, push in
            let reply = try await push(
                #"{"message":{"custom":{"ios":{"content-available":1}}},"target":{"platforms":["ios"]}}"#)
            let draft = try await Self.draft(fixture, reply)
            #expect(
                draft.content.platforms[.ios]?.fields["payload"]?.text == #"{"aps":{"content-available":1}}"#)
            #expect(draft.content.platforms[.ios]?.options.isBackground == true)
        }
    }

    struct Target: Sendable, CustomTestStringConvertible {
        let text: String
        /// nil = refused.
        let devices: Int64?
        var testDescription: String { text }
        init(_ text: String, _ devices: Int64?) { (self.text, self.devices) = (text, devices) }
    }

    private static let first = "10000000-0000-4000-8000-000000000001"

    private static func topics(_ count: Int) -> String {
        "[\((0..<count).map { "\"t\($0)\"" }.joined(separator: ","))]"
    }

    @Test(
        "targets as documented",
        arguments: [
            Target(#"{"devices":["\#(first)","111-222-333444"]}"#, 1),
            Target(#"{"devices":["111-222-333444"]}"#, 0),
            Target(#"{"devices":["\#(first)"],"topics":["other"],"platforms":["android"]}"#, 1),
            Target(#"{"devices":["\#(first)"],"platforms":["platform1"],"platform":"platform2"}"#, 1),
            // `devices` overrides the others, whatever they are.
            Target(#"{"devices":["\#(first)"],"topics":"other","tags":[{}],"custom_user_ids":5}"#, 1),
            Target(#"{"devices":["\#(first)"],"topics":\#(topics(1025)),"custom_user_ids":\#(topics(4097))}"#, 1),
            Target(#"{"devices":["\#(first)"],"topics":\#(topics(1024)),"tags":["one more"]}"#, 1),
            Target(#"{"devices":[],"topics":["other"],"custom_user_ids":5}"#, nil),
            Target(#"{"devices":["\#(String(repeating: "x", count: 300))","a\u0007","\#(first)",null,7]}"#, 1),
            Target(#"{"custom_user_ids":["\#(String(repeating: "x", count: 1021))","u1","a\n"]}"#, 1),
            Target(#"{"custom_user_ids":["\#(String(repeating: "x", count: 1021))"]}"#, 0),
            Target(#"{"topics":["\#(String(repeating: "x", count: 1021))","OTHER"],"tags":["local_seminars"]}"#, 3),
            Target(#"{"topics":["\#(String(repeating: "x", count: 1021))"]}"#, 0),
            Target(#"{"topics":["Local_Seminars","other"]}"#, 3), Target(#"{"tags":["OTHER"]}"#, 1),
            Target(#"{"topics":["other"],"platforms":["android"]}"#, 0),
            Target(#"{"topics":["other"],"platforms":["android"],"platform":"ios"}"#, 1),
            Target(#"{"topics":["other"],"platforms":["android"],"platform":"all"}"#, 1),
            Target(#"{"platforms":["ios","android-fcm","windowsPhone"]}"#, 3),
            Target(#"{"platform":"all"}"#, 3), Target(#"{"platform":"all","interactive-only":true}"#, 2),
            Target(#"{"platform":"all","interactive_only":"1"}"#, 2),
            Target(#"{"custom_user_ids":["u1","u9"]}"#, 1),
            Target(#"{"custom_user_ids":["u1","u3"],"topics":["local_seminars"]}"#, 3),
            Target(#"{"custom_user_ids":["u1"],"platforms":["android"]}"#, 0),
            Target(#"{"devices":[],"topics":[],"platforms":[],"platform":""}"#, nil),
            Target(#"{"interactive-only":true}"#, nil), Target("{}", nil), Target("[]", nil),
            Target(#"{"platforms":["amiga"]}"#, nil), Target(#"{"topics":"other"}"#, nil),
            Target(#"{"topics":[{}]}"#, nil),
            // Lists without a valid name address no devices, whatever else the target contains.
            Target(#"{"devices":[""],"platforms":["ios"]}"#, 0), Target(#"{"devices":[null],"platform":"all"}"#, 0),
            Target(#"{"custom_user_ids":[""],"platforms":["ios"]}"#, 0), Target(#"{"custom_user_ids":[""]}"#, 0),
            Target(#"{"topics":["",null],"platform":"all"}"#, 0), Target(#"{"tags":[""],"platform":"all"}"#, 0),
            Target(#"{"custom_user_ids":[],"topics":[],"platforms":["ios"]}"#, 3),
        ])
    func targets(target: Target) async throws {
        try await Self.open { fixture, push in
            let reply = try await push(#"{"message":{"body":"x"},"target":\#(target.text)}"#)
            guard let devices = target.devices else {
                #expect(reply.status == 400, "\(reply.text)")
                #expect(try await fixture.census()["messages"] == 0)
                return
            }
            let draft = try await Self.draft(fixture, reply)
            let shown = try await fixture.admin(.get, "…/messages/\(draft.id)")
            #expect(shown["audience.devices"]?.integerValue ?? 0 >= 0)
            let (app, now) = (draft.app, fixture.clock.now)
            let count = try await fixture.store.read { store in
                try store.audienceCount(app: app, draft.audience, environment: nil, now: now)
            }
            #expect(Int64(count.values.reduce(0, +)) == devices)
        }
    }

    @Test(
        "takes up to 4096 devices, 4096 users and 1024 topics",
        arguments: [
            ("devices", 4096, 200), ("devices", 4097, 400), ("custom_user_ids", 4096, 200),
            ("custom_user_ids", 4097, 400), ("topics", 1024, 200), ("topics", 1025, 400),
        ])
    func limits(name: String, count: Int, status: Int) async throws {
        try await Self.open { _, push in
            let elements = (0..<count).map { #""e\#($0)""# }.joined(separator: ",")
            let reply = try await push(#"{"message":{"body":"x"},"target":{"\#(name)":[\#(elements)]}}"#)
            #expect(reply.status == status)
        }
    }

    @Test(
        "is refused with a payload that is too large, whether the target can exist or not",
        arguments: [#""platforms":["ios"]"#, #""topics":["nobody"]"#, #""devices":["111-222-333444"]"#])
    func tooLarge(target: String) async throws {
        try await Self.open { _, push in
            let body = String(repeating: "x", count: Limits.apnsPayloadBytesMax)
            let reply = try await push(#"{"message":{"body":"\#(body)"},"target":{\#(target)}}"#)
            #expect(reply.status == 400 && reply.text.contains("message.body"), "\(reply.text)")
        }
    }

    struct Timing: Sendable, CustomTestStringConvertible {
        let text: String
        /// Seconds until it starts; 0 = at once; nil = refused.
        let delay: Int64?
        var testDescription: String { text }
        init(_ text: String, _ delay: Int64?) { (self.text, self.delay) = (text, delay) }
    }

    /// The time of the tests' clock.
    private static let now: Int64 = 1_795_219_200_000

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
        try await Self.open { fixture, push in
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

    @Test("of milliseconds by mistake is read as such where the app asks for it")
    func heuristic() async throws {
        try await Self.open(settings: ["schedule_in_millis_heuristic": true]) { fixture, push in
            _ = try await push(
                #"{"message":{"body":"x"},"target":{"platform":"all"},"scheduleIn":7200000}"#)
            let list = try await fixture.admin(.get, "…/messages?state=scheduled")
            #expect(list["items.0.start_at"] == "2026-11-21T02:00:00Z", "\(list.text)")
        }
    }

    @Test("may be looked up, changed and cancelled until it starts")
    func schedules() async throws {
        try await Self.open { fixture, push in
            let authorization = fixture.basic("app-1", "application-key-1")
            func call(_ method: HTTPRequest.Method, _ path: String, _ body: String? = nil) async throws -> Fixture.Reply
            {
                try await fixture.call(method, path, body: body, authorization: authorization)
            }
            let made = try await push(
                #"{"message":{"body":"x"},"target":{"platform":"all"},"scheduleIn":7200}"#)
            let id = made["schedule_id"]?.stringValue ?? ""
            let at = Self.now + 7_200_000
            let object = """
                {"schedule_id":"\(id)","scheduled_for":\(at),"push":{"scheduleAt":\(at),"scheduleIn":0,\
                "expiryTime":null,"message":{"body":"x"},"target":{"platform":"all"}}}
                """
            #expect(try await call(.get, "/v1/schedules/\(id)").text == object)
            #expect(try await call(.get, "/v1/schedule").text == "[\(object)]")
            let changed = try await call(
                .put, "/v1/schedules/\(id)", #"{"scheduleAt":\#(at + 1000),"message":{"body":"y"}}"#)
            #expect(changed["scheduled_for"]?.integerValue == at + 1000, "\(changed.text)")
            #expect(changed["push.message.body"] == "y")
            #expect(changed["push.target.platform"] == "all")
            #expect(try await call(.put, "/v1/schedules/\(id)", #"{"target":{}}"#).status == 400)
            let kept = try await call(
                .put, "/v1/schedule/\(id)", #"{"scheduleAt":null,"scheduleIn":0,"message":null,"target":null}"#)
            #expect(kept.text == changed.text)
            let dated = try await call(.put, "/v1/schedules/\(id)", #"{"expiryTime":\#(at + 60_000)}"#)
            #expect(dated["push.expiryTime"]?.integerValue == at + 60_000, "\(dated.text)")
            let warned = try await call(
                .put, "/v1/schedules/\(id)", #"{"message":{"body":"y","custom":{"android":{"from":"x"}}}}"#)
            #expect(warned.header("Warning")?.contains("1 members") == true, "\(warned.text)")
            _ = try await call(.put, "/v1/schedules/\(id)", #"{"message":{"body":"y"}}"#)
            let early = try await call(.put, "/v1/schedules/\(id)", #"{"expiryTime":\#(at)}"#)
            #expect(early.status == 400)
            let endless = try await call(.put, "/v1/schedules/\(id)", #"{"expiryTime":null}"#)
            #expect(endless.text == changed.text)
            let echoed = try await call(.put, "/v1/schedules/\(id)", changed["push"]?.text ?? "")
            #expect(echoed.text == changed.text)
            #expect(try await call(.delete, "/v1/schedules/\(id)").status == 204)
            #expect(try await call(.delete, "/v1/schedules/\(id)").status == 404)
            #expect(try await call(.get, "/v1/schedules").text == "[]")
            #expect(try await call(.get, "/v1/schedules/nonsense").status == 404)
        }
    }

    @Test(
        "is refused where it says nothing or too much, and nothing is stored",
        arguments: [
            #"{"target":{"platform":"all"}}"#, #"{"message":{},"target":{"platform":"all"}}"#,
            #"{"message":"x","target":{"platform":"all"}}"#, #"{"message":{"body":"x"}}"#,
            #"{"message":{"body":{}},"target":{"platform":"all"}}"#,
            #"{"message":{"custom":{"ios":{"alert":5.5,"badge":"x"}}},"target":{"platform":"all"}}"#,
            #"{"message":{"custom":{"ios":{"content-available":"x"}}},"target":{"platform":"all"}}"#,
            #"{"message":{"custom":{"ios":{"alert":{"loc-args":"x"}}}},"target":{"platform":"all"}}"#,
            #"{"message":{"custom":{"ios":{"badge":-1}}},"target":{"platform":"all"}}"#,
            #"{"message":{"custom":{"ios":{"badge":2147483648}}},"target":{"platform":"all"}}"#,
            #"{"message":{"custom":{"ios":null,"android":null}},"target":{"platform":"all"}}"#,
            #"{"message":{"body":"\#(String(repeating: "#x#", count: 4097))"},"target":{"platform":"all"}}"#,
            "{\"message\": # no JSON\n {}}", "",
        ])
    func refused(body: String) async throws {
        try await Self.open { fixture, push in
            let reply = try await push(body)
            #expect(reply.status == 400, "\(reply.text)")
            #expect(reply["error"] == "Bad Request")
            #expect(try await fixture.census()["messages"] == 0)
        }
    }

    @Test(
        "keeps its start whichever way a change spells that it has none",
        arguments: ["0", "0.0", "0e3", "-0", #""00""#, #"" 0""#, #""0.0""#, #""""#, #"" ""#, "null"])
    func unsetStart(zero: String) async throws {
        try await Self.open { fixture, push in
            let made = try await push(#"{"message":{"body":"x"},"target":{"platform":"all"},"scheduleIn":7200}"#)
            let path = "/v1/schedules/\(made["schedule_id"]?.stringValue ?? "")"
            for name in ["scheduleIn", "scheduleAt"] {
                let reply = try await fixture.call(
                    .put, path, body: #"{"\#(name)":\#(zero)}"#,
                    authorization: fixture.basic("app-1", "application-key-1"))
                #expect(reply["scheduled_for"] == .integer(Self.now + 7_200_000), "\(name) \(reply.text)")
            }
        }
    }

    @Test("stays one while an operator pauses it, and can be cancelled")
    func paused() async throws {
        try await Self.open { fixture, push in
            let authorization = fixture.basic("app-1", "application-key-1")
            func call(_ method: HTTPRequest.Method, _ path: String, _ body: String? = nil) async throws -> Fixture.Reply
            {
                try await fixture.call(method, path, body: body, authorization: authorization)
            }
            let earlier = try await push(#"{"message":{"body":"x"},"target":{"platform":"all"},"scheduleIn":7200}"#)
            let path = "/v1/schedules/\(earlier["schedule_id"]?.stringValue ?? "")"
            let list = try await fixture.admin(.get, "…/messages?state=scheduled")
            let message = try #require(list["items.0.id"]?.stringValue)
            fixture.clock.advance(by: .seconds(1))
            _ = try await push(#"{"message":{"body":"y"},"target":{"platform":"all"},"scheduleIn":7200}"#)
            let (shown, all) = (try await call(.get, path), try await call(.get, "/v1/schedules"))
            #expect(try await fixture.admin(.post, "…/messages/\(message)/pause")["state"] == "paused")
            #expect(try await call(.get, path).text == shown.text)
            #expect(try await call(.get, "/v1/schedules").text == all.text)
            #expect(try await call(.put, path, #"{"scheduleIn":9000}"#).status == 409)
            #expect(try await call(.delete, path).status == 204)
            #expect(try await call(.get, path).status == 404)
        }
    }

    @Test("moved to within a minute goes at once and has a receipt")
    func soon() async throws {
        try await Self.open { fixture, push in
            let made = try await push(#"{"message":{"body":"x"},"target":{"platform":"all"},"scheduleIn":7200}"#)
            let path = "/v1/schedules/\(made["schedule_id"]?.stringValue ?? "")"
            let authorization = fixture.basic("app-1", "application-key-1")
            let reply = try await fixture.call(
                .put, path, body: #"{"scheduleIn":59}"#, authorization: authorization)
            #expect(reply.status == 200)
            let draft = try await Self.draft(fixture, reply)
            #expect(draft.startAt == fixture.clock.now)
            // It is no longer a schedule, even before the engine has processed it.
            #expect(try await fixture.call(.get, path, authorization: authorization).status == 404)
            #expect(try await fixture.call(.get, "/v1/schedules", authorization: authorization).text == "[]")
        }
    }

    @Test("counts topics and tags together")
    func topicsAndTags() async throws {
        try await Self.open { _, push in
            let names = { (prefix: String) in (0..<1024).map { "\"\(prefix)\($0)\"" }.joined(separator: ",") }
            let both = #"{"topics":[\#(names("a"))],"tags":["a1","b"]}"#
            let refused = try await push(#"{"message":{"body":"x"},"target":\#(both)}"#)
            #expect(refused.status == 400)
            let alike = #"{"topics":[\#(names("a"))],"tags":["a1","a2"]}"#
            let taken = try await push(#"{"message":{"body":"x"},"target":\#(alike)}"#)
            #expect(taken.status == 200)
        }
    }

    @Test("has a receipt with its result")
    func receipt() async throws {
        try await Self.open { fixture, push in
            let reply = try await push(Self.seminar(expiry: "null"))
            let id = reply["receipt_id"]?.stringValue ?? ""
            let receipt = try await fixture.call(
                .get, "/v1/receipts/\(id)", authorization: fixture.basic("app-1", "application-key-1"))
            #expect(receipt["devices"] == 2, "\(receipt.text)")
            #expect(receipt["platforms.ios.pending"] == 2)
            let scheduled = try await push(
                #"{"message":{"body":"x"},"target":{"topics":["other"]},"scheduleIn":7200}"#)
            let later = try await fixture.call(
                .get, "/v1/receipts/\(scheduled["schedule_id"]?.stringValue ?? "")",
                authorization: fixture.basic("app-1", "application-key-1"))
            #expect(later["state"] == "scheduled", "\(later.text)")
            let unknown = try await fixture.call(
                .get, "/v1/receipts/10000000-0000-4000-8000-000000000001",
                authorization: fixture.basic("app-1", "application-key-1"))
            #expect(unknown.status == 404)
        }
    }
}
