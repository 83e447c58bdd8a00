import HTTPTypes
import PealAPI
import PealCore
import PealTesting
import Synchronization
import Testing

@Suite("What a message is checked against")
struct PreviewTests {
    private static let account: JSON = CredentialTests.forms[3].body
    private static let long = JSON.string(String(repeating: "x", count: 5000))

    private static func open(_ body: @escaping @Sendable (Fixture) async throws -> Void) async throws {
        try await Fixture.open { fixture in
            try #require(try await fixture.admin(.put, "…/credentials/fcm", account).status == 200)
            try await body(fixture)
        }
    }

    @Test("is not iOS in an app that uses only other networks")
    func foreignRule() async throws {
        try await Self.open { fixture in
            let body: JSON = ["audience": ["all": true], "content": ["body": Self.long]]
            #expect(try await fixture.admin(.post, "…/messages", body).status == 202)
            let shown = try await fixture.admin(.post, "…/messages:validate", body)
            #expect(shown["valid"] == true)
            let platforms = shown["requests"]?.arrayValue?.compactMap { $0["platform"]?.stringValue }
            #expect(platforms == ["android", "windows", "windows_phone", "web"])
        }
    }

    @Test(
        "is iOS where the author or the app speaks to it",
        arguments: [
            #""audience":{"all":true,"platforms":["ios","android"]}"#,
            #""audience":{"addresses":[{"platform":"ios","address":"\#(Fixture.deviceToken)"}]}"#,
        ])
    func named(audience: String) async throws {
        try await Self.open { fixture in
            let body = "{\(audience),\"content\":{\"body\":\(Self.long.text)}}"
            let reply = try await fixture.adminText(.post, "…/messages", body)
            #expect(reply.code == "payload_too_large" && reply.field == "content.body", "\(reply.text)")
            let shown = try await fixture.adminText(.post, "…/messages:validate", body)
            #expect(shown["valid"] == false)
            #expect(shown["requests.0.error.field"] == "content.body")
        }
    }

    @Test("is the platform that a ContextPush request names, whatever credentials the app has")
    func contextPush() async throws {
        try await Self.open { fixture in
            let token = try await fixture.key("contextpush")["token"]?.stringValue ?? ""
            let body: JSON = [
                "bundle_id": "com.example.cheese", "platform": "ios", "user_id": "ann", "campaign_id": "daily",
                "deliver_within_hours": 3, "content": ["body": Self.long],
            ]
            let reply = try await fixture.call(
                .post, "/v1/campaigns/schedule_message_for_user", body: body.text, authorization: "Token \(token)")
            #expect(reply.status == 400 && reply.field == "content.body", "\(reply.text)")
        }
    }

    @Test("is iOS once the app has a credential for it, and while it has none at all")
    func credential() async throws {
        let body: JSON = ["audience": ["all": true], "content": ["body": Self.long]]
        try await Fixture.open { fixture in
            let reply = try await fixture.admin(.post, "…/messages", body)
            #expect(reply.status == 413)
        }
        try await Self.open { fixture in
            _ = try await fixture.admin(.put, "…/credentials/apns/sandbox", CredentialTests.forms[0].body)
            #expect(try await fixture.admin(.post, "…/messages", body).status == 413)
            let only: JSON = [
                "audience": ["all": true, "platforms": ["android"]], "content": ["body": Self.long],
            ]
            #expect(try await fixture.admin(.post, "…/messages", only).status == 202)
        }
    }

