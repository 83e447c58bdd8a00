import HTTPTypes
import PealCore
import PealTesting
import Testing

@Suite("The state of routes")
struct RouteListTests {
    private static let key: JSON = [
        "kind": "token", "key_id": "K", "team_id": "T", "private_key": .string(CredentialTests.pem),
        "bundle_id": "com.example",
    ]

    @Test("shows open, stopped and probing routes, and what waits on them")
    func states() async throws {
        try await Fixture.open { fixture in
            #expect(try await fixture.admin(.get, "…/routes").text == #"{"items":[]}"#)
            _ = try await fixture.admin(.put, "…/credentials/apns/production", Self.key)
            let open = try await fixture.admin(.get, "…/routes")
            #expect(
                open.text == #"{"items":[{"provider":"apns","environment":"production","state":"open","pending":0}]}"#)
            let address: JSON = ["platform": "ios", "address": .string(Fixture.deviceToken)]
            let sent = try await fixture.admin(
                .post, "…/messages", ["audience": ["addresses": [address]], "content": ["body": "Hi"]])
            #expect(sent.status == 202)
            let (now, id) = (fixture.clock.now, fixture.app)
            func close(probeUntil: Timestamp) async throws {
                try await fixture.store.write(.control) { store in
                    let app = try #require(try store.app(id)?.key)
                    _ = try store.setGate(
                        RouteGate(
                            ActiveRoute(app: app, route: .apnsProduction), .stopped, closedUntil: now + .seconds(30),
                            probeUntil: probeUntil, reason: "InvalidProviderToken"))
                }
            }
            try await close(probeUntil: Timestamp(milliseconds: 0))
            let stopped = try await fixture.admin(.get, "…/routes")
            #expect(stopped["items.0.state"] == "stopped" && stopped["items.0.reason"] == "InvalidProviderToken")
            #expect(stopped["items.0.until"] == .string((now + .seconds(30)).description))
            #expect(stopped["items.0.pending"] == 1)
            #expect(stopped["items.0.oldest_pending_at"] == .string(now.description))
            try await close(probeUntil: now + .seconds(10))
            #expect(try await fixture.admin(.get, "…/routes")["items.0.state"] == "probing")
            _ = try await fixture.admin(.put, "…/credentials/apns/production", Self.key)
            #expect(try await fixture.admin(.get, "…/routes")["items.0.state"] == "open", "a new credential opens it")
        }
    }
}
