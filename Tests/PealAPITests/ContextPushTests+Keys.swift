import HTTPTypes
import PealAPI
import PealCore
import PealTesting
import Testing

extension ContextPushTests {
    @Test("one token serves the apps that were granted to it, and bundle_id selects the app")
    func severalApps() async throws {
        try await Self.open { fixture, _ in
            let bread: JSON = ["name": "B", "bundle_id": "com.example.bread"]
            let cream: JSON = ["name": "C", "bundle_id": "com.example.cream"]
            let granted = try await fixture.admin(.post, "/peal/v1/apps", bread)["id"]?.stringValue ?? ""
            #expect(try await fixture.admin(.post, "/peal/v1/apps", cream).status == 201)
            let key = try await fixture.key(
                "contextpush", [("token", "CTX-of-the-owner"), ("apps", [.string(granted)])])
            let id = key["id"]?.stringValue ?? ""
            #expect(key["apps"] == [.string(fixture.app.description), .string(granted)], "\(key.text)")
            func send(_ bundle: String) async throws -> Int {
                try await fixture.call(
                    .post, Self.schedule, body: Self.request([("bundle_id", .string(bundle))]).text,
                    authorization: "Token CTX-of-the-owner"
                ).status
            }
            #expect(try await send("com.example.cheese") == 200)
            #expect(try await send("com.example.bread") == 200)
            #expect(try await send("com.example.cream") == 403)
            let path = "/peal/v1/apps/\(granted)"
            #expect(try await fixture.admin(.get, "\(path)/messages")["items"]?.arrayValue?.count == 1)
            #expect(try await fixture.census()["messages"] == 1)
            let listed = try await fixture.admin(.get, "\(path)/keys")
            #expect(listed["items.0.id"]?.stringValue == id && listed["items.0.apps"] == key["apps"])
            // Revoked for one app, it still serves the other.
            #expect(try await fixture.admin(.delete, "\(path)/keys/\(id)").status == 204)
            #expect(try await send("com.example.bread") == 403)
            #expect(try await send("com.example.cheese") == 200)
            #expect(try await fixture.admin(.get, "\(path)/keys")["items"] == [])
            #expect(try await fixture.admin(.delete, "…/keys/\(id)").status == 204)
            #expect(try await send("com.example.cheese") == 401)
        }
    }

    @Test("only the admin grants a key to another app, and only kinds of keys whose requests name the app")
    func grants() async throws {
        try await Self.open { fixture, _ in
            let id = try await fixture.admin(.post, "/peal/v1/apps", ["name": "B"])["id"] ?? .null
            let manager = try await fixture.key("native", [("scopes", ["manage", "send", "read"])])
            let bearer = "Bearer \(manager["token"]?.stringValue ?? "")"
            func create(_ body: JSON) async throws -> Fixture.Reply {
                try await fixture.call(.post, "\(fixture.path)/keys", body: body.text, authorization: bearer)
            }
            let refused = try await create(["dialect": "richie", "apps": [id]])
            #expect(refused.status == 403 && refused.field == "apps", "\(refused.text)")
            let own = try await create(["dialect": "richie", "apps": [.string(fixture.app.description)]])
            #expect(own.status == 201 && own["apps"] == nil, "\(own.text)")
            let unknown: JSON = ["dialect": "richie", "apps": ["00000000-0000-4000-8000-0000000000ff"]]
            #expect(try await fixture.admin(.post, "…/keys", unknown).field == "apps[0]")
            for dialect: JSON in ["native", "pivotal", "device"] {
                let reply = try await fixture.admin(.post, "…/keys", ["dialect": dialect, "apps": [id]])
                #expect(reply.status == 400, "\(reply.text)")
            }
            // The grant of a deleted app is gone; the key stays.
            let shared = try await fixture.key("richie", [("apps", [id])])
            #expect(try await fixture.admin(.delete, "/peal/v1/apps/\(id.stringValue ?? "")").status == 204)
            let items = try await fixture.admin(.get, "…/keys")["items"]?.arrayValue ?? []
            let listed = items.first { $0["id"] == shared["id"] }
            #expect(listed?["apps"] == [.string(fixture.app.description)])
        }
    }

    @Test("keys of other dialects are refused, and its key is refused everywhere else")
    func keys() async throws {
        try await Self.open { fixture, _ in
            let body = Self.request().text
            let admin = try await fixture.admin(.post, Self.schedule, Self.request())
            #expect(admin.status == 403)
            #expect(try await fixture.call(.post, Self.schedule, body: body, authorization: nil).status == 401)
            #expect(
                try await fixture.call(.post, Self.schedule, body: body, authorization: "Token CTX-x").status == 401)
            let own = "Token CTX-0123456789abcdef0123456789abcdef"
            let bearer = own.replacing("Token", with: "Bearer")
            #expect(try await fixture.call(.post, Self.schedule, body: body, authorization: bearer).status == 401)
            #expect(try await fixture.call(.get, "\(fixture.path)/messages", authorization: own).status == 403)
            #expect(try await fixture.call(.post, "/v1/push", body: "{}", authorization: own).status == 403)
        }
    }
}
