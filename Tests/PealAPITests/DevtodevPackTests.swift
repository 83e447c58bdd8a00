import HTTPTypes
import PealAPI
import PealCore
import PealTesting
import Testing

@Suite("A devtodev pack_id")
struct DevtodevPackTests {
    private static func text(_ pack: String = #""p-1""#, _ text: String = "Hi") -> String {
        DevtodevFixture.body(#""ios":{"payload":{"text":"\#(text)"}}"#, #""pack_id":\#(pack),"#)
    }

    @Test("repeats the first answer for ten minutes and no longer")
    func repeated() async throws {
        try await DevtodevFixture.open { devtodev in
            let first = try await devtodev.post(Self.text())
            devtodev.fixture.clock.advance(by: .seconds(599))
            let again = try await devtodev.post(Self.text())
            #expect(again.status == 200 && again.text == first.text)
            #expect(again.header("Idempotent-Replayed") == "true")
            #expect(try await devtodev.fixture.census()["messages"] == 1)
            devtodev.fixture.clock.advance(by: .seconds(2))
            let later = try await devtodev.post(Self.text())
            #expect(later.status == 200 && later.text != first.text)
            #expect(try await devtodev.fixture.census()["messages"] == 2)
        }
    }

    @Test("with other bytes is refused, and another name is another push")
    func otherBytes() async throws {
        try await DevtodevFixture.open { devtodev in
            _ = try await devtodev.post(Self.text())
            let other = try await devtodev.post(Self.text(#""p-1""#, "Ho"))
            #expect(other.status == 409 && other.number == 1009, "\(other.text)")
            #expect(other.text.contains("pack_id") && !other.text.contains("Idempotency-Key"))
            let invalid = try await devtodev.post(
                DevtodevFixture.body(#""ios":{"payload":{}}"#, #""pack_id":"p-1","#))
            #expect(invalid.number == 1009 && invalid.text.contains("pack_id"), "\(invalid.text)")
            for pack in [#""p-2""#, "7", "null", #""""#] {
                #expect(try await devtodev.post(Self.text(pack)).status == 200)
            }
            #expect(try await devtodev.fixture.census()["messages"] == 5)
        }
    }

    @Test("whose push would be refused by now still gets the first answer")
    func refusedByNow() async throws {
        try await DevtodevFixture.open(credentials: ["apns/production"]) { devtodev in
            let first = try await devtodev.post(Self.text())
            _ = try await devtodev.fixture.admin(.delete, "…/credentials/apns/production")
            #expect(try await devtodev.post(Self.text()).text == first.text)
            #expect(try await devtodev.post(Self.text(#""p-2""#)).number == 1010)
        }
    }

    @Test("that is repeated while the first request waits, waits for the same message")
    func together() async throws {
        try await DevtodevFixture.open { devtodev in
            let text = DevtodevFixture.body(
                #""ios":{"payload":{"text":"a"}}"#, audience: #"[{"token":"\#(Fixture.deviceToken)"}]"#,
                #""pack_id":"p","#)
            async let first = devtodev.post(text)
            await devtodev.fixture.clock.sleepers(1)
            async let second = devtodev.post(text)
            await devtodev.fixture.clock.sleepers(2)
            devtodev.fixture.clock.advance(by: .seconds(Limits.devtodevAnswerSeconds))
            let answers = try await (first, second)
            #expect(answers.0.text == answers.1.text && answers.0["error_details"] == ["queued"])
            let third = try await devtodev.post(text)
            #expect(third.text == answers.0.text)
            #expect(try await devtodev.fixture.census()["messages"] == 1)
        }
    }
}
