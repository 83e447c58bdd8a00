import HTTPTypes
import PealCore
import Testing

/// A server with a devtodev key and credentials for sending pushes. No device is registered unless a test does so: a
/// push to an unknown user ends at once.
struct DevtodevFixture: Sendable {
    static let userToken = "devtodev-user-token"
    static let appID = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
    static let nobody = #"[{"userId":"nobody"}]"#
    private static let apns: JSON = CredentialTests.forms[0].body

    let fixture: Fixture

    static func open(
        credentials: [String] = ["apns/production", "apns/sandbox", "fcm", "wns"],
        _ body: @escaping @Sendable (DevtodevFixture) async throws -> Void
    ) async throws {
        try await Fixture.open { fixture in
            _ = try await fixture.admin(.patch, "…", ["devtodev_app_id": .string(appID)])
            _ = try await fixture.key("devtodev", [("user_token", .string(userToken))])
            let bodies = [
                "apns/production": apns, "apns/sandbox": apns, "fcm": CredentialTests.forms[3].body,
                "wns": CredentialTests.forms[4].body,
            ]
            for path in credentials {
                let reply = try await fixture.admin(.put, "…/credentials/\(path)", bodies[path])
                try #require(reply.status == 200, "\(reply.text)")
            }
            try await body(DevtodevFixture(fixture: fixture))
        }
    }

    /// A request with this message (`"ios":{…}`), to an unknown user by default, with further members before it.
    static func body(_ message: String, audience: String = nobody, _ more: String = "") -> String {
        """
        {"user_token":"\(userToken)","app_id":"\(appID)",\(more)"audience":\(audience)\(message.isEmpty ? "" : ",")\
        \(message)}
        """
    }

    func post(_ text: String, path: String = "/api/v1/push/send", headers: [String: String] = [:]) async throws
        -> Fixture.Reply
    {
        try await fixture.call(.post, path, body: text, authorization: nil, headers: headers)
    }

    func push(_ message: String, audience: String = nobody, _ more: String = "") async throws -> Fixture.Reply {
        try await post(Self.body(message, audience: audience, more))
    }

    /// The message of an answer, as stored.
    func draft(_ reply: Fixture.Reply) async throws -> MessageDraft {
        let id = try #require(MessageID(reply["data.message_id"]?.stringValue ?? ""), "\(reply.text)")
        return try #require(await fixture.draft(id))
    }

    func content(_ platform: Platform, _ message: String) async throws -> Content.PlatformContent {
        let draft = try await draft(try await push(message))
        return try #require(draft.content.platforms[platform])
    }
}

extension Fixture.Reply {
    /// The devtodev error number of a refusal.
    var number: Int64? { self["errors.0.code"]?.integerValue }
}
