import HTTPTypes
@testable import PealAPI
import PealCore
import Testing

@Suite("Richie's delivery analytics")
struct RichieReportTests {
    private static func facts(_ draft: MessageDraft, _ platforms: [Platform: OutcomeCounts]) -> MessageFacts {
        let message = Message(
            id: draft.id, app: draft.app, state: .sent, dialect: draft.dialect, campaignID: nil,
            createdAt: draft.createdAt, startAt: nil, expiresAt: draft.expiresAt,
            endedAt: draft.createdAt + .milliseconds(765))
        let app = App(id: AppID("00000000-0000-4000-8000-00000000000a")!, key: 1, name: "x", createdAt: draft.createdAt)
        return MessageFacts(
            app: app, report: MessageReport(message: message, platforms: platforms), source: draft.source)
    }

    @Test("add up to every device, in the documented shape and order")
    func shape() async throws {
        var (ios, android) = (OutcomeCounts(), OutcomeCounts())
        (ios.accepted, ios.rejected, ios.retired) = (5, 1, 2)
        (android.accepted, android.expired, android.suppressed) = (7, 10, 100)
        let counts = [Platform.ios: ios, .android: android]
        try await RichieFixture.open { richie in
            let draft = try await richie.draft(
                try await richie.post(
                    #"{"app_id":"an-app","topics":["food","all_users"],"payloads":{"ios":{"aps":{"alert":"b"}},"#
                        + #""android":{"data":{"title":"t","alert":{"body":"b"}},"x":1}}}"#))
            let told = RichieReport().report(Self.facts(draft, counts))
            let task = draft.id.description
            let expected = """
                {"app_id":"an-app","completion_time_ms":765,"deletions":2,"failures":111,"payloads":{"android":\
                {"data":{"alert":{"title":"t","body":"b"},"task_id":"\(task)"}},"ios":{"aps":{"alert":"b",\
                "task_id":"\(task)"}}},"successes":12,"topics":["food","all_users"]}
                """
            #expect(told?.text == expected)
        }
    }

    @Test("of tasks to users list them instead of topics, and have the id even if payloads had no room for it")
    func users() async throws {
        try await RichieFixture.open { richie in
            let body = String(repeating: "x", count: 4010)
            let draft = try await richie.draft(
                try await richie.post(
                    #"{"app_id":"an-app","external_user_ids":["u",7,{}],"payloads":{"android":{"data":"#
                        + #"{"alert":{"body":"\#(body)","k":"0123456789012345678901234567"}}}}}"#))
            let told = try #require(RichieReport().report(Self.facts(draft, [:])))
            #expect(told["external_user_ids"] == ["u", "7"] && told["topics"] == nil)
            #expect(told["payloads"]?["android"]?["data"]?["task_id"] == .string(draft.id.description))
            #expect(draft.content.platforms[.android]?.fields["data"]?["task_id"] == nil)
        }
    }

    @Test("are composed only from the dialect's own messages")
    func others() async throws {
        try await RichieFixture.open { richie in
            let reply = try await richie.fixture.admin(
                .post, "…/messages", ["audience": ["all": true], "content": ["body": "b"]])
            let id = try #require(MessageID(reply["id"]?.stringValue ?? ""))
            let draft = try #require(await richie.fixture.draft(id))
            #expect(RichieReport().report(Self.facts(draft, [:])) == nil)
        }
    }
}
