import HTTPTypes
import PealCore
import Testing

@Suite("Routing")
struct RoutingTests {
    @Test(
        "accepts doubled and trailing slashes, and v1 twice",
        arguments: ["/v1/version", "//v1/version", "/v1/version/", "/v1/v1/version", "//v1//v1/version//"])
    func normalized(path: String) async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.call(.get, path, authorization: nil)
            #expect(reply.text == #"{"version":"1.8.1"}"#)
        }
    }

    @Test("answers a wrong method of a known path with 405 and the allowed methods")
    func wrongMethod() async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.admin(.delete, "/peal/v1/apps")
            #expect(reply.status == 405)
            #expect(reply.header("Allow") == "GET, POST, HEAD, OPTIONS")
            let pivotal = try await fixture.call(.get, "/v1/push", authorization: nil)
            #expect(pivotal.status == 405)
            #expect(pivotal["status"] == 405)
            #expect(pivotal["error"] == "Method Not Allowed")
            let options = try await fixture.call(.options, "/v1/push", authorization: nil)
            #expect(options.status == 204)
            #expect(options.header("Allow") == "POST, OPTIONS")
        }
    }

    @Test("answers HEAD like GET without the body, and gives every request an id")
    func head() async throws {
        try await Fixture.open { fixture in
            let head = try await fixture.call(.head, "/healthz", authorization: nil)
            #expect(head.status == 200)
            #expect(head.text.isEmpty)
            #expect(head.header("X-Request-Id")?.count == 16)
            #expect(head.header("Content-Length") == "15")
            #expect(try await fixture.call(.get, "/healthz", authorization: nil).text == #"{"status":"ok"}"#)
            let stream = try await fixture.admin(.head, "…/audit", headers: ["Accept": "application/x-ndjson"])
            #expect(stream.status == 200 && stream.text.isEmpty)
            #expect(stream.header("Content-Length") == nil)
        }
    }

    @Test(
        "writes refusals in the envelope of the path",
        arguments: [
            ("/peal/v1/x", true), ("/v1/x", false), ("/v2/x", false), ("/x", true), ("/v1/campaigns/x", true),
            ("/v1/%zz", false), ("/v2/x%", false), ("/peal/v1/%zz", true),
        ])
    func envelopes(path: String, isNative: Bool) async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.call(.get, path, authorization: nil)
            #expect(reply.status == 404)
            #expect((reply.code == "not_found") == isNative)
            #expect((reply["path"] == .string(path)) != isNative)
        }
    }

    @Test(
        "writes the refusal of an invalid path in the envelope of its beginning",
        arguments: ["/v1/registration/%zz", "/v2/topics/%FF", "/v1/tags/%C3%28/x", "/v1/tags/a%00b"])
    func broken(path: String) async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.call(.get, path, authorization: nil)
            #expect(reply.status == 404)
            #expect(reply["error"] == "Not Found" && reply["status"] == 404)
        }
    }

    @Test("shows everyone what works, and only admins why something does not")
    func health() async throws {
        try await Fixture.open { fixture in
            let ready = try await fixture.call(.get, "/readyz", authorization: nil)
            #expect(ready.status == 200)
            #expect(
                ready.text
                    == #"{"status":"ok","subsystems":{"store":"ok","workers":"ok"},"stopped_apps":2}"#)
            #expect(try await fixture.call(.get, "/metrics", authorization: nil).text == "peal_up 1\n")
            let check = try await fixture.call(.get, "/healthcheck", authorization: nil)
            #expect(check["database.healthy"] == true)
        }
        try await Fixture.open(operations: FakeOperations(failure: "disk full")) { fixture in
            let anonymous = try await fixture.call(.get, "/readyz", authorization: nil)
            #expect(anonymous.status == 503)
            #expect(anonymous["subsystems.store"] == "failed")
            #expect(!anonymous.text.contains("disk"))
            let admin = try await fixture.admin(.get, "/readyz")
            #expect(admin["failures.store"] == "disk full")
            #expect(admin["stopped"] == [])
        }
    }

    @Test("shows only admins what is stopped, and why")
    func stopped() async throws {
        let at = Timestamp(milliseconds: 0)
        let record = CredentialRecord(
            provider: .apns, environment: .sandbox, kind: "token", fingerprint: "f", facts: .init(), createdAt: at,
            health: .stopped(at: at, reason: "InvalidProviderToken"))
        let app = AppID(high: 1, low: 1)
        try await Fixture.open(operations: FakeOperations(stopped: [(app, record)])) { fixture in
            let anonymous = try await fixture.call(.get, "/readyz", authorization: nil)
            #expect(anonymous.status == 200)
            #expect(!anonymous.text.contains("InvalidProviderToken") && !anonymous.text.contains("\(app)"))
            let admin = try await fixture.admin(.get, "/readyz")
            #expect(
                admin["stopped.0"] == [
                    "app": .string(app.description), "provider": "apns", "environment": "sandbox",
                    "since": "1970-01-01T00:00:00Z", "reason": "InvalidProviderToken",
                ])
        }
    }
}
