import HTTPTypes
import PealCore
import PealTesting
import Testing

@Suite("Devices that register themselves")
struct DeviceRegistrationTests {
    @Test("a new device gets an id and a token; the same address again keeps the id and ends the token")
    func identity() async throws {
        try await DeviceFixture.open { server in
            let first = try await server.register(1, [("topics", ["news"])])
            #expect(first.status == 201, "\(first.text)")
            #expect(first["app"] == "com.example.cheese" && first["now"] == "2026-11-21T00:00:00.000Z")
            let token = try #require(first["device_token"]?.stringValue)
            #expect(token.hasPrefix("pdt_") && token.count == 47)
            #expect(first["model_keys.0.kid"] == "m1")
            let key = Base64URL.decode(first["model_keys.0.public_key"]?.stringValue ?? "")
            #expect(key?.count == 32)
            #expect(try await server.register(7)["model_keys"] == first["model_keys"], "an app has one key")

            let lost = try await server.register(1)
            #expect(lost.status == 200 && lost["device"] == first["device"])
            #expect(lost["device_token"] != first["device_token"])
            #expect(try await server.call(.get, "registration", as: token).status == 401)
            let newer = try #require(lost["device_token"]?.stringValue)
            #expect(try await server.call(.get, "registration", as: newer)["topics"] == ["news"])

            let moved = try await server.register(2, [("device_token", .string(newer)), ("topics", [])])
            #expect(moved.status == 200 && moved["device"] == first["device"])
            #expect(moved["device_token"] == .string(newer))
            let shown = try await server.call(.get, "registration", as: newer)
            #expect(shown["address"] == .string(DeviceFixture.address(2)) && shown["topics"] == [])
        }
    }

    @Test("null instead of topics keeps them, with a token and without one", arguments: [true, false])
    func noTopics(hasToken: Bool) async throws {
        try await DeviceFixture.open { server in
            let first = try await server.register(1, [("topics", ["news"])])
            let token = hasToken ? first["device_token"] : .null
            let again = try await server.register(1, [("topics", .null), ("locale", .null), ("device_token", token)])
            let newer = try #require(again["device_token"]?.stringValue, "\(again.text)")
            #expect(try await server.call(.get, "registration", as: newer)["topics"] == ["news"])
        }
    }

