import Crypto
import HTTPTypes
import PealCore
import PealTesting
import Testing

@Suite("Moment models of devices")
struct DeviceModelTests {
    private static func issue(
        _ server: DeviceFixture, _ campaign: String, version: Int64, lifeSeconds: Int64 = 86_400
    ) async throws {
        let (id, now) = (server.fixture.app, server.fixture.clock.now)
        _ = try await server.fixture.store.write(.control) { store in
            let app = try #require(try store.app(id)).key
            let payload: JSON = ["kind": "logit", "campaign": .string(campaign), "version": .integer(version)]
            return try store.issueModel(
                ModelRelease.Draft(
                    campaign: campaign, version: version, trainedAt: now, expiresAt: now + .seconds(lifeSeconds),
                    parent: nil, labels: 9, payload: payload.bytes), app: app, now: now)
        }
    }

    private static func payload(_ file: JSON?) throws -> JSON {
        try JSONParser.parse(try #require(Base64URL.decode(file?["payload"]?.stringValue ?? "")))
    }

    @Test("are part of a sync if they are newer, for all campaigns and those of the user's open messages")
    func sync() async throws {
        try await DeviceFixture.open { server in
            let phone = try await server.phone()
            #expect(try await server.sync(phone)["models"] == [])
            _ = try await server.schedule()
            for (campaign, version) in [("", 3), ("daily", 5), ("other", 7)] as [(String, Int64)] {
                try await Self.issue(server, campaign, version: version)
            }
            let first = try await server.sync(phone)
            #expect(first["models"]?.arrayValue?.count == 2, "\(first.text)")
            #expect(try Self.payload(first["models.0"])["version"] == 3)
            #expect(try Self.payload(first["models.1"])["campaign"] == "daily")
            func models(_ held: JSON) async throws -> Int? {
                try await server.call(
                    .post, "sync", ["device": .string(phone.device), "have": ["models": held, "msgs": [:]]],
                    as: phone.token)["models"]?.arrayValue?.count
            }
            #expect(try await models(["": 3, "daily": 5]) == 0)
            #expect(try await models(["": 3, "daily": 4]) == 1)
            #expect(try await models(["": 4, "daily": 6]) == 0, "the phone's are newer")
            server.fixture.clock.advance(by: .seconds(86_400))
            #expect(try await server.sync(phone)["models"] == [], "they have expired")
        }
    }

    @Test("are signed with the app's key, and sent once as long as they do not change")
    func fetch() async throws {
        try await DeviceFixture.open { server in
            let registered = try await server.register()
            let token = try #require(registered["device_token"]?.stringValue)
            let path = "model?campaign=daily"
            #expect(try await server.call(.get, path, as: token).status == 404)
            try await Self.issue(server, "daily", version: 5)
            let file = try await server.call(.get, path, as: token)
            #expect(file.status == 200 && file["alg"] == "Ed25519" && file["kid"] == "m1" && file["v"] == 1)
            let bytes = try #require(Base64URL.decode(registered["model_keys.0.public_key"]?.stringValue ?? ""))
            let key = try Curve25519.Signing.PublicKey(rawRepresentation: bytes)
            let payload = try #require(Base64URL.decode(file["payload"]?.stringValue ?? ""))
            let signature = try #require(Base64URL.decode(file["sig"]?.stringValue ?? ""))
            #expect(key.isValidSignature(signature, for: payload))
            let tag = try #require(file.header("ETag"))
            let again = try await server.call(.get, path, as: token, headers: ["If-None-Match": tag])
            #expect(again.status == 304 && again.text.isEmpty && again.header("ETag") == tag)
            try await Self.issue(server, "daily", version: 6)
            #expect(try await server.call(.get, path, as: token, headers: ["If-None-Match": tag]).status == 200)
            #expect(try await server.call(.get, "model", as: token).status == 404, "there is none of all campaigns")
            #expect(try await server.call(.get, path, as: server.key).status == 403)
            #expect(try await server.call(.get, path, as: nil).status == 401)
        }
    }

    @Test("are shown with their campaign, and an earlier one is issued again as the newest")
    func rollback() async throws {
        try await DeviceFixture.open { server in
            _ = try await server.schedule()
            let fixture = server.fixture
            #expect(try await fixture.admin(.get, "…/campaigns/daily")["model"] == nil)
            let path = "…/campaigns/daily/model/rollback"
            #expect(try await fixture.admin(.post, path, [:]).status == 404)
            try await Self.issue(server, "daily", version: 5)
            #expect(try await fixture.admin(.post, path, [:]).status == 404, "there is no earlier one")
            #expect(try await fixture.admin(.post, path).status == 404, "the body may be absent")
            #expect(try await fixture.admin(.post, path, ["version": 5]).status == 409, "it is the newest")
            try await Self.issue(server, "daily", version: 6)
            let shown = try await fixture.admin(.get, "…/campaigns/daily")
            #expect(shown["model.version"] == 6 && shown["model.labels"] == 9 && shown["model.drifted"] == false)
            #expect(shown["model.off_policy"] == nil)
            let (id, store) = (fixture.app, fixture.store)
            try await store.write(.control) { store in
                let app = try #require(try store.app(id)).key
                var learning = CampaignLearning(campaign: "daily")
                learning.offPolicy = OffPolicyGain(gain: -12_500, error: 1, messages: 800, effectiveMessages: 420)
                try store.putLearning(learning, app: app)
            }
            let offPolicy = try await fixture.admin(.get, "…/campaigns/daily")["model.off_policy"]
            #expect(offPolicy?["gain"] == .number("-0.0125") && offPolicy?["effective_messages"] == 420)
            #expect(offPolicy?["standard_error"] == .number("1e-06") && offPolicy?["messages"] == 800)
            let headers = ["Idempotency-Key": "back"]
            let rolled = try await fixture.admin(.post, path, [:], headers: headers)
            #expect(rolled.status == 200 && rolled["parent"] == "daily@5", "\(rolled.text)")
            #expect(rolled["held_until"] == "2026-11-28T00:00:00Z")
            let repeated = try await fixture.admin(.post, path, [:], headers: headers)
            #expect(repeated.text == rolled.text && repeated.header("Idempotent-Replayed") == "true")
            let newest = try await fixture.admin(.get, "…/campaigns/daily")["model.version"]?.integerValue ?? 0
            #expect(newest > 6 && .integer(newest) == rolled["version"])
            #expect(try await fixture.admin(.post, path, ["version": 77]).status == 404)
            #expect(try await fixture.admin(.post, path, ["version": "6"]).status == 400)
            let audit = try await fixture.admin(.get, "/peal/v1/audit")
            #expect(audit.text.contains("model.rollback"))
        }
    }
}
