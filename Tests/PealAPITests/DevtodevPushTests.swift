import HTTPTypes
import PealCore
import PealTesting
import Testing

@Suite("A devtodev push")
struct DevtodevPushTests {
    private static let ios = #""ios":{"payload":{"text":"Hi"}}"#

    @Test("answers the counts twice, and the message by which the native API knows it")
    func shape() async throws {
        try await DevtodevFixture.open { devtodev in
            let reply = try await devtodev.push(
                Self.ios, audience: DevtodevFixture.nobody, #""campaign_tag":"spring","#)
            let draft = try await devtodev.draft(reply)
            let counts = #""audience":0,"successful":0,"erroneous":0,"error_details":[]"#
            #expect(reply.text == #"{"status_code":200,"data":{\#(counts),"message_id":"\#(draft.id)"},\#(counts)}"#)
            #expect(draft.campaignID == "spring" && draft.dialect == "devtodev")
            #expect(draft.audience.users == ["nobody"] && draft.audience.platforms == [.ios])
        }
    }

    @Test("has a campaign_tag of at most 255 characters, as natively", arguments: [(255, 200), (256, 400)])
    func campaign(count: Int, status: Int) async throws {
        try await DevtodevFixture.open { devtodev in
            let name = String(repeating: "朝", count: count)
            let reply = try await devtodev.push(Self.ios, #""campaign_tag":"\#(name)","#)
            #expect(reply.status == status, "\(reply.text)")
        }
    }

    @Test("takes user_token from the body, otherwise from the query, whatever the body's media type")
    func userToken() async throws {
        try await DevtodevFixture.open { devtodev in
            let token = DevtodevFixture.userToken
            let bare = DevtodevFixture.body(Self.ios).replacing(#""user_token":"\#(token)","#, with: "")
            let path = "/api/v1/push/send"
            #expect(try await devtodev.post(bare, path: "\(path)?user_token=\(token)").status == 200)
            #expect(try await devtodev.post(bare, path: "//api/v1//push/send/?user_token=\(token)").status == 200)
            #expect(
                try await devtodev.post(DevtodevFixture.body(Self.ios), path: "\(path)?user_token=other").status == 200)
            let empty = bare.replacing("{\"app_id\"", with: "{\"user_token\":\"\",\"app_id\"")
            #expect(try await devtodev.post(empty, path: "\(path)?user_token=\(token)").status == 200)
            let types = [
                "", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-8",
                "application/octet-stream", "multipart/form-data; boundary=x", "odd",
            ]
            for type in types {
                let reply = try await devtodev.post(DevtodevFixture.body(Self.ios), headers: ["Content-Type": type])
                #expect(reply.status == 200, "\(type)")
            }
            let none = try await devtodev.post(bare)
            #expect(none.status == 401 && none["status_code"] == 401 && none.number == 1001)
            #expect(none.header("WWW-Authenticate") != nil)
            #expect(try await devtodev.post(bare, path: "\(path)?user_token=wrong").number == 1001)
        }
    }

    @Test("is sent to the app that it names, if two apps have its user_token")
    func space() async throws {
        try await DevtodevFixture.open { devtodev in
            let (fixture, other) = (devtodev.fixture, "bbbbbbbb-0000-4000-8000-00000000000b")
            let made = try await fixture.admin(
                .post, "/peal/v1/apps", ["name": "Other", "devtodev_app_id": .string(other)])
            let keys = "/peal/v1/apps/\(made["id"]?.stringValue ?? "")/keys"
            let key: JSON = ["dialect": "devtodev", "user_token": .string(DevtodevFixture.userToken)]
            let shared = try await fixture.admin(.post, keys, key)
            #expect(shared.status == 201, "\(shared.text)")
            #expect(try await fixture.admin(.post, keys, key).status == 409)
            #expect(try await fixture.admin(.post, "…/keys", key).status == 409)
            let native = try await fixture.admin(
                .post, keys, ["dialect": "native", "token": .string(DevtodevFixture.userToken)])
            #expect(native.status == 409)
            #expect(try await devtodev.push(Self.ios).status == 200)
            // The other app has no credentials.
            let text = DevtodevFixture.body(Self.ios).replacing(DevtodevFixture.appID, with: other)
            #expect(try await devtodev.post(text).number == 1010)
            let id = shared["id"]?.stringValue ?? ""
            #expect(try await fixture.admin(.delete, "\(keys)/\(id)").status == 204)
            #expect(try await devtodev.post(text).number == 1002)
        }
    }

    @Test("is sent to the app that a large body names last", arguments: [true, false])
    func lateApp(isFirstKeyDeleted: Bool) async throws {
        try await DevtodevFixture.open { devtodev in
            let (fixture, other) = (devtodev.fixture, "bbbbbbbb-0000-4000-8000-00000000000b")
            let made = try await fixture.admin(
                .post, "/peal/v1/apps", ["name": "Other", "devtodev_app_id": .string(other)])
            // The first key with this token may not send, or is revoked.
            let key: [(String, JSON)] = [("user_token", "shared-user-token"), ("scopes", ["read"])]
            let first = try await fixture.key("devtodev", key)
            let shared: JSON = ["dialect": "devtodev", "user_token": "shared-user-token"]
            let keys = "/peal/v1/apps/\(made["id"]?.stringValue ?? "")/keys"
            #expect(try await fixture.admin(.post, keys, shared).status == 201)
            if isFirstKeyDeleted {
                #expect(try await fixture.admin(.delete, "…/keys/\(first["id"]?.stringValue ?? "")").status == 204)
            }
            let user = #"{"userId":"\#(String(repeating: "u", count: 100))"}"#
            let audience = Array(repeating: user, count: 1000).joined(separator: ",")
            let text = #"""
                {"user_token":"shared-user-token","audience":[\#(audience)],\#(Self.ios),"app_id":"\#(other)"}
                """#
            try #require(text.utf8.count > Limits.unknownCallerBodyBytesMax)
            // The other app has no credentials.
            #expect(try await devtodev.post(text).number == 1010)
        }
    }

    @Test("is forbidden to other dialects' keys, and takes only the app of its key")
    func foreign() async throws {
        try await DevtodevFixture.open { devtodev in
            let text = DevtodevFixture.body(Self.ios)
            let native = try await devtodev.fixture.key("native")["token"]?.stringValue ?? ""
            for token in [native, Fixture.adminToken] {
                let reply = try await devtodev.post(text.replacing(DevtodevFixture.userToken, with: token))
                #expect(reply.status == 403 && reply.number == 1002, "\(reply.text)")
            }
            _ = try await devtodev.fixture.admin(
                .post, "/peal/v1/apps", ["name": "Other", "devtodev_app_id": "ffffffff-0000-4000-8000-00000000000F"])
            let apps: [(String, Int, Int64)] = [
                (DevtodevFixture.appID.uppercased(), 200, 0), (devtodev.fixture.app.description, 200, 0),
                ("FFFFFFFF-0000-4000-8000-00000000000f", 403, 1002), ("unknown", 404, 1003), ("", 404, 1003),
            ]
            for (app, status, number) in apps {
                let reply = try await devtodev.post(text.replacing(DevtodevFixture.appID, with: app))
                #expect(reply.status == status && reply.number ?? 0 == number, "\(app) \(reply.text)")
            }
            let readOnly =
                try await devtodev.fixture.key("devtodev", [("scopes", ["read"])])["user_token"]?.stringValue ?? ""
            #expect(try await devtodev.post(text.replacing(DevtodevFixture.userToken, with: readOnly)).number == 1002)
        }
    }

    struct Refusal: CustomTestStringConvertible, Sendable {
        let text: String
        let status: Int
        let number: Int64
        var testDescription: String { "\(number): \(text.prefix(120))" }
        init(_ text: String, _ status: Int, _ number: Int64) {
            (self.text, self.status, self.number) = (text, status, number)
        }
        /// A message of iOS.
        init(ios: String, _ number: Int64) { self.init(DevtodevFixture.body(#""ios":\#(ios)"#), 400, number) }
        init(android: String, _ number: Int64) {
            self.init(DevtodevFixture.body(#""android":\#(android)"#), 400, number)
        }
        init(windows: String, _ number: Int64) { self.init(DevtodevFixture.body(#""uwp":\#(windows)"#), 400, number) }
    }

    private static func many(_ count: Int) -> String {
        "[" + Array(repeating: #"{"userId":"u"}"#, count: count).joined(separator: ",") + "]"
    }

    static let refusals = [
        Refusal("{", 400, 1000), Refusal("", 400, 1000), Refusal("[]", 400, 1000), Refusal("{}", 401, 1001),
        Refusal(DevtodevFixture.body(ios, audience: "[]"), 400, 1004),
        Refusal(DevtodevFixture.body(ios, audience: "null"), 400, 1004),
        Refusal(DevtodevFixture.body(ios, audience: #"{"userId":"u"}"#), 400, 1004),
        Refusal(DevtodevFixture.body(ios, audience: many(1001)), 400, 1005),
        Refusal(DevtodevFixture.body(""), 400, 1006), Refusal(DevtodevFixture.body(#""ios":null"#), 400, 1006),
        Refusal(DevtodevFixture.body(#""ios":"text""#), 400, 1007),
        Refusal(DevtodevFixture.body(ios, #""campaign_tag":[],"#), 400, 1007),
        Refusal(DevtodevFixture.body(ios, #""pack_id":{},"#), 400, 1007),
        Refusal(ios: "{}", 1007), Refusal(ios: #"{"payload":{"badge":1}}"#, 1007),
        Refusal(ios: #"{"payload":{"text":["a"]}}"#, 1007), Refusal(ios: #"{"payload":{"text":"a\u0007"}}"#, 1007),
        Refusal(ios: #"{"payload":{"text":"a","badge":"many"}}"#, 1007),
        Refusal(ios: #"{"payload":{"text":"a","badge":-1}}"#, 1007),
        Refusal(DevtodevFixture.body(#""android":{"payload":{"text":"a","badge":-1}}"#), 400, 1007),
        Refusal(DevtodevFixture.body(#""android":{"payload":{"text":"a","badge":"+1"}}"#), 400, 1007),
        Refusal(ios: #"{"payload":{"text":"a","data":"d"}}"#, 1007),
        Refusal(ios: #"{"payload":{"text":"a","attachment":{"type":"image","url":"http://d/p"}}}"#, 1007),
        Refusal(ios: #"{"payload":{"text":"a","attachment":{"type":"pdf","url":"https://d/p"}}}"#, 1007),
        Refusal(ios: #"{"payload":{"text":"a","interactive":{"template":"dtd_maybe.open"}}}"#, 1007),
        Refusal(ios: #"{"payload":{"text":"a","interactive":{}}}"#, 1007),
        Refusal(
            ios: #"{"payload":{"text":"a","interactive":{"template":"dtd_like.open","buttons":[{"id":"no"}]}}}"#, 1007),
        Refusal(ios: #"{"payload":{"text":"a"},"options":{"priority":"urgent"}}"#, 1007),
        Refusal(ios: #"{"payload":{"text":"a"},"options":{"expire":"soon"}}"#, 1007),
        Refusal(ios: #"{"payload":{"text":"a"},"options":{"expire":-1}}"#, 1007),
        Refusal(ios: #"{"payload":{"text":"a"},"options":{"expire":99999999999999999}}"#, 1007),
        Refusal(ios: #"{"payload":{"text":"a"},"options":{"hidden":"maybe"}}"#, 1007),
        Refusal(ios: #"{"payload":{"text":"a"},"options":{"hidden":true}}"#, 1008),
        Refusal(ios: #"{"payload":{"title":"a"},"options":{"hidden":1}}"#, 1008),
        Refusal(ios: #"{"payload":{"attachment":{}},"options":{"hidden":true}}"#, 1008),
        Refusal(ios: #"{"payload":{"interactive":{}},"options":{"hidden":true}}"#, 1008),
        Refusal(ios: #"{"payload":{"data":{"a":1}},"options":{"hidden":true,"priority":"high"}}"#, 1008),
        Refusal(ios: #"{"payload":{"text":"a","badge":"+1"}}"#, 1007),
        Refusal(android: #"{"payload":{"color":"red","text":"a"}}"#, 1007),
        Refusal(android: #"{"payload":{"text":"a","interactive":{"buttons":[{"text":"x"}]}}}"#, 1007),
        Refusal(android: #"{"payload":{"text":"a","interactive":{"buttons":[{"id":"x","handling":"no"}]}}}"#, 1007),
        Refusal(android: #"{"payload":{}}"#, 1007),
        Refusal(android: #"{"payload":{"title":"a"},"options":{"hidden":true}}"#, 1008),
        Refusal(android: #"{"payload":{"interactive":{"buttons":[]}},"options":{"hidden":true}}"#, 1008),
        Refusal(windows: "{}", 1007), Refusal(windows: #"{"toast":{}}"#, 1007),
        Refusal(windows: #"{"tile":{}}"#, 1007), Refusal(windows: #"{"badge":{}}"#, 1007),
        Refusal(
            DevtodevFixture.body(#""ios":{"payload":{"text":"\#(String(repeating: "x", count: 5000))"}}"#), 413, 1011),
    ]

    @Test("that is invalid is refused with its own number, and stores nothing", arguments: refusals)
    func refused(one: Refusal) async throws {
        try await DevtodevFixture.open { devtodev in
            let reply = try await devtodev.post(one.text)
            #expect(reply.status == one.status && reply.number == one.number, "\(reply.text)")
            #expect(reply["status_code"] == .integer(one.status))
            #expect(reply["errors.0.msg"]?.stringValue?.isEmpty == false)
            #expect(try await devtodev.fixture.census()["messages"] == 0)
        }
    }

    @Test(
        "that is hidden is sent without what it cannot show",
        arguments: [
            #""action":{"url":"x"}"#, #""launch-image":"x""#, #""loc-key":"x","loc-args":["x"]"#,
            #""title-loc-key":"x","title-loc-args":"x""#, #""action-loc-key":"x""#, #""sound":"x""#,
            #""image":"https://i""#,
        ])
    func hidden(member: String) async throws {
        try await DevtodevFixture.open { devtodev in
            func message(_ platform: String, _ more: String) -> String {
                #""\#(platform)":{"payload":{"data":{"a":1}\#(more)},"options":{"hidden":true}}"#
            }
            func digits(_ content: Content.PlatformContent) -> String {
                "\(content)".replacing(/[0-9a-f]{8}-[0-9a-f-]{27}/, with: "id")
            }
            let plain = try await devtodev.content(.ios, message("ios", ""))
            let apple = try await devtodev.content(.ios, message("ios", ",\(member)"))
            #expect(digits(apple) == digits(plain))
            guard member.contains("image\":\"https") || member.contains("url") else { return }
            let bare = try await devtodev.content(.android, message("android", ""))
            let android = try await devtodev.content(.android, message("android", ",\(member)"))
            #expect(digits(android) == digits(bare))
        }
    }

    @Test("with a collapse key of 64 bytes is accepted, with 65 it is refused")
    func collapseKey() async throws {
        try await DevtodevFixture.open { devtodev in
            let key = String(repeating: "ä", count: 32)
            for (key, status) in [(key, 200), (key + "x", 400)] {
                let message = #""ios":{"payload":{"text":"a"},"options":{"collapse_key":"\#(key)"}}"#
                let reply = try await devtodev.push(message)
                #expect(reply.status == status)
            }
        }
    }

    @Test("to a thousand elements is accepted")
    func thousand() async throws {
        try await DevtodevFixture.open { devtodev in
            let reply = try await devtodev.push(Self.ios, audience: Self.many(1000))
            #expect(reply.status == 200)
        }
    }

    @Test("needs a credential for one of its platforms, in the environment that it names")
    func credentials() async throws {
        try await DevtodevFixture.open(credentials: ["apns/production"]) { devtodev in
            #expect(try await devtodev.push(Self.ios).status == 200)
            #expect(try await devtodev.push(#"\#(Self.ios),"android":{"payload":{"text":"a"}}"#).status == 200)
            for message in [
                #""android":{"payload":{"text":"a"}}"#, #""ios":{"payload":{"text":"a"},"options":{"sandbox":true}}"#,
            ] {
                let reply = try await devtodev.push(message)
                #expect(reply.status == 422 && reply.number == 1010, "\(reply.text)")
            }
        }
    }

    @Test("writes every refusal below its paths in its own envelope", arguments: ["/api/x", "/v1/devtodev/x"])
    func envelope(path: String) async throws {
        try await DevtodevFixture.open { devtodev in
            let reply = try await devtodev.fixture.call(.get, path, authorization: nil)
            #expect(reply.status == 404 && reply.number == 1013)
            let wrong = try await devtodev.fixture.call(.get, "/api/v1/push/send", authorization: nil)
            #expect(wrong.status == 405 && wrong.number == 1013 && wrong.header("Allow") == "POST, OPTIONS")
        }
    }

    static let lives: [(String, MessageOptions.Life)] = [
        ("", .seconds(604_800)), (#","expire":null"#, .seconds(604_800)), (#","expire":"""#, .seconds(604_800)),
        (#","expire":"36000""#, .seconds(36000)), (#","expire":36000"#, .seconds(36000)),
        (#","expire":0"#, .seconds(0)),
        (#","expire":"0""#, .seconds(0)), (#","expire":999999999"#, .seconds(315_360_000)),
        (#","expire":1795305600"#, .until(Timestamp(seconds: 1_795_305_600))),
        (#","expire":"1795305600""#, .until(Timestamp(seconds: 1_795_305_600))),
        (#","expire":1795305600000"#, .until(Timestamp(seconds: 1_795_305_600))),
        (#","expire":1459468800"#, .until(Timestamp(seconds: 1_459_468_800))),
    ]

    @Test("has a lifetime in seconds, or an expiry in seconds or milliseconds", arguments: lives)
    func life(option: String, life: MessageOptions.Life) async throws {
        try await DevtodevFixture.open { devtodev in
            let message = #""ios":{"payload":{"text":"a"},"options":{"sandbox":0\#(option)}}"#
            let draft = try await devtodev.draft(try await devtodev.push(message))
            #expect(draft.content.platforms[.ios]?.options.life == life)
            #expect(draft.options.life == life)
            if case .until(let end) = life { #expect(draft.expiresAt == end) }
        }
    }

    @Test("has normal priority and the production environment by default")
    func options() async throws {
        try await DevtodevFixture.open { devtodev in
            let plain = try await devtodev.content(.ios, Self.ios).options
            #expect(plain.priority == .normal && plain.environment == .production && plain.isBackground == nil)
            let told = #"{"sandbox":"true","priority":"High","collapse_key":7,"hidden":false}"#
            let options = try await devtodev.content(.ios, #""ios":{"payload":{"text":"a"},"options":\#(told)}"#)
                .options
            #expect(options.priority == .high && options.environment == .sandbox && options.collapseKey == "7")
            let android = try await devtodev.content(
                .android, #""android":{"payload":{"text":"a"},"options":{"priority":"high","expire":60}}"#)
            #expect(android.options.priority == .high && android.options.life == .seconds(60))
        }
    }
}
