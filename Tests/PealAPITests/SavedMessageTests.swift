import HTTPTypes
import PealCore
import PealTesting
import Testing

@Suite("Drafts and templates")
struct SavedMessageTests {
    @Test("are saved, shown, replaced and deleted", arguments: ["drafts", "templates"])
    func life(_ kind: String) async throws {
        try await Fixture.open { fixture in
            #expect(try await fixture.admin(.get, "…/\(kind)").text == #"{"items":[],"next_cursor":null}"#)
            let request: JSON = [
                "content": ["title": "Fresh cheese"], "audience": ["topics": ["news"]], "campaign_id": "spring",
                "options": ["rate_per_second": 100],
            ]
            let made = try await fixture.admin(.put, "…/\(kind)/sale", ["request": request])
            #expect(made.status == 201 && made["request"] == request && made["name"] == "sale")
            #expect(try await fixture.admin(.get, "…/\(kind)/sale").text == made.text)
            let changed = try await fixture.admin(.put, "…/\(kind)/sale", ["request": ["content": ["body": "b"]]])
            #expect(changed.status == 200 && changed["request"] == ["content": ["body": "b"]])
            #expect(changed["created_at"] == made["created_at"])
            #expect(try await fixture.admin(.get, "…/\(kind)")["items"]?.arrayValue?.count == 1)
            let other = kind == "drafts" ? "templates" : "drafts"
            #expect(try await fixture.admin(.get, "…/\(other)/sale").code == "not_found")
            #expect(try await fixture.admin(.delete, "…/\(kind)/sale").status == 204)
            #expect(try await fixture.admin(.delete, "…/\(kind)/sale").code == "not_found")
        }
    }

    @Test(
        "are checked for what they contain, and may be incomplete",
        arguments: [
            (#"{"request":{}}"#, 201, nil), (#"{"request":{"audience":{"topics":["a"]}}}"#, 201, nil),
            (#"{"request":{"content":{"titel":"x"}}}"#, 400, "request.content.titel"),
            (#"{"request":{"options":{"rate_per_second":0}}}"#, 400, "request.options.rate_per_second"),
            (
                #"{"request":{"options":{"expires_at":"2020-01-01T00:00:00Z"}}}"#, 400,
                "request.options.expires_at"
            ),
            (
                #"{"request":{"content":{"ios":{"options":{"expires_at":"2020-01-01T00:00:00Z"}}}}}"#, 400,
                "request.content.ios.options.expires_at"
            ),
            (
                #"{"request":{"audience":{"addresses":[{"platform":"ios","address":"x"}]}}}"#, 400,
                "request.audience.addresses[0].address"
            ),
            (#"{"request":{"audience":{"channel":{"id":"dHN0LXNyY2g="}}}}"#, 201, nil),
            (#"{"request":{"audience":{"channel":{"id":5}}}}"#, 400, "request.audience.channel.id"),
            (#"{"request":{"subject":"x"}}"#, 400, "request.subject"), (#"{"request":[]}"#, 400, "request"),
            ("{}", 400, "request"), (#"{"request":{},"more":1}"#, 400, "more"),
        ] as [(String, Int, String?)])
    func checks(_ body: String, _ status: Int, _ field: String?) async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.adminText(.put, "…/drafts/a", body)
            #expect(reply.status == status && reply.field == field, "\(reply.text)")
        }
    }

    @Test("have a limit in bytes")
    func size() async throws {
        try await Fixture.open { fixture in
            let text = String(repeating: "x", count: Limits.savedMessageBytesMax)
            let reply = try await fixture.admin(.put, "…/drafts/a", ["request": ["content": ["body": .string(text)]]])
            #expect(reply.code == "body_too_large", "\(reply.text.prefix(200))")
        }
    }
}

@Suite("Sign-in links")
struct SignInLinkTests {
    @Test("are created for the caller, and shown once")
    func made() async throws {
        try await Fixture.open { fixture in
            let key = try await fixture.key("native", [("scopes", ["read"])])["token"]?.stringValue ?? ""
            for authorization in ["Bearer \(Fixture.adminToken)", "Bearer \(key)"] {
                let reply = try await fixture.call(
                    .post, "/peal/v1/sign-in-links", authorization: authorization, headers: ["Idempotency-Key": "a"])
                #expect(reply.status == 201, "\(reply.text)")
                let path = try #require(reply["path"]?.stringValue)
                #expect(path.hasPrefix("/console/sign-in?link=") && path.count > 60)
                let end = (fixture.clock.now + .seconds(Limits.signInLinkSeconds)).description
                #expect(reply["expires_at"]?.stringValue == end)
                let again = try await fixture.call(
                    .post, "/peal/v1/sign-in-links", authorization: authorization, headers: ["Idempotency-Key": "a"])
                #expect(again.status == 200 && again.text == #"{"secret_shown":true}"#)
            }
            let stranger = try await fixture.call(.post, "/peal/v1/sign-in-links", authorization: "Bearer wrong")
            #expect(stranger.status == 401)
            let device = try await fixture.key("device")["token"]?.stringValue ?? ""
            let refused = try await fixture.call(.post, "/peal/v1/sign-in-links", authorization: "Bearer \(device)")
            #expect(refused.status == 403)
        }
    }
}
