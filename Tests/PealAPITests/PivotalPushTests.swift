import HTTPTypes
import PealCore
import Testing

@Suite("Pivotal push")
struct PivotalPushTests {
    /// The seed's "local_seminars" example, with its expiry as given.
    private static func seminar(expiry: String) -> String {
        """
        {
          "message": {
            "body": "Town Hall This Thursday: Forging, Cheese, And You"
          },
          "target": {
            "topics": [ "local_seminars" ]
          },
          "expiryTime": \(expiry)
        }
        """
    }

    @Test("of the documented example reaches the topic once, and verbatim answers 200 though it has expired")
    func seminars() async throws {
        try await PivotalPushFixture.open { fixture, push in
            let live = try await push(Self.seminar(expiry: "1895219200000"))
            #expect(live.status == 200)
            let draft = try await PivotalPushFixture.draft(fixture, live)
            #expect(live.text == #"{"receipt_id":"\#(draft.id)"}"#)
            #expect(draft.audience.topics == ["local_seminars"])
            #expect(draft.options.life == .until(Timestamp(milliseconds: 1_895_219_200_000)))
            #expect(
                draft.content.platforms[.ios]?.fields["payload"]?.text == #"{"receiptId":"\#(draft.id)"}"#)
            #expect(draft.content.body == .plain("Town Hall This Thursday: Forging, Cheese, And You"))
            let shown = try await fixture.admin(.get, "…/messages/\(draft.id)")
            #expect(shown["audience.devices"] == 2, "\(shown.text)")

            let verbatim = try await push(Self.seminar(expiry: "1459468800000"))
            #expect(verbatim.status == 200)
            let expired = try await PivotalPushFixture.draft(fixture, verbatim)
            #expect(expired.expiresAt == Timestamp(milliseconds: 1_459_468_800_000))
            #expect(expired.startAt == nil)
        }
    }

    @Test("refuses the keys of the other realm, and each realm has its own challenge")
    func realms() async throws {
        try await PivotalPushFixture.open { fixture, _ in
            _ = try await fixture.key(
                "pivotal-platform",
                [("platform_uuid", "ios-1"), ("platform_secret", "platform-secret-1"), ("platform", "ios")])
            _ = try await fixture.key("richie", [("username", "publisher"), ("password", "secret-1")])
            let platform = fixture.basic("ios-1", "platform-secret-1")
            let push = #"{"message":{"body":"b"},"target":{"platform":"all"}}"#
            let onPush = try await fixture.call(.post, "/v1/push", body: push, authorization: platform)
            #expect(onPush.status == 401)
            #expect(onPush.header("WWW-Authenticate") == #"Basic realm="Push application""#)
            let onDevices = try await fixture.call(
                .post, "/v1/registration", body: #"{"registration_token":"\#(Fixture.deviceToken)"}"#,
                authorization: fixture.pivotalBackend)
            #expect(onDevices.status == 401)
            #expect(onDevices.header("WWW-Authenticate") == #"Basic realm="Push platform""#)
            // A key of another dialect stays forbidden.
            let richie = try await fixture.call(
                .post, "/v1/push", body: push, authorization: fixture.basic("publisher", "secret-1"))
            #expect(richie.status == 403)
        }
    }

    @Test(
        "is refused if it lacks content or has too much, and nothing is stored",
        arguments: [
            #"{"target":{"platform":"all"}}"#, #"{"message":{},"target":{"platform":"all"}}"#,
            #"{"message":"x","target":{"platform":"all"}}"#, #"{"message":{"body":"x"}}"#,
            #"{"message":{"body":{}},"target":{"platform":"all"}}"#,
            #"{"message":{"custom":{"ios":{"alert":5.5,"badge":"x"}}},"target":{"platform":"all"}}"#,
            #"{"message":{"custom":{"ios":{"content-available":"x"}}},"target":{"platform":"all"}}"#,
            #"{"message":{"custom":{"ios":{"alert":{"loc-args":"x"}}}},"target":{"platform":"all"}}"#,
            #"{"message":{"custom":{"ios":{"badge":-1}}},"target":{"platform":"all"}}"#,
            #"{"message":{"custom":{"ios":{"badge":2147483648}}},"target":{"platform":"all"}}"#,
            #"{"message":{"custom":{"ios":null,"android":null}},"target":{"platform":"all"}}"#,
            #"{"message":{"body":"\#(String(repeating: "#x#", count: 4097))"},"target":{"platform":"all"}}"#,
            "{\"message\": # no JSON\n {}}", "",
        ])
    func refused(body: String) async throws {
        try await PivotalPushFixture.open { fixture, push in
            let reply = try await push(body)
            #expect(reply.status == 400, "\(reply.text)")
            #expect(reply["error"] == "Bad Request")
            #expect(try await fixture.census()["messages"] == 0)
        }
    }

    @Test(
        "is refused with a payload that is too large, whether the target can exist or not",
        arguments: [#""platforms":["ios"]"#, #""topics":["nobody"]"#, #""devices":["111-222-333444"]"#])
    func tooLarge(target: String) async throws {
        try await PivotalPushFixture.open { _, push in
            let body = String(repeating: "x", count: Limits.apnsPayloadBytesMax)
            let reply = try await push(#"{"message":{"body":"\#(body)"},"target":{\#(target)}}"#)
            #expect(reply.status == 400 && reply.text.contains("message.body"), "\(reply.text)")
        }
    }

    @Test("has a receipt with its result")
    func receipt() async throws {
        try await PivotalPushFixture.open { fixture, push in
            let reply = try await push(Self.seminar(expiry: "null"))
            let id = reply["receipt_id"]?.stringValue ?? ""
            let receipt = try await fixture.pivotal(.get, "/v1/receipts/\(id)")
            #expect(receipt["devices"] == 2, "\(receipt.text)")
            #expect(receipt["platforms.ios.pending"] == 2)
            let scheduled = try await push(
                #"{"message":{"body":"x"},"target":{"topics":["other"]},"scheduleIn":7200}"#)
            let later = try await fixture.pivotal(.get, "/v1/receipts/\(scheduled["schedule_id"]?.stringValue ?? "")")
            #expect(later["state"] == "scheduled", "\(later.text)")
            let unknown = try await fixture.pivotal(.get, "/v1/receipts/10000000-0000-4000-8000-000000000001")
            #expect(unknown.status == 404)
        }
    }
}
