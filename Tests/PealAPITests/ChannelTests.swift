import HTTPTypes
import PealCore
import Synchronization
import Testing

@Suite("Broadcast channels")
struct ChannelTests {
    private static func open(_ body: @escaping @Sendable (Fixture) async throws -> Void) async throws {
        try await Fixture.open { fixture in
            let put = try await fixture.admin(.put, "…/credentials/apns/sandbox", CredentialTests.forms[0].body)
            try #require(put.status == 200)
            try await body(fixture)
        }
    }

    @Test("are created, listed, shown and deleted, and the audit log records who did it")
    func life() async throws {
        try await Self.open { fixture in
            let made = try await fixture.admin(.post, "…/channels/development", ["storage_policy": "most_recent"])
            #expect(made.status == 201, "\(made.text)")
            #expect(made.json == ["id": "a+/0AAA=", "environment": "sandbox", "storage_policy": "most_recent"])
            let second = try await fixture.admin(.post, "…/channels/sandbox", ["storage_policy": 0])
            #expect(second["storage_policy"] == "none")

            let page = try await fixture.admin(.get, "…/channels/sandbox?limit=1")
            #expect(page["items"] == [["id": "a+/0AAA=", "environment": "sandbox"]])
            let rest = try await fixture.admin(
                .get, "…/channels/sandbox?limit=1&cursor=\(page["next_cursor"]?.stringValue ?? "")")
            #expect(rest["items.0.id"] == "a+/1AAA=" && rest["next_cursor"]?.isNull == true)

            // Percent-encoded, and in base64url.
            for id in ["a%2B%2F0AAA%3D", "a-_0AAA"] {
                #expect(try await fixture.admin(.get, "…/channels/sandbox/\(id)").text == made.text)
            }
            #expect(try await fixture.admin(.delete, "…/channels/sandbox/a-_0AAA").status == 204)
            #expect(try await fixture.admin(.delete, "…/channels/sandbox/a-_0AAA").status == 404)
            #expect(try await fixture.admin(.get, "…/channels/sandbox/%20").status == 404)
            #expect(try await fixture.admin(.get, "…/channels/sandbox/0").status == 404)
            #expect(try await fixture.admin(.delete, "…/channels/sandbox/0").status == 404)
            let audit = try await fixture.admin(.get, "…/audit")
            #expect(audit["items.0.action"] == "channel.delete")
            #expect(audit["items.0.object"] == "channel a+/0AAA= sandbox")
            #expect(audit["items.2.action"] == "channel.create")
        }
    }

    @Test("are created once by a repeated request")
    func repetition() async throws {
        try await Self.open { fixture in
            for _ in 0..<2 {
                let made = try await fixture.admin(
                    .post, "…/channels/sandbox", ["storage_policy": "none"], headers: ["Idempotency-Key": "k"])
                #expect(made["id"] == "a+/0AAA=")
            }
            #expect(try await fixture.admin(.get, "…/channels/sandbox")["items"]?.arrayValue?.count == 1)
        }
    }

    @Test("need the credential of their environment, and the scopes send and read")
    func refused() async throws {
        try await Self.open { fixture in
            let none = try await fixture.admin(.get, "…/channels/production")
            #expect(none.status == 409)
            #expect(none["error.message"] == "the app has no APNs credential for production")
            let key = try await fixture.key("native", [("scopes", ["read"])])
            let bearer = "Bearer \(key["token"]?.stringValue ?? "")"
            let listed = try await fixture.call(.get, "\(fixture.path)/channels/sandbox", authorization: bearer)
            #expect(listed.status == 200)
            let made = try await fixture.call(
                .post, "\(fixture.path)/channels/sandbox", body: #"{"storage_policy":0}"#, authorization: bearer)
            #expect(made.status == 403)
        }
    }

    @Test("are an audience, with a trail by their id")
    func audience() async throws {
        try await Self.open { fixture in
            let body: JSON = [
                "audience": ["channel": ["environment": "sandbox", "id": "a+/0AAA="]],
                "content": ["ios": ["push_type": "liveactivity", "payload": ["aps": ["event": "update"]]]],
            ]
            let shown = try await fixture.admin(.post, "…/messages:validate", body)
            #expect(shown["valid"] == true && shown["audience.devices"] == 1, "\(shown.text)")
            #expect(shown["requests.0.path"] == "/4/broadcasts/apps/com.example")
            #expect(shown["requests.0.headers.apns-channel-id"] == "{address}")
            let sent = try await fixture.admin(.post, "…/messages", body)
            #expect(sent.status == 202 && sent["audience_estimate"] == 1, "\(sent.text)")
            #expect(fixture.engine.record.withLock { $0.taken.map(\.id.route) } == [.apnsBroadcastSandbox])
            for id in ["a%2B%2F0AAA%3D", "a-_0AAA"] {
                let trail = try await fixture.admin(
                    .get, "…/messages/\(sent["id"]?.stringValue ?? "")/deliveries?address=\(id)")
                #expect(trail["items.0.event"] == "matched", "\(trail.text)")
            }
        }
    }
}