    @Test("a device that takes over another's address ends the other's token")
    func takesOver() async throws {
        try await DeviceFixture.open { server in
            let (old, new) = (try await server.phone(1), try await server.phone(2))
            let moved = try await server.register(1, [("device_token", .string(new.token))])
            #expect(moved["device"] == .string(new.device))
            #expect(try await server.call(.get, "registration", as: old.token).status == 401)
            #expect(try await server.fixture.admin(.get, "…/devices/\(old.device)")["retired_reason"] == "AddressMoved")
            let other = try await server.fixture.admin(
                .put, "…/devices/\(DeviceFixture.id(9))",
                ["platform": "ios", "address": .string(DeviceFixture.address(1))])
            #expect(other.status == 201)
            #expect(
                try await server.call(.get, "registration", as: new.token).status == 401,
                "an author moved the address to another device")
        }
    }

    @Test(
        "a phone that registers again, in whatever way, is not woken more often than twice an hour",
        arguments: Return.allCases)
    func budget(_ way: Return) async throws {
        try await DeviceFixture.open { server in
            let clock = server.fixture.clock
            var (phone, times): (DeviceFixture.Phone, [Timestamp]) = (try await server.phone(1), [])
            let other = try await server.phone(2, user: "ben")
            for minute in 0..<180 {
                if minute % 5 == 0 {
                    switch way {
                    case .afterLeaving:
                        #expect(try await server.call(.delete, "registration", as: phone.token).status == 204)
                        phone = try await server.phone(1)
                    case .withoutToken: phone = try await server.phone(1)
                    case .afterItsUserWasErased:
                        #expect(try await server.fixture.admin(.delete, "…/users/ann").status == 200)
                        phone = try await server.phone(1)
                    case .afterAnAuthorTookIt:
                        let id = DeviceFixture.id(100 + minute)
                        let body: JSON = ["platform": "ios", "address": .string(DeviceFixture.address(1))]
                        #expect(try await server.fixture.admin(.put, "…/devices/\(id)", body).status == 201)
                        phone = try await server.phone(1)
                    case .asAnotherDevice where minute == 40:
                        let token = JSON.string(other.token)
                        phone = try await server.phone(1, [("device_token", token)])
                    case .asAnotherDevice: break
                    }
                    _ = try await server.schedule()
                }
                times += try await server.wakes(of: phone).map { _ in clock.now }
                clock.advance(by: .seconds(60))
            }
            #expect((4...6).contains(times.count), "\(times)")
            for (first, third) in zip(times, times.dropFirst(2)) { #expect(third - first > .seconds(3600), "\(times)") }
        }
    }

    @Test(
        "a phone that grants background time is woken unless its person refuses notifications",
        arguments: [
            (["nse_ledger": true, "background": true], true), (["background": true, "alerts": .null], true),
            (["background": true, "alerts": false], false),
            (["background": true, "scheduled_summary": true], false), (["nse_ledger": true], false), (nil, false),
        ] as [(JSON?, Bool)])
    func statedCapabilities(given: JSON?, isWoken: Bool) async throws {
        try await DeviceFixture.open { server in
            let phone = try await server.phone(capabilities: given)
            let shown = try await server.call(.get, "registration", as: phone.token)
            #expect(shown["capabilities.alerts"] == .bool(given?["alerts"] != false), "\(shown.text)")
            _ = try await server.schedule()
            server.fixture.clock.advance(by: .seconds(60))
            #expect(try await !server.wakes(of: phone).isEmpty == isWoken)
        }
    }

    /// How a phone gets another registration.
    enum Return: CaseIterable {
        case afterLeaving, withoutToken, afterItsUserWasErased, afterAnAuthorTookIt, asAnotherDevice
    }

    @Test("a user id needs the signature of the app's backend, once")
    func proofs() async throws {
        try await DeviceFixture.open { server in
            let missing = try await server.register(1, [("user_id", "ann")])
            #expect(missing.status == 400 && missing.code == "missing_field" && missing.field == "user_proof")
            let now = server.fixture.clock.now.seconds
            let wrong = [
                "a.b.c", "x", try server.proof("eve"),
                try server.proof("ann", secret: String(repeating: "0", count: 64)),
                try server.proof("ann", more: [("exp", .integer(now))]),
                try server.proof("ann", more: [("exp", "soon")]), try server.proof("ann") + "x",
            ]
            for proof in wrong {
                let refused = try await server.register(1, [("user_id", "ann"), ("user_proof", .string(proof))])
                #expect(refused.status == 403 && refused.field == "user_proof", "\(proof): \(refused.text)")
            }
            let proof = try server.proof("ann", more: [("exp", .integer(now + 60)), ("iat", 1), ("other", [])])
            let first = try await server.register(1, [("user_id", "ann"), ("user_proof", .string(proof))])
            #expect(first.status == 201 && first["user_id"] == "ann", "\(first.text)")
            let token = try #require(first["device_token"])
            server.fixture.clock.advance(by: .seconds(120))
            for again in [proof, nil] {
                let reply = try await server.register(
                    1, [("user_id", "ann"), ("user_proof", again.map(JSON.string)), ("device_token", token)])
                #expect(reply.status == 200 && reply["user_id"] == "ann", "the token's device has the user already")
            }
            let stolen = try await server.register(1)
            #expect(stolen.status == 200 && stolen["user_id"] == nil, "whoever knows an address gets no user with it")
            let other = try await server.register(1, [("user_id", "ann"), ("device_token", token)])
            #expect(other.status == 400, "an ended token proves nothing")
        }
    }

    @Test("an app may do without proofs")
    func unproved() async throws {
        try await DeviceFixture.open { server in
            _ = try await server.fixture.admin(.patch, "…", ["settings": ["device": ["verify_user_id": false]]])
            #expect(try await server.register(1, [("user_id", "ann")])["user_id"] == "ann")
        }
    }

    @Test(
        "an app's key authorizes only register and web, and a device's token only what belongs to the device",
        arguments: [
            (HTTPRequest.Method.get, "registration"), (.delete, "registration"), (.put, "topics/news"),
            (.delete, "topics/news"), (.post, "sync"), (.post, "events"),
            (.post, "messages/40000000-0000-4000-8000-000000000001/claim"),
            (.post, "messages/40000000-0000-4000-8000-000000000001/events"),
        ])
    func rights(method: HTTPRequest.Method, path: String) async throws {
        try await DeviceFixture.open { server in
            let phone = try await server.phone()
            let others = ["richie", "contextpush", "native", "devtodev"]
            var foreign: [String] = [server.key, Fixture.adminToken]
            for dialect in others {
                let key = try await server.fixture.key(dialect)
                foreign += ["token", "user_token"].compactMap { key[$0]?.stringValue }
            }
            for bearer in foreign {
                #expect(try await server.call(method, path, [:], as: bearer).status == 403, "\(bearer)")
            }
            for bearer in [nil, "", "pdt_x", "pdt_" + String(repeating: "A", count: 43)] as [String?] {
                let refused = try await server.call(method, path, [:], as: bearer)
                #expect(refused.status == 401 && refused.header("WWW-Authenticate") != nil)
            }
            #expect(
                try await server.call(.post, "register", DeviceFixture.registration(7), as: phone.token).status == 403)
            for path in ["…", "…/devices", "…/messages"] {
                for bearer in [server.key, phone.token] {
                    let reply = try await server.fixture.call(
                        .get, path.replacing("…", with: server.fixture.path), authorization: "Bearer \(bearer)")
                    #expect(reply.status == 403, "\(path): \(reply.text)")
                }
            }
        }
    }

    @Test("a token ends with its device, its user and the key that issued it")
    func ends() async throws {
        try await DeviceFixture.open { server in
            func isOver(_ phone: DeviceFixture.Phone) async throws -> Bool {
                try await server.call(.get, "registration", as: phone.token).status == 401
            }
            var phone = try await server.phone()
            #expect(try await server.call(.delete, "registration", as: phone.token).status == 204)
            #expect(try await isOver(phone))
            phone = try await server.phone()
            _ = try await server.fixture.admin(.delete, "…/devices/\(phone.device)")
            #expect(try await isOver(phone))
            phone = try await server.phone()
            _ = try await server.fixture.admin(.delete, "…/users/ann")
            #expect(try await isOver(phone))
            phone = try await server.phone()
            let second = try await server.fixture.key("device")
            let keys = try await server.fixture.admin(.get, "…/keys")["items"]?.arrayValue ?? []
            let first = try #require(keys.first { $0["dialect"] == "device" && $0["id"] != second["id"] })
            _ = try await server.fixture.admin(.delete, "…/keys/\(first["id"]?.stringValue ?? "")")
            #expect(try await isOver(phone))
        }
    }

    @Test("a device changes its own topics only")
    func topics() async throws {
        try await DeviceFixture.open { server in
            let (mine, other) = (try await server.phone(1), try await server.phone(2))
            #expect(try await server.call(.put, "topics/a%20%26%2F%C3%BC", as: mine.token).status == 204)
            #expect(try await server.call(.put, "topics/b", as: mine.token).status == 204)
            #expect(try await server.call(.delete, "topics/b", as: mine.token).status == 204)
            #expect(try await server.call(.get, "registration", as: mine.token)["topics"] == ["a &/ü"])
            #expect(try await server.call(.get, "registration", as: other.token)["topics"] == [])
            #expect(try await server.call(.put, "topics/%01", as: mine.token).status == 400)
        }
    }

    @Test(
        "refuses what it cannot store",
        arguments: [
            ("[]", "invalid_json"), ("{", "invalid_json"), ("{}", "missing_field"),
            (#"{"platform":"ios"}"#, "missing_field"), (#"{"platform":"symbian","address":"00"}"#, "invalid_field"),
            (#"{"platform":"windows_phone","address":"https://a"}"#, "invalid_field"),
            (#"{"platform":"ios","address":"zz"}"#, "invalid_field"),
            (#"{"platform":"ios","address":"0011223344556677\u0000"}"#, "invalid_field"),
            (#"{"platform":"ios","address":"0011223344556677","capabilities":{"alerts":1}}"#, "invalid_field"),
            (#"{"platform":"ios","address":"0011223344556677","topics":"news"}"#, "invalid_field"),
            (#"{"platform":"ios","address":"0011223344556677","device_token":5}"#, "invalid_field"),
            (#"{"platform":"ios","address":"0011223344556677","keep_user":"yes"}"#, "invalid_field"),
            (#"{"platform":"web","address":{"endpoint":"https://evil.example","keys":{}}}"#, "invalid_field"),
        ])
    func badRegistrations(body: String, code: String) async throws {
        try await DeviceFixture.open { server in
            let reply = try await server.fixture.call(
                .post, "/peal/device/v1/register", body: body, authorization: "Bearer \(server.key)")
            #expect(reply.status == 400 && reply.code == code, "\(reply.text)")
            #expect(try await server.fixture.census()["devices"] == 0)
        }
    }

    @Test("limits bodies, registrations and the requests of a device")
    func limits() async throws {
        try await DeviceFixture.open { server in
            let large = DeviceFixture.registration(1, [("x", .string(String(repeating: "x", count: 262_144)))])
            #expect(try await server.call(.post, "register", large, as: server.key).status == 413)
            let text = try await server.call(
                .post, "register", DeviceFixture.registration(), as: server.key, headers: ["Content-Type": "text/plain"]
            )
            #expect(text.status == 415)
            let phone = try await server.phone(1000)
            for number in 1..<60 { _ = try await server.register(number) }
            let refused = try await server.register(100)
            #expect(refused.status == 429 && refused.header("Retry-After") != nil, "\(refused.text)")
            let again = DeviceFixture.registration(1000, [("device_token", .string(phone.token))])
            #expect(try await server.call(.post, "register", again, as: server.key).status == 200, "it is known")
            server.fixture.clock.advance(by: .seconds(2))
            #expect(try await server.register(100).status == 201)
            var statuses: [Int] = []
            for _ in 0..<(Limits.requestsPerDevicePerMinute + 1) {
                statuses.append(try await server.call(.get, "registration", as: phone.token).status)
            }
            #expect(statuses.last == 429 && statuses.first == 200)
        }
    }

    @Test("every origin may call it, without credentials; no origin may call the native API")
    func origins() async throws {
        try await DeviceFixture.open { server in
            for path in ["/peal/device/v1/register", "/peal/device/v1/nothing", "/sdk/peal.js"] {
                let asked = try await server.fixture.call(
                    .options, path, authorization: nil, headers: ["Origin": "https://a.example"])
                #expect(asked.status == 204 && asked.text.isEmpty)
                #expect(asked.header("Access-Control-Allow-Origin") == "*")
                #expect(asked.header("Access-Control-Allow-Methods") == "GET, POST, PUT, DELETE")
                #expect(asked.header("Access-Control-Allow-Headers") == "authorization, content-type")
                #expect(asked.header("Access-Control-Max-Age") == "86400")
                #expect(asked.header("Access-Control-Allow-Credentials") == nil)
            }
            let refused = try await server.call(.get, "registration", as: nil)
            #expect(refused.header("Access-Control-Allow-Origin") == "*")
            #expect(refused.header("Access-Control-Expose-Headers") == "Retry-After")
            for (method, path) in [
                (HTTPRequest.Method.options, server.fixture.path), (.get, "/openapi.json"), (.options, "/v1/push"),
            ] {
                let reply = try await server.fixture.call(method, path, authorization: nil)
                #expect(reply.header("Access-Control-Allow-Origin") == nil, "\(path)")
            }
        }
    }

    @Test("a page gets the app's newest VAPID key")
    func webKey() async throws {
        try await DeviceFixture.open { server in
            #expect(try await server.call(.get, "web", as: server.key).status == 404)
            let put = try await server.fixture.admin(
                .put, "…/credentials/webpush", ["subject": "mailto:a@example.com"])
            let reply = try await server.call(.get, "web", as: server.key)
            #expect(reply["application_server_key"] == put["public_key"] && put["public_key"] != nil)
            let keys: JSON = [
                "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
                "auth": "BTBZMqHH6r4Tts7J_aSIgg",
            ]
            let address: JSON = ["endpoint": "https://fcm.googleapis.com/fcm/send/x", "keys": keys]
            let page = try await server.call(
                .post, "register", ["platform": "web", "address": address], as: server.key)
            #expect(page.status == 201, "\(page.text)")
            #expect(page["application_server_key"] == put["public_key"], "so a visit needs no other request")
            #expect(try await server.register(1)["application_server_key"] == nil)
        }
    }
}
