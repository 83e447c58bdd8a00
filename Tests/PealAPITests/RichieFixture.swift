import HTTPTypes
import PealAPI
import PealCore
import Testing

/// A server with an app that Richie's clients know as `an-app`, and shortcuts for sending tasks to it.
struct RichieFixture: Sendable {
    static let path = "/push/v2/admin/task"

    let fixture: Fixture
    let authorization: String

    static func open(
        settings: JSON = [:], options: APIOptions = APIOptions(),
        _ body: @escaping @Sendable (RichieFixture) async throws -> Void
    ) async throws {
        try await Fixture.open(options: options) { fixture in
            _ = try await fixture.admin(.patch, "…", ["richie_app_id": "an-app", "settings": ["richie": settings]])
            _ = try await fixture.key("richie", [("username", "publisher"), ("password", "secret-1")])
            try await body(RichieFixture(fixture: fixture, authorization: fixture.basic("publisher", "secret-1")))
        }
    }

    func post(_ body: String, headers: [String: String] = [:]) async throws -> Fixture.Reply {
        try await fixture.call(.post, Self.path, body: body, authorization: authorization, headers: headers)
    }

    /// Sends `payloads` to all users.
    func send(_ payloads: String) async throws -> Fixture.Reply {
        try await post(#"{"app_id":"an-app","topics":["all_users"],"payloads":\#(payloads)}"#)
    }

    /// The message of an accepted task.
    func draft(_ reply: Fixture.Reply) async throws -> MessageDraft {
        try #require(reply.status == 201, "\(reply.text)")
        let id = try #require(MessageID(reply["task_id"]?.stringValue ?? ""), "\(reply.text)")
        #expect(reply.text == #"{"task_id":"\#(id)"}"#)
        return try #require(await fixture.draft(id))
    }

    /// A platform's object, with `ID` for the task's id.
    static func fields(_ draft: MessageDraft, _ platform: Platform) -> String? {
        draft.content.platforms[platform].map {
            JSON.object($0.fields).text.replacing(draft.id.description, with: "ID")
        }
    }
}
