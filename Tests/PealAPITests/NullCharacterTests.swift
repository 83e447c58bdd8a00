import HTTPTypes
import PealCore
import PealShapes
import Testing

@testable import PealAPI

/// PostgreSQL's texts cannot contain U+0000, so none may reach a statement. SQLite would accept it.
@Suite("U+0000")
struct NullCharacterTests {
    @Test(
        "in a parameter of a query is refused by its name",
        arguments: [
            ("devices", "user_id"), ("devices", "topic"), ("messages", "campaign_id"), ("messages", "text"),
            ("audit", "actor"), ("audit", "action"),
            ("messages/10000000-0000-4000-8000-000000000001/deliveries", "user"),
        ])
    func query(list: String, name: String) async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.admin(.get, "…/\(list)?\(name)=a%00b")
            #expect(reply.status == 400 && reply.code == "invalid_field" && reply.field == name, "\(reply.text)")
        }
    }

    @Test("is excluded where a document describes any text in a query")
    func document() {
        #expect(APIParameter.query("q", .text, "").schema["pattern"] == #"^[^\u0000]*$"#)
        #expect(APIParameter.query("id", .uuid, "").schema == .uuid)
    }

    @Test("in a path makes it a path that does not exist", arguments: ["campaigns", "topics", "users", "devices"])
    func path(folder: String) async throws {
        try await Fixture.open { fixture in
            for method: HTTPRequest.Method in [.get, .put, .delete] {
                let reply = try await fixture.admin(method, "…/\(folder)/a%00b")
                #expect(reply.status == 404 && reply.text.contains("path not found"), "\(reply.text)")
            }
        }
    }

    @Test("in a cursor continues after the name before it")
    func cursor() async throws {
        try await Fixture.open { fixture in
            for topic in ["a", "b"] { #expect(try await fixture.admin(.put, "…/topics/\(topic)").status < 300) }
            let page = try await fixture.admin(.get, "…/topics?cursor=\(Base64URL.encode(Array("a\0z".utf8)))")
            #expect(page.status == 200 && page["items"]?.arrayValue?.compactMap { $0["name"] } == ["b"])
        }
    }

    @Test("in Basic credentials makes them invalid")
    func credentials() {
        #expect(AuthorizationHeader("Basic \(Fixture.base64("a\0b:c"))") == nil)
        #expect(AuthorizationHeader("Basic \(Fixture.base64("ab:c"))") == .basic(name: "ab", secret: "c"))
        let marks = String(repeating: "\u{301}\u{316}", count: 10_000)
        #expect(AuthorizationHeader("Basic \(Fixture.base64("a\(marks):c"))") == nil)
    }

    @Test("in the name of an app matches no app")
    func app() async throws {
        try await Fixture.open { fixture in
            let secret = try #require(try await fixture.key("devtodev")["user_token"]?.stringValue)
            for name in [#"a\u0000b"#, "unknown"] {
                let reply = try await fixture.call(
                    .post, "/api/v1/push/send", body: #"{"user_token":"\#(secret)","app_id":"\#(name)"}"#,
                    authorization: nil)
                #expect(reply.status == 404 && reply.text.contains("1003"), "\(reply.text)")
            }
        }
    }
}
