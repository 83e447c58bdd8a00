import HTTPTypes
import PealCore
import PealTesting
import Testing

@testable import PealAPI

@Suite("Admins and keys")
struct AdminTests {
    @Test("a named admin may do everything under its own name, until it is revoked")
    func named() async throws {
        try await Fixture.open { fixture in
            let made = try await fixture.admin(.post, "/peal/v1/admins", ["name": "Ada"])
            #expect(made.status == 201, "\(made.text)")
            let (id, token) = (made["id"]?.stringValue ?? "", made["token"]?.stringValue ?? "")
            #expect(made["created_by"] == "admin")
            #expect(made["last_used_at"]?.isNull == true)
            let app = try await fixture.call(
                .post, "/peal/v1/apps", body: #"{"name":"Milk"}"#, authorization: "Bearer \(token)")
            #expect(app.status == 201)
            let list = try await fixture.admin(.get, "/peal/v1/admins")
            #expect(list["items.0.name"] == "Ada")
            #expect(list["items.0.last_used_at"]?.stringValue != nil)
            #expect(!list.text.contains(token))
            let row = try await fixture.admin(.get, "/peal/v1/audit?action=app.create")
            #expect(row["items.0.actor"] == .string(id))
            #expect(row["items.0.actor_name"] == "Ada")
            let weak = try await fixture.call(
                .post, "\(fixture.path)/keys", body: #"{"dialect":"native","token":"\#(token)"}"#,
                authorization: "Bearer \(Fixture.adminToken)")
            #expect(weak.status == 409)
            #expect(try await fixture.admin(.delete, "/peal/v1/admins/\(id)").status == 204)
            #expect(try await fixture.admin(.delete, "/peal/v1/admins/\(id)").status == 404)
            let after = try await fixture.call(.get, "/peal/v1/apps", authorization: "Bearer \(token)")
            #expect(after.status == 401)
        }
    }

    @Test("keys do not manage admins")
    func keys() async throws {
        try await Fixture.open { fixture in
            let key = try await fixture.key("native", [("scopes", ["manage", "read", "send", "devices"])])
            let token = key["token"]?.stringValue ?? ""
            for (method, path) in [
                (HTTPRequest.Method.post, "/peal/v1/admins"), (.get, "/peal/v1/admins"),
                (.post, "/peal/v1/admins:rotate"), (.post, "/peal/v1/audit:verify"),
            ] {
                let reply = try await fixture.call(method, path, body: "{}", authorization: "Bearer \(token)")
                #expect(reply.status == 403, "\(method) \(path)")
            }
        }
    }

    @Test("a repeated rotation or verification gets the first answer")
    func repetitions() async throws {
        try await Fixture.open { fixture in
            fixture.services.firstAdmin.set(FakeHasher().hash(Fixture.adminToken), isConfigured: false)
            let ada = try await fixture.admin(.post, "/peal/v1/admins", ["name": "Ada"])["token"]?.stringValue ?? ""
            func post(_ path: String) async throws -> Fixture.Reply {
                try await fixture.call(
                    .post, path, body: "{}", authorization: "Bearer \(ada)", headers: ["Idempotency-Key": "k"])
            }
            let first = try await post("/peal/v1/admins:rotate")
            let token = try #require(first["token"]?.stringValue, "\(first.text)")
            let again = try await post("/peal/v1/admins:rotate")
            #expect(again.status == 200 && again["secret_shown"] == true && again["token"] == nil, "\(again.text)")
            #expect(again.header("Idempotent-Replayed") == "true")
            let apps = try await fixture.call(.get, "/peal/v1/apps", authorization: "Bearer \(token)")
            #expect(apps.status == 200, "the first answer's token is valid")

            let verified = try await post("/peal/v1/audit:verify")
            _ = try await fixture.call(
                .post, "/peal/v1/apps", body: #"{"name":"More"}"#, authorization: "Bearer \(ada)")
            let repeated = try await post("/peal/v1/audit:verify")
            #expect(verified["ok"] == true && repeated["rows"] == verified["rows"], "\(repeated.text)")
            #expect(repeated.header("Idempotent-Replayed") == "true")
        }
    }

    @Test("a configured admin token can be rotated only in the configuration")
    func configured() async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.admin(.post, "/peal/v1/admins:rotate")
            #expect(reply.status == 409)
        }
    }

    @Test("a key shows its name, who created it, and when it was last used")
    func lastUse() async throws {
        try await Fixture.open { fixture in
            let key = try await fixture.key("native", [("name", "backend"), ("scopes", ["read", "manage"])])
            #expect(key["name"] == "backend")
            #expect(key["created_by"] == "admin")
            #expect(key["last_used_at"]?.isNull == true)
            let token = key["token"]?.stringValue ?? ""
            func use() async throws -> String? {
                _ = try await fixture.call(.get, fixture.path, authorization: "Bearer \(token)")
                let list = try await fixture.admin(.get, "…/keys")
                return list["items.0.last_used_at"]?.stringValue
            }
            let first = try await use()
            #expect(first == fixture.clock.now.description)
            // Written at most once a minute.
            fixture.clock.advance(by: .seconds(30))
            #expect(try await use() == first)
            fixture.clock.advance(by: .seconds(31))
            #expect(try await use() == fixture.clock.now.description)
        }
    }
}
