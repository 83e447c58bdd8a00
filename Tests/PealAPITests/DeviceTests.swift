import HTTPTypes
import PealCore
import PealTesting
import Testing

@Suite("Devices")
struct DeviceTests {
    private static let id = "10000000-0000-4000-8000-000000000001"
    private static let other = "10000000-0000-4000-8000-000000000002"

    private static func device(_ more: [(String, JSON)] = []) -> JSON {
        .object(
            JSON.Members([("platform", "ios"), ("address", .string(Fixture.deviceToken.uppercased()))] + more))
    }

    @Test("register, are shown as sent, replaced, changed, listed and erased")
    func life() async throws {
        try await Fixture.open { fixture in
            let path = "…/devices/\(Self.id)"
            let made = try await fixture.admin(
                .put, path,
                Self.device([
                    ("environment", "development"), ("user_id", "u1"), ("topics", ["b", "a", "b"]),
                    ("locale", "de-AT"), ("time_zone", "Europe/Vienna"), ("os_version", "17.4"),
                    ("identifiers", ["idfv": "X", "devtodev_id": 7]), ("attributes", ["n": 1]), ("alias", "Ann's"),
                ]))
            #expect(made.status == 201, "\(made.text)")
            #expect(
                made.text
                    == """
                    {"id":"\(Self.id)","platform":"ios","environment":"sandbox",\
                    "address":"\(Fixture.deviceToken.uppercased())","user_id":"u1","topics":["a","b"],\
                    "locale":"de-AT","time_zone":"Europe/Vienna","os_version":"17.4","alias":"Ann's",\
                    "identifiers":{"devtodev_id":"7","idfv":"X"},"attributes":{"n":1},"state":"active",\
                    "registered_at":"2026-11-21T00:00:00Z"}
                    """)
            #expect(try await fixture.admin(.get, path).text == made.text)

            let patched = try await fixture.admin(.patch, path, ["user_id": .null, "topics": ["c"], "locale": "fr"])
            #expect(patched.status == 200, "\(patched.text)")
            #expect(patched["user_id"]?.isNull == true)
            #expect(patched["topics"] == ["c"])
            #expect(patched["locale"] == "fr")
            #expect(patched["alias"] == "Ann's")
            #expect(patched["environment"] == "sandbox")

            let replaced = try await fixture.admin(.put, path, Self.device([("environment", "sandbox")]))
            #expect(replaced.status == 200)
            #expect(replaced["locale"]?.isNull == true)
            #expect(replaced["topics"] == ["c"])
            let nulls = Self.device([("environment", "sandbox"), ("topics", .null)])
            #expect(try await fixture.admin(.put, path, nulls)["topics"] == ["c"], "null is the same as absent")
            let batch = Self.device([("id", .string(Self.id)), ("environment", "sandbox"), ("topics", .null)])
            #expect(try await fixture.admin(.post, "…/devices:batch", ["devices": [batch]]).status == 200)
            #expect(try await fixture.admin(.get, path)["topics"] == ["c"], "a batch keeps them too")

            #expect(try await fixture.admin(.put, "\(path)/topics/d%2Fe")["topics"] == ["c", "d/e"])
            #expect(try await fixture.admin(.delete, "\(path)/topics/c").status == 204)
            #expect(try await fixture.admin(.get, path)["topics"] == ["d/e"])

            #expect(try await fixture.admin(.delete, path).status == 204)
            #expect(try await fixture.admin(.get, path).status == 404)
            #expect(try await fixture.admin(.delete, path).status == 404)
        }
    }

    @Test("keep their address under a new id, and the former id is retired")
    func moved() async throws {
        try await Fixture.open { fixture in
            _ = try await fixture.admin(.put, "…/devices/\(Self.id)", Self.device())
            let second = try await fixture.admin(.put, "…/devices/\(Self.other)", Self.device())
            #expect(second["id"] == .string(Self.other))
            let first = try await fixture.admin(.get, "…/devices/\(Self.id)")
            if first.status == 200 {
                #expect(first["state"] == "retired")
                #expect(first["retired_reason"] == "AddressMoved")
                let changed = try await fixture.admin(.patch, "…/devices/\(Self.id)", ["user_id": "u"])
                #expect(changed.status == 409)
            } else {
                #expect(first.status == 404)
            }
        }
    }

    @Test("of a batch are stored if they are valid, and otherwise reported, in one answer")
    func batch() async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.admin(
                .post, "…/devices:batch",
                [
                    "devices": [
                        ["id": .string(Self.id), "platform": "ios", "address": .string(Fixture.deviceToken)],
                        ["platform": "ios"], 5, ["platform": "android", "address": "fcm-token"],
                        ["id": .string(Self.id), "platform": "ios", "address": .string(Fixture.deviceToken)],
                        ["id": "nonsense", "platform": "android", "address": "fcm-token-2"],
                    ]
                ])
            #expect(reply.status == 200, "\(reply.text)")
            #expect(reply["results.0.status"] == "created")
            #expect(reply["results.1.index"] == 1)
            #expect(reply["results.1.error.field"] == "devices[1].address")
            #expect(reply["results.2.error.field"] == "devices[2]")
            #expect(reply["results.3.status"] == "created")
            #expect(reply["results.4.status"] == "updated")
            #expect(reply["results.5.error.field"] == "devices[5].id")
            #expect(try await fixture.census()["devices"] == 2)
            let many = JSON.object(JSON.Members([("devices", .array(Array(repeating: 1, count: 1001)))]))
            #expect(try await fixture.admin(.post, "…/devices:batch", many).field == "devices")
        }
    }

    @Test(
        "are in the sandbox only on a network that has one",
        arguments: [
            ("ios", #""sandbox""#, 201, "sandbox"), ("ios", "null", 201, "production"),
            ("android", #""production""#, 201, "production"), ("android", "null", 201, "production"),
            ("android", #""sandbox""#, 400, nil), ("android", #""development""#, 400, nil),
        ] as [(String, String, Int, String?)])
    func environments(platform: String, environment: String, status: Int, stored: String?) async throws {
        try await Fixture.open { fixture in
            let address = Fixture.deviceToken
            let device = #"{"platform":"\#(platform)","address":"\#(address)","environment":\#(environment)}"#
            let reply = try await fixture.adminText(.put, "…/devices/\(Self.id)", device)
            #expect(reply.status == status && reply["environment"]?.stringValue == stored, "\(reply.text)")
            if status == 400 { #expect(reply.field == "environment") }
            let batch = try await fixture.adminText(.post, "…/devices:batch", #"{"devices":[\#(device)]}"#)
            let field = batch["results.0.error.field"]?.stringValue
            #expect(field == (status == 400 ? "devices[0].environment" : nil), "\(batch.text)")
        }
    }

    @Test("of a network without a sandbox are not moved to one")
    func noSandbox() async throws {
        try await Fixture.open { fixture in
            let path = "…/devices/\(Self.id)"
            _ = try await fixture.admin(.put, path, ["platform": "android", "address": "samesame"])
            let moved = try await fixture.admin(.patch, path, ["environment": "sandbox"])
            #expect(moved.status == 400 && moved.field == "environment", "\(moved.text)")
            #expect(try await fixture.admin(.patch, path, ["environment": "production"]).status == 200)
        }
    }

    @Test("keep their platform and address, and return to production, if a change clears these")
    func cleared() async throws {
        try await Fixture.open { fixture in
            let path = "…/devices/\(Self.id)"
            let device: JSON = ["platform": "ios", "environment": "sandbox", "address": .string(Fixture.deviceToken)]
            #expect(try await fixture.admin(.put, path, device).status == 201)
            for name in ["platform", "address"] {
                let refused = try await fixture.admin(.patch, path, [name: .null])
                #expect(refused.status == 400 && refused.code == "missing_field", "\(refused.text)")
                #expect(refused.field == name)
            }
            let cleared = try await fixture.admin(.patch, path, ["environment": .null])
            #expect(cleared.status == 200 && cleared["environment"] == "production", "\(cleared.text)")
        }
    }

    @Test("are found by user, topic and address, page by page")
    func list() async throws {
        try await Fixture.open { fixture in
            for index in 0..<5 {
                let address = String(repeating: "0\(index)", count: 32)
                let reply = try await fixture.admin(
                    .post, "…/devices",
                    [
                        "platform": "ios", "address": .string(address), "user_id": index < 2 ? "two of them" : "x",
                        "topics": [index == 4 ? "last" : "rest"],
                    ])
                #expect(reply.status == 201)
            }
            func count(_ query: String) async throws -> Int? {
                try await fixture.admin(.get, "…/devices?\(query)")["items"]?.arrayValue?.count
            }
            #expect(try await count("") == 5)
            #expect(try await count("user_id=two+of%20them") == 2)
            #expect(try await count("topic=last") == 1)
            #expect(try await count("topic=rest&user_id=x") == 2)
            #expect(try await count("address=\(String(repeating: "03", count: 32))") == 1)
            #expect(try await count("address=\(String(repeating: "03", count: 32))&environment=sandbox") == 0)
            #expect(try await count("address=\(String(repeating: "zz", count: 32))&platform=ios") == 0)
            #expect(try await fixture.admin(.get, "…/devices?address=%00").field == "address")
            #expect(try await fixture.admin(.get, "…/devices?platform=moon").field == "platform")
            #expect(try await fixture.admin(.get, "…/devices?environment=moon").field == "environment")
            #expect(try await count("address=\(String(repeating: "03", count: 32))&platform=ios") == 1)
            for (query, field) in [
                ("user_id=x&platform=android", "platform"), ("environment=sandbox", "environment"),
                ("platform=ios", "platform"), ("topic=last&environment=production", "environment"),
            ] {
                let refused = try await fixture.admin(.get, "…/devices?\(query)")
                #expect(refused.status == 400 && refused.field == field, "\(query)")
                #expect(refused.text.contains("\(field) requires address"), "\(refused.text)")
            }
            let trail = try await fixture.admin(.get, "…/messages/\(Self.id)/deliveries?user=x&platform=ios")
            #expect(trail.status == 400 && trail.field == "platform", "\(trail.text)")

            var seen: [String] = []
            var cursor: String? = ""
            // Five devices, two per page: three pages.
            for _ in 0..<3 {
                let at = try #require(cursor)
                let page = try await fixture.admin(.get, "…/devices?limit=2" + (at.isEmpty ? "" : "&cursor=\(at)"))
                seen += page["items"]?.arrayValue?.compactMap { $0["id"]?.stringValue } ?? []
                cursor = page["next_cursor"]?.stringValue
            }
            #expect(cursor == nil && seen.count == 5 && Set(seen).count == 5)
        }
    }

    @Test("of users whose ids look alike are listed separately")
    func alike() async throws {
        try await Fixture.open { fixture in
            for (number, user) in ["caf\u{E9}", "cafe\u{301}"].enumerated() {
                let id = Self.id.dropLast() + "\(number)"
                let address = String(repeating: "0\(number)", count: 32)
                let device = Self.device([
                    ("user_id", .string(user)), ("topics", ["t"]), ("address", .string(address)),
                ])
                #expect(try await fixture.admin(.put, "…/devices/\(id)", device).status == 201)
            }
            for query in ["user_id=caf%C3%A9", "user_id=caf%C3%A9&topic=t"] {
                let found = try await fixture.admin(.get, "…/devices?\(query)")["items"]?.arrayValue
                #expect(found?.count == 1, "\(query)")
            }
        }
    }

    @Test("of a user are deleted with the user")
    func erase() async throws {
        try await Fixture.open { fixture in
            _ = try await fixture.admin(.put, "…/devices/\(Self.id)", Self.device([("user_id", "a b")]))
            let reply = try await fixture.admin(.delete, "…/users/a%20b")
            #expect(reply.text == #"{"user_id":"a b","devices":1}"#)
            #expect(try await fixture.census()["devices"] == 0)
            // As long as other dialects let it be.
            for (count, status) in [(1020, 200), (1021, 400)] {
                let name = String(repeating: "u", count: count)
                #expect(try await fixture.admin(.delete, "…/users/\(name)").status == status, "\(count)")
            }
        }
    }

    @Test(
        "of every platform register",
        arguments: [
            ("android", #""fcm:token-1""#), ("windows", #""https://db5.notify.windows.com/?token=x""#),
            ("windows_phone", #""https://sn1.notify.live.net/u/1""#),
            (
                "web",
                """
                {"endpoint":"https://fcm.googleapis.com/fcm/send/x",\
                "keys":{"p256dh":"\(String(repeating: "A", count: 87))",\
                "auth":"\(String(repeating: "A", count: 22))"}}
                """
            ),
        ])
    func platforms(platform: String, address: String) async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.adminText(
                .post, "…/devices", #"{"platform":"\#(platform)","address":\#(address)}"#)
            #expect(reply.status == 201, "\(reply.text)")
            #expect(reply["address"]?.text == address)
        }
    }

    @Test("show how their topics grew, by the day on which they joined")
    func growth() async throws {
        try await Fixture.open { fixture in
            for number in 1...3 {
                var device = Self.device([("topics", ["a"])]).objectValue ?? .init()
                device["address"] = .string(String(repeating: "a\(number)", count: 32))
                let id = "10000000-0000-4000-8000-00000000000\(number)"
                _ = try await fixture.admin(.put, "…/devices/\(id)", .object(device))
                fixture.clock.advance(by: .seconds(24 * 3600))
            }
            let reply = try await fixture.admin(.get, "…/topics/a/growth?days=3")
            let items = reply["items"]?.arrayValue ?? []
            #expect(items.map { $0["joined"]?.integerValue } == [1, 1, 0], "\(reply.text)")
            #expect(items.map { $0["devices"]?.integerValue } == [2, 3, 3], "\(reply.text)")
            #expect(try await fixture.admin(.get, "…/topics/a/growth")["items"]?.arrayValue?.count == 30)
            #expect(try await fixture.admin(.get, "…/topics/b/growth").code == "not_found")
            for days in ["0", "367", "x", "-1"] {
                #expect(try await fixture.admin(.get, "…/topics/a/growth?days=\(days)").field == "days")
            }
        }
    }

    @Test("create topics, which are counted, may expire and can be deleted")
    func topics() async throws {
        try await Fixture.open { fixture in
            _ = try await fixture.admin(.put, "…/devices/\(Self.id)", Self.device([("topics", ["a", "b"])]))
            let list = try await fixture.admin(.get, "…/topics")
            #expect(list["items.0"] == ["name": "a", "devices": 1], "\(list.text)")
            let put = try await fixture.admin(.put, "…/topics/b", ["expires_at": "2026-11-21T02:00:00+01:00"])
            #expect(put["expires_at"] == "2026-11-21T01:00:00Z", "\(put.text)")
            fixture.clock.advance(by: .seconds(3601))
            #expect(try await fixture.admin(.get, "…/topics/b").status == 404)
            for (topic, count) in [("a", 1), ("b", 0)] {
                let members = try await fixture.admin(.get, "…/devices?topic=\(topic)")["items"]?.arrayValue?.count
                #expect(members == count, "\(topic)")
            }
            #expect(try await fixture.admin(.get, "…/topics")["items"]?.arrayValue?.count == 1)
            #expect(try await fixture.admin(.delete, "…/topics/a").status == 204)
            #expect(try await fixture.admin(.delete, "…/topics/a").status == 404)
            #expect(try await fixture.admin(.get, "…/devices/\(Self.id)")["topics"] != ["a", "b"])
        }
    }
}