    @Test(
        "is no platform that a condition excludes",
        arguments: [
            (#"{"platform":"android"}"#, ["android"]), (#"{"not":{"platform":"ios"}}"#, ["android", "windows"]),
            (#"{"and":[{"topic":"a"},{"platform":"android"}]}"#, ["android"]),
            (#"{"not":{"or":[{"locale":"de"},{"platform":"ios"}]}}"#, ["android", "windows"]),
            (#"{"or":[{"platform":"android"},{"user":"ann"}]}"#, ["ios", "android", "windows"]),
            (#"{"not":{"and":[{"platform":"ios"},{"user":"ann"}]}}"#, ["ios", "android", "windows"]),
            (#"{"segment":"tablets"}"#, ["ios", "android", "windows"]),
        ])
    func condition(_ condition: String, _ platforms: [String]) async throws {
        try await Self.open { fixture in
            _ = try await fixture.admin(.put, "…/credentials/apns/sandbox", CredentialTests.forms[0].body)
            _ = try await fixture.admin(.put, "…/segments/tablets", ["where": ["platform": "android"]])
            let message = """
                {"audience":{"platforms":["ios","android","windows"],"where":\(condition)},"content":{"title":"x"}}
                """
            let shown = try await fixture.adminText(.post, "…/messages:validate", message)
            #expect(shown["requests"]?.arrayValue?.compactMap { $0["platform"]?.stringValue } == platforms)
            let long = """
                {"audience":{"all":true,"where":\(condition)},"content":{"body":\(Self.long.text)}}
                """
            let status = platforms.contains("ios") ? 413 : 202
            #expect(try await fixture.adminText(.post, "…/messages", long).status == status)
        }
    }

    @Test("is a platform's own object if the audience may contain the platform, whatever credentials the app has")
    func object() async throws {
        try await Self.open { fixture in
            let content: JSON = ["title": "x", "windows": ["type": "sound"]]
            let reply = try await fixture.admin(.post, "…/messages", ["audience": ["all": true], "content": content])
            #expect(reply.code == "invalid_field" && reply.field == "content.windows.type")
            let apart = try await fixture.admin(
                .post, "…/messages", ["audience": ["all": true, "platforms": ["android"]], "content": content])
            #expect(apart.status == 202, "\(apart.text)")
        }
    }

    @Test("is shown as it will be written: method, URL, headers, body, and the ids of the credentials")
    func exact() async throws {
        try await Self.open { fixture in
            _ = try await fixture.admin(.put, "…/credentials/apns/sandbox", CredentialTests.forms[0].body)
            let shown = try await fixture.admin(
                .post, "…/messages:validate", ["audience": ["all": true], "content": ["title": "x"]])
            #expect(shown["requests.0.platform"] == "ios" && shown["requests.0.environment"] == "sandbox")
            #expect(shown["requests.0.method"] == "POST")
            #expect(shown["requests.0.headers.apns-topic"] == "com.example")
            #expect(shown["requests.1.path"] == "/v1/projects/cheese-1/messages:send")
            #expect(shown["requests.1.environment"] == nil)
            #expect(shown["requests.2.path"] == "{address}")
            #expect(shown["requests.1.body_bytes"] == 13)
        }
    }

    @Test("does not refuse an old client's push for what it sends to Windows")
    func pivotal() async throws {
        try await Self.open { fixture in
            _ = try await fixture.admin(.put, "…/credentials/wns", CredentialTests.forms[4].body)
            let key = try await fixture.key("pivotal")
            let reply = try await fixture.call(
                .post, "/v1/push",
                body: #"{"message":{"body":"b","custom":{"windows8":{"type":"sound"}}},"target":{"platform":"all"}}"#,
                authorization: fixture.basic(
                    key["application_uuid"]?.stringValue ?? "", key["api_key"]?.stringValue ?? ""))
            #expect(reply.status == 200, "\(reply.text)")
        }
    }

    /// A body of 5,000 bytes in as many locales as a message may have.
    private static let manyLocales: JSON = {
        let texts = (0..<Limits.localesPerMessageMax).map { ("l\($0)", long) }
        return [
            "audience": ["all": true, "platforms": ["ios"]],
            "content": ["body": .object(JSON.Members(texts)), "default_locale": "l0"],
        ]
    }()

    @Test("ends at the first refusal, before a message is accepted and before it is changed")
    func firstRefusal() async throws {
        try await Fixture.open { fixture in
            #expect(try await fixture.admin(.post, "…/messages", Self.manyLocales).status == 413)
            #expect(fixture.provider.rendered.withLock { $0 } == 1)
            let reply = try await fixture.admin(
                .post, "…/messages",
                [
                    "audience": ["all": true, "platforms": ["ios"]], "content": ["body": "x"],
                    "schedule": ["at": "2026-12-01T00:00:00Z"],
                ])
            fixture.provider.rendered.withLock { $0 = 0 }
            let changed = try await fixture.admin(
                .patch, "…/messages/\(reply["id"]?.stringValue ?? "")",
                ["content": Self.manyLocales["content"] ?? .null])
            #expect(changed.status == 413, "\(changed.text)")
            #expect(fixture.provider.rendered.withLock { $0 } == 1)
        }
    }

    @Test("of a message that is refused in every locale is rendered for a few of them")
    func bounded() async throws {
        try await Fixture.open { fixture in
            let shown = try await fixture.admin(.post, "…/messages:validate", Self.manyLocales)
            #expect(shown["valid"] == false)
            #expect(shown["requests"]?.arrayValue?.count == 4, "\(shown.text)")
            #expect(fixture.provider.rendered.withLock { $0 } == 4)
        }
    }

    @Test("starts again when another request changes the message meanwhile")
    func changedMeanwhile() async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.admin(
                .post, "…/messages",
                [
                    "audience": ["all": true], "content": ["title": "first"],
                    "schedule": ["at": "2026-12-01T00:00:00Z"],
                ])
            let id = try #require(MessageID(reply["id"]?.stringValue ?? ""))
            let path = "…/messages/\(id)"
            let app = try #require(try await fixture.draft(id)).app
            let edits = Mutex(0)
            let report = try await fixture.services.verbs.messages.change(
                id, app: app, VerbCall(actor: Actor("test"), now: fixture.clock.now)
            ) { draft throws(PealError) in
                if edits.withLock({
                    $0 += 1; return $0
                }) == 1 {
                    _ = try? await fixture.admin(.patch, path, ["options": ["collapse_key": "other"]])
                }
                draft.content.title = .plain("second")
            }
            #expect(edits.withLock { $0 } == 2)
            #expect(report.draft?.options.collapseKey == "other" && report.draft?.content.title == .plain("second"))
            let refusal = await #expect(throws: PealError.self) {
                try await fixture.services.verbs.messages.change(
                    id, app: app, VerbCall(actor: Actor("test"), now: fixture.clock.now)
                ) { draft throws(PealError) in
                    let number = edits.withLock {
                        $0 += 1; return $0
                    }
                    _ = try? await fixture.admin(.patch, path, ["options": ["collapse_key": .string("k\(number)")]])
                }
            }
            #expect(refusal?.code == .conflict)
        }
    }
}
