import Crypto
import HTTPTypes
import PealCore
import PealTesting
import Synchronization
import Testing

@Suite("Pivotal registration")
struct PivotalRegistrationTests {
    /// The published vector of the vendor's signing tool.
    private static let secret = "6173657630314C356B4161393134357A4A355A67336F303849384F494E4E384C"

    /// A fixture with an application and an iOS platform with a customer's existing keys.
    private static func open(
        settings: JSON = [:], platform: JSON = "ios",
        _ body: @escaping @Sendable (Fixture, _ authorization: String) async throws -> Void
    ) async throws {
        try await Fixture.open { fixture in
            _ = try await fixture.admin(.patch, "…", ["settings": ["pivotal": settings]])
            _ = try await fixture.key(
                "pivotal",
                [
                    ("application_uuid", "app-1"), ("api_key", "application-key-1"),
                    ("shared_secret", .string(secret)),
                ])
            _ = try await fixture.key(
                "pivotal-platform",
                [("platform_uuid", "platform-1"), ("platform_secret", "platform-secret-1"), ("platform", platform)])
            try await body(fixture, fixture.basic("platform-1", "platform-secret-1", spaces: "  "))
        }
    }

    private static let iOS = """
        {"os":"ios","os_version":"10.2","device_model":"iPhone 7","device_manufacturer":"Apple",\
        "device_alias":"Ann's phone","registration_token":"\(String(repeating: "AB", count: 32))",\
        "tags":["Local","dairy"]}
        """

    @Test("moves to another push service of the family when only os changes, with its token")
    func anotherService() async throws {
        try await Self.open(platform: "android") { fixture, authorization in
            let made = try await fixture.call(
                .post, "/v1/registration", body: #"{"os":"android-fcm","registration_token":"token-1"}"#,
                authorization: authorization)
            let id = try #require(made["device_uuid"]?.stringValue, "\(made.text)")
            for os in ["android-baidu", "android"] {
                let reply = try await fixture.call(
                    .put, "/v1/registration/\(id)", body: #"{"os":"\#(os)"}"#, authorization: authorization)
                #expect(reply["registration_token"] == "token-1" && reply["os"] == .string(os), "\(reply.text)")
                let list = try await fixture.pivotal(.get, "/v2/registrations?platform=\(os)")
                #expect(list["registrations.0.device_uuid"] == .string(id), "\(list.text)")
            }
        }
    }

    @Test("of the iOS SDK is answered with what the SDK reads, byte for byte")
    func iOSTranscript() async throws {
        try await Self.open { fixture, authorization in
            let reply = try await fixture.call(
                .post, "/v1/registration", body: Self.iOS, authorization: authorization,
                headers: ["Content-Type": "application/json", "Accept": "application/json", "X-Custom": "1"])
            #expect(reply.status == 200)
            let id = try #require(reply["device_uuid"]?.stringValue)
            #expect(
                reply.text
                    == """
                    {"device_uuid":"\(id)","variant_uuid":"platform-1","os":"ios","os_version":"10.2",\
                    "device_model":"iPhone 7","device_manufacturer":"Apple","device_alias":"Ann's phone",\
                    "registration_token":"\(String(repeating: "AB", count: 32))",\
                    "tags":[{"text":"dairy"},{"text":"local"}],"active":true,"custom_user_id":""}
                    """)
            let stored = try await fixture.admin(.get, "…/devices/\(id)")
            #expect(stored["address"] == .string(String(repeating: "AB", count: 32)))
            #expect(stored["topics"] == ["dairy", "local"])

            // Registering the same address again keeps the device.
            let again = try await fixture.call(
                .post, "/v1/registration/", body: #"{"registration_token":"\#(Fixture.deviceToken)","os":"ios"}"#,
                authorization: authorization)
            #expect(again["device_uuid"] == .string(id))
            #expect(again["tags"] == [])
            #expect(again["registration_token"] == .string(Fixture.deviceToken))
            for path in ["/v1/registration/count/", "/v1/registration/count"] {
                #expect(try await fixture.call(.get, path, authorization: authorization).text == "1")
            }
        }
    }

