import HTTPTypes
import PealCore
import PealTesting
import Testing

@Suite("Web subscriptions")
struct WebDeviceTests {
    private static let endpoint = "https://fcm.googleapis.com/fcm/send/abc"

    private static func device(_ endpoint: String = endpoint, key: String? = nil) -> JSON {
        let address: JSON = .compact([
            ("endpoint", .string(endpoint)),
            (
                "keys",
                [
                    "p256dh": .string(Base64URL.encode(Array(repeating: 4, count: 65))),
                    "auth": .string(Base64URL.encode(Array(repeating: 1, count: 16))),
                ]
            ), ("application_server_key", key.map(JSON.string)),
        ])
        return ["platform": "web", "address": address]
    }

    /// Stores a VAPID key and returns its public half and its fingerprint; each is created a minute after the last.
    private static func putKey(_ fixture: Fixture) async throws -> (publicKey: String, fingerprint: String) {
        fixture.clock.advance(by: .seconds(60))
        let put = try await fixture.admin(.put, "…/credentials/webpush", ["subject": "mailto:a@example.com"])
        return (
            try #require(put["public_key"]?.stringValue), try #require(put["fingerprint"]?.stringValue)
        )
    }

    private static let path = "…/devices/10000000-0000-4000-8000-000000000001"
    private static let member = "address.application_server_key"

    @Test("get the newest key where they name none, and keep it when a newer one comes")
    func newest() async throws {
        try await Fixture.open { fixture in
            let early = try await fixture.admin(.post, "…/devices", Self.device("\(Self.endpoint)/early"))
            #expect(early.status == 201 && early[Self.member] == nil, "the app has no key yet")
            let first = try await Self.putKey(fixture)
            let made = try await fixture.admin(.put, Self.path, Self.device())
            #expect(made[Self.member] == .string(first.publicKey), "\(made.text)")
            let second = try await Self.putKey(fixture)
            #expect(try await fixture.admin(.put, Self.path, Self.device())[Self.member] == .string(first.publicKey))
            let other = try await fixture.admin(.post, "…/devices", Self.device("\(Self.endpoint)/other"))
            #expect(other[Self.member] == .string(second.publicKey))

            // A deleted key no longer counts: the next registration takes the newest.
            _ = try await fixture.admin(.delete, "…/credentials/webpush/\(first.fingerprint)")
            #expect(
                try await fixture.admin(.patch, Self.path, ["user_id": "u"])[Self.member] == .string(first.publicKey))
            #expect(try await fixture.admin(.put, Self.path, Self.device())[Self.member] == .string(second.publicKey))
        }
    }

    @Test("may name any key of the app, in either alphabet, and no other")
    func named() async throws {
        try await Fixture.open { fixture in
            let unknown = FakeProvider.publicKey(at: fixture.clock.now)
            #expect(try await fixture.admin(.put, Self.path, Self.device(key: unknown)).field == Self.member)
            let first = try await Self.putKey(fixture)
            _ = try await Self.putKey(fixture)
            let padded = first.publicKey.replacing("-", with: "+").replacing("_", with: "/") + "="
            let made = try await fixture.admin(.put, Self.path, Self.device(key: padded))
            #expect(made[Self.member] == .string(first.publicKey), "\(made.text)")
            let refused = try await fixture.admin(.put, Self.path, Self.device(key: unknown))
            #expect(refused.status == 400 && refused.field == Self.member)
            let changed = try await fixture.admin(
                .patch, Self.path, ["address": Self.device(key: unknown)["address"] ?? .null])
            #expect(changed.field == Self.member)
        }
    }

    @Test(
        "have no members that Peal and browsers do not know",
        arguments: [("expirationTime", nil), ("auth", "address.auth"), ("keys.more", "address.keys.more")]
            as [(String, String?)])
    func unknownMembers(name: String, field: String?) async throws {
        try await Fixture.open { fixture in
            let parts = name.split(separator: ".").reversed()
            let more = parts.reduce(JSON.null) { .object(.init([(String($1), $0)])) }
            let device = Self.device().merging(["address": more])
            let made = try await fixture.admin(.put, Self.path, device)
            #expect(made.status == (field == nil ? 201 : 400) && made.field == field, "\(made.text)")
            let batch = try await fixture.admin(.post, "…/devices:batch", ["devices": [device]])
            #expect(batch["results.0.error.field"]?.stringValue == field.map { "devices[0].\($0)" })
            let count = try await fixture.admin(.post, "…/audience:count", ["audience": ["addresses": [device]]])
            #expect(count.field == field.map { "audience.addresses[0].\($0)" }, "\(count.text)")
            #expect(count.code == field.map { _ in "unknown_field" })
        }
    }

    @Test("are checked by their network wherever an address is named")
    func checked() async throws {
        try await Fixture.open { fixture in
            let bad = Self.device("\(Self.endpoint)/off-the-curve")
            #expect(try await fixture.admin(.put, Self.path, bad).field == "address.keys.p256dh")
            let batch = try await fixture.admin(
                .post, "…/devices:batch", ["devices": [Self.device(), bad, Self.device("https://evil.example")]])
            #expect(batch["results.0.status"] == "created", "\(batch.text)")
            #expect(batch["results.1.error.field"] == "devices[1].address.keys.p256dh")
            #expect(batch["results.2.error.field"] == "devices[2].address.endpoint")
            let sent = try await fixture.admin(
                .post, "…/messages", ["audience": ["addresses": [bad]], "content": ["title": "x"]])
            #expect(sent.field == "audience.addresses[0].address.keys.p256dh")
            let unknown = Self.device(key: FakeProvider.publicKey(at: fixture.clock.now))
            let foreign = try await fixture.admin(
                .post, "…/messages", ["audience": ["addresses": [unknown]], "content": ["title": "x"]])
            #expect(foreign.field == "audience.addresses[0].\(Self.member)")
            #expect(try await fixture.census()["devices"] == 1)
        }
    }
}
