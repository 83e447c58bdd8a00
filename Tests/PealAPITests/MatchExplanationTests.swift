import HTTPTypes
import PealAPI
import PealCore
import PealTesting
import Testing

@Suite("Explaining why a device is in an audience")
struct MatchExplanationTests {
    private static let device = "10000000-0000-4000-8000-000000000001"

    private static func register(_ fixture: Fixture, _ name: String, _ value: JSON) async throws {
        let body: JSON = ["platform": "android", "address": "fcm:token-1", name: value]
        let reply = try await fixture.admin(.put, "…/devices/\(device)", body)
        try #require(reply.status == 201, "\(reply.text)")
    }

    /// The first event of the device's way, after its name.
    private static func reason(_ fixture: Fixture, _ message: String) async throws -> String {
        let reply = try await fixture.admin(.get, "…/messages/\(message)/deliveries?device=\(device)")
        let event = try #require(reply["items"]?.arrayValue?.first, "\(reply.text)")
        return "\(event["event"]?.stringValue ?? ""): \(event["detail"]?.stringValue ?? "")"
    }

    @Test(
        "names the identifier that the audience has, in any letter case where that is insignificant",
        arguments: [
            ("idfv", "ABCDEF-1", "idfv", "abcdef-1", "matched: by its idfv"),
            ("android_id", "abcdef-1", "androidId", "ABCDEF-1", "matched: by its android_id"),
            ("serial_id", "ABCDEF-1", "serialId", "ABCDEF-1", "matched: by its serial_id"),
            ("serial_id", "ABCDEF-1", "serialId", "abcdef-1", "not_matched: the audience does not include it"),
        ])
    func identifier(kind: String, registered: String, member: String, named: String, reason: String) async throws {
        try await DevtodevFixture.open { devtodev in
            let fixture = devtodev.fixture
            try await Self.register(fixture, "identifiers", [kind: .string(registered)])
            // A push to nobody ends at once; one to an address waits for a network.
            async let answer = devtodev.push(
                #""android":{"payload":{"text":"a"}}"#,
                audience: #"[{"\#(member)":"\#(named)"},{"token":"fcm:token-2"}]"#)
            await fixture.clock.sleepers(1)
            fixture.clock.advance(by: .seconds(Limits.devtodevAnswerSeconds))
            let message = try await answer["data.message_id"]?.stringValue ?? ""
            #expect(try await Self.reason(fixture, message) == reason)
        }
    }

    @Test("names the address of a subscription, whichever of the app's keys it has")
    func subscription() async throws {
        try await Fixture.open { fixture in
            let keys: JSON = [
                "p256dh": .string(Base64URL.encode(Array(repeating: 4, count: 65))),
                "auth": .string(Base64URL.encode(Array(repeating: 1, count: 16))),
            ]
            let device: JSON = [
                "platform": "web", "address": ["endpoint": "https://fcm.googleapis.com/fcm/send/abc", "keys": keys],
            ]
            let path = "…/devices/\(Self.device)"
            _ = try await fixture.admin(.put, "…/credentials/webpush", ["subject": "mailto:a@example.com"])
            let made = try await fixture.admin(.put, path, device)
            try #require(made.status == 201, "\(made.text)")
            // The message's address gets the newest key, the device keeps its own.
            fixture.clock.advance(by: .seconds(60))
            _ = try await fixture.admin(.put, "…/credentials/webpush", ["subject": "mailto:a@example.com"])
            let sent = try await fixture.admin(
                .post, "…/messages", ["audience": ["addresses": [device]], "content": ["title": "x"]])
            try #require(sent.status == 202, "\(sent.text)")
            #expect(try await Self.reason(fixture, sent["id"]?.stringValue ?? "") == "matched: by its address")
        }
    }

    @Test(
        "an expired topic neither includes nor excludes the device",
        arguments: [
            (["topics": ["news"]], "matched: by topic news", "not_matched: the audience does not include it"),
            (["all": true, "not_topics": ["news"]], "not_matched: its topic news is excluded", "matched: by all"),
            (["where": ["topic": "news"]], "matched: by the condition", "not_matched: the condition does not match it"),
        ] as [(JSON, String, String)])
    func expired(audience: JSON, before: String, after: String) async throws {
        try await Fixture.open { fixture in
            try await Self.register(fixture, "topics", ["news"])
            let end = fixture.clock.now + .seconds(60)
            let put = try await fixture.admin(.put, "…/topics/news", ["expires_at": .string(end.description)])
            try #require(put.status == 200, "\(put.text)")
            func send() async throws -> String {
                let sent = try await fixture.admin(
                    .post, "…/messages", ["audience": audience, "content": ["title": "x"]])
                try #require(sent.status == 202, "\(sent.text)")
                return sent["id"]?.stringValue ?? ""
            }
            let first = try await send()
            fixture.clock.advance(by: .seconds(61))
            let second = try await send()
            #expect(try await Self.reason(fixture, first) == before)
            #expect(try await Self.reason(fixture, second) == after)
        }
    }

    @Test("a device's age counts from when the audience was fixed, which may be later than planned")
    func age() async throws {
        try await Fixture.open { fixture in
            try await Self.register(fixture, "topics", [])
            let start = fixture.clock.now + .seconds(23 * 3600)
            let sent = try await fixture.admin(
                .post, "…/messages",
                [
                    "audience": ["where": ["seen": ["within_days": 1]]], "content": ["title": "x"],
                    "schedule": ["at": .string(start.description)],
                ])
            try #require(sent.status == 202, "\(sent.text)")
            let id = sent["id"]?.stringValue ?? ""
            #expect(try await Self.reason(fixture, id) == "held: until \(start)")
            fixture.clock.advance(by: .seconds(25 * 3600))
            let now = fixture.clock.now
            try await fixture.store.write(.control) { store in
                for due in try store.dueMessages(now: now, limit: 2) {
                    _ = try store.plan(app: due.app, id: due.id, owner: nil, now: now)
                }
            }
            #expect(try await Self.reason(fixture, id) == "not_matched: the condition does not match it")
        }
    }
}
