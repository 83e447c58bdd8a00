import HTTPTypes
import HummingbirdTesting
import NIOCore
import PealCore
import PealTesting
import Testing

@Suite("Idempotency")
struct IdempotencyTests {
    private static let message: JSON = ["audience": ["all": true], "content": ["title": "Cheese"]]

    @Test("repeats the first answer and does nothing twice")
    func replay() async throws {
        try await Fixture.open { fixture in
            let headers = ["Idempotency-Key": "order-1"]
            let first = try await fixture.admin(.post, "…/messages", Self.message, headers: headers)
            #expect(first.status == 202)
            #expect(first.header("Idempotent-Replayed") == nil)
            let second = try await fixture.admin(.post, "…//messages/", Self.message, headers: headers)
            #expect(second.status == 202)
            #expect(second.text == first.text)
            #expect(second.header("Idempotent-Replayed") == "true")
            #expect(try await fixture.census()["messages"] == 1)
        }
    }

    @Test("refuses another body under the same key, even an invalid one")
    func mismatch() async throws {
        try await Fixture.open { fixture in
            let headers = ["Idempotency-Key": "k"]
            _ = try await fixture.admin(.post, "…/messages", Self.message, headers: headers)
            for body in [["audience": ["all": true], "content": ["title": "Milk"]], ["audience": 5]] as [JSON] {
                let other = try await fixture.admin(.post, "…/messages", body, headers: headers)
                #expect(other.status == 409)
                #expect(other.code == "idempotency_mismatch")
            }
            #expect(try await fixture.census()["messages"] == 1)
        }
    }

    @Test("depends on key, caller, method and path, ends after a day, and stores no refusal")
    func scope() async throws {
        try await Fixture.open { fixture in
            let headers = ["Idempotency-Key": "k"]
            let refused = try await fixture.admin(.post, "…/messages", ["audience": 5], headers: headers)
            #expect(refused.status == 400)
            _ = try await fixture.admin(.post, "…/messages", Self.message, headers: headers)
            _ = try await fixture.admin(.post, "…/messages", Self.message, headers: ["Idempotency-Key": "l"])
            let key = try await fixture.key("native")
            _ = try await fixture.call(
                .post, "\(fixture.path)/messages", body: Self.message.text,
                authorization: "Bearer \(key["token"]?.stringValue ?? "")", headers: headers)
            #expect(try await fixture.census()["messages"] == 3)
            let validated = try await fixture.admin(.post, "…/messages:validate", Self.message, headers: headers)
            #expect(validated.status == 200)
            fixture.clock.advance(by: .seconds(24 * 3600 + 1))
            let fresh = try await fixture.admin(.post, "…/messages", Self.message, headers: headers)
            #expect(fresh.header("Idempotent-Replayed") == nil)
            #expect(try await fixture.census()["messages"] == 4)
        }
    }

    @Test("answers a repetition like the first request, even if it would be refused by now")
    func late() async throws {
        try await Fixture.open { fixture in
            let body: JSON = [
                "audience": ["all": true], "content": ["title": "x"],
                "options": ["expires_at": "2026-11-21T00:10:00Z"],
            ]
            let headers = ["Idempotency-Key": "k"]
            let first = try await fixture.admin(.post, "…/messages", body, headers: headers)
            #expect(first.status == 202)
            fixture.clock.advance(by: .seconds(3600))
            let again = try await fixture.admin(.post, "…/messages", body, headers: headers)
            #expect(again.text == first.text)
            let fresh = try await fixture.admin(.post, "…/messages", body)
            #expect(fresh.field == "options.expires_at")
        }
    }

    @Test("never shows a secret twice")
    func secret() async throws {
        try await Fixture.open { fixture in
            let headers = ["Idempotency-Key": "k"]
            let first = try await fixture.admin(.post, "…/keys", ["dialect": "native"], headers: headers)
            let secret = try #require(first["token"]?.stringValue)
            let again = try await fixture.admin(.post, "…/keys", ["dialect": "native"], headers: headers)
            #expect(again.status == 200)
            #expect(again["secret_shown"] == true)
            #expect(again["id"] == first["id"])
            #expect(!again.text.contains(secret))
            #expect(try await fixture.census()["keys"] == 1)
        }
    }

    @Test("handles only one of many concurrent repetitions")
    func concurrent() async throws {
        try await Fixture.open { fixture in
            let replies = try await withThrowingTaskGroup(of: Fixture.Reply.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        try await fixture.admin(
                            .post, "…/messages", Self.message, headers: ["Idempotency-Key": "k"])
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(try await fixture.census()["messages"] == 1)
            for reply in replies where reply.status != 202 {
                #expect(reply.status == 409)
                #expect(reply.header("Retry-After") == "1")
            }
            #expect(replies.contains { $0.status == 202 })
        }
    }

    @Test("refuses a request with two keys, even equal ones", arguments: ["a", "b"])
    func twoKeys(second: String) async throws {
        try await Fixture.open { fixture in
            let name = try #require(HTTPField.Name("Idempotency-Key"))
            let response = try await fixture.client.execute(
                uri: "\(fixture.path)/messages", method: .post,
                headers: [
                    .authorization: "Bearer \(Fixture.adminToken)", .contentType: "application/json", name: "a",
                    name: second,
                ], body: ByteBuffer(string: Self.message.text))
            #expect(response.status == .badRequest)
            #expect(String(buffer: response.body).contains(#""field":"Idempotency-Key""#))
            #expect(try await fixture.census()["messages"] == 0)
        }
    }

    @Test(
        "accepts keys of 1 to 255 printable ASCII characters",
        arguments: [("é", 400), (String(repeating: "k", count: 256), 400), (String(repeating: "k", count: 255), 202)])
    func keys(key: String, status: Int) async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.admin(
                .post, "…/messages", Self.message, headers: ["Idempotency-Key": key])
            #expect(reply.status == status, "\(reply.text)")
        }
    }
}
