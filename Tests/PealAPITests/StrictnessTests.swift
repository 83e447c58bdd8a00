import HTTPTypes
import PealCore
import Testing

@Suite("Strictness")
struct StrictnessTests {
    private static let device = "10000000-0000-4000-8000-000000000001"
    private static let secret = "a-secret-of-24-characters"

    @Test("shows a platform key only the devices of its environment")
    func environments() async throws {
        try await Fixture.open { fixture in
            _ = try await fixture.key(
                "pivotal-platform",
                [("platform_uuid", "p-1"), ("platform_secret", .string(Self.secret)), ("platform", "ios")])
            let body: JSON = ["platform": "ios", "environment": "sandbox", "address": .string(Fixture.deviceToken)]
            #expect(try await fixture.admin(.put, "…/devices/\(Self.device)", body).status == 201)
            let (path, authorization) = ("/v1/registration/\(Self.device)", fixture.basic("p-1", Self.secret))
            #expect(try await fixture.call(.get, path, authorization: authorization).status == 404)
            #expect(try await fixture.call(.put, path, body: "{}", authorization: authorization).status == 404)
            #expect(try await fixture.call(.delete, path, authorization: authorization).status == 404)
            #expect(try await fixture.admin(.get, "…/devices/\(Self.device)").status == 200)
        }
    }

    @Test("counts the characters of names, not their bytes", arguments: ["a", "ä", "€", "🧀"])
    func characters(character: String) async throws {
        try await Fixture.open { fixture in
            let (longest, longer) = (String(repeating: character, count: 255), String(repeating: character, count: 256))
            for (text, status) in [(longest, 201), (longer, 400)] {
                let reply = try await fixture.admin(
                    .post, "…/devices",
                    [
                        "platform": "ios", "address": .string(Fixture.deviceToken), "user_id": .string(text),
                        "topics": [.string(text)],
                    ])
                #expect(reply.status == status, "\(reply.text)")
            }
        }
    }

    @Test("registers bb10 devices with an Android key, and names an unknown os by its field")
    func blackberry() async throws {
        try await Fixture.open { fixture in
            _ = try await fixture.key(
                "pivotal-platform",
                [("platform_uuid", "p-1"), ("platform_secret", .string(Self.secret)), ("platform", "android")])
            let authorization = fixture.basic("p-1", Self.secret)
            let known = try await fixture.call(
                .post, "/v1/registration", body: #"{"os":"bb10","registration_token":"abc"}"#,
                authorization: authorization)
            #expect(known["os"] == "bb10", "\(known.text)")
            let other = try await fixture.call(
                .post, "/v1/registration", body: #"{"os":"ios","registration_token":"abc"}"#,
                authorization: authorization)
            #expect(other["message"]?.stringValue?.hasPrefix("os: ") == true, "\(other.text)")
        }
    }

    @Test("names the member of a push that is too large as the push does")
    func large() async throws {
        try await Fixture.open { fixture in
            _ = try await fixture.key("pivotal", [("application_uuid", "a-1"), ("api_key", .string(Self.secret))])
            let text = String(repeating: "x", count: 5000)
            let reply = try await fixture.call(
                .post, "/v1/push", body: #"{"message":{"body":"\#(text)"},"target":{"platforms":["ios"]}}"#,
                authorization: fixture.basic("a-1", Self.secret))
            #expect(reply["message"] == "message.body: too large", "\(reply.text)")
        }
    }

    @Test("refuses secrets that are empty, another dialect's or the admin's")
    func secrets() async throws {
        try await Fixture.open { fixture in
            let empty = try await fixture.admin(.post, "…/keys", ["dialect": "devtodev", "user_token": ""])
            #expect(empty.status == 400)
            #expect(empty.field == "user_token")
            _ = try await fixture.key("contextpush", [("token", .string(Self.secret))])
            for text in [Self.secret, Fixture.adminToken] {
                let taken = try await fixture.admin(.post, "…/keys", ["dialect": "native", "token": .string(text)])
                #expect(taken.status == 409, "\(taken.text)")
            }
        }
    }

    @Test("refuses control characters where texts are free")
    func controls() async throws {
        try await Fixture.open { fixture in
            let body: JSON = [
                "platform": "ios", "address": .string(Fixture.deviceToken), "attributes": ["a": [["b": "\u{1}"]]],
            ]
            #expect(try await fixture.admin(.put, "…/devices/\(Self.device)", body).field == "attributes.a[0].b")
            let contents: [(JSON, String?)] = [
                (["title": "a\u{7F}"], "content.title"), (["data": ["a": "\u{0}"]], "content.data.a"),
                (["body": "a\n\tb"], nil),
            ]
            for (content, field) in contents {
                let reply = try await fixture.admin(
                    .post, "…/messages", ["audience": ["all": true], "content": content])
                #expect(reply.field == field, "\(reply.text)")
                #expect(reply.status == (field == nil ? 202 : 400))
            }
        }
    }

    @Test("keeps texts of a list apart that differ in their bytes")
    func spellings() async throws {
        try await Fixture.open { fixture in
            let users: JSON = ["\u{E9}", "e\u{301}", "\u{E9}"]
            let reply = try await fixture.admin(
                .post, "…/messages", ["audience": ["users": users], "content": ["title": "x"]])
            let id = try #require(MessageID(reply["id"]?.stringValue ?? ""))
            #expect(try await fixture.draft(id)?.audience.users.count == 2)
        }
    }

    @Test("pages through a trail of one subject, and shows devices dropped with a cancelled message")
    func trail() async throws {
        try await Fixture.open { fixture in
            let body: JSON = ["platform": "ios", "address": .string(Fixture.deviceToken), "user_id": "u"]
            #expect(try await fixture.admin(.put, "…/devices/\(Self.device)", body).status == 201)
            let sent = try await fixture.admin(
                .post, "…/messages", ["audience": ["users": ["u"]], "content": ["title": "x"]])
            let path = "…/messages/\(sent["id"]?.stringValue ?? "")"
            #expect(try await fixture.admin(.post, "\(path)/cancel").status == 200)
            let first = try await fixture.admin(.get, "\(path)/deliveries?user=u&limit=1")
            #expect(first["items.0.event"] == "matched", "\(first.text)")
            let cursor = try #require(first["next_cursor"]?.stringValue)
            let next = try await fixture.admin(.get, "\(path)/deliveries?user=u&limit=1&cursor=\(cursor)")
            #expect(next["items.0.event"] == "suppressed", "\(next.text)")
            #expect(next["items.0.detail"] == "Cancelled")
            #expect(next["next_cursor"] == .null)
            #expect(try await fixture.admin(.get, "\(path)/deliveries?user=u&limit=201").field == "limit")
            #expect(try await fixture.admin(.get, "\(path)/deliveries?user=u&device=\(Self.device)").status == 400)
        }
    }
}
