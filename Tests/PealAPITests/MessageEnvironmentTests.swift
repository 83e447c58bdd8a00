import HTTPTypes
import PealCore
import Testing

@Suite("The APNs environment of a message")
struct MessageEnvironmentTests {
    private static let address: JSON = ["platform": "ios", "address": .string(Fixture.deviceToken)]
    private static let own: JSON = ["title": "x", "ios": ["options": ["environment": "sandbox"]]]

    private static func environment(_ fixture: Fixture, of reply: Fixture.Reply) async throws -> Environment? {
        let id = try #require(MessageID(reply["id"]?.stringValue ?? ""), "\(reply.text)")
        return try await fixture.draft(id)?.audience.addresses.first?.route.environment
    }

    @Test("of an address that states none is taken from the platform's options, else from the message's")
    func addresses() async throws {
        let cases: [(content: JSON, options: JSON, expected: Environment)] = [
            (["title": "x"], [:], .production), (["title": "x"], ["environment": "sandbox"], .sandbox),
            (Self.own, [:], .sandbox), (Self.own, ["environment": "production"], .sandbox),
        ]
        for item in cases {
            try await Fixture.open { fixture in
                let reply = try await fixture.admin(
                    .post, "…/messages",
                    ["audience": ["addresses": [Self.address]], "content": item.content, "options": item.options])
                #expect(
                    reply.status == 202 && reply["audience_estimate"] == 1 && reply["empty"] == nil, "\(reply.text)")
                #expect(try await Self.environment(fixture, of: reply) == item.expected)
            }
        }
    }

    @Test("follows a change of the options or of the platform's options alone")
    func change() async throws {
        for change: JSON in [["options": ["environment": "sandbox"]], ["content": Self.own]] {
            try await Fixture.open { fixture in
                let reply = try await fixture.admin(
                    .post, "…/messages",
                    [
                        "audience": ["addresses": [Self.address]], "content": ["title": "x"],
                        "schedule": ["at": "2026-12-01T00:00:00Z"],
                    ])
                #expect(try await Self.environment(fixture, of: reply) == .production)
                let changed = try await fixture.admin(
                    .patch, "…/messages/\(reply["id"]?.stringValue ?? "")", change)
                #expect(changed.status == 200, "\(changed.text)")
                #expect(try await Self.environment(fixture, of: reply) == .sandbox)
            }
        }
    }

    @Test("that an address names itself stays after a change")
    func named() async throws {
        try await Fixture.open { fixture in
            var address = Self.address.objectValue ?? .init()
            address["environment"] = "production"
            let reply = try await fixture.admin(
                .post, "…/messages",
                [
                    "audience": ["addresses": [.object(address)]], "content": ["title": "x"],
                    "schedule": ["at": "2026-12-01T00:00:00Z"],
                ])
            _ = try await fixture.admin(
                .patch, "…/messages/\(reply["id"]?.stringValue ?? "")", ["options": ["environment": "sandbox"]])
            #expect(try await Self.environment(fixture, of: reply) == .production)
        }
    }

    @Test("of a channel may not contradict that of the platform's options")
    func channel() async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.admin(
                .post, "…/messages",
                ["audience": ["channel": ["environment": "production", "id": "Y2hhbm5lbA=="]], "content": Self.own])
            #expect(reply.status == 400 && reply.field == "audience.channel.environment", "\(reply.text)")
            #expect(reply.text.contains("content.ios.options.environment is sandbox"))
        }
    }

    @Test("counts in the estimate and in the validation as it does for sending", arguments: [false, true])
    func counts(startsLater: Bool) async throws {
        try await Fixture.open { fixture in
            for index in 0..<5 {
                let sandbox = index < 2
                let reply = try await fixture.admin(
                    .post, "…/devices",
                    [
                        "platform": "ios", "environment": sandbox ? "sandbox" : "production",
                        "address": .string(String(repeating: "0\(index)", count: 32)), "user_id": "ann",
                    ])
                try #require(reply.status == 201)
            }
            var message: JSON.Members = .init([("audience", ["all": true]), ("content", Self.own)])
            if startsLater { message["schedule"] = ["at": "2026-12-01T00:00:00Z"] }
            let checked = try await fixture.admin(.post, "…/messages:validate", .object(message))
            #expect(checked["audience.devices"] == 2, "\(checked.text)")
            let sent = try await fixture.admin(.post, "…/messages", .object(message))
            #expect(sent["audience_estimate"] == 2, "\(sent.text)")
        }
    }
}