    @Test("of the Android SDK may have empty members and any media type")
    func androidTranscript() async throws {
        try await Self.open(platform: "android") { fixture, authorization in
            let body = """
                {"device_alias":"","device_manufacturer":"LGE","device_model":"Nexus 5","os":"android-fcm",\
                "os_version":"7.0","registration_token":"fcm:Token-1","custom_user_id":"","tags":[]}
                """
            let reply = try await fixture.call(
                .post, "/v1/v1/registration", body: body, authorization: authorization,
                headers: ["Content-Type": "application/x-www-form-urlencoded"])
            #expect(reply.status == 200, "\(reply.text)")
            #expect(reply["os"] == "android-fcm")
            #expect(reply["device_alias"] == "")
            let id = reply["device_uuid"]?.stringValue ?? ""
            let update = """
                {"device_alias":"A","device_manufacturer":"LGE","device_model":"Nexus 5","os_version":"7.1",\
                "registration_token":"fcm:Token-2","custom_user_id":"",\
                "tags":{"subscribe":["A","b"],"unsubscribe":[]}}
                """
            let changed = try await fixture.call(
                .put, "//v1/registration/\(id)", body: update, authorization: authorization)
            #expect(changed["os"] == "android-fcm", "\(changed.text)")
            #expect(changed["tags"] == [["text": "a"], ["text": "b"]])
            #expect(changed["registration_token"] == "fcm:Token-2")
            #expect(
                try await fixture.call(.delete, "/v1/registration/\(id)", authorization: authorization).status == 204)
            #expect(
                try await fixture.call(.delete, "/v1/registration/\(id)", authorization: authorization).status == 404)
        }
    }

    @Test(#"PUT changes by difference, clears a user by "", and makes a device it never gave"#)
    func put() async throws {
        try await Self.open(settings: ["verify_custom_user_id": false]) { fixture, authorization in
            let id = "7ab6e9c5-1de8-4da3-9c33-a2b1b1b1b1b1"
            func put(_ body: String) async throws -> Fixture.Reply {
                try await fixture.call(
                    .put, "/v1/registration/\(id.uppercased())", body: body, authorization: authorization)
            }
            let member = #""registration_token":"\#(Fixture.deviceToken)""#
            #expect(try await put(#"{"os":"ios"}"#).status == 400)
            let made = try await put(#"{\#(member),"custom_user_id":"u1","tags":{"subscribe":["a"]}}"#)
            #expect(made.status == 200, "\(made.text)")
            #expect(made["device_uuid"] == .string(id))
            #expect(made["custom_user_id"] == "u1")
            let changed = try await put(#"{"os":"ios","tags":{"subscribe":["B"],"unsubscribe":["A"]}}"#)
            #expect(changed["tags"] == [["text": "b"]], "\(changed.text)")
            #expect(changed["custom_user_id"] == "u1")
            #expect(try await put(#"{"tags":["c"],"custom_user_id":null}"#)["custom_user_id"] == "u1")
            #expect(try await put(#"{"topics":["C","d"]}"#)["tags"] == [["text": "c"], ["text": "d"]])
            #expect(try await put(#"{"topics":{"unsubscribe":["D"]}}"#)["tags"] == [["text": "c"]])
            // Two spellings of one letter are two tags, as they are in the store.
            let (composed, decomposed) = ("\u{E9}", "e\u{301}")
            _ = try await put("{\"topics\":{\"subscribe\":[\"\(composed)\"]}}")
            let both = try await put("{\"topics\":{\"subscribe\":[\"\(decomposed)\"]}}")
            #expect(both["tags"]?.arrayValue?.count == 3, "\(both.text)")
            let one = try await put("{\"topics\":{\"unsubscribe\":[\"\(composed)\"]}}")
            #expect(one["tags"]?.arrayValue?.count == 2, "\(one.text)")
            #expect(try await put("{\"topics\":[\"c\"]}")["tags"] == [["text": "c"]])
            let cleared = try await put(#"{"custom_user_id":""}"#)
            #expect(cleared["custom_user_id"] == "")
            #expect(cleared["tags"] == [["text": "c"]])
        }
        try await Self.open(settings: ["upsert_on_put": false]) { fixture, authorization in
            let reply = try await fixture.call(
                .put, "/v1/registration/7ab6e9c5-1de8-4da3-9c33-a2b1b1b1b1b1",
                body: #"{"registration_token":"\#(Fixture.deviceToken)"}"#, authorization: authorization)
            #expect(reply.status == 404)
        }
    }

    /// Settles a push to the device as reached in the sandbox, as delivery does.
    private static func moveToSandbox(_ device: String, revision: Int64, _ fixture: Fixture) async throws {
        let sent = try await fixture.admin(
            .post, "…/messages", ["audience": ["devices": [.string(device)]], "content": ["title": "x"]])
        try #require(sent.status == 202, "\(sent.text)")
        let slice = try #require(fixture.engine.record.withLock { $0.taken.last })
        let key = try #require(slice.keys?.first)
        let now = fixture.clock.now
        var counts = OutcomeCounts()
        counts.count(.accepted)
        let log = DeliveryLog.encode([
            DeliveryLogEntry(key: key, outcome: .accepted, reason: "EnvironmentHealed", attempt: 1, locale: nil)
        ])
        var settlement = Settlement(
            of: slice, by: "test", to: slice.keyTo, counts: counts,
            logRow: .init(firstKey: key, lastKey: key, deviceCount: 1, sentAt: now, tookMilliseconds: 1, data: log),
            next: .done)
        settlement.moves = [.init(key: key, revision: revision, route: Route(.ios, .sandbox))]
        let results = try await fixture.store.write(.settle) { [settlement] in try $0.settle([settlement], now: now) }
        let isApplied = results.allSatisfy(\.isApplied)
        try #require(isApplied)
    }

    @Test("of a device that APNs knew only in the other environment keeps its key")
    func healed() async throws {
        try await Self.open(settings: ["verify_custom_user_id": false]) { fixture, authorization in
            func call(_ method: HTTPRequest.Method, _ path: String, _ body: String? = nil) async throws -> Fixture.Reply
            {
                try await fixture.call(method, "/v1/registration\(path)", body: body, authorization: authorization)
            }
            let member = #""registration_token":"\#(Fixture.deviceToken)""#
            let made = try await call(.post, "", "{\(member)}")
            let id = try #require(made["device_uuid"]?.stringValue)
            try await Self.moveToSandbox(id, revision: 1, fixture)
            let environment = try await fixture.admin(.get, "…/devices/\(id)")["environment"]
            #expect(environment == "sandbox")
            #expect(try await call(.get, "/\(id)").status == 200)
            let changed = try await call(.put, "/\(id)", #"{"tags":["a"]}"#)
            #expect(changed.status == 200 && changed["tags"] == [["text": "a"]], "\(changed.text)")
            let named = try await call(.put, "/\(id)", "{\(member)}")
            #expect(named.status == 200, "\(named.text)")
            #expect(try await fixture.admin(.get, "…/devices/\(id)")["environment"] == "sandbox")
            // Nothing is known about another token.
            let other = String(repeating: "cd", count: 32)
            #expect(try await call(.put, "/\(id)", #"{"registration_token":"\#(other)"}"#).status == 200)
            #expect(try await fixture.admin(.get, "…/devices/\(id)")["environment"] == "production")
            try await Self.moveToSandbox(id, revision: 2, fixture)
            #expect(try await call(.delete, "/\(id)").status == 204)
        }
    }

    private static func encoded(_ text: String) -> String { Base64URL.encode(Array(text.utf8)) }

    private static let plainHeader = #"{"alg":"HS256"}"#

    private static func signed(
        _ payload: String, header: String = plainHeader, secret: String = secret
    ) -> String {
        let input = "\(encoded(header)).\(encoded(payload))"
        let key = SymmetricKey(data: Hex.decode(secret) ?? [])
        let code = HMAC<SHA256>.authenticationCode(for: Array(input.utf8), using: key)
        return "\(input).\(Base64URL.encode(Array(code)))"
    }

    @Test("proves users by the vendor's signature and refuses every other")
    func userIDs() async throws {
        let payload = #"{"custom_user_id":"bond007"}"#
        let signature = "I_ebQ-2NZjzTRWE-nuwgZfGNtz_4m6Bh9TlLFs06GU4"
        let vector = "\(Self.encoded(Self.plainHeader)).\(Self.encoded(payload)).\(signature)"
        #expect(Self.signed(#"{"custom_user_id":"bond007"}"#) == vector)
        try await Self.open { fixture, authorization in
            func register(_ user: String) async throws -> Fixture.Reply {
                try await fixture.call(
                    .post, "/v1/registration",
                    body: #"{"registration_token":"\#(Fixture.deviceToken)","custom_user_id":"\#(user)"}"#,
                    authorization: authorization)
            }
            #expect(try await register(vector)["custom_user_id"] == "bond007")
            let long = String(repeating: "x", count: 255)
            #expect(try await register(Self.signed(#"{"custom_user_id":"\#(long)"}"#)).status == 200)
            let now = fixture.clock.now.seconds
            let current = Self.signed(#"{"custom_user_id":"ann","nbf":\#(now),"exp":\#(now + 1)}"#)
            #expect(try await register(current)["custom_user_id"] == "ann")
            let wrong = [
                Self.signed(#"{"custom_user_id":"eve","exp":\#(now)}"#),
                Self.signed(#"{"custom_user_id":"eve","nbf":\#(now + 1)}"#),
                Self.signed(#"{"custom_user_id":"eve","nbf":"now"}"#),
                Self.signed(#"{"custom_user_id":"eve","exp":"soon"}"#),
                Self.signed(#"{"custom_user_id":"eve"}"#, header: #"{"alg":"HS256","crit":["b64"],"b64":false}"#),
                Self.signed(#"{"custom_user_id":"eve"}"#, header: #"{"alg":"HS512"}"#),
                "bond007", vector + "x", "a.b.c", "..",
                Self.signed(#"{"custom_user_id":"eve"}"#, secret: String(repeating: "00", count: 32)),
                Self.signed(#"{"custom_user_id":"eve"}"#, header: #"{"alg":"none"}"#),
                Self.signed(#"{"user":"eve"}"#), Self.signed(#"{"custom_user_id":"\#(long)x"}"#),
                "\(Self.encoded(#"{"alg":"none"}"#)).\(Self.encoded(#"{"custom_user_id":"eve"}"#)).",
            ]
            for user in wrong {
                let reply = try await register(user)
                #expect(reply.status == 400, "\(user)")
                #expect(reply["message"]?.stringValue?.contains("custom_user_id") == true)
            }
            #expect(try await register("")["custom_user_id"] == "")
        }
    }

    @Test(
        "is refused in Spring's words, and nothing is stored",
        arguments: [
            ("{}", 400), ("", 400), (#"{"registration_token":"xyz"}"#, 400), (#"{"registration_token":[]}"#, 400),
            (#"{"registration_token":"abababababababab","os":"amiga"}"#, 400),
            (#"{"registration_token":"abababababababab","os":"android"}"#, 400),
            (#"{"registration_token":"abababababababab","tags":"a"}"#, 400),
            (#"{"registration_token":"abababababababab","tags":[{}]}"#, 400),
            (#"{"registration_token":"abababababababab","device_alias":{}}"#, 400),
        ])
    func refused(body: String, status: Int) async throws {
        try await Self.open { fixture, authorization in
            let reply = try await fixture.call(.post, "/v1/registration", body: body, authorization: authorization)
            #expect(reply.status == status, "\(reply.text)")
            #expect(reply["status"] == 400)
            #expect(reply["error"] == "Bad Request")
            #expect(reply["path"] == "/v1/registration")
            #expect(reply["timestamp"]?.integerValue == fixture.clock.now.milliseconds)
            #expect(try await fixture.census()["devices"] == 0)
        }
    }

    @Test("asks callers without a key for a name and a secret")
    func withoutKey() async throws {
        try await Self.open { fixture, _ in
            for authorization in [
                nil, fixture.basic("platform-1", "wrong"), fixture.basic("nobody", "platform-secret-1"),
            ] {
                let reply = try await fixture.call(
                    .post, "/v1/registration", body: Self.iOS, authorization: authorization)
                #expect(reply.status == 401)
                #expect(reply.header("WWW-Authenticate") == #"Basic realm="Push platform""#)
                #expect(reply["error"] == "Unauthorized")
            }
        }
    }

    @Test("holds at most 1024 tags")
    func tagLimit() async throws {
        try await Self.open { fixture, authorization in
            for (count, status) in [(1024, 200), (1025, 400)] {
                let tags = (0..<count).map { #""t\#($0)""# }.joined(separator: ",")
                let reply = try await fixture.call(
                    .post, "/v1/registration",
                    body: #"{"registration_token":"\#(Fixture.deviceToken)","tags":[\#(tags)]}"#,
                    authorization: authorization)
                #expect(reply.status == status)
            }
        }
    }
}
