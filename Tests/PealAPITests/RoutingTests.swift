import HTTPTypes
import PealCore
import Testing

@Suite("Routing")
struct RoutingTests {
    @Test(
        "takes doubled and trailing slashes, and v1 twice",
        arguments: ["/v1/version", "//v1/version", "/v1/version/", "/v1/v1/version", "//v1//v1/version//"])
    func normalised(path: String) async throws {
        try await House.open { house in
            let reply = try await house.call(.get, path, authorization: nil)
            #expect(reply.text == #"{"version":"1.8.1"}"#)
        }
    }

    @Test(
        "takes paths of the native API as they are written alone",
        arguments: ["/peal/v1/apps/", "//peal/v1/apps", "/peal//v1/apps", "/peal/v1/apps//"])
    func nativePaths(path: String) async throws {
        try await House.open { house in
            #expect(try await house.admin(.get, "/peal/v1/apps").status == 200)
            let reply = try await house.admin(.get, path)
            #expect(reply.status == 404 && reply.code == "not_found")
        }
    }

    @Test("answers a known path with a wrong method by 405 and what it takes")
    func wrongMethod() async throws {
        try await House.open { house in
            let reply = try await house.admin(.delete, "/peal/v1/apps")
            #expect(reply.status == 405)
            #expect(reply.header("Allow") == "GET, POST, HEAD, OPTIONS")
            let pivotal = try await house.call(.get, "/v1/push", authorization: nil)
            #expect(pivotal.status == 405)
            #expect(pivotal["status"] == 405)
            #expect(pivotal["error"] == "Method Not Allowed")
            let options = try await house.call(.options, "/v1/push", authorization: nil)
            #expect(options.status == 204)
            #expect(options.header("Allow") == "POST, OPTIONS")
        }
    }

    @Test("answers HEAD as GET without the body, and names every request")
    func head() async throws {
        try await House.open { house in
            let head = try await house.call(.head, "/healthz", authorization: nil)
            #expect(head.status == 200)
            #expect(head.text.isEmpty)
            #expect(head.header("X-Request-Id")?.count == 16)
            #expect(try await house.call(.get, "/healthz", authorization: nil).text == #"{"status":"ok"}"#)
        }
    }

    @Test(
        "writes refusals in the envelope of the path",
        arguments: [
            ("/peal/v1/x", true), ("/v1/x", false), ("/v2/x", false), ("/x", true), ("/v1/campaigns/x", true),
        ])
    func envelopes(path: String, isNative: Bool) async throws {
        try await House.open { house in
            let reply = try await house.call(.get, path, authorization: nil)
            #expect(reply.status == 404)
            #expect((reply.code == "not_found") == isNative)
            #expect((reply["path"] == .string(path)) != isNative)
        }
    }

    @Test("tells monitors what works, and why something does not only the admin")
    func health() async throws {
        try await House.open { house in
            let ready = try await house.call(.get, "/readyz", authorization: nil)
            #expect(ready.status == 200)
            #expect(
                ready.text
                    == #"{"status":"ok","subsystems":{"store":"ok","workers":"ok"},"stopped_apps":2}"#)
            #expect(try await house.call(.get, "/metrics", authorization: nil).text == "peal_up 1\n")
            let check = try await house.call(.get, "/healthcheck", authorization: nil)
            #expect(check["database.healthy"] == true)
        }
        try await House.open(operations: FakeOperations(failure: "disk full")) { house in
            let stranger = try await house.call(.get, "/readyz", authorization: nil)
            #expect(stranger.status == 503)
            #expect(stranger["subsystems.store"] == "failed")
            #expect(!stranger.text.contains("disk"))
            let admin = try await house.admin(.get, "/readyz")
            #expect(admin["failures.store"] == "disk full")
            #expect(admin["stopped"] == [])
        }
    }

    @Test("names what is stopped, and why, only to the admin")
    func stopped() async throws {
        let at = Timestamp(milliseconds: 0)
        let record = CredentialRecord(
            provider: .apns, environment: .sandbox, kind: "token", fingerprint: "f", facts: .init(), createdAt: at,
            health: .stopped(at: at, reason: "InvalidProviderToken"))
        let app = AppID(high: 1, low: 1)
        try await House.open(operations: FakeOperations(stopped: [(app, record)])) { house in
            let stranger = try await house.call(.get, "/readyz", authorization: nil)
            #expect(stranger.status == 200)
            #expect(!stranger.text.contains("InvalidProviderToken") && !stranger.text.contains("\(app)"))
            let admin = try await house.admin(.get, "/readyz")
            #expect(
                admin["stopped.0"] == [
                    "app": .string(app.description), "provider": "apns", "environment": "sandbox",
                    "since": "1970-01-01T00:00:00Z", "reason": "InvalidProviderToken",
                ])
        }
    }
}
