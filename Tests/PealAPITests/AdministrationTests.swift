import HTTPTypes
import PealCore
import Synchronization
import Testing

@Suite("Administration")
struct AdministrationTests {
    @Test("creates, shows, changes and deletes apps")
    func apps() async throws {
        try await Fixture.open { fixture in
            let made = try await fixture.admin(
                .post, "/peal/v1/apps",
                ["name": "Milk", "bundle_id": "com.example.milk", "settings": ["pivotal": ["send_receipt": false]]])
            #expect(made.status == 201)
            #expect(made["settings.pivotal.send_receipt"] == false)
            #expect(made["settings.pivotal.upsert_on_put"] == true)
            let path = "/peal/v1/apps/\(made["id"]?.stringValue ?? "")"
            #expect(try await fixture.admin(.get, path).text == made.text)
            let changed = try await fixture.admin(
                .patch, path, ["bundle_id": .null, "settings": ["pivotal": ["upsert_on_put": false]]])
            #expect(changed["bundle_id"]?.isNull == true)
            #expect(
                changed["settings.pivotal"]?.text
                    == """
                    {"verify_custom_user_id":true,"upsert_on_put":false,"send_receipt":false,\
                    "schedule_in_millis_heuristic":false,"heartbeat":true}
                    """)
            let share = try await fixture.adminText(.patch, path, #"{"settings":{"contextpush":{"share":0.25}}}"#)
            #expect(share["settings.contextpush.share"]?.doubleValue == 0.25)
            #expect(try await fixture.admin(.get, path).text == share.text)
            #expect(try await fixture.admin(.patch, path, ["name": .null]).field == "name")
            #expect(try await fixture.admin(.delete, path).status == 204)
            #expect(try await fixture.admin(.get, path).status == 404)
            #expect(try await fixture.admin(.delete, path).status == 404)
        }
    }

    private static let credential: JSON = [
        "kind": "token", "key_id": "ABC", "team_id": "TEAM", "bundle_id": "com.example.cheese",
        "private_key": "-----BEGIN PRIVATE KEY-----\nMIG\n-----END PRIVATE KEY-----\n",
    ]

    @Test("puts credentials without ever showing their secrets, replaces and deletes them")
    func credentials() async throws {
        try await Fixture.open { fixture in
            let put = try await fixture.admin(.put, "…/credentials/apns/development", Self.credential)
            #expect(put.status == 200, "\(put.text)")
            #expect(put["environment"] == "sandbox")
            #expect(put["kind"] == "token")
            #expect(put["key_id"] == "ABC")
            #expect(put["health"] == ["state": "unknown"])
            #expect(!put.text.contains("BEGIN"))
            let list = try await fixture.admin(.get, "…/credentials")
            #expect(list["items.0"]?.text == put.text)
            var other = Self.credential.objectValue ?? .init()
            other["key_id"] = "DEF"
            _ = try await fixture.admin(.put, "…/credentials/apns/sandbox", .object(other))
            #expect(fixture.provider.drained.withLock { $0 } == [put["fingerprint"]?.stringValue ?? ""])
            #expect(fixture.engine.record.withLock { $0.credentialChanges } == ["apns sandbox", "apns sandbox"])
            #expect(try await fixture.admin(.delete, "…/credentials/apns/sandbox").status == 204)
            #expect(try await fixture.admin(.delete, "…/credentials/apns/sandbox").status == 404)
        }
    }

    @Test(
        "creates keys of every dialect, under the names that its clients know",
        arguments: [
            ("native", ["token"]), ("contextpush", ["token"]), ("devtodev", ["user_token"]),
            ("richie", ["username", "password"]), ("pivotal", ["application_uuid", "api_key", "shared_secret"]),
            ("pivotal-platform", ["platform_uuid", "platform_secret"]), ("device", ["token", "shared_secret"]),
        ])
    func keys(dialect: String, names: [String]) async throws {
        try await Fixture.open { fixture in
            let more: [(String, JSON)] = dialect == "pivotal-platform" ? [("platform", "ios")] : []
            let made = try await fixture.key(dialect, more)
            for name in names { #expect((made[name]?.stringValue?.count ?? 0) >= 20, "\(name) \(made.text)") }
            let list = try await fixture.admin(.get, "…/keys")
            #expect(list["items"]?.arrayValue?.count == 1)
            for name in names where !name.hasSuffix("uuid") && name != "username" {
                #expect(!list.text.contains(made[name]?.stringValue ?? "-"))
            }

            // Existing secrets of clients can be supplied, and must be unique.
            var own = JSON.Members([("dialect", .string(dialect))] + more)
            for name in names {
                own[name] = .string(name == "shared_secret" ? String(repeating: "0a", count: 32) : "own-key-of-\(name)")
            }
            let brought = try await fixture.admin(.post, "…/keys", .object(own))
            #expect(brought.status == 201, "\(brought.text)")
            for name in names { #expect(brought[name] == own[name]) }
            let again = try await fixture.admin(.post, "…/keys", .object(own))
            #expect(again.status == 409, "\(again.text)")
            #expect(again.code == "conflict")
        }
    }

    @Test("is audited with actor, action and object, and a key that may manage an app reads the app's own rows")
    func audit() async throws {
        try await Fixture.open { fixture in
            let key = try await fixture.key("native", [("scopes", ["manage"])])
            _ = try await fixture.admin(.put, "…/credentials/apns/production", Self.credential)
            let own = try await fixture.call(
                .get, "\(fixture.path)/audit", authorization: "Bearer \(key["token"]?.stringValue ?? "")")
            let actions = own["items"]?.arrayValue?.compactMap { $0["action"]?.stringValue }
            #expect(actions == ["credential.put", "key.create"], "\(own.text)")
            #expect(own["items.0.actor"] == "admin")
            #expect(own["items.0.app"] == .string(fixture.app.description))
            let page = try await fixture.admin(.get, "/peal/v1/audit?limit=1")
            #expect(page["items"]?.arrayValue?.count == 1)
            let next = try await fixture.admin(
                .get, "/peal/v1/audit?limit=1&cursor=\(page["next_cursor"]?.stringValue ?? "")")
            #expect(next["items.0.action"] == "key.create")
        }
    }
}
