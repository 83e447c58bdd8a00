import HTTPTypes
import PealCore
import Testing

/// An app with three iPhones and a Pivotal key, and pushes to it.
enum PivotalPushFixture {
    /// - Parameter body: receives a function that sends a push.
    static func open(
        settings: JSON = [:],
        _ body:
            @escaping @Sendable (Fixture, _ push: @Sendable (String) async throws -> Fixture.Reply) async throws -> Void
    ) async throws {
        try await Fixture.open { fixture in
            _ = try await fixture.admin(.patch, "…", ["settings": ["pivotal": settings]])
            try await fixture.makePivotalKey()
            for index in 1...3 {
                let reply = try await fixture.admin(
                    .put, "…/devices/10000000-0000-4000-8000-00000000000\(index)",
                    [
                        "platform": "ios", "address": .string(String(repeating: "0\(index)", count: 32)),
                        "user_id": .string("u\(index)"), "topics": index == 3 ? ["other"] : ["local_seminars"],
                        "os_version": index == 1 ? "7.1" : "17.0",
                    ])
                try #require(reply.status == 201)
            }
            let authorization = fixture.basic("app-1", "application-key-1", spaces: "  ")
            try await body(fixture) { text in
                try await fixture.call(.post, "/v1/push", body: text, authorization: authorization)
            }
        }
    }

    /// The message of an accepted push.
    static func draft(_ fixture: Fixture, _ reply: Fixture.Reply) async throws -> MessageDraft {
        let id = try #require(MessageID(reply["receipt_id"]?.stringValue ?? ""), "\(reply.text)")
        return try #require(await fixture.draft(id))
    }
}

extension Fixture {
    /// Creates the application key of the app's backend.
    func makePivotalKey() async throws {
        _ = try await key("pivotal", [("application_uuid", "app-1"), ("api_key", "application-key-1")])
    }

    /// The backend's `Authorization`.
    var pivotalBackend: String { basic("app-1", "application-key-1") }

    /// A request of the backend.
    func pivotal(_ method: HTTPRequest.Method, _ path: String, _ body: String? = nil) async throws -> Reply {
        try await call(method, path, body: body, authorization: pivotalBackend)
    }
}
