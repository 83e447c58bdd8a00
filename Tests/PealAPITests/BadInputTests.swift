import HTTPTypes
import PealAPI
import PealCore
import Synchronization
import Testing

@Suite("Bad input")
struct BadInputTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let method: HTTPRequest.Method
        let path: String
        let body: String
        let code: String
        let field: String?
        init(_ method: HTTPRequest.Method, _ path: String, _ body: String, _ code: String, _ field: String?) {
            (self.method, self.path, self.body, self.code, self.field) = (method, path, body, code, field)
        }
        var testDescription: String { "\(method.rawValue) \(path) \(body.prefix(80)) → \(code) \(field ?? "-")" }
    }

    private static let device = "…/devices/10000000-0000-4000-8000-000000000001"
    private static let address = #""address":"abababababababababababababababab""#
    private static let saying = #""content":{"title":"x"}"#

    static let devices: [Case] = [
        Case(.put, device, "{\(address)}", "missing_field", "platform"),
        Case(.put, device, #"{"platform":"ios"}"#, "missing_field", "address"),
        Case(.put, device, #"{"platform":"amiga",\#(address)}"#, "invalid_field", "platform"),
        Case(.put, device, #"{"platform":7,\#(address)}"#, "invalid_field", "platform"),
        Case(.put, device, #"{"platform":"ios","address":"xyz"}"#, "invalid_field", "address"),
        Case(.put, device, #"{"platform":"ios","address":"abc"}"#, "invalid_field", "address"),
        Case(.put, device, #"{"platform":"ios","address":{}}"#, "invalid_field", "address"),
        Case(.put, device, #"{"platform":"ios",\#(address),"environment":"moon"}"#, "invalid_field", "environment"),
        Case(.put, device, #"{"platform":"ios",\#(address),"user_id":5}"#, "invalid_field", "user_id"),
        Case(.put, device, #"{"platform":"ios",\#(address),"user_id":"a\u0000b"}"#, "invalid_field", "user_id"),
        Case(.put, device, #"{"platform":"ios",\#(address),"topics":"a"}"#, "invalid_field", "topics"),
        Case(.put, device, #"{"platform":"ios",\#(address),"topics":["a",3]}"#, "invalid_field", "topics[1]"),
        Case(.put, device, #"{"platform":"ios",\#(address),"locale":"de AT"}"#, "invalid_field", "locale"),
        Case(
            .put, device, #"{"platform":"ios",\#(address),"identifiers":{"idfa":1}}"#, "invalid_field",
            "identifiers.idfa"),
        Case(.put, device, #"{"platform":"ios",\#(address),"attributes":[]}"#, "invalid_field", "attributes"),
        Case(.put, device, #"{"platform":"web","address":{}}"#, "missing_field", "address.endpoint"),
        Case(.put, device, #"{"platform":"windows","address":"https://evil.example/"}"#, "invalid_field", "address"),
        Case(.put, "…/devices/nonsense", #"{"platform":"ios",\#(address)}"#, "invalid_field", "id"),
        Case(.post, "…/devices", #"{"id":"x","platform":"ios",\#(address)}"#, "invalid_field", "id"),
        Case(.post, "…/devices:batch", "{}", "missing_field", "devices"),
        Case(.post, "…/devices:batch", #"{"devices":[]}"#, "invalid_field", "devices"),
        Case(.patch, device, #"{"user_id":"a"}"#, "not_found", nil),
        Case(.put, "\(device)/topics/a", "", "not_found", nil),
        Case(.put, "…/topics/a", #"{"expires_at":"soon"}"#, "invalid_field", "expires_at"),
        Case(.put, "…/topics/a", #"{"expires_at":"2020-01-01T00:00:00Z"}"#, "invalid_field", "expires_at"),
    ]

    static let messages: [Case] = [
        Case(.post, "…/messages", "{", "invalid_json", nil), Case(.post, "…/messages", "", "invalid_json", nil),
        Case(.post, "…/messages", "[]", "invalid_json", nil),
        Case(.post, "…/messages", "{\(saying)}", "missing_field", "audience"),
        Case(.post, "…/messages", #"{"audience":{},\#(saying)}"#, "missing_field", "audience"),
        Case(.post, "…/messages", #"{"audience":{"users":[]},\#(saying)}"#, "missing_field", "audience"),
        Case(.post, "…/messages", #"{"audience":{"platforms":["ios"]},\#(saying)}"#, "missing_field", "audience"),
        Case(.post, "…/messages", #"{"audience":[],\#(saying)}"#, "invalid_field", "audience"),
        Case(.post, "…/messages", #"{"audience":{"all":"yes"},\#(saying)}"#, "invalid_field", "audience.all"),
        Case(
            .post, "…/messages", #"{"audience":{"users":["a","b","c",4]},\#(saying)}"#, "invalid_field",
            "audience.users[3]"),
        Case(
            .post, "…/messages", #"{"audience":{"devices":["a"]},\#(saying)}"#, "invalid_field",
            "audience.devices[0]"),
        Case(
            .post, "…/messages", #"{"audience":{"addresses":[{"platform":"ios"}]},\#(saying)}"#,
            "missing_field", "audience.addresses[0].address"),
        Case(
            .post, "…/messages", #"{"audience":{"addresses":[{"platform":"ios","address":"zz"}]},\#(saying)}"#,
            "invalid_field", "audience.addresses[0].address"),
        Case(
            .post, "…/messages", #"{"audience":{"all":true,"platforms":["ios","x"]},\#(saying)}"#,
            "invalid_field", "audience.platforms[1]"),
        Case(
            .post, "…/messages", #"{"audience":{"channel":{"id":"AAAA"},"all":false},\#(saying)}"#, "invalid_field",
            "audience.all"),
        Case(
            .post, "…/messages", #"{"audience":{"channel":{"id":"a b"}},\#(saying)}"#, "invalid_field",
            "audience.channel.id"),
        Case(
            .post, "…/messages", #"{"audience":{"channel":{"environment":"sandbox"}},\#(saying)}"#, "missing_field",
            "audience.channel.id"),
        Case(
            .post, "…/messages",
            #"""
            {"audience":{"channel":{"environment":"sandbox","id":"AAAA"}},"options":{"environment":"production"},
            \#(saying)}
            """#, "invalid_field", "audience.channel.environment"),
        Case(
            .post, "…/messages", #"{"audience":{"all":true},"content":{"windows":{"type":"sound"}}}"#, "invalid_field",
            "content.windows.type"),
        Case(
            .post, "…/messages", #"{"audience":{"all":true},"content":{"web":{"payload":{"a":["x\u0000"]}}}}"#,
            "invalid_field", "content.web.payload.a[0]"),
        Case(
            .post, "…/messages",
            #"{"audience":{"all":true},"content":{"ios":{"payload":{"aps":{"alert":"\u001b[2J"}}}}}"#, "invalid_field",
            "content.ios.payload.aps.alert"),
        Case(.post, "…/messages", #"{"audience":{"all":true}}"#, "missing_field", "content"),
        Case(.post, "…/messages", #"{"audience":{"all":true},"content":{}}"#, "invalid_field", "content"),
        Case(.post, "…/messages", #"{"audience":{"all":true},"content":{"ios":{}}}"#, "invalid_field", "content"),
        Case(
            .post, "…/messages", #"{"audience":{"all":true},"content":{"default_locale":"de"}}"#, "invalid_field",
            "content"),
        Case(
            .post, "…/messages", #"{"audience":{"all":true},"content":{"title":5}}"#, "invalid_field",
            "content.title"),
        Case(
            .post, "…/messages", #"{"audience":{"all":true},"content":{"title":{"de":1}}}"#, "invalid_field",
            "content.title.de"),
        Case(
            .post, "…/messages",
            #"{"audience":{"all":true},"content":{"title":{"de":"a"},"body":{"fr":"b"}}}"#,
            "missing_field", "content.default_locale"),
        Case(
            .post, "…/messages", #"{"audience":{"all":true},"content":{"badge":1.5}}"#, "invalid_field",
            "content.badge"),
        Case(
            .post, "…/messages", #"{"audience":{"all":true},"content":{"data":[]}}"#, "invalid_field",
            "content.data"),
        Case(
            .post, "…/messages", #"{"audience":{"all":true},"content":{"ios":{"payload":{"aps":1}}}}"#,
            "invalid_field", "content.ios.payload.aps"),
        Case(
            .post, "…/messages",
            #"{"audience":{"all":true},"content":{"ios":{"options":{"priority":"top"}}}}"#,
            "invalid_field", "content.ios.options.priority"),
        Case(
            .post, "…/messages", #"{"audience":{"all":true},\#(saying),"options":{"rate_per_second":0}}"#,
            "invalid_field", "options.rate_per_second"),
        Case(
            .post, "…/messages", #"{"audience":{"all":true},\#(saying),"options":{"unreachable":"never"}}"#,
            "invalid_field", "options.unreachable"),
        Case(
            .post, "…/messages", #"{"audience":{"all":true},\#(saying),"options":{"unreachable":"now"}}"#,
            "invalid_field", "options.unreachable"),
        Case(
            .post, "…/messages", #"{"audience":{"users":["a"]},\#(saying),"options":{"unreachable":"deadline"}}"#,
            "invalid_field", "options.unreachable"),
        Case(
            .post, "…/messages",
            #"""
            {"audience":{"users":["a"]},\#(saying),"options":{"unreachable":"best_hour"},"method":"traditional",
            "schedule":{"window":{"until":"2026-11-21T03:00:00Z"}}}
            """#, "invalid_field", "options.unreachable"),
        Case(
            .post, "…/messages",
            #"""
            {"audience":{"addresses":[{"platform":"android","address":"a","environment":"sandbox"}]},\#(saying)}
            """#, "invalid_field", "audience.addresses[0].environment"),
        Case(
            .post, "…/messages",
            #"""
            {"audience":{"all":true},"content":{"title":"x","android":{"options":{"environment":"sandbox"}}}}
            """#, "invalid_field", "content.android.options.environment"),
        Case(
            .post, "…/messages",
            #"""
            {"audience":{"all":true},"content":{"title":"x","web":{"options":{"environment":"development"}}}}
            """#, "invalid_field", "content.web.options.environment"),
        Case(
            .post, "…/messages", #"{"audience":{"all":true},\#(saying),"options":{"ttl_seconds":-1}}"#,
            "invalid_field", "options.ttl_seconds"),
        Case(
            .post, "…/messages",
            #"{"audience":{"all":true},\#(saying),"options":{"ttl_seconds":9,"expires_at":"2027-01-01T00:00:00Z"}}"#,
            "invalid_field", "options.ttl_seconds"),
        Case(
            .post, "…/messages",
            #"{"audience":{"all":true},\#(saying),"options":{"expires_at":"2020-01-01T00:00:00Z"}}"#,
            "invalid_field", "options.expires_at"),
        Case(
            .post, "…/messages", #"{"audience":{"all":true},\#(saying),"schedule":{}}"#, "missing_field",
            "schedule.at"),
        Case(
            .post, "…/messages", #"{"audience":{"all":true},\#(saying),"schedule":{"at":"2037-01-01T00:00:00Z"}}"#,
            "invalid_field", "schedule.at"),
        Case(
            .post, "…/messages",
            #"{"audience":{"all":true},\#(saying),"schedule":{"at":"2027-01-01T00:00:00Z","in":"x"}}"#,
            "invalid_field", "schedule.in"),
        Case(
            .post, "…/messages",
            #"""
            {"audience":{"users":["u"]},"content":{"title":"x"},"options":{"ttl_seconds":60},
            "schedule":{"window":{"until":"2026-11-21T03:00:00Z"}}}
            """#, "invalid_field", "options.ttl_seconds"),
        Case(
            .post, "…/messages", #"{"audience":{"all":true},\#(saying),"schedule":{"window":{}}}"#,
            "missing_field", "schedule.window.until"),
        Case(
            .post, "…/messages", #"{"audience":{"all":true},\#(saying),"method":"traditional"}"#,
            "invalid_field", "method"),
        Case(
            .post, "…/messages",
            #"{"audience":{"all":true},"content":{"body":"\#(String(repeating: "#x#", count: 5000))"}}"#,
            "payload_too_large", "content.body"),
        Case(.get, "…/messages?limit=0", "", "invalid_field", "limit"),
        Case(.get, "…/messages?limit=201", "", "invalid_field", "limit"),
        Case(.get, "…/messages?cursor=!", "", "invalid_field", "cursor"),
        Case(.get, "…/messages?cursor=AAAA", "", "invalid_field", "cursor"),
        Case(.get, "…/devices?cursor=AAAA", "", "invalid_field", "cursor"),
        Case(.get, "…/messages?state=odd", "", "invalid_field", "state"),
        Case(.get, "…/messages?state=", "", "invalid_field", "state"),
        Case(.get, "…/devices?user_id", "", "invalid_field", "user_id"),
        Case(.get, "…/messages?limit=1&cursor=", "", "invalid_field", "cursor"),
        Case(.get, "…/messages/10000000-0000-4000-8000-000000000001", "", "not_found", nil),
        Case(.get, "…/messages/xyz", "", "not_found", nil),
        Case(.get, "…/messages/10000000-0000-4000-8000-000000000001/deliveries", "", "missing_field", "device"),
    ]

    static let others: [Case] = [
        Case(.post, "/peal/v1/apps", "{}", "missing_field", "name"),
        Case(.post, "/peal/v1/apps", #"{"name":""}"#, "invalid_field", "name"),
        Case(.post, "/peal/v1/apps", #"{"name":"a","id":"b"}"#, "invalid_field", "id"),
        Case(
            .post, "/peal/v1/apps", #"{"name":"a","id":"00000000-0000-4000-8000-00000000000a"}"#, "conflict", "id"),
        Case(
            .post, "/peal/v1/apps", #"{"name":"a","settings":{"pivotal":{"send_receipt":1}}}"#,
            "invalid_field", "settings.pivotal.send_receipt"),
        Case(
            .post, "/peal/v1/apps", #"{"name":"a","settings":{"quiet_hours":{}}}"#, "missing_field",
            "settings.quiet_hours.from"),
        Case(.post, "…/keys", "{}", "missing_field", "dialect"),
        Case(.post, "…/keys", #"{"dialect":"latin"}"#, "invalid_field", "dialect"),
        Case(.post, "…/keys", #"{"dialect":"native","scopes":["fly"]}"#, "invalid_field", "scopes[0]"),
        Case(.post, "…/keys", #"{"dialect":"pivotal-platform"}"#, "missing_field", "platform"),
        Case(
            .post, "…/keys", #"{"dialect":"pivotal","shared_secret":"xyz"}"#, "invalid_field", "shared_secret"),
        Case(
            .post, "…/keys", #"{"dialect":"native","expires_at":"2020-01-01T00:00:00Z"}"#, "invalid_field",
            "expires_at"),
        Case(.put, "…/credentials/apns/production", #"{"kind":"token"}"#, "missing_field", "key_id"),
        Case(.put, "…/credentials/apns/production", #"{"kind":"p12"}"#, "missing_field", "data"),
        Case(.put, "…/credentials/apns/production", #"{"kind":"odd"}"#, "invalid_field", "kind"),
        Case(.put, "…/credentials/apns", "{}", "not_found", nil),
        Case(.put, "…/credentials/pigeon", "{}", "not_found", nil),
        Case(
            .put, "…/credentials/apns/sandbox",
            #"{"kind":"token","key_id":"a/b","team_id":"T","private_key":"x","bundle_id":"b"}"#,
            "invalid_field", "key_id"),
        Case(
            .put, "…/credentials/apns/sandbox",
            #"{"kind":"token","key_id":"K","team_id":"T","private_key":"x","bundle_id":"b"}"#,
            "invalid_field", "private_key"),
        Case(.post, "…/channels/production", "{}", "missing_field", "storage_policy"),
        Case(.post, "…/channels/production", #"{"storage_policy":2}"#, "invalid_field", "storage_policy"),
        Case(.post, "…/channels/production", #"{"storage_policy":"all"}"#, "invalid_field", "storage_policy"),
        Case(.post, "…/channels/production", #"{"storage_policy":"none"}"#, "conflict", nil),
        Case(.post, "…/channels/moon", #"{"storage_policy":"none"}"#, "not_found", nil),
        Case(.get, "/peal/v1/apps/00000000-0000-4000-8000-0000000000ff", "", "not_found", nil),
        Case(.get, "/peal/v1/apps/nonsense/devices", "", "not_found", nil),
        Case(.get, "/peal/v1/nothing", "", "not_found", nil), Case(.get, "/", "", "not_found", nil),
        Case(.get, "/%zz", "", "not_found", nil),
        Case(.delete, "/peal/v1/apps", "", "method_not_allowed", nil),
        Case(.post, "/healthz", "", "method_not_allowed", nil),
    ]

    @Test("is refused with its code and field, and nothing is stored")
    func refused() async throws {
        try await Fixture.open { fixture in
            let before = try await fixture.census()
            for item in Self.devices + Self.messages + Self.others {
                let reply = try await fixture.adminText(item.method, item.path, item.body)
                #expect(reply.code == item.code, "\(item.testDescription): \(reply.text)")
                #expect(reply.field == item.field, "\(item.testDescription): \(reply.text)")
                if let code = PealError.Code(rawValue: item.code) { #expect(reply.status == code.httpStatus) }
            }
            #expect(try await fixture.census() == before)
            #expect(fixture.engine.record.withLock { $0.wakes + $0.taken.count } == 0)
        }
    }

    @Test("that is not JSON is refused with line and column")
    func position() async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.adminText(.post, "…/messages", "{\n  \"a\": tru\n}")
            #expect(reply.status == 400)
            #expect(reply["error.message"]?.stringValue?.contains("line 2, column 8") == true, "\(reply.text)")
        }
    }

    @Test("with too many bytes or levels is refused before it is interpreted")
    func tooMuch() async throws {
        try await Fixture.open(options: APIOptions { $0.requestBodyBytesMax = 1000 }) { fixture in
            let long = try await fixture.adminText(.post, "…/messages", String(repeating: " ", count: 1001))
            #expect(long.status == 413)
            #expect(long.code == "body_too_large")
            let deep = try await fixture.adminText(.post, "…/messages", String(repeating: "[", count: 500))
            #expect(deep.status == 400)
            #expect(deep.code == "invalid_json")
        }
    }

    @Test(
        "with another media type, or none, is refused with 415 by the native API",
        arguments: [
            ("application/json", 201), ("application/json; charset=utf-8", 201), ("", 415), ("text/plain", 415),
            // As a header that is given twice arrives.
            ("application/json, application/json", 201), ("text/plain, application/json", 415),
            ("application/xml", 415), ("application/x-www-form-urlencoded", 415),
        ])
    func mediaType(type: String, status: Int) async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.admin(
                .post, "/peal/v1/apps", ["name": "a"], headers: ["Content-Type": type])
            #expect(reply.status == status, "\(reply.text)")
        }
    }

    @Test("that is null means the same as an absent member")
    func nulls() async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.admin(
                .post, "…/messages",
                [
                    "audience": ["all": true, "users": .null], "content": ["title": "x", "ios": .null],
                    "method": .null, "options": ["rate_per_second": .null], "schedule": .null,
                ])
            #expect(reply.status == 202, "\(reply.text)")
        }
    }
}
